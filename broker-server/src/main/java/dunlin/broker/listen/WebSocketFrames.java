package dunlin.broker.listen;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The frames of a WebSocket that carries MQTT: passes on the content of binary messages as it arrives, independent of
 * frame boundaries [MQTT-6.0.0-2], and sends each buffer as one binary frame; RFC 6455, section 5.
 */
final class WebSocketFrames extends ChannelDuplexHandler {
  /*
   * Owner: the channel's event loop.
   * Bounds: keeps an incomplete frame header, the content of a control frame, and one pong: of several unanswered
   * pings, only the last one is answered (section 5.5.3). Content is never buffered. The declared length of a frame
   * reserves no memory, but a frame longer than any packet is refused early.
   * Failure: a violation is counted and answered with a close frame with its code, and the connection is closed.
   */
  private static final Logger log = LoggerFactory.getLogger(WebSocketFrames.class);
  private static final int CONTINUATION = 0;
  private static final int TEXT = 1;
  private static final int BINARY = 2;
  private static final int CLOSE = 8;
  private static final int PING = 9;
  private static final int PONG = 10;
  private static final int FINAL = 0x80;
  private static final int MASKED = 0x80;
  private static final int CONTROL_MAX = 125;
  private static final int LENGTH_16 = 126;
  private static final int LENGTH_64 = 127;
  private static final int HEADER_MAX = 14;

  private static final int NORMAL = 1_000;
  private static final int PROTOCOL_ERROR = 1_002;
  private static final int UNACCEPTABLE_DATA = 1_003;
  private static final int TOO_BIG = 1_009;

  private static final long FRAME_MAX_LEAST = 1 << 20;

  private final Listener listener;
  private final long frameMax;

  private final byte[] header = new byte[HEADER_MAX];
  private int headerLength;
  private int opcode;
  private long contentLeft;
  private int mask;
  private boolean inMessage;
  private byte @Nullable [] control;
  private int controlLength;
  private byte @Nullable [] pong;
  private boolean closed;

  WebSocketFrames(Listener listener) {
    this.listener = listener;
    // One frame may contain several packets, so a small packet limit must not limit frames.
    this.frameMax = Math.max(listener.decoderLimits().packets().packetMax(), FRAME_MAX_LEAST);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object data) {
    ByteBuf in = (ByteBuf) data;
    try {
      while (in.isReadable() && !closed) {
        if (contentLeft > 0) readContent(ctx, in);
        else if (readHeader(ctx, in)) begin(ctx);
      }
    } finally {
      in.release();
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    answerPing(ctx);
    ctx.fireChannelReadComplete();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    answerPing(ctx);
    ctx.fireChannelWritabilityChanged();
  }

  // ----------------------------------------------------------------------------------------------------------------
  // input

  /** Reads a header; true if it is complete. */
  private boolean readHeader(ChannelHandlerContext ctx, ByteBuf in) {
    while (in.isReadable()) {
      header[headerLength++] = in.readByte();
      if (headerLength == 2 && !checkFirstBytes(ctx)) return false;
      if (headerLength >= 2 && headerLength == headerSize()) return true;
    }
    return false;
  }

  private int headerSize() {
    return switch (header[1] & 0x7F) {
      case LENGTH_16 -> 2 + Short.BYTES + Integer.BYTES;
      case LENGTH_64 -> 2 + Long.BYTES + Integer.BYTES;
      default -> 2 + Integer.BYTES;
    };
  }

  private boolean checkFirstBytes(ChannelHandlerContext ctx) {
    int first = header[0] & 0xFF;
    opcode = first & 0x0F;
    boolean isFinal = (first & FINAL) != 0;
    if ((first & 0x70) != 0) return violated(ctx, PROTOCOL_ERROR, "a reserved bit is set");
    if ((header[1] & MASKED) == 0) return violated(ctx, PROTOCOL_ERROR, "a frame is not masked");
    return switch (opcode) {
      case CONTINUATION -> inMessage || violated(ctx, PROTOCOL_ERROR, "a continuation of nothing");
      case BINARY -> !inMessage || violated(ctx, PROTOCOL_ERROR, "a message within another");
      case TEXT -> violated(ctx, UNACCEPTABLE_DATA, "a text frame"); // [MQTT-6.0.0-1]
      case CLOSE, PING, PONG ->
          (isFinal && (header[1] & 0x7F) <= CONTROL_MAX)
              || violated(ctx, PROTOCOL_ERROR, "a control frame in parts, or of more than 125 bytes");
      default -> violated(ctx, PROTOCOL_ERROR, "a frame of the reserved type " + opcode);
    };
  }

  /** Handles a complete header. */
  private void begin(ChannelHandlerContext ctx) {
    int shortLength = header[1] & 0x7F;
    int maskAt = headerLength - Integer.BYTES;
    long length = shortLength < LENGTH_16 ? shortLength : number(2, maskAt);
    mask = (int) number(maskAt, headerLength);
    headerLength = 0;
    long least = shortLength == LENGTH_64 ? 0x1_0000 : shortLength == LENGTH_16 ? LENGTH_16 : 0;
    if (length >= 0 && length < least) {
      violated(ctx, PROTOCOL_ERROR, "a length in more bytes than it needs");
      return;
    }
    if (length < 0 || length > frameMax) {
      violated(ctx, TOO_BIG, "a frame of " + Long.toUnsignedString(length) + " bytes, limit " + frameMax);
      return;
    }
    contentLeft = length;
    if (opcode < CLOSE) {
      inMessage = (header[0] & FINAL) == 0;
    } else {
      control = new byte[(int) length];
      controlLength = 0;
      if (length == 0) controlEnds(ctx);
    }
  }

  private long number(int from, int to) {
    long number = 0;
    for (int i = from; i < to; i++) number = number << 8 | (header[i] & 0xFF);
    return number;
  }

  private void readContent(ChannelHandlerContext ctx, ByteBuf in) {
    int length = (int) Math.min(contentLeft, in.readableBytes());
    unmask(in, in.readerIndex(), length);
    contentLeft -= length;
    if (opcode < CLOSE) {
      ctx.fireChannelRead(in.readRetainedSlice(length));
      return;
    }
    in.readBytes(control, controlLength, length);
    controlLength += length;
    if (contentLeft == 0) controlEnds(ctx);
  }

  /** Unmasks content, and rotates the mask so that the next part of the frame begins with its first byte. */
  private void unmask(ByteBuf in, int from, int length) {
    int index = from;
    int end = from + length;
    for (; end - index >= Integer.BYTES; index += Integer.BYTES) in.setInt(index, in.getInt(index) ^ mask);
    for (; index < end; index++) {
      in.setByte(index, in.getByte(index) ^ (mask >>> 24));
      mask = Integer.rotateLeft(mask, Byte.SIZE);
    }
  }

  private void controlEnds(ChannelHandlerContext ctx) {
    byte[] content = control;
    control = null;
    switch (opcode) {
      case PING -> pong = content;
      case CLOSE -> {
        int code = content == null || content.length < 2 ? NORMAL : (content[0] & 0xFF) << 8 | (content[1] & 0xFF);
        closed = true;
        sendClose(ctx, code);
        ctx.close();
      }
      default -> {} // an unsolicited pong
    }
  }

  private boolean violated(ChannelHandlerContext ctx, int code, String what) {
    listener.refused(ListenerRefusal.WEB_SOCKET_FRAME);
    log.debug("WebSocket of {} closed: {}", ctx.channel().remoteAddress(), what);
    closed = true;
    sendClose(ctx, code);
    ctx.close();
    return false;
  }

  // ----------------------------------------------------------------------------------------------------------------
  // output

  @Override
  public void write(ChannelHandlerContext ctx, Object data, ChannelPromise promise) {
    ByteBuf content = (ByteBuf) data;
    ctx.write(head(ctx, BINARY, content.readableBytes()), ctx.voidPromise());
    ctx.write(content, promise);
  }

  private static ByteBuf head(ChannelHandlerContext ctx, int opcode, int length) {
    ByteBuf head = ctx.alloc().directBuffer(10).writeByte(FINAL | opcode);
    if (length < LENGTH_16) return head.writeByte(length);
    return length < 0x1_0000 ? head.writeByte(LENGTH_16).writeShort(length) : head.writeByte(LENGTH_64).writeLong(length);
  }

  /**
   * Answers the last ping once the socket accepts more: a client that does not read gets one pong in the end, however
   * many pings it sent.
   */
  private void answerPing(ChannelHandlerContext ctx) {
    byte[] content = pong;
    if (content == null || closed || !ctx.channel().isWritable()) return;
    pong = null;
    ctx.writeAndFlush(head(ctx, PONG, content.length).writeBytes(content), ctx.voidPromise());
  }

  private static void sendClose(ChannelHandlerContext ctx, int code) {
    ctx.writeAndFlush(head(ctx, CLOSE, Short.BYTES).writeShort(code), ctx.voidPromise());
  }

  /** Sends a close frame, as far as the socket accepts it, before the broker closes the connection. */
  @Override
  public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
    if (!closed) {
      closed = true;
      sendClose(ctx, NORMAL);
    }
    ctx.close(promise);
  }
}

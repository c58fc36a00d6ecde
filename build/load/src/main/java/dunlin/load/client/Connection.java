package dunlin.load.client;

import dunlin.load.count.Count;
import dunlin.load.mqtt.BadPacketException;
import dunlin.load.mqtt.PacketReader;
import dunlin.load.mqtt.Version;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.websocketx.WebSocketClientProtocolHandler.ClientHandshakeStateEvent;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import org.jspecify.annotations.Nullable;

/** A network connection of a client; decodes and encodes packets. */
final class Connection extends ChannelInboundHandlerAdapter {
  /*
   * Owner: the channel's event loop.
   * Bounds: a partly received packet, by PacketReader.PACKET_BYTES_MAX; unflushed packets, by BATCH_BYTES_MAX; flushed
   * bytes, by Netty's high water mark, above which nothing is published.
   */
  private static final int BATCH_BYTES_MAX = 64 * 1_024;
  private static final int BATCH_BYTES = 512;

  /** The layer below MQTT that must finish its handshake first. */
  enum Below {
    TCP,
    TLS,
    WEB_SOCKET
  }

  private final LoadClient client;
  private final Loop loop;
  private final Version version;
  private final Below below;
  private final boolean proxyHeader;

  private @Nullable ChannelHandlerContext context;
  private @Nullable ByteBuf half;
  private @Nullable ByteBuf out;
  private boolean ended;

  Connection(LoadClient client, Loop loop, Version version, Below below, boolean proxyHeader) {
    this.client = client;
    this.loop = loop;
    this.version = version;
    this.below = below;
    this.proxyHeader = proxyHeader;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    context = added;
  }

  @Override
  public void channelActive(ChannelHandlerContext active) {
    if (below == Below.TCP) {
      if (proxyHeader) ProxyHeader.write(active.channel(), out(108));
      client.open(this);
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext where, Object event) {
    if (event instanceof SslHandshakeCompletionEvent tls) {
      if (!tls.isSuccess()) fail(tls.cause());
      else if (below == Below.TLS) client.open(this);
    } else if (event == ClientHandshakeStateEvent.HANDSHAKE_COMPLETE) {
      client.open(this);
    } else if (event == ClientHandshakeStateEvent.HANDSHAKE_TIMEOUT) {
      fail(new IllegalStateException("the WebSocket handshake timed out"));
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext where, Object message) {
    if (!(message instanceof ByteBuf in)) {
      ReferenceCountUtil.release(message);
      return;
    }
    loop.meters().add(Count.BYTES_IN, in.readableBytes());
    ByteBuf all = in;
    ByteBuf before = half;
    if (before != null) {
      half = null;
      all = before.writeBytes(in);
      in.release();
    }
    try {
      PacketReader.read(all, version, client);
      if (all.isReadable() && !ended) {
        half = before != null ? all.discardSomeReadBytes().retain() : where.alloc().buffer(Math.max(256, 2 * all.readableBytes())).writeBytes(all);
      }
    } catch (BadPacketException bad) {
      loop.meters().add(Count.PROTOCOL_ERRORS);
      fail(bad);
    } finally {
      all.release();
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext where) {
    flush();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext where) {
    if (where.channel().isWritable()) client.pump();
  }

  @Override
  public void channelInactive(ChannelHandlerContext where) {
    end();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext where, Throwable cause) {
    fail(cause);
  }

  private void fail(Throwable cause) {
    if (!ended) loop.failure(cause);
    close();
  }

  boolean isWritable() {
    return context != null && context.channel().isWritable();
  }

  /** A buffer with room for a packet. The next flush sends its contents. */
  ByteBuf out(int bytes) {
    ByteBuf batch = out;
    if (batch != null && batch.readableBytes() + bytes > BATCH_BYTES_MAX) {
      flush();
      batch = out;
    }
    if (batch == null) {
      batch = channel().alloc().directBuffer(Math.max(BATCH_BYTES, bytes));
      out = batch;
      loop.toFlush(this);
    }
    return batch;
  }

  void flush() {
    ByteBuf batch = out;
    if (batch == null || context == null) return;
    out = null;
    if (!batch.isReadable()) {
      batch.release();
      return;
    }
    loop.meters().add(Count.BYTES_OUT, batch.readableBytes());
    context.writeAndFlush(batch, context.voidPromise());
  }

  private Channel channel() {
    if (context == null) throw new IllegalStateException("not in a pipeline");
    return context.channel();
  }

  /** Flushes and closes the connection. */
  void closeInOrder() {
    flush();
    if (context != null) context.close();
    end();
  }

  void close() {
    if (context != null) context.close();
    end();
  }

  /** Notifies the client once, and releases the buffers. */
  private void end() {
    if (ended) return;
    ended = true;
    if (half != null) half.release();
    half = null;
    if (out != null) out.release();
    out = null;
    client.ended(this);
  }
}

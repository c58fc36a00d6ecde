package dunlin.broker.codec;

import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Reads MQTT's data types from one complete packet and never past its end; MQTT 5, section 1.5. */
final class PacketReader {
  /*
   * Owner: the connection's event loop. It works on indexes and does not move the buffer's reader index: no part of a
   * packet takes effect until all of it was read.
   */
  private final DecoderLimits limits;

  private ByteBuf in = Unpooled.EMPTY_BUFFER;
  private int index;
  private int end;
  private @Nullable ProtocolVersion version;

  PacketReader(DecoderLimits limits) {
    this.limits = limits;
  }

  /** Starts reading a packet whose bytes after the fixed header are at {@code from} to {@code to}. */
  void reset(ByteBuf buffer, int from, int to, @Nullable ProtocolVersion protocolVersion) {
    in = buffer;
    index = from;
    end = to;
    version = protocolVersion;
  }

  void version(ProtocolVersion protocolVersion) {
    version = protocolVersion;
  }

  DecoderLimits limits() {
    return limits;
  }

  ByteBuf buffer() {
    return in;
  }

  int index() {
    return index;
  }

  int remaining() {
    return end - index;
  }

  MalformedPacketException error(ReasonCode reason, String message) {
    return new MalformedPacketException(reason, version, null, message);
  }

  MalformedPacketException exceeded(Limit limit, ReasonCode reason, String what, long allowed) {
    return new MalformedPacketException(reason, version, limit, limit.exceededBy(what, allowed));
  }

  MalformedPacketException malformed(String message) {
    return error(ReasonCode.MALFORMED_PACKET, message);
  }

  MalformedPacketException protocolError(String message) {
    return error(ReasonCode.PROTOCOL_ERROR, message);
  }

  /** The text between two indexes for an error message. */
  String quoted(int from, int length) {
    return MalformedPacketException.quoted(in.toString(from, Math.min(length, 256), StandardCharsets.UTF_8));
  }

  int readByte(String what) {
    return in.getUnsignedByte(advance(1, what));
  }

  int readShort(String what) {
    return in.getUnsignedShort(advance(2, what));
  }

  /** A four byte integer, 0 to 4,294,967,295. */
  long readInt(String what) {
    return in.getUnsignedInt(advance(4, what));
  }

  /** A variable byte integer: at most four bytes, and no more than its value needs [MQTT-1.5.5-1]. */
  int readVarint(String what) {
    int value = 0;
    for (int shift = 0; shift < 28; shift += 7) {
      int b = readByte(what);
      value |= (b & 0x7F) << shift;
      if (b < 0x80) {
        if (b == 0 && shift > 0) throw malformed(what + " in more bytes than it needs");
        return value;
      }
    }
    throw malformed(what + " in more than 4 bytes");
  }

  /** A packet identifier, which is never 0 [MQTT-2.2.1-3]. */
  int readPacketId() {
    int packetId = readShort("packet identifier");
    if (packetId == 0) throw protocolError("packet identifier 0");
    return packetId;
  }

  /** Skips a UTF-8 encoded string, checks it and answers its length; it ends at {@link #index()}. */
  int skipText(String what) {
    int length = skipBinary(what);
    String violation = Utf8.violation(in, index - length, length, limits.refuseControlCharacters());
    if (violation != null) throw malformed(what + " contains " + violation);
    return length;
  }

  String readText(String what) {
    return lastText(skipText(what));
  }

  /** The text of this length that was skipped last. */
  String lastText(int length) {
    byte[] bytes = new byte[length];
    in.getBytes(index - length, bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Skips binary data and answers its length; it ends at {@link #index()}. */
  int skipBinary(String what) {
    int length = readShort(what);
    advance(length, what);
    return length;
  }

  byte[] readBinary(String what) {
    byte[] bytes = new byte[skipBinary(what)];
    in.getBytes(index - bytes.length, bytes);
    return bytes;
  }

  /** Reads the length of the properties, which must end inside the packet; answers the index behind them. */
  int readPropertiesEnd() {
    int length = readVarint("length of properties");
    if (length > end - index) {
      throw malformed("properties of " + length + " bytes reach past the end of the packet by " + (length - (end - index)));
    }
    return index + length;
  }

  /** Narrows the reader to end at {@code to}; answers the previous end. */
  int narrow(int to) {
    int before = end;
    end = to;
    return before;
  }

  void expectEnd(String what) {
    if (index != end) throw malformed((end - index) + " bytes too many in " + what);
  }

  private int advance(int bytes, String what) {
    int from = index;
    if (bytes > end - from) throw malformed(what + " reaches past the end");
    index = from + bytes;
    return from;
  }
}

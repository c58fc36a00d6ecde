package dunlin.load.mqtt;

import io.netty.buffer.ByteBuf;

/** Decodes the broker's packets; it has no state. */
public final class PacketReader {
  /** The longest accepted packet; a longer one ends the connection. */
  public static final int PACKET_BYTES_MAX = 16 * 1_024 * 1_024;

  private PacketReader() {}

  /** Hands over all complete packets; a partial one stays in the buffer. */
  public static void read(ByteBuf in, Version version, PacketListener listener) {
    while (in.readableBytes() >= 2) {
      int start = in.readerIndex();
      int length = 0;
      int at = start + 1;
      int shift = 0;
      while (true) {
        if (at == in.writerIndex()) return;
        int next = in.getByte(at++);
        length |= (next & 0x7F) << shift;
        if (next >= 0) break;
        shift += 7;
        if (shift > 21) throw new BadPacketException("a Remaining Length has more than four bytes");
      }
      if (length > PACKET_BYTES_MAX) throw new BadPacketException("a packet has " + length + " bytes, more than " + PACKET_BYTES_MAX);
      if (in.writerIndex() - at < length) return;
      packet(in.getByte(start) & 0xFF, in, at, at + length, version, listener);
      in.readerIndex(at + length);
    }
  }

  private static void packet(int first, ByteBuf in, int at, int end, Version version, PacketListener listener) {
    int length = end - at;
    switch (first >> 4) {
      case PacketType.PUBLISH -> publish(first, in, at, end, version, listener);
      case PacketType.PUBACK, PacketType.PUBREC, PacketType.PUBREL, PacketType.PUBCOMP -> {
        need(length >= 2, "an acknowledgement without packet identifier");
        listener.ack(first >> 4, in.getUnsignedShort(at), length > 2 ? in.getUnsignedByte(at + 2) : 0);
      }
      case PacketType.PINGRESP -> listener.pingresp();
      case PacketType.CONNACK -> {
        need(length >= 2, "a CONNACK that is too short");
        Limits limits = version.hasProperties() && length > 2 ? limits(in, at + 2, end) : Limits.NONE;
        listener.connack((in.getByte(at) & 1) != 0, in.getUnsignedByte(at + 1), limits);
      }
      case PacketType.SUBACK -> {
        need(length >= 3, "a SUBACK that is too short");
        int codes = version.hasProperties() ? afterProperties(in, at + 2, end) : at + 2;
        listener.suback(in.getUnsignedShort(at), in, codes, end - codes);
      }
      case PacketType.DISCONNECT -> {
        need(version.hasProperties(), "a DISCONNECT, which a broker of 3.1.1 does not send");
        listener.disconnect(length > 0 ? in.getUnsignedByte(at) : 0);
      }
      default -> throw new BadPacketException("a packet of type " + (first >> 4) + ", which nobody asked for");
    }
  }

  private static void publish(int first, ByteBuf in, int start, int end, Version version, PacketListener listener) {
    int qos = (first >> 1) & 3;
    need(qos < 3, "a PUBLISH with QoS 3");
    need(end - start >= 2, "a PUBLISH without topic name");
    int at = start + 2 + in.getUnsignedShort(start);
    int packetId = 0;
    if (qos > 0) {
      need(end - at >= 2, "a PUBLISH without packet identifier");
      packetId = in.getUnsignedShort(at);
      at += 2;
    }
    need(at <= end, "a PUBLISH that ends in its topic name");
    if (version.hasProperties()) at = afterProperties(in, at, end);
    listener.publish(qos, (first & 8) != 0, (first & 1) != 0, packetId, in, at, end - at);
  }

  private static int afterProperties(ByteBuf in, int start, int end) {
    int at = start;
    int length = 0;
    int shift = 0;
    while (true) {
      need(at < end && shift <= 21, "properties without a length");
      int next = in.getByte(at++);
      length |= (next & 0x7F) << shift;
      if (next >= 0) break;
      shift += 7;
    }
    need(length <= end - at, "properties that are longer than their packet");
    return at + length;
  }

  /** The properties of CONNACK that a load test must respect; section 3.2.2.3. */
  private static Limits limits(ByteBuf in, int start, int end) {
    int after = afterProperties(in, start, end);
    int at = start;
    while (in.getByte(at++) < 0) {} // the length, checked above
    int receiveMaximum = Limits.NONE.receiveMaximum();
    int keepAlive = Limits.NONE.keepAliveSeconds();
    int maximumQos = Limits.NONE.maximumQos();
    long maximumPacketSize = Limits.NONE.maximumPacketSize();
    while (at < after) {
      int identifier = in.getByte(at++);
      int length =
          switch (identifier) {
            case 0x11, 0x27 -> 4;
            case 0x13, 0x21, 0x22 -> 2;
            case 0x24, 0x25, 0x28, 0x29, 0x2A -> 1;
            case 0x12, 0x15, 0x16, 0x1A, 0x1C, 0x1F -> stringLength(in, at, after);
            case 0x26 -> {
              int key = stringLength(in, at, after);
              yield key + stringLength(in, at + key, after);
            }
            default -> throw new BadPacketException("a CONNACK with property " + identifier);
          };
      need(length <= after - at, "a CONNACK with a property that is cut off");
      switch (identifier) {
        case 0x21 -> receiveMaximum = in.getUnsignedShort(at);
        case 0x13 -> keepAlive = in.getUnsignedShort(at);
        case 0x24 -> maximumQos = in.getByte(at);
        case 0x27 -> maximumPacketSize = in.getUnsignedInt(at);
        default -> {} // not needed
      }
      at += length;
    }
    return new Limits(receiveMaximum, keepAlive, maximumQos, maximumPacketSize);
  }

  private static int stringLength(ByteBuf in, int at, int end) {
    need(end - at >= 2, "a property that is cut off");
    return 2 + in.getUnsignedShort(at);
  }

  private static void need(boolean holds, String otherwise) {
    if (!holds) throw new BadPacketException(otherwise);
  }
}

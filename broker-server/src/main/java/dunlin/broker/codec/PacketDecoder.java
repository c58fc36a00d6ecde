package dunlin.broker.codec;

import dunlin.model.ReasonCode;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** Splits the bytes of one client into packets and decodes them; MQTT 3.1, 3.1.1 and 5.0, chapters 2 and 3. */
public final class PacketDecoder {
  /*
   * Owner: the connection's event loop.
   * Bounds: keeps no bytes. It asks for a packet to be buffered only when its type, flags and length are allowed: at
   * most connectPacketMax bytes before CONNECT, packetMax afterwards. While bytes are missing, a call costs one
   * comparison, so that a packet in a thousand chunks costs hardly more than one in a single chunk.
   * Failure: a violation throws, and every later call throws the same exception: bytes after a malformed packet are
   * never decoded as a packet. The connection must be closed.
   */
  private static final int CONNECT = 1;

  /** The type of PUBLISH, which the first byte of a packet has in its upper half. */
  public static final int PUBLISH = 3;

  private static final int PUBACK = 4;
  private static final int PUBREC = 5;
  private static final int PUBREL = 6;
  private static final int PUBCOMP = 7;
  private static final int SUBSCRIBE = 8;
  private static final int UNSUBSCRIBE = 10;
  private static final int PINGREQ = 12;
  private static final int DISCONNECT = 14;
  private static final int AUTH = 15;
  private static final int REMAINING_LENGTH_BYTES_MAX = 4;

  static final String RETAIN_OFF = "RETAIN, which is off (dunlin.mqtt.retain-available)";

  private DecoderLimits limits;

  /** The number of readable bytes below which decoding cannot continue. */
  private int needed = 1;

  /** Known after CONNECT. */
  private @Nullable ProtocolVersion version;

  /** Created when the client publishes for the first time; many clients never do. */
  private @Nullable InboundPublish publish;

  private @Nullable MalformedPacketException failure;

  /** Whether the client is not authenticated yet. */
  private boolean onlyAuthentication;

  public PacketDecoder(DecoderLimits limits) {
    this.limits = limits;
  }

  /**
   * Decodes one packet if all of its bytes are there, moves the reader index behind it and hands it over.
   *
   * <p>Between calls, bytes may be added to the buffer, and it may be moved; no bytes may be removed.
   *
   * @return whether a packet was decoded; if not, the reader index is unchanged
   * @throws MalformedPacketException as soon as the present bytes show that the packet is not allowed
   */
  public boolean decode(ByteBuf in, PacketHandler handler) {
    if (in.readableBytes() < needed) return false;
    if (failure != null) throw failure;
    try {
      return decodeNext(in, handler);
    } catch (MalformedPacketException e) {
      failure = e;
      needed = 0;
      throw e;
    }
  }

  public DecoderLimits limits() {
    return limits;
  }

  /** Replaces the limits; before the first packet behind CONNECT, since some packets keep them. */
  public void limits(DecoderLimits narrower) {
    assert publish == null : "other limits after a PUBLISH";
    limits = narrower;
  }

  /** Allows only AUTH and DISCONNECT, with the maximum size of a CONNECT; or all packets again [MQTT-3.1.2-30]. */
  public void onlyAuthentication(boolean only) {
    onlyAuthentication = only;
  }

  private boolean decodeNext(ByteBuf in, PacketHandler handler) {
    int readable = in.readableBytes();
    int start = in.readerIndex();
    int first = in.getUnsignedByte(start);
    checkFirstByte(first);

    int remaining = 0;
    int header = 1;
    while (true) {
      if (header > REMAINING_LENGTH_BYTES_MAX) throw malformed("remaining length in more than 4 bytes");
      if (readable == header) {
        needed = header + 1;
        return false;
      }
      int b = in.getUnsignedByte(start + header);
      remaining |= (b & 0x7F) << (7 * (header - 1));
      header++;
      if (b < 0x80) {
        if (b == 0 && header > 2) throw malformed("remaining length in more bytes than it needs");
        break;
      }
    }
    int size = header + remaining;
    checkSize(first >> 4, remaining, size);
    if (readable < size) {
      needed = size;
      if (first >> 4 == PUBLISH && version != null) checkTopicLength(in, start + header, readable - header, remaining);
      return false;
    }
    needed = 1;
    handOver(in, first, start + header, start + size, handler);
    return true;
  }

  private void checkFirstByte(int first) {
    int type = first >> 4;
    int flags = first & 0x0F;
    if (version == null) {
      if (type != CONNECT) throw protocolError("the first packet is of type " + type + ", not CONNECT"); // [MQTT-3.1.0-1]
      return; // which flags are valid depends on the version
    }
    if (onlyAuthentication && type != AUTH && type != DISCONNECT) {
      throw protocolError("packet of type " + type + " before the end of the authentication");
    }
    switch (type) {
      case PUBLISH -> {
        if ((flags & 0x06) == 0x06) throw malformed("PUBLISH with QoS 3"); // [MQTT-3.3.1-4]
        if ((flags & 0x0E) == 0x08) throw malformed("PUBLISH with DUP and QoS 0"); // [MQTT-3.3.1-2]
        checkAvailable((flags & 0x06) >> 1, (flags & 0x01) != 0);
      }
      case PUBREL, SUBSCRIBE, UNSUBSCRIBE -> {
        // MQTT 3.1 sends these with QoS 1, and repeats them with DUP set (its section 3.6 and others); later versions
        // do not.
        boolean again = flags == 0x0A && version == ProtocolVersion.MQTT_3_1;
        if (flags != 0x02 && !again) throw wrongFlags(first);
      }
      case PUBACK, PUBREC, PUBCOMP, PINGREQ, DISCONNECT -> {
        if (flags != 0) throw wrongFlags(first);
      }
      case AUTH -> {
        if (!version.hasProperties()) throw malformed("packet of the reserved type 15");
        if (flags != 0) throw wrongFlags(first);
      }
      case CONNECT -> throw protocolError("a second CONNECT"); // [MQTT-3.1.0-2]
      case 0 -> throw malformed("packet of the reserved type 0");
      default -> throw protocolError("packet of type " + type + ", which only a server sends");
    }
  }

  private void checkAvailable(int qos, boolean retain) {
    if (qos > limits.features().maximumQoS().code()) {
      throw error(ReasonCode.QOS_NOT_SUPPORTED, null, "PUBLISH with " + aboveMaximum(qos, limits)); // [MQTT-3.2.2-11]
    }
    if (retain && !limits.features().retain()) {
      throw error(ReasonCode.RETAIN_NOT_SUPPORTED, null, "PUBLISH with " + RETAIN_OFF); // [MQTT-3.2.2-14]
    }
  }

  static String aboveMaximum(int qos, DecoderLimits limits) {
    return "QoS " + qos + ", maximum " + limits.features().maximumQoS().code() + " (dunlin.mqtt.maximum-qos)";
  }

  private MalformedPacketException wrongFlags(int first) {
    return malformed("flags " + (first & 0x0F) + " in the fixed header of type " + (first >> 4)); // [MQTT-2.1.3-1]
  }

  private void checkSize(int type, int remaining, int size) {
    int max = version == null || onlyAuthentication ? limits.packets().connectPacketMax() : limits.packets().packetMax();
    if (size > max) {
      Limit limit = version == null || onlyAuthentication ? Limit.CONNECT_PACKET : Limit.PACKET;
      throw error(ReasonCode.PACKET_TOO_LARGE, limit, limit.exceededBy("packet has " + size + " bytes", max));
    }
    if (version == null) return;
    boolean fits =
        switch (type) {
          case PINGREQ -> remaining == 0;
          case PUBACK, PUBREC, PUBREL, PUBCOMP -> version.hasProperties() ? remaining >= 2 : remaining == 2;
          case DISCONNECT -> version.hasProperties() || remaining == 0;
          default -> true;
        };
    if (!fits) throw malformed("packet of type " + type + " with remaining length " + remaining);
  }

  /** Checks the length of the topic name before the rest of the packet is buffered. */
  private void checkTopicLength(ByteBuf in, int at, int there, int remaining) {
    int max = limits.packets().topicLengthMax();
    if (remaining <= 2 + max) return;
    if (there < 2) {
      needed -= remaining - 2;
      return;
    }
    int length = in.getUnsignedShort(at);
    if (length > max) {
      String what = "topic name has " + length + " bytes";
      throw error(ReasonCode.TOPIC_NAME_INVALID, Limit.TOPIC_LENGTH, Limit.TOPIC_LENGTH.exceededBy(what, max));
    }
  }

  private void handOver(ByteBuf in, int first, int from, int to, PacketHandler handler) {
    ProtocolVersion known = version;
    if (known == null) {
      Packet.Connect packet = ConnectReader.read(reader(in, from, to));
      // By section 3.1 of MQTT 3.1, CONNECT does not use DUP, QoS and RETAIN; later versions reserve these bits.
      if ((first & 0x0F) != 0 && packet.version() != ProtocolVersion.MQTT_3_1) throw wrongFlags(first);
      version = packet.version();
      in.readerIndex(to);
      handler.onConnect(packet);
      return;
    }
    switch (first >> 4) {
      case PUBLISH -> publish(in, first, from, to, known, handler);
      case PUBACK, PUBREC, PUBREL, PUBCOMP -> acknowledge(in, first >> 4, from, to, handler);
      case SUBSCRIBE -> {
        Packet.Subscribe packet = ClientPackets.readSubscribe(reader(in, from, to), known);
        in.readerIndex(to);
        handler.onSubscribe(packet);
      }
      case UNSUBSCRIBE -> {
        Packet.Unsubscribe packet = ClientPackets.readUnsubscribe(reader(in, from, to), known);
        in.readerIndex(to);
        handler.onUnsubscribe(packet);
      }
      case PINGREQ -> {
        in.readerIndex(to);
        handler.onPingreq();
      }
      case DISCONNECT -> {
        Packet.Disconnect packet = ClientPackets.readDisconnect(reader(in, from, to));
        in.readerIndex(to);
        handler.onDisconnect(packet);
      }
      case AUTH -> {
        Packet.Auth packet = ClientPackets.readAuth(reader(in, from, to));
        in.readerIndex(to);
        handler.onAuth(packet);
      }
      default -> throw new IllegalStateException("checked, but not read: type " + (first >> 4));
    }
  }

  private void publish(ByteBuf in, int first, int from, int to, ProtocolVersion known, PacketHandler handler) {
    InboundPublish packet = publish;
    if (packet == null) {
      packet = new InboundPublish(limits);
      publish = packet;
    }
    try {
      packet.read(in, first, from, to, known);
      in.readerIndex(to);
      handler.onPublish(packet);
    } finally {
      packet.end();
    }
  }

  private void acknowledge(ByteBuf in, int type, int from, int to, PacketHandler handler) {
    int packetId = in.getUnsignedShort(from);
    if (packetId == 0) throw protocolError("packet identifier 0");
    // Most packets end here; in MQTT 5, a reason code and properties may follow.
    ReasonCode reason =
        to - from == 2 ? ReasonCode.SUCCESS : ClientPackets.readReason(reader(in, from + 2, to), type < PUBREL);
    in.readerIndex(to);
    switch (type) {
      case PUBACK -> handler.onPuback(packetId, reason);
      case PUBREC -> handler.onPubrec(packetId, reason);
      case PUBREL -> handler.onPubrel(packetId, reason);
      default -> handler.onPubcomp(packetId, reason);
    }
  }

  private PacketReader reader(ByteBuf in, int from, int to) {
    var reader = new PacketReader(limits);
    reader.reset(in, from, to, version);
    return reader;
  }

  private MalformedPacketException malformed(String message) {
    return error(ReasonCode.MALFORMED_PACKET, null, message);
  }

  private MalformedPacketException protocolError(String message) {
    return error(ReasonCode.PROTOCOL_ERROR, null, message);
  }

  private MalformedPacketException error(ReasonCode reason, @Nullable Limit limit, String message) {
    return new MalformedPacketException(reason, version, limit, message);
  }
}

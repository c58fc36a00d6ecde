package dunlin;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A client that is a plain socket: sends the bytes it is told, right or wrong, and cuts what comes into packets. */
final class RawClient implements AutoCloseable {
  static final int CONNECT = 0x10;
  static final int CONNACK = 0x20;
  static final int PUBLISH = 0x30;
  static final int PUBACK = 0x40;
  static final int PUBREC = 0x50;
  static final int PUBREL = 0x62;
  static final int PUBCOMP = 0x70;
  static final int SUBSCRIBE = 0x82;
  static final int SUBACK = 0x90;
  static final int UNSUBSCRIBE = 0xA2;
  static final int UNSUBACK = 0xB0;
  static final int PINGREQ = 0xC0;
  static final int PINGRESP = 0xD0;
  static final int DISCONNECT = 0xE0;
  static final byte[] NO_PROPERTIES = {0};

  static final int PAYLOAD_FORMAT = 0x01;
  static final int MESSAGE_EXPIRY = 0x02;
  static final int CONTENT_TYPE = 0x03;
  static final int RESPONSE_TOPIC = 0x08;
  static final int CORRELATION_DATA = 0x09;
  static final int SUBSCRIPTION_IDENTIFIER = 0x0B;
  static final int TOPIC_ALIAS = 0x23;
  static final int USER_PROPERTY = 0x26;

  private static final int PATIENCE_MILLIS = 20_000;

  private final Socket socket;
  private final DataInputStream in;
  private int level = 5;
  private @Nullable Packet peeked;

  /** A packet as it came. */
  record Packet(int first, byte[] body) {
    int type() {
      return first >> 4;
    }

    int at(int index) {
      return body[index] & 0xFF;
    }

    /** The packet identifier of an acknowledgement. */
    int packetId() {
      return at(0) << 8 | at(1);
    }

    /** The reason code of an acknowledgement or a DISCONNECT of MQTT 5. */
    int reason() {
      int index = type() == DISCONNECT >> 4 ? 0 : 2;
      return body.length > index ? at(index) : 0;
    }

    @Override
    public String toString() {
      return "packet 0x%02X %s".formatted(first, Arrays.toString(body));
    }
  }

  /** A PUBLISH that came; properties are as on the wire, without their length. */
  record Message(int first, String topic, int packetId, byte[] properties, byte[] payload) {
    int qos() {
      return first >> 1 & 3;
    }

    boolean retain() {
      return (first & 1) != 0;
    }

    boolean duplicate() {
      return (first & 8) != 0;
    }

    String text() {
      return new String(payload, StandardCharsets.UTF_8);
    }

    /** The properties of MQTT 5 one by one, in their order. */
    List<Property> propertyList() {
      List<Property> list = new ArrayList<>();
      ByteBuffer rest = ByteBuffer.wrap(properties);
      while (rest.hasRemaining()) {
        int id = rest.get();
        list.add(
            switch (id) {
              case PAYLOAD_FORMAT -> new Property(id, rest.get(), "");
              case TOPIC_ALIAS -> new Property(id, rest.getShort() & 0xFFFF, "");
              case MESSAGE_EXPIRY -> new Property(id, rest.getInt(), "");
              case CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION_DATA -> new Property(id, 0, text(rest));
              case SUBSCRIPTION_IDENTIFIER -> new Property(id, varint(rest), "");
              case USER_PROPERTY -> new Property(id, 0, text(rest) + '=' + text(rest));
              default -> throw new AssertionError("property " + id + " in a PUBLISH of a server");
            });
      }
      return list;
    }

    /** The numbers that come as values of a property. */
    List<Long> numbers(int id) {
      return propertyList().stream().filter(each -> each.id() == id).map(Property::number).toList();
    }

    /** The texts that come as values of a property. */
    List<String> texts(int id) {
      return propertyList().stream().filter(each -> each.id() == id).map(Property::text).toList();
    }

    private static int varint(ByteBuffer rest) {
      int value = 0;
      for (int shift = 0; ; shift += 7) {
        int b = rest.get();
        value |= (b & 0x7F) << shift;
        if (b >= 0) return value;
      }
    }

    private static String text(ByteBuffer rest) {
      byte[] bytes = new byte[rest.getShort() & 0xFFFF];
      rest.get(bytes);
      return new String(bytes, StandardCharsets.UTF_8);
    }
  }

  /** A property of a PUBLISH: one with a number, or one with a text; a user property's text is {@code name=value}. */
  record Property(int id, long number, String text) {}

  RawClient(int port) {
    this(port, 0);
  }

  /**
   * @param receiveBuffer bytes that the operating system takes for a client that does not read; 0 for its default
   */
  RawClient(int port, int receiveBuffer) {
    try {
      socket = new Socket();
      if (receiveBuffer > 0) socket.setReceiveBufferSize(receiveBuffer);
      socket.setTcpNoDelay(true);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      socket.setSoTimeout(PATIENCE_MILLIS);
      in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Over a connection that is there already, such as one of TLS. */
  RawClient(Socket connected) {
    try {
      socket = connected;
      socket.setSoTimeout(PATIENCE_MILLIS);
      in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Connects with MQTT 5, a clean start and no keep alive, and takes the CONNACK. */
  static RawClient connected(TestBroker broker, String clientId, byte[]... properties) {
    RawClient client = new RawClient(broker.port());
    client.connect(connect(5, true, 0, clientId, properties(properties)));
    return client;
  }

  /** Connects with MQTT 3.1.1, a clean session and no keep alive, and takes the CONNACK. */
  static RawClient connected3(TestBroker broker, String clientId) {
    RawClient client = new RawClient(broker.port());
    client.connect(connect(4, true, 0, clientId, NO_PROPERTIES));
    return client;
  }

  /** Sends a CONNECT and answers the CONNACK, which must be a success. */
  Packet connect(byte[] packet) {
    level = packet[packet[2 + 1] == 4 ? 8 : 10];
    send(packet);
    Packet connack = expect(CONNACK);
    if (connack.at(1) != 0) throw new AssertionError("refused: " + connack);
    return connack;
  }

  // ------------------------------------------------------------------------------------------------------------ what is sent

  /** A CONNECT without user name, password and will. */
  static byte[] connect(int level, boolean clean, int keepAlive, String clientId, byte[] properties) {
    return connect(level, clean ? 2 : 0, keepAlive, properties, clientId);
  }

  /** A CONNECT with flags and the parts of its payload. */
  static byte[] connect(int level, int flags, int keepAlive, byte[] properties, Object... payload) {
    byte[] all = bytes(payload);
    return level == 5
        ? packet(CONNECT, "MQTT", level, flags, u16(keepAlive), properties, all)
        : packet(CONNECT, level == 3 ? "MQIsdp" : "MQTT", level, flags, u16(keepAlive), all);
  }

  void send(byte[] bytes) {
    try {
      socket.getOutputStream().write(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  void send(int first, Object... parts) {
    send(packet(first, parts));
  }

  /** Publishes without properties. */
  void publish(String topic, int qos, int packetId, String payload) {
    send(publishing(level, topic, qos, packetId, payload));
  }

  static byte[] publishing(int level, String topic, int qos, int packetId, String payload) {
    return packet(
        PUBLISH | qos << 1,
        topic,
        qos == 0 ? new byte[0] : u16(packetId),
        level == 5 ? NO_PROPERTIES : new byte[0],
        payload.getBytes(StandardCharsets.UTF_8));
  }

  /** Subscribes one filter and takes the SUBACK, which must grant it. */
  void subscribe(String filter, int options, byte[]... properties) {
    send(SUBSCRIBE, u16(1), level == 5 ? properties(properties) : new byte[0], filter, options);
    Packet suback = expect(SUBACK);
    int reason = suback.at(suback.body().length - 1);
    if (reason > 2) throw new AssertionError("subscription refused: " + suback);
  }

  /** A packet with its right remaining length; a part is a byte as an int, a text with its length, or raw bytes. */
  static byte[] packet(int first, Object... parts) {
    byte[] body = bytes(parts);
    return bytes(first, varint(body.length), body);
  }

  static byte[] bytes(Object... parts) {
    var out = new ByteArrayOutputStream();
    for (Object part : parts) {
      switch (part) {
        case Integer b -> out.write(b);
        case String text -> {
          byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
          out.writeBytes(u16(utf8.length));
          out.writeBytes(utf8);
        }
        case byte[] raw -> out.writeBytes(raw);
        default -> throw new IllegalArgumentException("part " + part);
      }
    }
    return out.toByteArray();
  }

  /** Properties behind their length. */
  static byte[] properties(byte[]... all) {
    byte[] block = bytes((Object[]) all);
    return bytes(varint(block.length), block);
  }

  static byte[] u16(int value) {
    return new byte[] {(byte) (value >> 8), (byte) value};
  }

  static byte[] u32(long value) {
    return new byte[] {(byte) (value >> 24), (byte) (value >> 16), (byte) (value >> 8), (byte) value};
  }

  static byte[] varint(int value) {
    var out = new ByteArrayOutputStream();
    int rest = value;
    for (; rest >= 0x80; rest >>>= 7) out.write((rest & 0x7F) | 0x80);
    out.write(rest);
    return out.toByteArray();
  }

  static byte[] sessionExpiry(long seconds) {
    return bytes(0x11, u32(seconds));
  }

  static byte[] receiveMaximum(int messages) {
    return bytes(0x21, u16(messages));
  }

  static byte[] maximumPacketSize(int size) {
    return bytes(0x27, u32(size));
  }

  static byte[] topicAlias(int alias) {
    return bytes(0x23, u16(alias));
  }

  static byte[] subscriptionIdentifier(int identifier) {
    return bytes(0x0B, varint(identifier));
  }

  // ------------------------------------------------------------------------------------------------------------ what comes

  /** The next packet; fails when the connection ends instead, or nothing comes. */
  Packet read() {
    Packet looked = peeked;
    if (looked != null) {
      peeked = null;
      return looked;
    }
    try {
      int first = in.readUnsignedByte();
      int length = 0;
      for (int shift = 0; ; shift += 7) {
        int b = in.readUnsignedByte();
        length |= (b & 0x7F) << shift;
        if (b < 0x80) break;
      }
      return new Packet(first, in.readNBytes(length));
    } catch (EOFException e) {
      throw new AssertionError("the connection ended", e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The next packet, which must be of this type. */
  Packet expect(int first) {
    Packet packet = read();
    if (packet.type() != first >> 4) throw new AssertionError("expected type " + (first >> 4) + ", got " + packet);
    return packet;
  }

  /** The next packet, which must be a PUBLISH. */
  Message message() {
    return message(expect(PUBLISH));
  }

  private Message message(Packet packet) {
    byte[] body = packet.body();
    int topicEnd = 2 + packet.packetId();
    int at = topicEnd;
    boolean identified = (packet.first() & 6) != 0;
    int packetId = identified ? packet.at(at) << 8 | packet.at(at + 1) : 0;
    if (identified) at += 2;
    int length = 0;
    if (level == 5) {
      for (int shift = 0; ; shift += 7) {
        int b = packet.at(at++);
        length |= (b & 0x7F) << shift;
        if (b < 0x80) break;
      }
    }
    return new Message(
        packet.first(),
        new String(body, 2, topicEnd - 2, StandardCharsets.UTF_8),
        packetId,
        Arrays.copyOfRange(body, at, at + length),
        Arrays.copyOfRange(body, at + length, body.length));
  }

  /** The next message, with all handshakes of both directions done as a good client does them. */
  Message take() {
    if (!nextIsMessage()) throw new AssertionError("unexpected " + peeked);
    Message message = message();
    if (message.qos() > 0) send(message.qos() == 1 ? PUBACK : PUBREC, u16(message.packetId()));
    return message;
  }

  private boolean handshake(Packet packet) {
    switch (packet.type()) {
      case PUBREC >> 4 -> send(PUBREL, u16(packet.packetId()));
      case PUBREL >> 4 -> send(PUBCOMP, u16(packet.packetId()));
      case PUBACK >> 4, PUBCOMP >> 4, PINGRESP >> 4 -> {}
      default -> {
        return false;
      }
    }
    return true;
  }

  /**
   * Does what handshakes are due until something else comes; answers whether that is a message, which stays to be taken.
   */
  boolean nextIsMessage() {
    while (true) {
      if (peeked == null) peeked = read();
      Packet packet = peeked;
      if (packet.type() == PUBLISH >> 4) return true;
      if (!handshake(packet)) return false;
      peeked = null;
    }
  }

  /** Takes messages until one has this payload; answers them without that one. */
  List<Message> before(String payload) {
    List<Message> messages = new ArrayList<>();
    while (true) {
      Message message = take();
      if (message.text().equals(payload)) return messages;
      messages.add(message);
    }
  }

  /** The next packet must be DISCONNECT with this reason, and then the connection must end. */
  void expectDisconnect(int reason) {
    Packet packet = expect(DISCONNECT);
    if (packet.reason() != reason) throw new AssertionError("expected reason 0x%02X, got %s".formatted(reason, packet));
    expectClosed();
  }

  /** The connection must end without another packet. */
  void expectClosed() {
    try {
      int first = in.read();
      if (first >= 0) throw new AssertionError("expected the end, got a packet 0x%02X".formatted(first));
    } catch (SocketTimeoutException e) {
      throw new AssertionError("the connection is still open", e);
    } catch (SocketException _) {
      // Reset: closed while something that we sent was still unread.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Asks for a sign of life; what has come before must be taken first. */
  void ping() {
    send(PINGREQ);
    expect(PINGRESP);
  }

  /** Whether the connection has ended, without waiting for that; only while no packet is expected. */
  boolean ended() {
    try {
      socket.setSoTimeout(1);
      return in.read() < 0;
    } catch (SocketTimeoutException _) {
      return false;
    } catch (IOException _) {
      return true;
    }
  }

  /** Sends a byte, also when the connection may have ended. */
  void sendLeniently(int b) {
    try {
      socket.getOutputStream().write(b);
    } catch (IOException _) {
      // Then reading shows the end.
    }
  }

  /** Whether bytes are there to be read, without waiting for any. */
  boolean hasInput() {
    try {
      return in.available() > 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Ends the connection without a DISCONNECT. */
  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Ends the connection as a crash of the machine's network does not: with a reset. */
  void reset() {
    try {
      socket.setSoLinger(true, 0);
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

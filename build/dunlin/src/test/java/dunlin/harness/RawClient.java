package dunlin.harness;

import dunlin.harness.ServerRules.Property;
import dunlin.TestBroker;
import java.io.BufferedInputStream;
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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A client on a plain socket: it sends any bytes, right or wrong, does nothing by itself, and splits the input into
 * packets. {@link ServerRules} checks each of them.
 *
 * <p>The class is long: it has a method for each step of a conversation, so that tests read like one.
 */
public final class RawClient extends PacketBytes implements AutoCloseable {
  private static final int PATIENCE_MILLIS = 60_000;

  private final Socket socket;
  private final DataInputStream in;
  private final ServerRules rules = new ServerRules();

  /** Packets that were read ahead. */
  private final ArrayDeque<Packet> early = new ArrayDeque<>();

  private int lastPacketId;
  private boolean sessionPresent;

  /** A received packet; the server was asked for this version. */
  public record Packet(int level, int first, byte[] body) {
    /** One of the constants above. */
    public int type() {
      return first >> 4 == PUBLISH >> 4 ? PUBLISH : first;
    }

    public int at(int index) {
      return body[index] & 0xFF;
    }

    /** The packet identifier, 0 for a packet without one. */
    public int packetId() {
      return switch (type()) {
        case PUBLISH -> message().packetId();
        case CONNACK, PINGRESP, DISCONNECT, AUTH -> 0;
        default -> at(0) << 8 | at(1);
      };
    }

    /** The reason code of an acknowledgement, AUTH or DISCONNECT; the last one of a SUBACK or UNSUBACK; 0 when omitted. */
    public int reason() {
      int index =
          switch (type()) {
            case DISCONNECT, AUTH -> 0;
            case CONNACK -> 1;
            case SUBACK, UNSUBACK -> body.length - 1;
            default -> 2;
          };
      return body.length > index ? at(index) : 0;
    }

    public boolean sessionPresent() {
      return type() == CONNACK && at(0) == 1;
    }

    /** The fields of a PUBLISH. */
    public Message message() {
      if (type() != PUBLISH) throw new AssertionError("expected a PUBLISH, got " + this);
      ByteBuffer rest = ByteBuffer.wrap(body);
      String topic = Message.text(rest);
      int packetId = (first & 6) != 0 ? rest.getShort() & 0xFFFF : 0;
      byte[] properties = new byte[level == 5 ? Message.varint(rest) : 0];
      rest.get(properties);
      byte[] payload = new byte[rest.remaining()];
      rest.get(payload);
      return new Message(first, topic, packetId, properties, payload);
    }

    public boolean duplicate() {
      return message().duplicate();
    }

    public boolean retain() {
      return message().retain();
    }

    public int qos() {
      return message().qos();
    }

    public String topic() {
      return message().topic();
    }

    /** The payload of a PUBLISH. */
    public String text() {
      return message().text();
    }

    /** The properties one by one, in their order; none in MQTT 3. */
    public List<Property> properties() {
      if (level < 5) return List.of();
      if (type() == PUBLISH) return message().propertyList();
      int index =
          switch (type()) {
            case DISCONNECT, AUTH -> 1;
            case CONNACK, SUBACK, UNSUBACK -> 2;
            default -> 3;
          };
      if (body.length <= index) return List.of();
      ByteBuffer rest = ByteBuffer.wrap(body).position(index);
      int length = Message.varint(rest);
      return ServerRules.list(rest.slice(rest.position(), length));
    }

    /** The reason string of MQTT 5, or empty. */
    public String reasonString() {
      return properties().stream().filter(each -> each.id() == 0x1F).map(Property::text).findFirst().orElse("");
    }

    @Override
    public String toString() {
      return "packet 0x%02X %s".formatted(first, Arrays.toString(body));
    }
  }

  /** A received PUBLISH; properties are as on the wire, without their length. */
  public record Message(int first, String topic, int packetId, byte[] properties, byte[] payload) {
    public int qos() {
      return first >> 1 & 3;
    }

    public boolean retain() {
      return (first & 1) != 0;
    }

    public boolean duplicate() {
      return (first & 8) != 0;
    }

    public String text() {
      return new String(payload, StandardCharsets.UTF_8);
    }

    /** The properties of MQTT 5 one by one, in their order. */
    public List<Property> propertyList() {
      return ServerRules.list(ByteBuffer.wrap(properties));
    }

    /** The numeric values of a property. */
    public List<Long> numbers(int id) {
      return propertyList().stream().filter(each -> each.id() == id).map(Property::number).toList();
    }

    /** The text values of a property. */
    public List<String> texts(int id) {
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

    @Override
    public String toString() {
      return "%s #%d QoS %d%s%s: %s"
          .formatted(topic, packetId, qos(), duplicate() ? " DUP" : "", retain() ? " RETAIN" : "", text());
    }
  }

  /**
   * The fields of a CONNECT of MQTT 5 without keep alive.
   *
   * @param receiveMaximum 0 to omit it
   */
  public record Connect(String clientId, boolean cleanStart, long expirySeconds, int receiveMaximum, @Nullable Will will) {
    public static Connect of(String clientId) {
      return new Connect(clientId, false, 3_600, 0, null);
    }

    public Connect clean() {
      return new Connect(clientId, true, expirySeconds, receiveMaximum, will);
    }

    public Connect expiry(long seconds) {
      return new Connect(clientId, cleanStart, seconds, receiveMaximum, will);
    }

    public Connect receiveMaximum(int messages) {
      return new Connect(clientId, cleanStart, expirySeconds, messages, will);
    }

    public Connect will(String topic, String payload, int qos, long delaySeconds) {
      return new Connect(clientId, cleanStart, expirySeconds, receiveMaximum, new Will(topic, payload, qos, delaySeconds));
    }

    public byte[] packet() {
      int flags = (cleanStart ? 2 : 0) | (will == null ? 0 : 4 | will.qos << 3);
      byte[] properties =
          properties(
              expirySeconds == 0 ? new byte[0] : sessionExpiry(expirySeconds),
              receiveMaximum == 0 ? new byte[0] : RawClient.receiveMaximum(receiveMaximum));
      if (will == null) return connect(5, flags, 0, properties, clientId);
      byte[] delay = properties(will.delaySeconds == 0 ? new byte[0] : willDelay(will.delaySeconds));
      return connect(5, flags, 0, properties, clientId, delay, will.topic, will.payload);
    }
  }

  public record Will(String topic, String payload, int qos, long delaySeconds) {}

  /** The connection ended where a packet was expected. */
  public static final class EndedError extends AssertionError {
    private static final long serialVersionUID = 1L;

    public EndedError(IOException cause) {
      super("the connection ended", cause);
    }
  }

  public RawClient(int port) {
    this(port, 0);
  }

  /**
   * @param receiveBuffer the size of the socket's receive buffer; 0 for the default
   */
  public RawClient(int port, int receiveBuffer) {
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

  /** Uses an existing connection, such as one with TLS. */
  public RawClient(Socket connected) {
    try {
      socket = connected;
      socket.setSoTimeout(PATIENCE_MILLIS);
      in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Connects with MQTT 5, a clean start and no keep alive, and takes the CONNACK. */
  public static RawClient connected(TestBroker broker, String clientId, byte[]... properties) {
    return connected(broker.port(), connect(5, true, 0, clientId, properties(properties)));
  }

  /** Connects with MQTT 3.1.1, a clean session and no keep alive, and takes the CONNACK. */
  public static RawClient connected3(TestBroker broker, String clientId) {
    return connected(broker.port(), connect(4, true, 0, clientId, noProperties()));
  }

  public static RawClient connected(int port, Connect connect) {
    return connected(port, connect.packet());
  }

  public static RawClient connected(int port, byte[] connect) {
    RawClient client = new RawClient(port);
    client.connect(connect);
    return client;
  }

  public void connect(Connect connect) {
    connect(connect.packet());
  }

  /** Sends a CONNECT and answers the CONNACK, which must be a success. */
  public Packet connect(byte[] packet) {
    Packet connack = tryConnect(packet);
    if (connack.reason() != 0) throw new AssertionError("refused: " + connack);
    return connack;
  }

  /** Sends a CONNECT and answers the CONNACK. */
  Packet tryConnect(byte[] packet) {
    send(packet);
    Packet connack = expect(CONNACK);
    sessionPresent = connack.sessionPresent();
    return connack;
  }

  /** The protocol level of its CONNECT. */
  public int connectedWith() {
    return rules.level();
  }

  /** Whether CONNACK had Session Present. */
  public boolean sessionPresent() {
    return sessionPresent;
  }

  // ------------------------------------------------------------------------------------------------------------ what is sent

  public void send(byte[] bytes) {
    rules.sent(bytes);
    try {
      socket.getOutputStream().write(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sends a packet after bytes that are not MQTT, in pieces of this size. */
  public void sendBehind(byte[] front, byte[] packet, int piece) {
    rules.sent(packet);
    byte[] all = bytes(front, packet);
    try {
      for (int i = 0; i < all.length; i += Math.min(piece, all.length)) socket.getOutputStream().write(all, i, Math.min(piece, all.length - i));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public void send(int first, Object... parts) {
    send(packet(first, parts));
  }

  /** Publishes without properties. */
  public void publish(String topic, int qos, int packetId, String payload) {
    send(publishing(rules.level(), topic, qos, packetId, payload));
  }

  public void publish(String topic, String payload, int qos, int packetId, boolean duplicate) {
    publish(topic, payload, qos, packetId, duplicate, false);
  }

  public void publish(String topic, String payload, int qos, int packetId, boolean duplicate, boolean retain) {
    byte[] packet = publishing(rules.level(), topic, qos, packetId, payload);
    packet[0] |= (byte) ((duplicate ? 8 : 0) | (retain ? 1 : 0));
    send(packet);
  }

  /** Publishes with QoS 1 and waits for PUBACK, whose reason code it returns. */
  public int publishAndWait(String topic, String payload) {
    return publishAndWait(topic, payload, false);
  }

  public int publishAndWait(String topic, String payload, boolean retain) {
    int packetId = nextPacketId();
    publish(topic, payload, 1, packetId, false, retain);
    Packet puback = next(PUBACK);
    if (puback.packetId() != packetId) throw new AssertionError("acknowledges another one: " + puback);
    return puback.reason();
  }

  private int nextPacketId() {
    lastPacketId = lastPacketId % 65_535 + 1;
    return lastPacketId;
  }

  public void puback(int packetId) {
    send(PUBACK, u16(packetId));
  }

  public void pubrec(int packetId) {
    send(PUBREC, u16(packetId));
  }

  public void pubrel(int packetId) {
    send(PUBREL, u16(packetId));
  }

  public void pubcomp(int packetId) {
    send(PUBCOMP, u16(packetId));
  }

  /** Disconnects, and waits for the connection's end. */
  public void disconnect() {
    send(DISCONNECT);
    awaitClosed();
  }

  public void disconnect(long expirySeconds) {
    sendDisconnect(expirySeconds);
    awaitClosed();
  }

  public void sendDisconnect(long expirySeconds) {
    send(DISCONNECT, 0, properties(sessionExpiry(expirySeconds)));
  }

  public void disconnectAfter(Consumer<RawClient> action) {
    action.accept(this);
    disconnect();
  }

  /** Subscribes to one filter and waits for the SUBACK, which must grant it. */
  public void subscribe(String filter, int options, byte[]... properties) {
    int packetId = nextPacketId();
    send(SUBSCRIBE, u16(packetId), rules.level() == 5 ? properties(properties) : new byte[0], filter, options);
    Packet suback = next(SUBACK);
    if (suback.packetId() != packetId || suback.reason() != (options & 3)) throw new AssertionError("not granted: " + suback);
  }

  // ------------------------------------------------------------------------------------------------------------ what comes

  /** The next packet; fails when the connection ends instead, or nothing comes. */
  public Packet read() {
    try {
      return early.isEmpty() ? receive() : early.remove();
    } catch (EOFException | SocketException e) {
      throw new EndedError(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Packet receive() throws IOException {
    int first = in.readUnsignedByte();
    int length = 0;
    int bytes = 0;
    int b;
    do {
      b = in.readUnsignedByte();
      length |= (b & 0x7F) << (7 * bytes++);
    } while (b >= 0x80 && bytes < 4);
    byte[] body = new byte[length];
    in.readFully(body);
    rules.received(first, bytes, body);
    return new Packet(rules.level(), first, body);
  }

  private Packet peek() {
    if (early.isEmpty()) early.add(read());
    return early.element();
  }

  /** The next packet, which must be of this type. */
  public Packet expect(int type) {
    Packet packet = read();
    if (packet.type() != type) throw new AssertionError("expected type 0x%02X, got %s".formatted(type, packet));
    return packet;
  }

  /** The next packet of this type; earlier ones of other types are kept for later. */
  public Packet next(int type) {
    List<Packet> others = new ArrayList<>();
    Packet packet = read();
    while (packet.type() != type) {
      if (packet.type() == DISCONNECT) throw new AssertionError("waited for type 0x%02X, got %s".formatted(type, packet));
      others.add(packet);
      packet = read();
    }
    others.reversed().forEach(early::addFirst);
    return packet;
  }

  /** The next packets, this many, all of this type. */
  public List<Packet> next(int count, int type) {
    List<Packet> packets = new ArrayList<>(count);
    for (int i = 0; i < count; i++) packets.add(expect(type));
    return packets;
  }

  /** The next packet, which must be a PUBLISH. */
  public Message message() {
    return expect(PUBLISH).message();
  }

  /** The next message; acknowledges it, and answers all acknowledgements before it, as a correct client does. */
  public Message take() {
    if (!nextIsMessage()) throw new AssertionError("unexpected " + peek());
    Message message = message();
    if (message.qos() > 0) send(message.qos() == 1 ? PUBACK : PUBREC, u16(message.packetId()));
    return message;
  }

  /** Answers acknowledgements until another packet comes; returns whether that is a message, which can then be taken. */
  public boolean nextIsMessage() {
    while (true) {
      Packet packet = peek();
      switch (packet.type()) {
        case PUBLISH -> {
          return true;
        }
        case PUBREC -> send(PUBREL, u16(packet.packetId()));
        case PUBREL -> send(PUBCOMP, u16(packet.packetId()));
        case PUBACK, PUBCOMP, PINGRESP -> {}
        default -> {
          return false;
        }
      }
      early.remove();
    }
  }

  /** Takes messages until one has this payload; returns those before it. */
  public List<Message> before(String payload) {
    List<Message> messages = new ArrayList<>();
    while (true) {
      Message message = take();
      if (message.text().equals(payload)) return messages;
      messages.add(message);
    }
  }

  /** Sends PINGREQ and returns what comes before PINGRESP. */
  public List<Packet> untilPong() {
    send(PINGREQ);
    List<Packet> before = new ArrayList<>();
    for (Packet packet = read(); packet.type() != PINGRESP; packet = read()) before.add(packet);
    return before;
  }

  /** Reads until the server closes the connection, and returns what came before. */
  public List<Packet> awaitClosed() {
    List<Packet> packets = new ArrayList<>(early);
    early.clear();
    try {
      while (true) packets.add(receive());
    } catch (EOFException | SocketException closed) {
      return packets;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      close();
    }
  }

  /** The next packet must be DISCONNECT with this reason, and then the connection must end. */
  public void expectDisconnect(int reason) {
    Packet packet = expect(DISCONNECT);
    if (packet.reason() != reason) throw new AssertionError("expected reason 0x%02X, got %s".formatted(reason, packet));
    expectClosed();
  }

  /** The connection must end without another packet. */
  public void expectClosed() {
    if (!early.isEmpty()) throw new AssertionError("expected the end, got " + peek());
    try {
      int first = in.read();
      if (first >= 0) throw new AssertionError("expected the end, got a packet 0x%02X".formatted(first));
    } catch (SocketTimeoutException e) {
      throw new AssertionError("the connection is still open", e);
    } catch (SocketException _) {
      // Reset: closed while bytes of ours were unread.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sends PINGREQ and expects PINGRESP; earlier packets must be taken first. */
  public void ping() {
    send(PINGREQ);
    expect(PINGRESP);
  }

  /** Whether the connection has ended, without waiting; only while no packet is expected. */
  public boolean ended() {
    try {
      socket.setSoTimeout(1);
      return in.read() < 0;
    } catch (SocketTimeoutException _) {
      return false;
    } catch (IOException _) {
      return true;
    }
  }

  /** Sends bytes, also when the connection may have ended. */
  public void sendLeniently(byte... bytes) {
    try {
      socket.getOutputStream().write(bytes);
    } catch (IOException _) {
      // The next read shows the end.
    }
  }

  /** Whether bytes can be read without waiting. */
  public boolean hasInput() {
    try {
      return in.available() > 0;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Closes the sending side, and continues to read. */
  public void halfClose() {
    try {
      socket.shutdownOutput();
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

  /** Ends the connection with a reset. */
  public void reset() {
    try {
      socket.setSoLinger(true, 0);
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

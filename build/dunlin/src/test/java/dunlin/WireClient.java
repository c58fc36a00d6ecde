package dunlin;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A client of MQTT 5 over a plain socket that does nothing by itself: no acknowledgement, no resending. For conversations that
 * must be exact to the packet.
 */
final class WireClient implements AutoCloseable {
  static final int CONNACK = 2;
  static final int PUBLISH = 3;
  static final int PUBACK = 4;
  static final int PUBREC = 5;
  static final int PUBREL = 6;
  static final int PUBCOMP = 7;
  static final int SUBACK = 9;
  static final int PINGRESP = 13;
  static final int DISCONNECT = 14;

  private static final int TIMEOUT_MILLIS = 20_000;

  private final Socket socket;
  private final DataInputStream in;
  private final DataOutputStream out;
  private final ArrayDeque<Packet> early = new ArrayDeque<>();
  private int lastPacketId;
  private @Nullable Packet connack;

  /** A packet from the server; what it does not have is 0, -1 or empty. */
  record Packet(
      int type, boolean duplicate, int qos, boolean retain, int packetId, int reason, String topic, String payload) {
    boolean sessionPresent() {
      return type == CONNACK && packetId == 1;
    }
  }

  /**
   * What CONNECT says.
   *
   * @param receiveMaximum 0 to say nothing
   */
  record Connect(String clientId, boolean cleanStart, long expirySeconds, int receiveMaximum, @Nullable Will will) {
    static Connect of(String clientId) {
      return new Connect(clientId, false, 3_600, 0, null);
    }

    Connect clean() {
      return new Connect(clientId, true, expirySeconds, receiveMaximum, will);
    }

    Connect expiry(long seconds) {
      return new Connect(clientId, cleanStart, seconds, receiveMaximum, will);
    }

    Connect receiveMaximum(int messages) {
      return new Connect(clientId, cleanStart, expirySeconds, messages, will);
    }

    Connect will(String topic, String payload, int qos, long delaySeconds) {
      return new Connect(clientId, cleanStart, expirySeconds, receiveMaximum, new Will(topic, payload, qos, delaySeconds));
    }
  }

  record Will(String topic, String payload, int qos, long delaySeconds) {}

  WireClient(int port) {
    try {
      socket = new Socket(InetAddress.getLoopbackAddress(), port);
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(TIMEOUT_MILLIS);
      in = new DataInputStream(socket.getInputStream());
      out = new DataOutputStream(socket.getOutputStream());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Connects, which must succeed. */
  static WireClient connected(int port, Connect connect) {
    WireClient client = new WireClient(port);
    client.connect(connect);
    return client;
  }

  boolean sessionPresent() {
    return connack != null && connack.sessionPresent();
  }

  void connect(Connect connect) {
    sendConnect(connect);
    connack = next(CONNACK);
    if (connack.reason() != 0) throw new AssertionError("refused: " + connack);
  }

  void sendConnect(Connect connect) {
    Will will = connect.will();
    int flags = connect.cleanStart() ? 0x02 : 0;
    if (will != null) flags |= 0x04 | will.qos() << 3;
    Fields properties = new Fields();
    if (connect.expirySeconds() > 0) properties.octet(0x11).four(connect.expirySeconds());
    if (connect.receiveMaximum() > 0) properties.octet(0x21).two(connect.receiveMaximum());
    Fields body = new Fields().text("MQTT").octet(5).octet(flags).two(0).block(properties).text(connect.clientId());
    if (will != null) {
      Fields willProperties = new Fields();
      if (will.delaySeconds() > 0) willProperties.octet(0x18).four(will.delaySeconds());
      body.block(willProperties).text(will.topic()).text(will.payload());
    }
    send(0x10, body);
  }

  /** Subscribes and waits for SUBACK. */
  void subscribe(String filter, int qos) {
    int id = nextPacketId();
    send(0x82, new Fields().two(id).octet(0).text(filter).octet(qos));
    Packet suback = next(SUBACK);
    if (suback.packetId() != id || suback.reason() != qos) throw new AssertionError("not granted: " + suback);
  }

  void publish(String topic, String payload, int qos, int packetId, boolean duplicate) {
    publish(topic, payload, qos, packetId, duplicate, false);
  }

  void publish(String topic, String payload, int qos, int packetId, boolean duplicate, boolean retain) {
    Fields body = new Fields().text(topic);
    if (qos > 0) body.two(packetId);
    body.octet(0).raw(payload);
    send(0x30 | (duplicate ? 0x08 : 0) | qos << 1 | (retain ? 0x01 : 0), body);
  }

  /** Publishes with QoS 1 and waits for PUBACK, whose reason code it returns. */
  int publishAndWait(String topic, String payload) {
    return publishAndWait(topic, payload, false);
  }

  int publishAndWait(String topic, String payload, boolean retain) {
    int id = nextPacketId();
    publish(topic, payload, 1, id, false, retain);
    Packet puback = next(PUBACK);
    if (puback.packetId() != id) throw new AssertionError("acknowledges another one: " + puback);
    return puback.reason();
  }

  void puback(int packetId) {
    send(0x40, new Fields().two(packetId));
  }

  void pubrec(int packetId) {
    send(0x50, new Fields().two(packetId));
  }

  void pubrel(int packetId) {
    send(0x62, new Fields().two(packetId));
  }

  void pubcomp(int packetId) {
    send(0x70, new Fields().two(packetId));
  }

  /** Sends PINGREQ and returns what the server sends before PINGRESP. */
  List<Packet> untilPong() {
    send(0xC0, new Fields());
    List<Packet> before = new ArrayList<>();
    for (Packet packet = next(); packet.type() != PINGRESP; packet = next()) before.add(packet);
    return before;
  }

  void disconnect() {
    send(0xE0, new Fields());
    awaitClosed();
  }

  void disconnect(long expirySeconds) {
    sendDisconnect(expirySeconds);
    awaitClosed();
  }

  void sendDisconnect(long expirySeconds) {
    send(0xE0, new Fields().octet(0).block(new Fields().octet(0x11).four(expirySeconds)));
  }

  void disconnectAfter(Consumer<WireClient> action) {
    action.accept(this);
    disconnect();
  }

  private int nextPacketId() {
    lastPacketId = lastPacketId % 65_535 + 1;
    return lastPacketId;
  }

  /** The next packet of this type; others that come before it are kept for {@link #next()}. */
  Packet next(int type) {
    List<Packet> others = new ArrayList<>();
    Packet packet = next();
    while (packet.type() != type) {
      if (packet.type() == DISCONNECT) throw new AssertionError("waited for type " + type + ", got " + packet);
      others.add(packet);
      packet = next();
    }
    others.reversed().forEach(early::addFirst);
    return packet;
  }

  /** The next packet. */
  Packet next() {
    Packet kept = early.poll();
    if (kept != null) return kept;
    try {
      return read();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The next so many packets, of any type. */
  List<Packet> next(int count, int type) {
    List<Packet> packets = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      Packet packet = next();
      if (packet.type() != type) throw new AssertionError("waited for type " + type + ", got " + packet);
      packets.add(packet);
    }
    return packets;
  }

  /** Reads until the server closes; returns what came before. */
  List<Packet> awaitClosed() {
    List<Packet> packets = new ArrayList<>(early);
    early.clear();
    try {
      while (true) packets.add(read());
    } catch (EOFException | SocketException closed) {
      return packets;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      close();
    }
  }

  private Packet read() throws IOException {
    int first = in.readUnsignedByte();
    byte[] body = new byte[readLength()];
    in.readFully(body);
    int type = first >> 4;
    boolean duplicate = (first & 0x08) != 0;
    int qos = (first >> 1) & 0x03;
    boolean retain = (first & 0x01) != 0;
    int[] at = {0};
    return switch (type) {
      case CONNACK -> new Packet(type, false, -1, false, body[0], body[1] & 0xFF, "", "");
      case PUBLISH -> {
        int length = two(body, 0);
        String topic = new String(body, 2, length, StandardCharsets.UTF_8);
        at[0] = 2 + length;
        int packetId = 0;
        if (qos > 0) {
          packetId = two(body, at[0]);
          at[0] += 2;
        }
        int properties = variable(body, at);
        at[0] += properties;
        String payload = new String(body, at[0], body.length - at[0], StandardCharsets.UTF_8);
        yield new Packet(type, duplicate, qos, retain, packetId, -1, topic, payload);
      }
      case PUBACK, PUBREC, PUBREL, PUBCOMP ->
          new Packet(type, false, -1, false, two(body, 0), body.length > 2 ? body[2] & 0xFF : 0, "", "");
      case SUBACK -> new Packet(type, false, -1, false, two(body, 0), body[body.length - 1] & 0xFF, "", "");
      case DISCONNECT -> new Packet(type, false, -1, false, 0, body.length > 0 ? body[0] & 0xFF : 0, "", "");
      default -> new Packet(type, false, -1, false, 0, -1, "", "");
    };
  }

  private int readLength() throws IOException {
    int length = 0;
    for (int shift = 0; ; shift += 7) {
      int octet = in.readUnsignedByte();
      length |= (octet & 0x7F) << shift;
      if (octet < 0x80) return length;
    }
  }

  private static int variable(byte[] body, int[] at) {
    int value = 0;
    for (int shift = 0; ; shift += 7) {
      int octet = body[at[0]++] & 0xFF;
      value |= (octet & 0x7F) << shift;
      if (octet < 0x80) return value;
    }
  }

  private static int two(byte[] body, int at) {
    return (body[at] & 0xFF) << 8 | (body[at + 1] & 0xFF);
  }

  private void send(int first, Fields body) {
    try {
      ByteArrayOutputStream packet = new ByteArrayOutputStream();
      packet.write(first);
      body.writeWithLength(packet);
      out.write(packet.toByteArray());
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Drops the connection without DISCONNECT. */
  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static final class Fields {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    Fields octet(int value) {
      bytes.write(value);
      return this;
    }

    Fields two(int value) {
      return octet(value >> 8).octet(value);
    }

    Fields four(long value) {
      return two((int) (value >> 16)).two((int) value);
    }

    Fields raw(String text) {
      bytes.writeBytes(text.getBytes(StandardCharsets.UTF_8));
      return this;
    }

    Fields text(String text) {
      return two(text.getBytes(StandardCharsets.UTF_8).length).raw(text);
    }

    Fields block(Fields other) {
      other.writeWithLength(bytes);
      return this;
    }

    void writeWithLength(ByteArrayOutputStream target) {
      int left = bytes.size();
      do {
        int octet = left & 0x7F;
        left >>= 7;
        target.write(left > 0 ? octet | 0x80 : octet);
      } while (left > 0);
      target.writeBytes(bytes.toByteArray());
    }
  }
}

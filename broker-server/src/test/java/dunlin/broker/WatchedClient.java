package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.codec.Wire;
import dunlin.broker.connect.ConnectionView;
import dunlin.broker.session.ClientConnection;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelInboundHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One connection without a socket: sends given bytes, and checks everything that it receives against the rules for
 * servers.
 */
final class WatchedClient {
  private static final int CONNACK = 2;
  private static final int PUBLISH = 3;
  private static final int PUBREL = 6;
  private static final int DISCONNECT = 14;

  private final RealTiers broker;
  private final int loop;
  private final EmbeddedChannel channel;
  private final ClientConnection connection;
  private final ArrayDeque<byte[]> toSend = new ArrayDeque<>();
  private final ArrayDeque<byte[]> toAnswer = new ArrayDeque<>();

  /** Packet identifiers of the messages in flight to the client. */
  private final Set<Integer> inFlight = new LinkedHashSet<>();

  /** The complete packets that were received since the last call of {@link #taken}. */
  private List<byte[]> taken = new ArrayList<>();

  private int version;
  private int receiveMaximum = 65_535;
  private long maximumPacketSize;
  private boolean raw;
  private boolean answered;
  private boolean ended;
  private boolean stalled;
  private byte @Nullable [] lastPart;

  /** On the loop's thread. */
  private WatchedClient(RealTiers broker, int loop, ByteBufAllocator buffers) throws Exception {
    this.broker = broker;
    this.loop = loop;
    connection = ConnectionView.of(broker.connections(loop), broker.frontend.listeners().byName("tcp").orElseThrow());
    channel = new EmbeddedChannel();
    channel.config().setAllocator(buffers);
    var handler = (ChannelInboundHandler) connection;
    channel.pipeline().addLast(handler);
    handler.channelActive(Objects.requireNonNull(channel.pipeline().context(handler)));
  }

  static WatchedClient open(RealTiers broker, int loop, ByteBufAllocator buffers) {
    return broker.on(loop, () -> new WatchedClient(broker, loop, buffers));
  }

  boolean isOpen() {
    return channel.isOpen();
  }

  int version() {
    return version;
  }

  /** Sets the limits of the client's CONNECT, which the server must observe. */
  void says(int protocolVersion, int receiveMax, long packetMax) {
    if (version != 0) return;
    version = protocolVersion;
    receiveMaximum = receiveMax;
    maximumPacketSize = packetMax;
  }

  /** Sends raw bytes. From now on, the client may have acknowledged anything. */
  void sendRaw(byte[] bytes) {
    raw = true;
    send(bytes, 0);
  }

  /** Sends a packet, but its last bytes only together with the next one. */
  void send(byte[] packet, int keepBack) {
    byte[] whole = lastPart == null ? packet : Wire.join(lastPart, packet);
    int cut = Math.max(0, whole.length - keepBack);
    lastPart = cut == whole.length ? null : Arrays.copyOfRange(whole, cut, whole.length);
    if (cut > 0) toSend.add(Arrays.copyOf(whole, cut));
    feed();
  }

  /** Hands over waiting bytes, as long as the connection is read from. */
  void feed() {
    broker.on(
        loop,
        () -> {
          while (!toSend.isEmpty() && channel.isOpen() && channel.config().isAutoRead()) {
            byte[] next = toSend.remove();
            channel.writeInbound(channel.alloc().buffer(Math.max(next.length, 16)).writeBytes(next));
          }
          return true;
        });
  }

  /** Whether it has sent all its bytes, as far as it may. */
  boolean allSent() {
    return toSend.isEmpty() || !channel.isOpen();
  }

  /** Stops sending. */
  void close() {
    broker.on(
        loop,
        () -> {
          channel.close();
          channel.runPendingTasks();
          return true;
        });
    receive();
  }

  void stall(boolean stalls) {
    if (stalls == stalled) return;
    stalled = stalls;
    broker.on(
        loop,
        () -> {
          var outbound = channel.unsafe().outboundBuffer();
          if (outbound != null) outbound.setUserDefinedWritability(1, !stalls);
          channel.runPendingTasks();
          return true;
        });
  }

  /** Takes what was received; answers whether the connection was accepted or has ended. */
  boolean receive() {
    byte[] bytes =
        broker.on(
            loop,
            () -> {
              channel.runPendingTasks();
              byte[] all = {};
              while (channel.readOutbound() instanceof ByteBuf part) {
                all = Wire.join(all, ByteBufUtil.getBytes(part));
                part.release();
              }
              return all;
            });
    ByteBuffer in = ByteBuffer.wrap(bytes);
    while (in.hasRemaining()) packet(in, bytes);
    return answered || !channel.isOpen();
  }

  /** The packets that {@link #receive} has found since the last call. */
  List<byte[]> taken() {
    List<byte[]> packets = taken;
    taken = new ArrayList<>();
    return packets;
  }

  boolean hasTaken() {
    return !taken.isEmpty();
  }

  private void packet(ByteBuffer in, byte[] all) {
    String context = HexFormat.of().formatHex(all) + " at " + in.position();
    int start = in.position();
    int first = in.get() & 0xFF;
    int length = 0;
    for (int shift = 0; ; shift += 7) {
      int b = in.get();
      length |= (b & 0x7F) << shift;
      if (b >= 0) break;
    }
    assertThat(length).as("whole packets: %s", context).isLessThanOrEqualTo(in.remaining());
    byte[] body = new byte[length];
    in.get(body);
    assertThat(ended).as("a packet behind the last: %s", context).isFalse();
    int type = first >> 4;
    assertThat(type == CONNACK).as("CONNACK first and once: %s", context).isEqualTo(!answered);
    if (maximumPacketSize > 0) {
      assertThat((long) in.position() - start).as("Maximum Packet Size: %s", context).isLessThanOrEqualTo(maximumPacketSize);
    }
    answered = true;
    taken.add(Arrays.copyOfRange(all, start, in.position()));
    switch (type) {
      case CONNACK -> {
        assertThat(body[0] & 0xFE).as("flags: %s", context).isZero();
        if (body[1] != 0) {
          assertThat(body[0]).as("Session Present of a refusal: %s", context).isZero();
          ended = true;
        }
      }
      case PUBLISH -> message(first, body, context);
      case DISCONNECT -> {
        assertThat(version).as("DISCONNECT of a server: %s", context).isEqualTo(5);
        ended = true;
      }
      case 4, 5, PUBREL, 7, 9, 11 -> {
        assertThat(first & 0x0F).as("flags: %s", context).isEqualTo(type == PUBREL ? 2 : 0);
        assertThat(u16(body, 0)).as("packet identifier: %s", context).isNotZero();
        if (type == PUBREL) toAnswer.add(Wire.packet(0x70, body[0] & 0xFF, body[1] & 0xFF));
        if (type == 5) toAnswer.add(Wire.packet(0x62, body[0] & 0xFF, body[1] & 0xFF));
      }
      case 13 -> assertThat(body).isEmpty();
      default -> throw new AssertionError("no packet for a client: " + context);
    }
  }

  private void message(int first, byte[] body, String context) {
    int qos = (first >> 1) & 3;
    assertThat(qos).as("QoS: %s", context).isLessThan(3);
    if (qos == 0) {
      assertThat(first & 8).as("DUP with QoS 0: %s", context).isZero();
      return;
    }
    int packetId = u16(body, 2 + u16(body, 0));
    assertThat(packetId).as("packet identifier: %s", context).isNotZero();
    toAnswer.add(Wire.packet(qos == 1 ? 0x40 : 0x50, Wire.u16(packetId)));
    if (raw) return;
    assertThat(inFlight.add(packetId)).as("packet identifier in use: %s", context).isTrue();
    assertThat(inFlight.size()).as("Receive Maximum: %s", context).isLessThanOrEqualTo(receiveMaximum);
  }

  private static int u16(byte[] bytes, int at) {
    return ((bytes[at] & 0xFF) << 8) | (bytes[at + 1] & 0xFF);
  }

  /** The acknowledgement that is due next, if any. */
  byte @Nullable [] answer() {
    byte[] next = toAnswer.poll();
    if (next != null) acknowledges(next[0] & 0xFF, u16(next, 2));
    return next;
  }

  /** Notes that the client sends an acknowledgement, expected or not. */
  void acknowledges(int first, int packetId) {
    // After PUBREC the server may still count the message, but it must not use its identifier for another PUBLISH. When
    // it may do so again only the server's own table shows, so only QoS 1 exchanges and complete QoS 2 exchanges are
    // tracked.
    if (first == 0x40 || first == 0x70 || first == 0x50) inFlight.remove(packetId);
  }

  /** Asserts that nothing is left of a connection that has ended. */
  void checkClosed() {
    assertThat(channel.isOpen()).as("open").isFalse();
    assertThat(ConnectionView.isOpen(connection)).as("open to the broker").isFalse();
    assertThat(connection.waitingBytes()).as("bytes that wait").isZero();
  }
}

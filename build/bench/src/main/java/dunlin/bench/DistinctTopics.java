package dunlin.bench;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.StringTokenizer;
import org.jspecify.annotations.Nullable;

/**
 * Measures whether the rate into one shared subscription depends on the number of topics that feed it. Publishers
 * spread messages of 256 bytes (QoS 0 or 1, MQTT 3.1.1) over the topics; the members of one group receive them. A window
 * limits the messages in flight. Publishers and members connect to all brokers in turn.
 *
 * <p>Arguments: ports and process ids, of a broker or of all processes of a cluster (separated by commas; there may be
 * more processes than ports), topics, members, publishers, seconds (the warm-up takes the same time again), and the QoS
 * if it is not 0. Prints one line of JSON: deliveries per CPU-second of all processes, lost messages, and how evenly the
 * members were served.
 */
public final class DistinctTopics {
  private static final int PAYLOAD = 256;
  private static final int WINDOW_OF_A_PUBLISHER = 200;
  private static final int DRAIN_SECONDS = 10;
  private static final int TICKS_PER_SECOND = 100; // of /proc/PID/stat
  private static final int PACKET_ID_MAX = 0xFFFF;
  private static final int PUBACK_LENGTH = 4;

  private final int[] ports;
  private final int qos;
  private final byte[][] packets;
  private final List<Client> publishers = new ArrayList<>();
  private final List<Client> members = new ArrayList<>();

  private int nextPacket;
  private long published;
  private long delivered;

  /** A connection that either publishes, or counts the messages that it receives. */
  private static final class Client {
    final SocketChannel channel;
    final boolean publishes;
    final ByteBuffer in = ByteBuffer.allocateDirect(256 * 1_024);
    final ByteBuffer out = ByteBuffer.allocateDirect(64 * 1_024).flip();
    int lastPacketId;
    long received;

    Client(SocketChannel channel, boolean publishes) {
      this.channel = channel;
      this.publishes = publishes;
    }
  }

  private DistinctTopics(int[] ports, int topics, int qos) {
    this.ports = ports;
    this.qos = qos;
    packets = new byte[topics][];
    for (int i = 0; i < topics; i++) {
      byte[] topic = "device_status/%d/key/model/region".formatted(i).getBytes(StandardCharsets.US_ASCII);
      int remaining = 2 + topic.length + 2 * qos + PAYLOAD;
      ByteBuffer packet = ByteBuffer.allocate(3 + remaining);
      packet.put((byte) (0x30 | qos << 1)).put((byte) ((remaining & 0x7F) | 0x80)).put((byte) (remaining >> 7));
      packet.putShort((short) topic.length).put(topic);
      packets[i] = packet.array();
    }
  }

  public static void main(String[] args) throws IOException {
    int qos = args.length > 6 ? Integer.parseInt(args[6]) : 0;
    if (qos != 0 && qos != 1) throw new IllegalArgumentException("QoS " + qos + " is neither 0 nor 1");
    var topics = new DistinctTopics(numbers(args[0]), Integer.parseInt(args[2]), qos);
    topics.run(numbers(args[1]), Integer.parseInt(args[3]), Integer.parseInt(args[4]), Integer.parseInt(args[5]));
  }

  private static int[] numbers(String list) {
    return Arrays.stream(list.split(",", -1)).mapToInt(Integer::parseInt).toArray();
  }

  private void run(int[] pids, int memberCount, int publisherCount, int seconds) throws IOException {
    try (Selector selector = Selector.open()) {
      for (int i = 0; i < memberCount; i++) members.add(connect(ports[i % ports.length], "member" + i, "$share/g/device_status/#"));
      for (int i = 0; i < publisherCount; i++) publishers.add(connect(ports[i % ports.length], "publisher" + i, null));
      for (Client member : members) register(member, selector);
      for (Client publisher : publishers) register(publisher, selector);
      long window = (long) publisherCount * WINDOW_OF_A_PUBLISHER;

      until(selector, window, System.nanoTime() + seconds * 1_000_000_000L);
      long before = delivered;
      long cpuBefore = cpuTicks(pids);
      long started = System.nanoTime();
      until(selector, window, started + seconds * 1_000_000_000L);
      double measured = (System.nanoTime() - started) / 1e9;
      long counted = delivered - before;
      double cpuSeconds = (cpuTicks(pids) - cpuBefore) / (double) TICKS_PER_SECOND;
      drain(selector);

      double mean = (double) delivered / members.size();
      double furthest = members.stream().mapToDouble(member -> Math.abs(member.received - mean) / mean).max().orElse(0);
      System.out.printf(
          Locale.ROOT,
          "{\"scenario\": \"distinct-topics\", \"topics\": %d, \"qos\": %d, \"members\": %d, \"publishers\": %d, \"measured_s\": %.3f,"
              + " \"deliver_rate\": %.1f, \"received\": %d, \"lost\": %d, \"out_of_order\": 0, \"furthest_from_mean\": %.4f,"
              + " \"cpu\": {\"broker_cpu_s\": %.2f, \"deliveries_per_broker_cpu_s\": %.1f}}%n",
          packets.length, qos, members.size(), publishers.size(), measured, counted / measured, delivered, published - delivered, furthest,
          cpuSeconds, counted / cpuSeconds);
    } finally {
      for (Client client : publishers) client.channel.close();
      for (Client client : members) client.channel.close();
    }
  }

  /** Publishes messages while the window has room, and reads the deliveries. */
  private void until(Selector selector, long window, long endNanos) throws IOException {
    while (System.nanoTime() - endNanos < 0) {
      boolean wrote = false;
      for (Client publisher : publishers) {
        if (published - delivered >= window && !publisher.out.hasRemaining()) continue;
        wrote |= write(publisher, window);
      }
      read(selector, wrote ? 0 : 1);
    }
  }

  private void drain(Selector selector) throws IOException {
    long end = System.nanoTime() + DRAIN_SECONDS * 1_000_000_000L;
    while (delivered < published && System.nanoTime() - end < 0) {
      for (Client publisher : publishers) publisher.channel.write(publisher.out);
      read(selector, 1);
    }
  }

  private boolean write(Client publisher, long window) throws IOException {
    if (!publisher.out.hasRemaining()) {
      publisher.out.clear();
      for (int i = 0; i < WINDOW_OF_A_PUBLISHER && published - delivered < window; i++, published++) {
        publisher.out.put(packets[nextPacket]);
        if (qos == 1) {
          publisher.lastPacketId = publisher.lastPacketId % PACKET_ID_MAX + 1;
          publisher.out.putShort(publisher.out.position() - PAYLOAD - 2, (short) publisher.lastPacketId);
        }
        nextPacket = nextPacket + 1 == packets.length ? 0 : nextPacket + 1;
      }
      publisher.out.flip();
    }
    return publisher.channel.write(publisher.out) > 0;
  }

  private void read(Selector selector, long waitMillis) throws IOException {
    if (waitMillis == 0) selector.selectNow();
    else selector.select(waitMillis);
    for (SelectionKey key : selector.selectedKeys()) {
      Client client = (Client) key.attachment();
      if (client.channel.read(client.in) < 0) throw new IOException("the broker has closed a connection");
      client.in.flip();
      if (client.publishes) client.in.position(client.in.limit() / PUBACK_LENGTH * PUBACK_LENGTH);
      else take(client);
      client.in.compact();
    }
    selector.selectedKeys().clear();
  }

  /** Counts the messages that have come as a whole, and acknowledges them. */
  private void take(Client member) throws IOException {
    if (qos == 0) {
      while (packetIsWhole(member.in)) count(member);
      return;
    }
    member.out.compact();
    while (member.out.remaining() >= PUBACK_LENGTH) {
      int at = member.in.position();
      if (!packetIsWhole(member.in)) break;
      short packetId = member.in.getShort(at + 5 + member.in.getShort(at + 3));
      member.out.put((byte) 0x40).put((byte) 2).putShort(packetId);
      count(member);
    }
    member.out.flip();
    member.channel.write(member.out);
  }

  private void count(Client member) {
    member.received++;
    delivered++;
  }

  /** Skips one packet. All packets here are PUBLISH and longer than 127 bytes. */
  private static boolean packetIsWhole(ByteBuffer in) {
    if (in.remaining() < 3) return false;
    int at = in.position();
    if ((in.get(at) & 0xF0) != 0x30) throw new IllegalStateException("not a PUBLISH: " + in.get(at));
    int end = at + 3 + ((in.get(at + 1) & 0x7F) | (in.get(at + 2) << 7));
    if (end > in.limit()) return false;
    in.position(end);
    return true;
  }

  private Client connect(int port, String clientId, @Nullable String filter) throws IOException {
    SocketChannel channel = SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    byte[] name = clientId.getBytes(StandardCharsets.US_ASCII);
    ByteBuffer connect = ByteBuffer.allocate(14 + name.length).put((byte) 0x10).put((byte) (12 + name.length));
    connect.putShort((short) 4).put("MQTT".getBytes(StandardCharsets.US_ASCII)).put((byte) 4).put((byte) 2).putShort((short) 0);
    connect.putShort((short) name.length).put(name).flip();
    channel.write(connect);
    answer(channel, 4, 0);
    if (filter != null) {
      byte[] text = filter.getBytes(StandardCharsets.US_ASCII);
      ByteBuffer subscribe = ByteBuffer.allocate(7 + text.length).put((byte) 0x82).put((byte) (5 + text.length));
      subscribe.putShort((short) 1).putShort((short) text.length).put(text).put((byte) qos).flip();
      channel.write(subscribe);
      answer(channel, 5, qos);
    }
    return new Client(channel, filter == null);
  }

  private static void answer(SocketChannel channel, int length, int code) throws IOException {
    byte[] bytes = new byte[length];
    new DataInputStream(channel.socket().getInputStream()).readFully(bytes);
    if ((bytes[length - 1] & 0xFF) != code) throw new IOException("answered with code " + bytes[length - 1]);
  }

  private static void register(Client client, Selector selector) throws IOException {
    client.channel.configureBlocking(false).register(selector, SelectionKey.OP_READ, client);
  }

  /** User and system time of processes. */
  private static long cpuTicks(int[] pids) throws IOException {
    long ticks = 0;
    for (int pid : pids) {
      String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
      var fields = new StringTokenizer(stat.substring(stat.lastIndexOf(')') + 2));
      for (int i = 0; i < 11; i++) fields.nextToken(); // state to cmajflt
      ticks += Long.parseLong(fields.nextToken()) + Long.parseLong(fields.nextToken());
    }
    return ticks;
  }
}

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
import java.util.List;
import java.util.Locale;
import java.util.StringTokenizer;
import org.jspecify.annotations.Nullable;

/**
 * Measures whether the rate into one shared subscription depends on the number of topics that feed it. Publishers
 * spread messages of 256 bytes (QoS 0, MQTT 3.1.1) over the topics; the members of one group receive them. A window
 * limits the messages in flight.
 *
 * <p>Arguments: port, process id of the broker, topics, members, publishers, seconds (the warm-up takes the same time
 * again). Prints one line of JSON: deliveries per CPU-second of the broker, lost messages, and how evenly the members
 * were served.
 */
public final class DistinctTopics {
  private static final int PAYLOAD = 256;
  private static final int WINDOW_OF_A_PUBLISHER = 200;
  private static final int DRAIN_SECONDS = 10;
  private static final int TICKS_PER_SECOND = 100; // of /proc/PID/stat

  private final int port;
  private final byte[][] packets;
  private final List<Client> publishers = new ArrayList<>();
  private final List<Client> members = new ArrayList<>();

  private int nextPacket;
  private long published;
  private long delivered;

  /** A connection that either publishes, or counts the messages that it receives. */
  private static final class Client {
    final SocketChannel channel;
    final ByteBuffer in = ByteBuffer.allocateDirect(256 * 1_024);
    final ByteBuffer out = ByteBuffer.allocateDirect(64 * 1_024).flip();
    long received;

    Client(SocketChannel channel) {
      this.channel = channel;
    }
  }

  private DistinctTopics(int port, int topics) {
    this.port = port;
    packets = new byte[topics][];
    for (int i = 0; i < topics; i++) {
      byte[] topic = "device_status/%d/key/model/region".formatted(i).getBytes(StandardCharsets.US_ASCII);
      int remaining = 2 + topic.length + PAYLOAD;
      ByteBuffer packet = ByteBuffer.allocate(3 + remaining);
      packet.put((byte) 0x30).put((byte) ((remaining & 0x7F) | 0x80)).put((byte) (remaining >> 7));
      packet.putShort((short) topic.length).put(topic);
      packets[i] = packet.array();
    }
  }

  public static void main(String[] args) throws IOException {
    int[] numbers = new int[args.length];
    for (int i = 0; i < args.length; i++) numbers[i] = Integer.parseInt(args[i]);
    new DistinctTopics(numbers[0], numbers[2]).run(numbers[1], numbers[3], numbers[4], numbers[5]);
  }

  private void run(long pid, int memberCount, int publisherCount, int seconds) throws IOException {
    try (Selector selector = Selector.open()) {
      for (int i = 0; i < memberCount; i++) members.add(connect("member" + i, "$share/g/device_status/#"));
      for (int i = 0; i < publisherCount; i++) publishers.add(connect("publisher" + i, null));
      for (Client member : members) register(member, selector);
      for (Client publisher : publishers) publisher.channel.configureBlocking(false);
      long window = (long) publisherCount * WINDOW_OF_A_PUBLISHER;

      until(selector, window, System.nanoTime() + seconds * 1_000_000_000L);
      long before = delivered;
      long cpuBefore = cpuTicks(pid);
      long started = System.nanoTime();
      until(selector, window, started + seconds * 1_000_000_000L);
      double measured = (System.nanoTime() - started) / 1e9;
      long counted = delivered - before;
      double cpuSeconds = (cpuTicks(pid) - cpuBefore) / (double) TICKS_PER_SECOND;
      drain(selector);

      double mean = (double) delivered / members.size();
      double furthest = members.stream().mapToDouble(member -> Math.abs(member.received - mean) / mean).max().orElse(0);
      System.out.printf(
          Locale.ROOT,
          "{\"scenario\": \"distinct-topics\", \"topics\": %d, \"members\": %d, \"publishers\": %d, \"measured_s\": %.3f,"
              + " \"deliver_rate\": %.1f, \"lost\": %d, \"out_of_order\": 0, \"furthest_from_mean\": %.4f,"
              + " \"cpu\": {\"broker_cpu_s\": %.2f, \"deliveries_per_broker_cpu_s\": %.1f}}%n",
          packets.length, members.size(), publishers.size(), measured, counted / measured, published - delivered, furthest,
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
      Client member = (Client) key.attachment();
      if (member.channel.read(member.in) < 0) throw new IOException("the broker has closed a member's connection");
      member.in.flip();
      while (packetIsWhole(member.in)) {
        member.received++;
        delivered++;
      }
      member.in.compact();
    }
    selector.selectedKeys().clear();
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

  private Client connect(String clientId, @Nullable String filter) throws IOException {
    SocketChannel channel = SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    byte[] name = clientId.getBytes(StandardCharsets.US_ASCII);
    ByteBuffer connect = ByteBuffer.allocate(14 + name.length).put((byte) 0x10).put((byte) (12 + name.length));
    connect.putShort((short) 4).put("MQTT".getBytes(StandardCharsets.US_ASCII)).put((byte) 4).put((byte) 2).putShort((short) 0);
    connect.putShort((short) name.length).put(name).flip();
    channel.write(connect);
    answer(channel, 4);
    if (filter != null) {
      byte[] text = filter.getBytes(StandardCharsets.US_ASCII);
      ByteBuffer subscribe = ByteBuffer.allocate(7 + text.length).put((byte) 0x82).put((byte) (5 + text.length));
      subscribe.putShort((short) 1).putShort((short) text.length).put(text).put((byte) 0).flip();
      channel.write(subscribe);
      answer(channel, 5);
    }
    return new Client(channel);
  }

  private static void answer(SocketChannel channel, int length) throws IOException {
    byte[] bytes = new byte[length];
    new DataInputStream(channel.socket().getInputStream()).readFully(bytes);
    if ((bytes[length - 1] & 0xFF) != 0) throw new IOException("refused with code " + bytes[length - 1]);
  }

  private static void register(Client member, Selector selector) throws IOException {
    member.channel.configureBlocking(false).register(selector, SelectionKey.OP_READ, member);
  }

  /** User and system time of a process. */
  private static long cpuTicks(long pid) throws IOException {
    String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
    var fields = new StringTokenizer(stat.substring(stat.lastIndexOf(')') + 2));
    for (int i = 0; i < 11; i++) fields.nextToken(); // state to cmajflt
    return Long.parseLong(fields.nextToken()) + Long.parseLong(fields.nextToken());
  }
}

package dunlin.harness;

import static org.awaitility.Awaitility.await;

import dunlin.Dunlin;
import dunlin.TestBroker;
import dunlin.cluster.ClusterMXBean;
import dunlin.placement.LeaderSpread;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.function.ObjIntConsumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.management.JMException;
import javax.management.JMX;
import javax.management.ObjectName;

/** Brokers of one cluster in the process of the test, with the operations of the cluster. */
public final class EmbeddedCluster implements AutoCloseable {
  /** The meta group, and one each of routes and retained messages. */
  private static final int OTHER_RANGES = 3;
  private static final int REPLICAS = 3;

  private final List<Dunlin> brokers = new ArrayList<>();
  private final List<Path> directories = new ArrayList<>();
  private final List<MeterRegistry> registries = new ArrayList<>();

  private EmbeddedCluster() {}

  /** Starts brokers that found a cluster, and waits until its leaders are spread: they are some time after it was founded, which makes clients wait. */
  public static EmbeddedCluster start(Path directory, int nodes, Map<String, String> settings) {
    return start(directory, nodes, settings, (_, _) -> {});
  }

  /** @param own gives one broker what it alone has, by its number */
  public static EmbeddedCluster start(Path directory, int nodes, Map<String, String> settings, ObjIntConsumer<Dunlin.Builder> own) {
    var cluster = new EmbeddedCluster();
    int[] ports = IntStream.generate(FreePort::any).limit(2L * nodes).toArray();
    String seeds = IntStream.range(0, nodes).mapToObj(i -> "127.0.0.1:" + ports[i]).collect(Collectors.joining(","));
    try (var starting = Executors.newFixedThreadPool(nodes)) {
      var started = new ArrayList<CompletableFuture<Dunlin>>();
      for (int i = 0; i < nodes; i++) {
        int node = i;
        var registry = new SimpleMeterRegistry();
        cluster.registries.add(registry);
        cluster.directories.add(directory.resolve("node-" + node));
        var builder =
            Dunlin.builder()
                .tcpPort(0)
                .dataDirectory(cluster.directories.getLast())
                .set("dunlin.cluster.service-port", Integer.toString(ports[node]))
                .set("dunlin.cluster.port", Integer.toString(ports[nodes + node]))
                .set("dunlin.cluster.seeds", seeds)
                .set("dunlin.cluster.bootstrap-expect", Integer.toString(nodes))
                .set("dunlin.cluster.heartbeat", "200ms")
                .set("dunlin.cluster.election-timeout", "1s")
                .meterRegistry(registry);
        settings.forEach(builder::set);
        own.accept(builder, node);
        started.add(CompletableFuture.supplyAsync(builder::build, starting));
      }
      started.forEach(each -> cluster.brokers.add(each.join()));
    }
    int ranges = OTHER_RANGES + Integer.parseInt(settings.getOrDefault("dunlin.inbox.ranges", "1"));
    await("leaders are spread").atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(100)).until(() -> areLeadersSpread(ranges, nodes));
    return cluster;
  }

  /** Whether all ranges have their replicas and a leader, and none is transferred any more. A node can have no replica, and leads nothing then. */
  private static boolean areLeadersSpread(int ranges, int nodes) throws JMException {
    var beans = ManagementFactory.getPlatformMBeanServer();
    var led = new HashMap<String, Integer>();
    var replicas = beans.queryNames(new ObjectName("dunlin:type=Range,*"), null);
    for (var range : replicas) led.merge(range.getKeyProperty("node"), beans.getAttribute(range, "Role").equals("leader") ? 1 : 0, Integer::sum);
    int leaders = led.values().stream().mapToInt(Integer::intValue).sum();
    return replicas.size() == ranges * Math.min(nodes, REPLICAS) && leaders == ranges && LeaderSpread.isEven(led.values());
  }

  /** In the order of their start. */
  public List<Dunlin> brokers() {
    return brokers;
  }

  /** The meters of each. */
  public List<MeterRegistry> registries() {
    return registries;
  }

  /** A client that is connected to a broker. */
  public RawClient connected(int broker, RawClient.Connect connect) {
    return ClusterClients.connected(brokers.get(broker).tcpPort(), connect);
  }

  /** The operations of the cluster, at some broker. */
  public ClusterMXBean operations() {
    return bean("dunlin:type=Cluster,*", ClusterMXBean.class);
  }

  /** A bean of any broker that has it. */
  public static <T> T bean(String pattern, Class<T> shape) {
    try {
      var beans = ManagementFactory.getPlatformMBeanServer();
      return JMX.newMXBeanProxy(beans, beans.queryNames(new ObjectName(pattern), null).iterator().next(), shape);
    } catch (JMException e) {
      throw new AssertionError(pattern, e);
    }
  }

  /** The ranges of a kind. */
  public static List<ClusterMXBean.RangeRow> ranges(ClusterMXBean cluster, String kind) {
    return cluster.getRanges().stream().filter(range -> range.kind().equals(kind)).toList();
  }

  /**
   * Splits the range of a kind that has a key, so that the key is the first one of the upper part, and waits for it.
   *
   * @param cut the key without its tenant
   */
  public static void split(ClusterMXBean cluster, String kind, String cut) {
    String tenant = "default";
    String key = "%04x".formatted(tenant.length()) + HexFormat.of().formatHex((tenant + cut).getBytes(StandardCharsets.UTF_8));
    int before = ranges(cluster, kind).size();
    // Keys of ranges are in hexadecimal: the range is the last one that begins before the cut.
    var range = ranges(cluster, kind).stream().filter(each -> start(each).compareTo(key) < 0).max(Comparator.comparing(EmbeddedCluster::start)).orElseThrow();
    await("the split begins").atMost(TestBroker.SOON).ignoreExceptions().until(() -> !cluster.split(range.id(), key).isEmpty());
    await("the range is split").atMost(TestBroker.SOON).until(() -> ranges(cluster, kind).size() == before + 1 && cluster.getOperations().isEmpty());
  }

  private static String start(ClusterMXBean.RangeRow range) {
    String first = range.keys().substring(1, range.keys().indexOf(','));
    return first.equals("start") ? "" : first;
  }

  /** Has other brokers lead all ranges of a kind, and waits for it. */
  public static void moveLeaders(ClusterMXBean cluster, String kind) {
    for (var each : ranges(cluster, kind)) {
      await("a transfer begins")
          .atMost(TestBroker.SOON)
          .ignoreExceptions()
          .until(
              () -> {
                var range = ranges(cluster, kind).stream().filter(same -> same.id().equals(each.id())).findFirst().orElseThrow();
                String next = range.voters().stream().filter(voter -> !voter.equals(range.leader())).findFirst().orElseThrow();
                return !cluster.transferLeadership(range.id(), next).isEmpty();
              });
    }
    await("leaders have moved").atMost(TestBroker.SOON).until(() -> cluster.getOperations().isEmpty());
  }

  @Override
  public void close() {
    brokers.forEach(Dunlin::close);
    directories.forEach(Restarts::awaitReleased);
  }
}

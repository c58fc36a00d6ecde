package dunlin.harness;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Brokers of one cluster, each of which is a process of its own, and the admin API of each. */
public final class ProcessCluster implements AutoCloseable {
  private static final Duration LONG = Duration.ofMinutes(3);

  private final Path directory;
  private final List<BrokerProcess> processes = new ArrayList<>();
  private final List<ApiCalls> apis = new ArrayList<>();

  private ProcessCluster(Path directory) {
    this.directory = directory;
  }

  /** Starts brokers that found a cluster. One that stands still for less than a minute does not count as dead, and its clients stay connected for half a minute. */
  public static ProcessCluster start(Path directory, int nodes, String... settings) {
    var cluster = new ProcessCluster(directory);
    try {
      cluster.start(nodes, settings);
      return cluster;
    } catch (RuntimeException | Error e) {
      cluster.close();
      throw e;
    }
  }

  private void start(int nodes, String... more) {
    int[] ports = IntStream.generate(FreePort::any).limit(2L * nodes).toArray();
    String seeds = IntStream.range(0, nodes).mapToObj(node -> "127.0.0.1:" + ports[node]).collect(Collectors.joining(","));
    for (int node = 0; node < nodes; node++) {
      List<String> settings = new ArrayList<>(List.of("dunlin.cluster.bootstrap-expect=" + nodes, "dunlin.cluster.lease=30s", "dunlin.cluster.down-after=60s"));
      settings.addAll(List.of(more));
      processes.add(BrokerProcess.launchMember(data(node), ports[node], ports[nodes + node], seeds, settings.toArray(String[]::new)));
    }
    for (BrokerProcess process : processes) process.awaitStarted(LONG);
    for (int node = 0; node < nodes; node++) apis.add(ApiCalls.of(data(node)));
  }

  /** The data directory of a broker. */
  public Path data(int node) {
    return directory.resolve("node" + node);
  }

  public int port(int node) {
    return processes.get(node).port();
  }

  /** The admin API of each, in their order. */
  public List<ApiCalls> apis() {
    return apis;
  }

  /** The id of each, in their order. */
  public List<String> ids() {
    return apis.stream().map(api -> api.get("/cluster").member("node")).toList();
  }

  /** A node that leads nothing, so that only what it has itself is missing when it stands still; the last one if there is none. */
  public int notLeading() {
    List<String> leaders = apis.getFirst().get("/cluster/ranges").members("leader");
    List<String> ids = ids();
    return IntStream.range(0, ids.size()).filter(node -> !leaders.contains(ids.get(node))).findFirst().orElse(ids.size() - 1);
  }

  /** @param name such as STOP */
  public void signal(int node, String name) {
    processes.get(node).signal(name);
  }

  @Override
  public void close() {
    apis.forEach(ApiCalls::close);
    processes.forEach(BrokerProcess::close);
  }
}

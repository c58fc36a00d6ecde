package dunlin.bench.store;

import dunlin.bench.store.LocalCluster.Node;
import dunlin.bench.store.Rows.Row;
import dunlin.cluster.RangeKind;
import dunlin.placement.plan.SplitChoice;
import dunlin.store.RangeId;
import dunlin.store.Replica;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Measures how long writes wait while their range is split. Three nodes of a cluster run in this process with real Raft
 * over loopback; other calls between them are direct. Prints one line of JSON.
 *
 * <pre>
 *   arguments: data=DIRECTORY raft=PORT,... service=PORT,... rows= window= seconds=
 * </pre>
 */
public final class SplitProcess implements AutoCloseable {
  /*
   * Owner: the main thread; each of the two writers has its own.
   * Failure: the process ends if it waits for anything longer than DEADLINE.
   */
  private static final Duration DEADLINE = Duration.ofSeconds(60);
  private static final int LOAD_WINDOW = 8192;
  private static final RangeId RANGE = Rows.range(0);

  private final LocalCluster cluster;

  /** The logic of each replica, by node and range. */
  private final Map<Node, Map<UUID, Rows>> logics = new ConcurrentHashMap<>();

  private final Map<Node, Map<UUID, Replica<Row, Boolean>>> replicas = new ConcurrentHashMap<>();

  SplitProcess(Arguments arguments) {
    cluster =
        new LocalCluster(
            arguments.path("data"), RANGE.kind(), arguments.list("raft").stream().map(Integer::valueOf).toList(),
            arguments.list("service").stream().map(Integer::valueOf).toList(), DEADLINE, this::kind);
  }

  private RangeKind<Row, Boolean, Rows> kind(Node node) {
    var made = logics.computeIfAbsent(node, _ -> new ConcurrentHashMap<>());
    var here = replicas.computeIfAbsent(node, _ -> new ConcurrentHashMap<>());
    return new RangeKind<>(
        RANGE.kind(), Rows.ROWS, id -> made.computeIfAbsent(id.uuid(), _ -> new Rows()),
        (replica, _) -> {
          here.put(replica.id().uuid(), replica);
          node.replicas.put(replica.id().uuid(), replica);
        });
  }

  public static void main(String[] args) throws InterruptedException {
    var answers = System.out;
    System.setOut(System.err); // for output of libraries
    var arguments = Arguments.parse(List.of(args));
    try (var process = new SplitProcess(arguments)) {
      answers.println(
          Json.line(process.run(arguments.number("rows"), (int) arguments.number("window"), arguments.seconds("seconds"))));
    }
    answers.flush();
  }

  /** @param around how long the writers write before the split begins and after it has ended */
  Map<String, Object> run(long rows, int window, Duration around) throws InterruptedException {
    cluster.start();
    var parent = RANGE.uuid();
    var leader = cluster.nodes().stream().filter(node -> node.leads(parent)).findFirst().orElseThrow();
    long epoch = cluster.ranges().getFirst().epoch();
    var replica = Optional.ofNullable(replicas.getOrDefault(leader, Map.of()).get(parent)).orElseThrow();
    var loaded = new Load((row, completion) -> replica.propose(epoch, row, completion), LOAD_WINDOW).run(0, rows, DEADLINE);

    var lower = new HalfWriter(this::leading, true, rows, window);
    var upper = new HalfWriter(this::leading, false, rows, window);
    try (lower;
        upper) {
      LocalCluster.pause(around);
      long begun = System.nanoTime();
      double before = (lower.written() + upper.written()) / (around.toNanos() / 1e9);
      lower.gaps().begin(begun);
      upper.gaps().begin(begun);
      leader.cluster.begin(SplitChoice.at(cluster.ranges().getFirst(), Rows.middle()));
      cluster.await("two ranges", () -> cluster.isSettled(2));
      long split = System.nanoTime();
      LocalCluster.pause(around);
      long ended = System.nanoTime();

      var result = new LinkedHashMap<String, Object>();
      result.put("rows", loaded.getOrDefault("writes", 0L));
      result.put("writes_per_second_before", before);
      result.put("lower_gap_ms", lower.gaps().longest(ended) / 1e6);
      result.put("upper_gap_ms", upper.gaps().longest(ended) / 1e6);
      result.put("apply_blocked_ms_leader", splitMillis(leader));
      result.put(
          "apply_blocked_ms_follower",
          cluster.nodes().stream().filter(node -> node != leader).mapToDouble(this::splitMillis).max().orElse(0));
      result.put("split_ms", (split - begun) / 1e6);
      return result;
    }
  }

  private double splitMillis(Node node) {
    var logic = logics.getOrDefault(node, Map.of()).get(RANGE.uuid());
    return logic == null ? 0 : logic.splitNanos() / 1e6;
  }

  /** The replica that currently leads the range of a key. */
  private Optional<Replica<Row, Boolean>> leading(byte[] key) {
    for (var node : cluster.nodes())
      for (var replica : replicas.getOrDefault(node, Map.of()).values())
        if (replica.descriptor().filter(range -> range.keys().contains(key)).isPresent() && node.leads(replica.id().uuid()))
          return Optional.of(replica);
    return Optional.empty();
  }

  @Override
  public void close() {
    cluster.close();
  }
}

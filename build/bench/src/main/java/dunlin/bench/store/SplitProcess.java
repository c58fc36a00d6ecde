package dunlin.bench.store;

import dunlin.bench.store.Rows.Row;
import dunlin.cluster.Cluster;
import dunlin.cluster.MemberSettings;
import dunlin.cluster.RangeKind;
import dunlin.cluster.call.NodeAddress;
import dunlin.placement.plan.OperationSettings;
import dunlin.placement.plan.SplitChoice;
import dunlin.placement.plan.SplitSettings;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.Replica;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import dunlin.store.snapshot.SnapshotSource;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

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
  private static final long LOOK_NANOS = 5_000_000;
  private static final int LOAD_WINDOW = 8192;
  private static final RangeId RANGE = Rows.range(0);

  private final List<Node> nodes = new ArrayList<>();
  private final Map<NodeAddress, Cluster> reached = new ConcurrentHashMap<>();

  /** A node, with the logic of each of its replicas. */
  private final class Node {
    final RangeStore store;
    final Cluster cluster;
    final Map<UUID, Replica<Row, Boolean>> replicas = new ConcurrentHashMap<>();
    final Map<UUID, Rows> logics = new ConcurrentHashMap<>();

    Node(Path directory, int raftPort, int servicePort, String seeds, int expect) {
      store = RangeStore.open(StoreSettings.defaults().with(ClusterSettings.loopback(raftPort)), directory, new SimpleMeterRegistry());
      store.fetchSnapshotsBy(new Direct());
      var kind =
          new RangeKind<Row, Boolean, Rows>(
              RANGE.kind(), Rows.ROWS, id -> logics.computeIfAbsent(id.uuid(), _ -> new Rows()),
              (replica, _) -> replicas.put(replica.id().uuid(), replica));
      var settings =
          MemberSettings.of(seeds, expect, "127.0.0.1", servicePort, Set.of(RANGE.kind())).with(operations());
      cluster = Cluster.open(settings, store, directory, SplitProcess.this::call, List.of(kind), new SimpleMeterRegistry());
      reached.put(new NodeAddress("127.0.0.1", servicePort), cluster);
    }

    boolean leads(UUID range) {
      var replica = replicas.get(range);
      return replica != null && replica.status().leader().filter(cluster.self()::equals).isPresent();
    }
  }

  /** Copies snapshots between the stores of this process. */
  private final class Direct implements SnapshotSource {
    @Override
    public Snapshot open(UUID node, RangeId range) throws IOException {
      return at(node).openSnapshot(range);
    }

    @Override
    public byte[] read(UUID node, UUID snapshot, String file, long offset, int bytes) throws IOException {
      return at(node).readSnapshot(snapshot, file, offset, bytes);
    }

    private RangeStore at(UUID id) throws IOException {
      for (var node : nodes) if (node.cluster.self().equals(id)) return node.store;
      throw new IOException("node " + id + " is not there");
    }
  }

  SplitProcess(Arguments arguments) {
    var raft = arguments.list("raft");
    var service = arguments.list("service");
    var seeds = String.join(",", service.stream().map(port -> "127.0.0.1:" + port).toList());
    for (int i = 0; i < raft.size(); i++)
      nodes.add(
          new Node(
              arguments.path("data").resolve("node-" + i), Integer.parseInt(raft.get(i)), Integer.parseInt(service.get(i)), seeds,
              raft.size()));
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

  /** Leaders are not moved: only the cost of the split is measured. */
  private static OperationSettings operations() {
    var d = OperationSettings.defaults();
    return new OperationSettings(d.lagMax(), d.unflushedMax(), d.automaticMax(), d.replicas(), SplitSettings.never(), null, false);
  }

  private byte[] call(NodeAddress to, byte[] request, Duration deadline) throws IOException {
    var there = reached.get(to);
    if (there == null) throw new IOException("nobody answers at " + to);
    return there.answer(request, (_, _) -> true);
  }

  /** @param around how long the writers write before the split begins and after it has ended */
  Map<String, Object> run(long rows, int window, Duration around) throws InterruptedException {
    start();
    var parent = RANGE.uuid();
    await("a range of " + nodes.size() + " voters", () -> settled(1) && voters(parent) == nodes.size());
    var leader = nodes.stream().filter(node -> node.leads(parent)).findFirst().orElseThrow();
    long epoch = descriptors().getFirst().epoch();
    var replica = Optional.ofNullable(leader.replicas.get(parent)).orElseThrow();
    var loaded = new Load((row, completion) -> replica.propose(epoch, row, completion), LOAD_WINDOW).run(0, rows, DEADLINE);

    var lower = new HalfWriter(this::leading, true, rows, window);
    var upper = new HalfWriter(this::leading, false, rows, window);
    try (lower;
        upper) {
      pause(around);
      long begun = System.nanoTime();
      double before = (lower.written() + upper.written()) / (around.toNanos() / 1e9);
      lower.gaps().begin(begun);
      upper.gaps().begin(begun);
      leader.cluster.begin(SplitChoice.at(descriptors().getFirst(), Rows.middle()));
      await("two ranges", () -> settled(2));
      long split = System.nanoTime();
      pause(around);
      long ended = System.nanoTime();

      var result = new LinkedHashMap<String, Object>();
      result.put("rows", loaded.getOrDefault("writes", 0L));
      result.put("writes_per_second_before", before);
      result.put("lower_gap_ms", lower.gaps().longest(ended) / 1e6);
      result.put("upper_gap_ms", upper.gaps().longest(ended) / 1e6);
      result.put("apply_blocked_ms_leader", splitMillis(leader));
      result.put(
          "apply_blocked_ms_follower",
          nodes.stream().filter(node -> node != leader).mapToDouble(SplitProcess::splitMillis).max().orElse(0));
      result.put("split_ms", (split - begun) / 1e6);
      return result;
    }
  }

  private static double splitMillis(Node node) {
    var logic = node.logics.get(RANGE.uuid());
    return logic == null ? 0 : logic.splitNanos() / 1e6;
  }

  private void start() throws InterruptedException {
    var starts =
        nodes.stream()
            .map(node -> CompletableFuture.runAsync(() -> node.cluster.start(DEADLINE), task -> Thread.ofPlatform().start(task)))
            .toList();
    try {
      CompletableFuture.allOf(starts.toArray(CompletableFuture<?>[]::new)).get(2 * DEADLINE.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IllegalStateException("the cluster does not start", e);
    }
  }

  /** The ranges of rows in the newest placement map. */
  private List<RangeDescriptor> descriptors() {
    var newest =
        nodes.stream().map(node -> node.cluster.map()).max((one, other) -> Long.compare(one.version(), other.version())).orElseThrow();
    return newest.rangesOf(RANGE.kind());
  }

  private boolean settled(int ranges) {
    return descriptors().size() == ranges && nodes.stream().allMatch(node -> node.cluster.map().intents().isEmpty());
  }

  private int voters(UUID range) {
    return descriptors().stream().filter(each -> each.id().equals(range)).mapToInt(each -> each.peers().size()).sum();
  }

  /** The replica that currently leads the range of a key. */
  private Optional<Replica<Row, Boolean>> leading(byte[] key) {
    for (var node : nodes)
      for (var replica : node.replicas.values())
        if (replica.descriptor().filter(range -> range.keys().contains(key)).isPresent() && node.leads(replica.id().uuid()))
          return Optional.of(replica);
    return Optional.empty();
  }

  private static void await(String what, BooleanSupplier there) {
    long until = System.nanoTime() + DEADLINE.toNanos();
    while (!there.getAsBoolean()) {
      if (System.nanoTime() - until > 0) throw new IllegalStateException("not within " + DEADLINE + ": " + what);
      LockSupport.parkNanos(LOOK_NANOS);
    }
  }

  /** A park may return early, so it is repeated. */
  private static void pause(Duration time) {
    long until = System.nanoTime() + time.toNanos();
    for (long left; (left = until - System.nanoTime()) > 0; ) LockSupport.parkNanos(left);
  }

  @Override
  public void close() {
    for (var node : nodes) node.cluster.close();
    for (var node : nodes) node.store.close();
  }
}

package dunlin.bench.store;

import dunlin.cluster.Cluster;
import dunlin.cluster.MemberSettings;
import dunlin.cluster.RangeKind;
import dunlin.cluster.call.NodeAddress;
import dunlin.placement.plan.OperationSettings;
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
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/** Nodes of a cluster in this process with one kind of ranges and real Raft over loopback; other calls between them are direct. No leader is moved unless that is asked for. */
final class LocalCluster implements AutoCloseable {
  /*
   * Owner: the main thread; any thread reads.
   * Failure: the process ends if it waits for anything longer than the deadline.
   */
  private static final long LOOK_NANOS = 5_000_000;
  private static final String HOST = "127.0.0.1";

  private final String kind;
  private final Duration deadline;
  private final List<Node> nodes = new CopyOnWriteArrayList<>();
  private final Map<NodeAddress, Cluster> reached = new ConcurrentHashMap<>();

  /** A node with its replicas. */
  static final class Node {
    final RangeStore store;
    final Cluster cluster;
    final Map<UUID, Replica<?, ?>> replicas = new ConcurrentHashMap<>();

    private Node(LocalCluster of, Path directory, int raftPort, int servicePort, String seeds, int expect, Function<Node, RangeKind<?, ?, ?>> kinds) {
      store = RangeStore.open(StoreSettings.defaults().with(ClusterSettings.loopback(raftPort)), directory, new SimpleMeterRegistry());
      store.fetchSnapshotsBy(of.new Direct());
      var settings = MemberSettings.of(seeds, expect, HOST, servicePort, Set.of(of.kind)).with(operations());
      cluster = Cluster.open(settings, store, directory, of::call, List.of(kinds.apply(this)), new SimpleMeterRegistry());
      of.reached.put(new NodeAddress(HOST, servicePort), cluster);
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

  /**
   * @param kind of the ranges
   * @param raft the port of each node for Raft
   * @param service a port that names each node for the others; it is not opened
   * @param deadline for whatever is waited for
   * @param kinds makes the kind of a node, which adds the node's replicas to it
   */
  LocalCluster(Path data, String kind, List<Integer> raft, List<Integer> service, Duration deadline, Function<Node, RangeKind<?, ?, ?>> kinds) {
    this.kind = kind;
    this.deadline = deadline;
    var seeds = String.join(",", service.stream().map(port -> HOST + ":" + port).toList());
    for (int i = 0; i < raft.size(); i++) nodes.add(new Node(this, data.resolve("node-" + i), raft.get(i), service.get(i), seeds, raft.size(), kinds));
  }

  private static OperationSettings operations() {
    var d = OperationSettings.defaults();
    return new OperationSettings(d.lagMax(), d.unflushedMax(), d.automaticMax(), d.replicas(), SplitSettings.never(), null, false);
  }

  private byte[] call(NodeAddress to, byte[] request, Duration within) throws IOException {
    var there = reached.get(to);
    if (there == null) throw new IOException("no node answers at " + to);
    return there.answer(request, (_, _) -> true);
  }

  List<Node> nodes() {
    return nodes;
  }

  /** Starts all nodes, and waits until each of them votes in the first range. */
  void start() throws InterruptedException {
    var starts =
        nodes.stream()
            .map(node -> CompletableFuture.runAsync(() -> node.cluster.start(deadline), task -> Thread.ofPlatform().start(task)))
            .toList();
    try {
      CompletableFuture.allOf(starts.toArray(CompletableFuture<?>[]::new)).get(2 * deadline.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IllegalStateException("the cluster does not start", e);
    }
    await("a range of " + nodes.size() + " voters", () -> isSettled(1) && ranges().getFirst().peers().size() == nodes.size());
  }

  /** The ranges in the newest placement map. */
  List<RangeDescriptor> ranges() {
    var newest = nodes.stream().map(node -> node.cluster.map()).max((one, other) -> Long.compare(one.version(), other.version())).orElseThrow();
    return newest.rangesOf(kind);
  }

  /** Whether there are so many ranges, and no operation is in progress. */
  boolean isSettled(int ranges) {
    return ranges().size() == ranges && nodes.stream().allMatch(node -> node.cluster.map().intents().isEmpty());
  }

  void await(String what, BooleanSupplier there) {
    long until = System.nanoTime() + deadline.toNanos();
    while (!there.getAsBoolean()) {
      if (System.nanoTime() - until > 0) throw new IllegalStateException("not within " + deadline + ": " + what);
      LockSupport.parkNanos(LOOK_NANOS);
    }
  }

  /** A park may return early, so it is repeated. */
  static void pause(Duration time) {
    long until = System.nanoTime() + time.toNanos();
    for (long left; (left = until - System.nanoTime()) > 0; ) LockSupport.parkNanos(left);
  }

  @Override
  public void close() {
    for (var node : nodes) node.cluster.close();
    for (var node : nodes) node.store.close();
  }
}

package dunlin.cluster;

import static org.awaitility.Awaitility.await;

import dunlin.cluster.MemberSettings.Roles;
import dunlin.cluster.call.NodeAddress;
import dunlin.cluster.call.NodeCalls;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import dunlin.placement.Operation;
import dunlin.placement.PlacedRange;
import dunlin.placement.plan.OperationSettings;
import dunlin.placement.plan.SplitSettings;
import dunlin.runtime.Surroundings;
import dunlin.store.Completion;
import dunlin.store.NotLeaderException;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.RangeId;
import dunlin.store.RangeStatus;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.disk.NodeIdentity;
import dunlin.store.raft.DirectSnapshots;
import dunlin.store.raft.FreePort;
import dunlin.store.raft.NodeThreads;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;

/** Real nodes in this process: real Raft over loopback ports, and direct calls between nodes, which can be cut. */
final class TestCluster implements AutoCloseable {
  static final Duration DEADLINE = Duration.ofMinutes(4);
  static final UUID LEDGER = RangeId.firstOf(Ledger.KIND).uuid();

  private final Path directory;
  private final int expect;
  private final OperationSettings operations;
  private final String seeds;
  final List<Node> nodes = new ArrayList<>();
  private final Map<NodeAddress, Cluster> reached = new ConcurrentHashMap<>();
  private final Set<Set<Integer>> cut = ConcurrentHashMap.newKeySet();
  private final DirectSnapshots snapshots = new DirectSnapshots();

  /** A node: it keeps its directory and ports over restarts. */
  final class Node {
    final Path data;
    final int raft = FreePort.find();
    final int service;
    final Map<UUID, Replica<Ledger.Entry, String>> replicas = new ConcurrentHashMap<>();
    Supplier<Ledger> ledger = Ledger::new;
    Set<String> founds = Set.of(Ledger.KIND);

    /** Where the ledgers that it founds are cut. */
    List<byte[]> cuts = List.of();

    /** Null for a node that may found the cluster. */
    @Nullable Roles roles;

    /** Whether it has a store, and so replicas. */
    boolean stores = true;

    /** What is different in its store. */
    UnaryOperator<StoreSettings> storeSettings = usual -> usual;

    /** What its disk has free. */
    volatile long diskFree = Long.MAX_VALUE;

    volatile @Nullable RangeStore store;
    volatile @Nullable Cluster cluster;

    Node(Path data, int service) {
      this.data = data;
      this.service = service;
    }

    RangeStore store() {
      var now = store;
      if (now == null) throw new IllegalStateException("node in " + data + " is closed");
      return now;
    }

    Cluster cluster() {
      var now = cluster;
      if (now == null) throw new IllegalStateException("node in " + data + " is closed");
      return now;
    }

    UUID id() {
      return cluster().self();
    }

    boolean runs() {
      return cluster != null;
    }

    /** Opens the store and the cluster, so that other nodes get answers, without starting them. */
    Node open() {
      if (!stores) return opened(Cluster.openWithoutStore(settings(), new NodeIdentity(UUID.randomUUID(), 1), data, calls(), new SimpleMeterRegistry()));
      var usual = ClusterSettings.loopback(raft);
      var quick =
          new ClusterSettings(
              raft, usual.host(), usual.bindAddress(), usual.security(), Duration.ofSeconds(2), 50,
              usual.installBytesPerSecond(), usual.installDeadline());
      var machine = Surroundings.machine();
      var disk = new Surroundings(machine.wallClock(), machine.routes(), machine.forceDelay(), () -> data.toFile().getUsableSpace() - Math.min(diskFree, data.toFile().getUsableSpace()));
      var opened = openStore(storeSettings.apply(StoreSettings.defaults().with(quick).in(disk)));
      opened.fetchSnapshotsBy(snapshots);
      store = opened;
      replicas.clear();
      var kind =
          new RangeKind<Ledger.Entry, String, Ledger>(
              Ledger.KIND, Ledger.CODEC, _ -> ledger.get(), (replica, _) -> replicas.put(replica.id().uuid(), replica), key -> key.length, cuts);
      snapshots.opened(opened);
      return opened(Cluster.open(settings(), opened, data, calls(), List.of(kind), new SimpleMeterRegistry()));
    }

    private Node opened(Cluster member) {
      cluster = member;
      reached.put(new NodeAddress("127.0.0.1", service), member);
      return this;
    }

    private NodeCalls calls() {
      return (to, request, deadline) -> call(service, to, request, deadline);
    }

    private MemberSettings settings() {
      var settings =
          MemberSettings.of(seeds, expect, "127.0.0.1", service, founds)
              .with(Duration.ofMillis(200), Duration.ofSeconds(6), Duration.ofSeconds(12)) // long, since a node on a busy machine must not count as dead
              .with(operations);
      return roles == null ? settings : settings.with(roles);
    }

    /** A store that is still stopping keeps its directory for a moment longer than its close() waits. */
    private RangeStore openStore(StoreSettings settings) {
      long until = System.nanoTime() + DEADLINE.toNanos();
      while (true) {
        try {
          return RangeStore.open(settings, data, new SimpleMeterRegistry());
        } catch (StoreException e) {
          if (System.nanoTime() > until || !String.valueOf(e.getMessage()).contains("in use")) throw e;
          LockSupport.parkNanos(50_000_000);
        }
      }
    }

    Node start() {
      cluster().start(DEADLINE);
      return this;
    }

    void close() {
      var closing = cluster;
      var store = this.store;
      if (closing == null) return;
      reached.remove(new NodeAddress("127.0.0.1", service));
      if (store != null) snapshots.closing(store);
      closing.close();
      if (store != null) store.close();
      // Its directory stays locked until everything has ended, and close() does not wait that long.
      cluster = null;
      this.store = null;
    }

    /** Whether its directory is unlocked. */
    boolean released() {
      return isReleased(data);
    }

    private String threads() {
      return data + "\n" + NodeThreads.of(NodeIdentity.read(data).nodeId());
    }

    /** All rows of a range here, in order. */
    Map<String, String> rows(UUID range) {
      var rows = new TreeMap<String, String>();
      var replica = replicas.get(range);
      if (replica == null) throw new AssertionError("no replica of " + range);
      try {
        CompletableFuture.runAsync(
                () ->
                    replica.reader().scan(
                        new byte[0],
                        null,
                        (key, value) -> {
                          rows.put(Ledger.text(key), Ledger.text(value));
                          return true;
                        }),
                replica.readers())
            .get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
      } catch (InterruptedException | ExecutionException | TimeoutException e) {
        throw new AssertionError("not read", e);
      }
      return rows;
    }

    /** Waits until a range has these rows here. */
    void awaitRows(UUID range, String expected) {
      await().atMost(DEADLINE).until(() -> rows(range).toString(), expected::equals);
    }
  }

  private TestCluster(Path directory, int expect, OperationSettings operations) {
    this.directory = directory;
    this.expect = expect;
    this.operations = operations;
    // A Raft server that is closed while it leads ends some of its threads with exceptions, which must not fail tests
    // that run in parallel.
    Awaitility.doNotCatchUncaughtExceptionsByDefault();
    var ports = new ArrayList<Integer>();
    for (int i = 0; i < expect; i++) ports.add(FreePort.find());
    seeds = ports.stream().map(port -> "127.0.0.1:" + port).collect(Collectors.joining(","));
    for (int port : ports) nodes.add(new Node(directory.resolve("node-" + nodes.size()), port));
  }

  /** Whether a data directory is unlocked. A store that is still stopping keeps it for a moment longer than its close() waits, and writes into it. */
  static boolean isReleased(Path data) {
    return !Files.exists(data.resolve("lock.owner"));
  }

  /** Nodes that have not been opened yet. */
  static TestCluster of(Path directory, int expect, OperationSettings operations) {
    return new TestCluster(directory, expect, operations);
  }

  /** A cluster that has been founded by all of its nodes. */
  static TestCluster start(Path directory, int expect, OperationSettings operations) {
    var cluster = of(directory, expect, operations);
    try {
      cluster.nodes.forEach(Node::open);
      cluster.startAll(cluster.nodes);
      return cluster;
    } catch (RuntimeException e) {
      cluster.close();
      throw e;
    }
  }

  static OperationSettings operations(int replicas, @Nullable Duration replaceAfter) {
    return operations(replicas, replaceAfter, SplitSettings.never());
  }

  static OperationSettings operations(int replicas, @Nullable Duration replaceAfter, SplitSettings splits) {
    var usual = OperationSettings.defaults();
    return new OperationSettings(
        usual.lagMax(), usual.unflushedMax(), usual.automaticMax(), replicas, splits, replaceAfter, false);
  }

  void startAll(Collection<Node> which) {
    var starts = which.stream().map(node -> CompletableFuture.runAsync(node::start, task -> Thread.ofPlatform().start(task)));
    CompletableFuture.allOf(starts.toArray(CompletableFuture<?>[]::new)).join();
  }

  /** Adds a node that joins by the seeds of the others. */
  Node join() {
    return add().open().start();
  }

  /** Adds a node that is not opened yet. */
  Node add() {
    var node = new Node(directory.resolve("node-" + nodes.size()), FreePort.find());
    nodes.add(node);
    return node;
  }

  List<Node> running() {
    return nodes.stream().filter(Node::runs).toList();
  }

  Node node(UUID id) {
    return running().stream().filter(node -> node.id().equals(id)).findFirst().orElseThrow();
  }

  /** Lets no calls pass between two nodes; their Raft groups are not affected. */
  void cut(Node one, Node other) {
    cut.add(Set.of(one.service, other.service));
  }

  private byte[] call(int from, NodeAddress to, byte[] request, Duration deadline) throws IOException {
    if (from != to.port() && cut.contains(Set.of(from, to.port()))) throw new IOException(to + " cannot be reached");
    var there = reached.get(to);
    if (there == null) throw new IOException("no node answers at " + to);
    // On another thread, as between processes: an interrupt of the caller must not reach the answering side.
    var answer = CompletableFuture.supplyAsync(() -> there.answer(request, (_, _) -> true), task -> Thread.ofPlatform().daemon().start(task));
    try {
      return answer.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new IOException("no answer of " + to, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while " + to + " was called");
    }
  }

  /** Begins an operation. Retries: on a busy machine a node's lease may have expired, and then it cannot take a replica; or the meta range may have no leader. */
  static void begin(Node by, Operation operation) {
    await().atMost(DEADLINE).ignoreExceptionsInstanceOf(StoreException.class).untilAsserted(() -> by.cluster().begin(operation));
  }

  /** The newest map that any node has. */
  ClusterMap map() {
    return running().stream().map(node -> node.cluster().map()).max((a, b) -> Long.compare(a.version(), b.version())).orElseThrow();
  }

  Optional<PlacedRange> range(UUID range) {
    return Optional.ofNullable(map().ranges().get(range));
  }

  /** Waits until each range has this many voters on nodes that are up, and no operation is in progress. */
  void awaitSettled(int voters) {
    await()
        .atMost(DEADLINE)
        .untilAsserted(
            () -> {
              var map = map();
              if (map.ranges().isEmpty()) throw new AssertionError("no ranges yet");
              for (var placed : map.ranges().values()) {
                long up = placed.range().peers().stream().filter(map::up).count();
                if (up != voters || placed.range().peers().size() != voters)
                  throw new AssertionError(placed + " of " + states(map) + ", waiting: " + waiting());
              }
              if (!map.intents().isEmpty()) throw new AssertionError(map.intents() + ", waiting: " + waiting());
            });
  }

  private static Map<UUID, ClusterNode.State> states(ClusterMap map) {
    var states = new TreeMap<UUID, ClusterNode.State>();
    map.nodes().values().forEach(node -> states.put(node.id(), node.state()));
    return states;
  }

  String waiting() {
    return running().stream().flatMap(node -> node.cluster().questions().stream()).map(asked -> asked.progress().toString()).collect(Collectors.joining(" "));
  }

  /** The node that leads the range and is ready to. */
  Node leader(UUID range) {
    return await()
        .atMost(DEADLINE)
        .until(
            () ->
                running().stream()
                    .filter(node -> leads(node, range))
                    .findFirst(),
            Optional::isPresent)
        .orElseThrow();
  }

  private static boolean leads(Node node, UUID range) {
    var status = node.store == null ? List.<RangeStatus>of() : node.store.status();
    return status.stream()
        .anyMatch(one -> one.range().uuid().equals(range) && one.leader().filter(node.id()::equals).isPresent());
  }

  /**
   * Appends on the leader. Retries as long as it was surely not done, and looks whether it was when that is unknown: a busy machine may lose a leader at any moment.
   *
   * @param text one that the row does not have yet
   */
  String append(UUID range, String key, String text) {
    long until = System.nanoTime() + DEADLINE.toNanos();
    while (true) {
      var result = new CompletableFuture<String>();
      var leader = leader(range);
      var replica = leader.replicas.get(range);
      if (replica == null) throw new AssertionError("no replica of " + range);
      boolean taken =
          replica.propose(
              new Ledger.Entry(key, text),
              new Completion<>() {
                @Override
                public void done(String row) {
                  result.complete(row);
                }

                @Override
                public void failed(StoreException failure) {
                  result.completeExceptionally(failure);
                }
              });
      if (!taken) throw new AssertionError("the queue is full");
      try {
        return result.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        if (System.nanoTime() < until) {
          if (e.getCause() instanceof NotLeaderException) continue;
          if (e.getCause() instanceof OutcomeUnknownException) {
            String row = settledRow(range, key);
            if (row.equals(text) || row.endsWith("," + text)) return row;
            continue;
          }
        }
        throw new AssertionError("not appended: " + key, e);
      } catch (InterruptedException | TimeoutException e) {
        throw new AssertionError("not appended: " + key, e);
      }
    }
  }

  /** What a row is once everything that was proposed before has been applied, or never will be. */
  private String settledRow(UUID range, String key) {
    return await()
        .atMost(DEADLINE)
        .ignoreExceptionsInstanceOf(ExecutionException.class) // of a leader that is lost, too
        .until(
            () -> {
              var leader = leader(range);
              var replica = leader.replicas.get(range);
              if (replica == null) throw new AssertionError("no replica of " + range);
              replica.readBarrier().get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
              return leader.rows(range).getOrDefault(key, "");
            },
            _ -> true);
  }

  @Override
  public void close() {
    var closing = nodes.stream().map(node -> CompletableFuture.runAsync(node::close, task -> Thread.ofPlatform().start(task)));
    CompletableFuture.allOf(closing.toArray(CompletableFuture<?>[]::new)).join();
    try {
      await("the data directories are unlocked, and may be deleted").atMost(DEADLINE).until(() -> nodes.stream().allMatch(Node::released));
    } catch (ConditionTimeoutException e) {
      var locked = nodes.stream().filter(node -> !node.released()).toList();
      throw new AssertionError("never unlocked: " + locked.stream().map(Node::threads).collect(Collectors.joining("\n")), e);
    }
  }
}

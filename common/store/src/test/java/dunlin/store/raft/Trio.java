package dunlin.store.raft;

import static org.awaitility.Awaitility.await;

import dunlin.store.Member;
import dunlin.store.NotLeaderException;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.RangeId;
import dunlin.store.Replica;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import dunlin.store.disk.DiskSpace;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import dunlin.store.snapshot.SnapshotSource;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;

/** Three stores in this process with replicas of one range, over loopback ports, and calls to its leader. */
public final class Trio implements AutoCloseable {
  public static final Duration DEADLINE = Duration.ofMinutes(3);
  public static final RangeId RANGE = RangeId.firstOf("routes");

  private final Path directory;
  private final UnaryOperator<ClusterSettings> cluster;
  private final UnaryOperator<StoreSettings> store;
  public final List<Node> nodes = new ArrayList<>();
  private final DirectSnapshots snapshots = new DirectSnapshots();

  /** The rows that {@link #apply} has appended to. Used by the thread of the test. */
  private final Map<String, String> appended = new HashMap<>();

  /** A node: it keeps its directory and port over restarts. */
  public final class Node {
    final Path data;
    public final int port;
    public final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    volatile long diskFree = Long.MAX_VALUE / 2;
    volatile @Nullable RangeStore running;
    volatile @Nullable Replica<Command, String> replica;
    volatile Command.Logic logic = new Command.Logic();
    /** How often this node has asked another one for a snapshot. */
    final AtomicInteger snapshotsAsked = new AtomicInteger();
    /** A latch that snapshots wait for. */
    volatile CountDownLatch snapshotsHeld = new CountDownLatch(0);

    Node(Path data, int port) {
      this.data = data;
      this.port = port;
    }

    public RangeStore store() {
      var now = running;
      if (now == null) throw new IllegalStateException("node in " + data + " is closed");
      return now;
    }

    public Replica<Command, String> range() {
      var now = replica;
      if (now == null) throw new IllegalStateException("node in " + data + " has no replica");
      return now;
    }

    public UUID id() {
      return store().member().node();
    }

    public ReplicaRole role() {
      return running == null || replica == null ? ReplicaRole.STOPPED : range().status().role();
    }

    private String described() {
      if (running == null) return data + " is closed";
      return data + ": " + (replica == null ? "no replica" : range().status()) + "\n" + NodeThreads.of(id());
    }

    void openStore() {
      var opened = RangeStore.open(settings(port), data, meters, disk());
      opened.fetchSnapshotsBy(new Direct(this));
      running = opened;
      snapshots.opened(opened);
    }

    private DiskSpace.Source disk() {
      return new DiskSpace.Source() {
        @Override
        public long free() {
          return diskFree;
        }

        @Override
        public long total() {
          return Long.MAX_VALUE;
        }
      };
    }

    void declare(List<Member> peers) {
      logic = new Command.Logic();
      replica = store().range(RANGE, peers, Command.CODEC, logic);
    }

    /** Opens and starts it again. */
    public Node restart() {
      openStore();
      declare(List.of());
      store().start(DEADLINE);
      return this;
    }

    /** Opens and starts it without a range. */
    Node startEmpty() {
      openStore();
      store().start(DEADLINE);
      return this;
    }

    void join(List<Member> peers) {
      logic = new Command.Logic();
      replica = store().createReplica(RANGE, peers, true, Command.CODEC, logic, DEADLINE);
    }

    public void close() {
      var closing = running;
      if (closing == null) return;
      snapshots.closing(closing);
      OneRange.close(closing);
      running = null;
      replica = null;
    }

    public List<String> rows() {
      var rows = new ArrayList<String>();
      try {
        CompletableFuture.runAsync(
                () ->
                    range().reader().scan(
                        new byte[0], null, (key, value) -> rows.add(Command.text(key) + "=" + Command.text(value))),
                range().readers())
            .get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
      } catch (InterruptedException | ExecutionException | TimeoutException e) {
        throw new AssertionError("not read", e);
      }
      return rows;
    }
  }

  /** Counts the snapshots that a node asks for, and holds them. */
  final class Direct implements SnapshotSource {
    private final Node asking;

    Direct(Node asking) {
      this.asking = asking;
    }

    @Override
    public Snapshot open(UUID node, RangeId range) throws IOException {
      asking.snapshotsAsked.incrementAndGet();
      try {
        if (!asking.snapshotsHeld.await(DEADLINE.toSeconds(), TimeUnit.SECONDS)) throw new IOException("held for too long");
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted", e);
      }
      return snapshots.open(node, range);
    }

    @Override
    public byte[] read(UUID node, UUID snapshot, String file, long offset, int bytes) throws IOException {
      return snapshots.read(node, snapshot, file, offset, bytes);
    }
  }

  private Trio(Path directory, UnaryOperator<ClusterSettings> cluster, UnaryOperator<StoreSettings> store) {
    this.directory = directory;
    this.cluster = cluster;
    this.store = store;
    // A Raft server that is closed while it leads ends some of its threads with exceptions, which must not fail tests
    // that run in parallel.
    Awaitility.doNotCatchUncaughtExceptionsByDefault();
  }

  public static Trio start(Path directory) {
    return start(directory, UnaryOperator.identity(), UnaryOperator.identity());
  }

  public static Trio start(Path directory, UnaryOperator<ClusterSettings> cluster, UnaryOperator<StoreSettings> store) {
    var trio = unstarted(directory, cluster, store);
    try {
      trio.startAll();
      return trio;
    } catch (RuntimeException e) {
      trio.close();
      throw e;
    }
  }

  /** Three nodes, whose ports are known. */
  static Trio unstarted(Path directory, UnaryOperator<ClusterSettings> cluster, UnaryOperator<StoreSettings> store) {
    var trio = new Trio(directory, cluster, store);
    for (int i = 0; i < 3; i++) trio.newNode();
    return trio;
  }

  void startAll() {
    nodes.forEach(Node::openStore);
    var members = members();
    for (var node : nodes) node.declare(members);
    var starts = nodes.stream().map(node -> CompletableFuture.runAsync(() -> node.store().start(DEADLINE), Thread::startVirtualThread));
    CompletableFuture.allOf(starts.toArray(CompletableFuture<?>[]::new)).join();
  }

  /** Adds a node with an empty directory. */
  Node newNode() {
    var node = new Node(directory.resolve("node-" + nodes.size()), FreePort.find());
    nodes.add(node);
    return node;
  }

  List<Member> members() {
    return nodes.stream().filter(node -> node.running != null).map(node -> node.store().member()).toList();
  }

  private StoreSettings settings(int port) {
    var usual = ClusterSettings.loopback(port);
    var quick =
        new ClusterSettings(
            port, usual.host(), usual.bindAddress(), usual.security(), Duration.ofSeconds(2), 50,
            usual.installBytesPerSecond(), usual.installDeadline());
    return store.apply(StoreSettings.defaults().with(cluster.apply(quick)));
  }

  /** Waits for a leader that is ready. */
  public Node leader() {
    try {
      return await().atMost(DEADLINE).until(this::leading, Optional::isPresent).orElseThrow();
    } catch (ConditionTimeoutException e) {
      throw new AssertionError("no leader is ready: " + nodes.stream().map(Node::described).collect(Collectors.joining("\n\n")), e);
    }
  }

  private Optional<Node> leading() {
    return nodes.stream()
        .filter(node -> node.replica != null && node.role() == ReplicaRole.LEADER)
        .filter(node -> node.range().readBarrier().handle((_, e) -> e == null).completeOnTimeout(false, 1, TimeUnit.SECONDS).join())
        .findFirst();
  }

  public List<Node> followers() {
    var leader = leader();
    return nodes.stream().filter(node -> node != leader && node.running != null).toList();
  }

  /** Lets a follower lead. On a busy machine a leader may not have heard from it for so long that it refuses; it is asked again then. */
  public void letLead(Node follower) {
    await()
        .atMost(DEADLINE)
        .ignoreExceptionsMatching(e -> e instanceof StoreException && String.valueOf(e.getMessage()).endsWith("it does not answer"))
        .until(
            () -> {
              leader().range().transferLeadership(follower.id(), DEADLINE);
              return true;
            });
  }

  /** Adds a node to the range, unless it is added already. On a busy machine the leader may change while it does, or take too long for the node; another one is asked then. */
  public void add(Member member) {
    changed(() -> leader().range().status().peer(member.node()).isPresent(), () -> leader().range().add(member, DEADLINE));
  }

  /** Removes a node from the range in the same way. */
  public void remove(UUID node) {
    changed(
        () -> leader().range().status().peer(node).isEmpty(),
        () -> {
          var leading = leader();
          if (leading.id().equals(node)) letLead(followers().getFirst());
          else leading.range().remove(node, DEADLINE);
        });
  }

  private static void changed(BooleanSupplier isDone, Runnable change) {
    await()
        .atMost(DEADLINE)
        .ignoreExceptionsInstanceOf(StoreException.class)
        .until(
            () -> {
              if (!isDone.getAsBoolean()) change.run();
              return isDone.getAsBoolean();
            });
  }

  /**
   * Proposes on the leader. Retries as long as it was surely not done, and looks whether it was when that is unknown: a busy machine may lose a leader at any moment.
   * Called by one thread, which alone appends to the rows that it appends to.
   */
  public String apply(Command command) {
    long until = System.nanoTime() + DEADLINE.toNanos();
    while (true) {
      try {
        var result = propose(leader(), command).get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        if (command instanceof Command.Append append) appended.put(append.key(), result);
        return result;
      } catch (ExecutionException e) {
        if (System.nanoTime() < until) {
          if (e.getCause() instanceof NotLeaderException) continue;
          if (e.getCause() instanceof OutcomeUnknownException) {
            if (!(command instanceof Command.Append append)) continue; // doing it twice is doing it once
            var row = row(append.key());
            if (row.equals(appended.getOrDefault(append.key(), ""))) continue;
            appended.put(append.key(), row);
            return row;
          }
        }
        throw new AssertionError("not applied: " + command, e);
      } catch (InterruptedException | TimeoutException e) {
        throw new AssertionError("not applied: " + command, e);
      }
    }
  }

  /** What a row is once everything that was proposed before has been applied, or never will be. */
  private String row(String key) {
    String start = key + "=";
    return leader().rows().stream().filter(row -> row.startsWith(start)).findFirst().map(row -> row.substring(start.length())).orElse("");
  }

  static CompletableFuture<String> propose(Node node, Command command) {
    var result = new CompletableFuture<String>();
    if (!node.range().propose(command, OneRange.completing(result)))
      result.completeExceptionally(new StoreException("the queue is full"));
    return result;
  }

  @Override
  public void close() {
    stopAll();
  }

  void stopAll() {
    var closing = nodes.stream().map(node -> CompletableFuture.runAsync(node::close, Thread::startVirtualThread));
    CompletableFuture.allOf(closing.toArray(CompletableFuture<?>[]::new)).join();
  }
}

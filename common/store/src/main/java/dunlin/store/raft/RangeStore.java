package dunlin.store.raft;

import dunlin.runtime.Failures;
import dunlin.runtime.StallWatch;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.store.CommandCodec;
import dunlin.store.Member;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.RangeProgress;
import dunlin.store.RangeStatus;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.DiskSpace;
import dunlin.store.disk.RatisPeers;
import dunlin.store.disk.RocksMemory;
import dunlin.store.node.PeerCallers;
import dunlin.store.node.RaftNode;
import dunlin.store.settings.StoreSettings;
import dunlin.store.snapshot.SnapshotCarrier;
import dunlin.store.snapshot.SnapshotSource;
import dunlin.store.snapshot.OpenSnapshots;
import dunlin.store.snapshot.LocalSnapshots;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The replicas of one process: one Raft server, and for each range a Raft group and a RocksDB, in one data directory.
 *
 * <p>Call {@link #open}, then {@link #range} for each range to declare, then {@link #start} once, and at the end {@link
 * #close}. After the start, {@link #createReplica} and {@link #dropReplica} may be called.
 */
public final class RangeStore implements LocalSnapshots, AutoCloseable {
  /*
   * Owner: one thread calls open, range, start and close; the other methods may be called by any thread.
   * Failure: a range whose log, disk or logic fails is fenced at once and onFatal is called once; the process should then
   * stop, since with a voter whose log is dead, the next fault costs the quorum. A start that fails leaves nothing
   * running but at most one idle daemon thread of Ratis per range that it could not load.
   */
  private static final Logger log = LoggerFactory.getLogger(RangeStore.class);
  /** How long a caller waits for the stop. */
  private static final Duration CLOSE_DEADLINE = Duration.ofSeconds(3);

  private static final Duration HAND_OVER_DEADLINE = Duration.ofSeconds(2);

  /** How long stopping may continue in the background, on a disk that hardly responds. */
  private static final Duration STOP_DEADLINE = Duration.ofMinutes(1);

  /** How long the rows may take to show what is committed, before a snapshot of them is made. */
  private static final Duration BARRIER_MAX = Duration.ofSeconds(30);

  private enum State { OPEN, STARTING, STARTED, CLOSED }

  private final StoreSettings settings;
  private final LongSupplier nanoTime;
  private final boolean maintainsItself;
  private final DataDirectory data;
  private final MeterRegistry meters;
  private final DiskSpace disk;
  private final CompletableFuture<RocksMemory> memory;
  private final LocalReplicaSet replicas;
  private final OpenSnapshots snapshots;
  private final SnapshotCarrier source = new SnapshotCarrier();
  private final PeerCallers callers;
  private final AtomicReference<State> state = new AtomicReference<>(State.OPEN);
  private final CompletableFuture<StoreException> firstFailure = new CompletableFuture<>();
  private final CompletableFuture<StoreException> fatal = new CompletableFuture<>();

  private final CompletableFuture<@Nullable Void> closing = new CompletableFuture<>();
  private final CompletableFuture<@Nullable Void> released = new CompletableFuture<>();

  private volatile Consumer<RangeDescriptor> splitListener = _ -> {};
  private volatile @Nullable CompletableFuture<Void> starting;
  private volatile @Nullable RaftNode node;
  private volatile @Nullable RangeMaintenance maintenance;

  private RangeStore(
      StoreSettings settings, DataDirectory data, MeterRegistry meters, DiskSpace.Source disk, LongSupplier nanoTime,
      boolean maintainsItself) {
    this.settings = settings;
    this.maintainsItself = maintainsItself;
    this.nanoTime = nanoTime;
    this.data = data;
    this.meters = meters;
    this.disk = new DiskSpace(disk, settings.disk().freeMin(), settings.disk().criticalMin());
    snapshots = new OpenSnapshots(data.snapshots(), System::nanoTime);
    callers = new PeerCallers(meters, System::nanoTime);
    // In the background: unpacking RocksDB's native library takes as long as all the rest of the opening.
    memory = CompletableFuture.supplyAsync(() -> new RocksMemory(settings.memoryBytes()), thread("memory"));
    replicas = new LocalReplicaSet(settings, data, this.disk, source, meters, memory, this::thread, this::split, this::failed);
  }

  /**
   * Locks the data directory for this process, creating it if necessary.
   *
   * @throws StoreException when the directory cannot be used: not writable, in use, not Dunlin's, of an unknown format
   *     or corrupt. It is then left unchanged
   */
  public static RangeStore open(StoreSettings settings, Path dataDirectory, MeterRegistry meters) {
    return open(settings, DataDirectory.open(dataDirectory), meters);
  }

  /** The same for a data directory that the caller has opened; the store closes it. */
  public static RangeStore open(StoreSettings settings, DataDirectory data, MeterRegistry meters) {
    try {
      return new RangeStore(settings, data, meters, data.disk(settings.surroundings().diskTaken()), System::nanoTime, true);
    } catch (RuntimeException | Error e) {
      data.close();
      throw e;
    }
  }

  /**
   * Checks whether a node could use a data directory if no other node did. Changes nothing.
   *
   * @throws StoreException when it could not
   */
  public static void check(Path dataDirectory) {
    DataDirectory.check(dataDirectory);
  }

  /** Whether a node, of this process or another, uses a data directory now. */
  public static boolean inUse(Path dataDirectory) {
    return DataDirectory.inUse(dataDirectory);
  }

  static RangeStore open(StoreSettings settings, Path dataDirectory, MeterRegistry meters, DiskSpace.Source disk) {
    return new RangeStore(settings, DataDirectory.open(dataDirectory), meters, disk, System::nanoTime, true);
  }

  /** A store whose maintenance runs only by calls of {@link #maintain}. */
  static RangeStore openStepped(StoreSettings settings, Path dataDirectory, MeterRegistry meters, DiskSpace.Source disk) {
    return new RangeStore(settings, DataDirectory.open(dataDirectory), meters, disk, System::nanoTime, false);
  }

  /** A store with a clock that decides whether the start has stalled. */
  static RangeStore open(StoreSettings settings, Path dataDirectory, MeterRegistry meters, LongSupplier nanoTime) {
    var data = DataDirectory.open(dataDirectory);
    return new RangeStore(settings, data, meters, data.disk(settings.surroundings().diskTaken()), nanoTime, true);
  }

  /** This node's identity: a UUID, tied to the data directory. */
  public String nodeId() {
    return data.identity().nodeId().toString();
  }

  /** The incarnation of this opening of the data directory, larger than all before; on disk before {@link #open} returned. */
  public long incarnation() {
    return data.identity().incarnation();
  }

  /** This node as the others of its cluster know it. */
  public Member member() {
    return new Member(data.identity().nodeId(), settings.cluster().host(), settings.cluster().port());
  }

  /** The ranges with a replica in the data directory, lost ones included: each must be declared before the start. */
  public List<UUID> stored() {
    return data.ranges();
  }

  /**
   * Declares the first range of a kind, with this node as its only peer, before the start. The kind is a short lower-case
   * word such as "routes", by which a restart finds the range again.
   */
  public <C, R> Replica<C, R> range(String kind, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    return range(RangeId.firstOf(kind), List.of(), codec, logic);
  }

  /**
   * Declares a range, before the start.
   *
   * @param peers the initial members of the range, this node included; each of them must declare the same. Empty for
   *     this node alone. Ignored when the replica exists: its log has the peers
   */
  public <C, R> Replica<C, R> range(RangeId id, List<Member> peers, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    if (state.get() != State.OPEN) throw new IllegalStateException("range '" + id + "' is declared after the start");
    var self = data.identity().nodeId();
    if (!peers.isEmpty() && peers.stream().noneMatch(peer -> peer.node().equals(self)))
      throw new IllegalArgumentException("range '" + id + "': this node " + self + " is not one of its peers " + peers);
    return replicas.declare(id, RatisPeers.voters(peers), codec, logic, null);
  }

  /**
   * Declares a range that has been placed, before the start: its commands are fenced by epoch, and it can be split.
   *
   * @param initial the descriptor of a range whose rows have none, with this node as its only peer: a new one, or one that was not placed before. Ignored when the rows
   *     have one
   */
  public <C, R> Replica<C, R> range(RangeDescriptor initial, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    var id = new RangeId(initial.kind(), initial.id());
    if (state.get() != State.OPEN) throw new IllegalStateException("range '" + id + "' is declared after the start");
    return replicas.declare(id, List.of(), codec, logic, initial);
  }

  /**
   * Sets the listener for ranges that are split off here. It is called on the parent's applying thread, and again on
   * the child's when its own log has confirmed the split. Call before the start.
   */
  public void onSplit(Consumer<RangeDescriptor> listener) {
    splitListener = listener;
  }

  /**
   * Sets the nodes of the cluster and their hosts. Their Raft calls are accepted even if this node's configuration of a
   * group does not have them yet. Call before the start; the function is called by any thread.
   */
  public void members(Function<UUID, Optional<String>> members) {
    callers.members(members);
  }

  private void split(RangeDescriptor upper) {
    splitListener.accept(upper);
  }

  /** The ranges that have been split off here and that {@link #startSplit} has not begun to start. */
  public List<RangeDescriptor> unstarted() {
    return data.unstarted();
  }

  /** Deletes the rows of a range that was split off here, was not started or could not be, and never will be, because the range has moved to other nodes. */
  public void dropUnstarted(RangeId id) {
    replicas.dropUnstarted(id);
  }

  /**
   * Starts the group of a range that was split off here, or resumes that after a failure: its rows stay when this throws.
   *
   * @param peers the initial members, this node among them; all must start with the same
   */
  public <C, R> Replica<C, R> startSplit(
      RangeId id, List<Member> peers, CommandCodec<C> codec, RangeLogic<C, R> logic, Duration deadline) {
    return replicas.startSplit(serving(), id, peers, codec, logic, deadline);
  }

  /**
   * Sets the listener that is called once, on a thread of its own, when a range has failed after the start. The store
   * cannot continue then; the listener may close it.
   */
  public void onFatal(Consumer<StoreException> listener) {
    var _ = fatal.thenAcceptAsync(listener, thread("fatal"));
  }

  /**
   * Starts every declared range. When this returns, the logic of each is open. A range whose only peer is this node is
   * led here and has applied all committed entries; a replica with peers may have any role.
   *
   * <p>This takes as long as reading the rows and replaying the log. It fails when there is no progress for {@code
   * stallMax}: no row was read and no entry applied. RocksDB opening its files and Ratis reading its log show no
   * progress; these may take half an hour.
   *
   * @throws StoreException naming the range, when a range cannot start or there is no more progress; the store is then
   *     closed
   */
  public void start(Duration stallMax) {
    if (!state.compareAndSet(State.OPEN, State.STARTING)) throw new IllegalStateException("started or closed before");
    // Ratis blocks without a timeout, so it gets a thread of its own.
    var running = run("start", this::startRanges);
    starting = running;
    try {
      var moves = new ProgressCounter(nanoTime);
      new StallWatch(stallMax, () -> moves.moved(progress()), nanoTime).await(running);
      if (!state.compareAndSet(State.STARTING, State.STARTED)) throw new StoreException("closed while it started");
      var _ = firstFailure.thenAccept(fatal::complete);
    } catch (ExecutionException e) {
      close();
      throw StartFailure.in(e, replicas.all(), data);
    } catch (TimeoutException e) {
      close();
      throw new StoreException("the store does not start: there was no progress for " + stallMax + "; not led yet: " + notLed(), e);
    } catch (InterruptedException e) {
      close();
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted while the store started", e);
    }
  }

  /** The progress of each range, while the store starts and while it serves. Any thread; never blocks. */
  public List<RangeProgress> progress() {
    return replicas.all().stream().map(ReplicatedRange::progress).toList();
  }

  /** Runs one round of maintenance, in a store from {@link #openStepped}. */
  void maintain(long nowNanos) {
    var looking = maintenance;
    if (maintainsItself || looking == null) throw new IllegalStateException("its maintenance runs by itself, or it has not started");
    looking.step(nowNanos);
  }

  /** Whether the disk is so full that nothing new is stored. */
  public boolean diskLow() {
    return disk.low();
  }

  /** Whether the disk had no room for the snapshot that a replica was to begin with, and still has none. */
  public boolean diskShort() {
    return disk.lacksRoom();
  }

  /** Called when a range has fenced itself. */
  private void failed(StoreException e) {
    if (state.get() == State.STARTED) log.error("Node {}: {}", nodeId(), e.getMessage(), e);
    firstFailure.complete(e);
  }

  private void startRanges() {
    try {
      var start = new NodeStart(settings, data, callers, meters, replicas.all(), () -> state.get() == State.CLOSED, built -> node = built);
      start.prepare();
      disk.show(meters);
      // The rows are opened on their own threads while Ratis' classes are loaded here and the logs are read.
      for (var range : start.served()) range.open(memory, thread("open-" + range.id()), null);
      var started = start.start();
      var ready = new ArrayList<CompletableFuture<?>>();
      for (var range : start.served()) ready.add(range.ready(started.server()));
      var all = CompletableFuture.allOf(ready.toArray(CompletableFuture<?>[]::new));
      CompletableFuture.anyOf(all, firstFailure, closing).join();
      if (closing.isDone()) throw new StoreException("closed while it started");
      if (firstFailure.isDone()) throw firstFailure.join();
      for (var range : start.served()) range.startProposing(started.server());
      var looking = new RangeMaintenance(replicas.all(), started, disk, snapshots, maintainsItself ? thread("compact") : Runnable::run);
      if (maintainsItself) looking.start(threadName("maintenance"));
      maintenance = looking;
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }

  /**
   * Creates this node's replica of a range that exists on other nodes, while the store runs.
   *
   * @param peers the range's current peers, with or without this node
   * @param joining whether the range's leader will add this node by {@link Replica#add}, as with every replica of an
   *     existing range; it does not vote before that. Otherwise this node is one of the range's initial members
   * @throws StoreException when it cannot be created; then nothing is left of it, or the rest is deleted at the next
   *     start. Also when it is to begin as a voter and may have voted here before, even in a creation that failed: then
   *     it must be removed from the range and join it again
   */
  public <C, R> Replica<C, R> createReplica(
      RangeId id, List<Member> peers, boolean joining, CommandCodec<C> codec, RangeLogic<C, R> logic, Duration deadline) {
    return replicas.create(serving(), id, peers, joining, codec, logic, deadline);
  }

  /**
   * Creates a new range while the store runs, with this node as its only peer. The caller knows that there is no such range anywhere, and that no other node creates it.
   *
   * @throws StoreException when it cannot be created; then nothing is left of it, or the rest is deleted at the next start. Also when a replica of it was lost here
   */
  public <C, R> Replica<C, R> createRange(RangeDescriptor range, CommandCodec<C> codec, RangeLogic<C, R> logic, Duration deadline) {
    return replicas.create(serving(), range, member(), codec, logic, deadline);
  }

  /**
   * Deletes this node's replica of a range, after the range's leader has removed it. When this returns, nothing of it
   * is left; after a crash, the next opening of the directory completes the deletion. May be called again after an
   * exception.
   */
  public void dropReplica(RangeId id, Duration deadline) {
    replicas.drop(serving(), id, deadline);
  }

  /** Opens a snapshot of a range for a node that is behind, which downloads it by {@link #readSnapshot}. Blocks. */
  @Override
  public SnapshotSource.Snapshot openSnapshot(RangeId id) {
    var range = replicas.find(id);
    if (range == null) throw new StoreException("range '" + id + "' has no replica here");
    try {
      return range.snapshot(snapshots);
    } catch (IOException e) {
      throw new StoreException("range '" + id + "': no snapshot of its rows can be made: " + e.getMessage(), e);
    }
  }

  @Override
  public SnapshotSource.Snapshot openCurrentSnapshot(RangeId id) {
    var range = replicas.find(id);
    if (range == null) throw new StoreException("range '" + id + "' has no replica here");
    try {
      range.readBarrier().orTimeout(BARRIER_MAX.toMillis(), TimeUnit.MILLISECONDS).join();
      var rows = range.rows();
      if (rows == null) throw new StoreException("range '" + id + "' is closed");
      return snapshots.openCurrent(id, rows);
    } catch (CompletionException e) {
      var cause = Failures.unwrapped(e);
      if (cause instanceof StoreException refused) throw refused;
      throw new StoreException("range '" + id + "': its rows do not show what is committed within " + BARRIER_MAX.toSeconds() + " s", cause);
    } catch (IOException e) {
      throw new StoreException("range '" + id + "': no snapshot of its rows can be made: " + e.getMessage(), e);
    }
  }

  /** Reads a part of a file that {@link #openSnapshot} or {@link #openCurrentSnapshot} has announced. Blocks. */
  @Override
  public byte[] readSnapshot(UUID snapshot, String file, long offset, int bytes) {
    try {
      return snapshots.read(snapshot, file, offset, bytes);
    } catch (IOException e) {
      throw new StoreException("snapshot " + snapshot + " cannot be read: " + e.getMessage(), e);
    }
  }

  /**
   * Sets the carrier of snapshots from other nodes; call before the start. Without it, a replica that is too far behind
   * cannot catch up.
   */
  public void fetchSnapshotsBy(SnapshotSource carrier) {
    if (state.get() != State.OPEN) throw new IllegalStateException("called after the start");
    source.use(carrier);
  }

  /** Registers an MXBean for each replica, also for later ones, until it is dropped. */
  public void show(NodeBeans all) {
    replicas.show(all);
  }

  /** The status of each replica of this node. */
  public List<RangeStatus> status() {
    return replicas.all().stream().map(ReplicatedRange::status).toList();
  }

  private RaftNode serving() {
    var serving = node;
    if (state.get() != State.STARTED || serving == null) throw new StoreException("the store is not running");
    if (!settings.cluster().hasPeers()) throw new StoreException("this node has no cluster port, so it has no peers");
    return serving;
  }

  private String notLed() {
    return String.join(
        ", ", replicas.all().stream().filter(range -> !range.led()).map(range -> range.id().toString()).toList());
  }

  /**
   * Has other nodes lead the ranges that this one leads, while the store goes on. Called before the rest of a node stops: so callers wait for the transfer of a
   * leadership, and not for all that is stopped before the store. Blocks for two seconds at most. What is left is transferred by {@link #close}.
   */
  public void handOver() {
    try {
      each("hand-over-", HAND_OVER, System.nanoTime() + HAND_OVER_DEADLINE.toNanos());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Closes the store. Pending commands fail; completed ones are on disk. Returns within about three seconds: the rest
   * continues in the background, and the data directory stays locked until it has ended.
   */
  @Override
  public void close() {
    if (state.getAndSet(State.CLOSED) == State.CLOSED) return;
    closing.complete(null);
    var stopping = run("close", this::stopAndRelease);
    try {
      if (!ended(stopping, System.nanoTime() + CLOSE_DEADLINE.toNanos()))
        log.warn("Node {}: the store has not stopped within {} and continues to stop in the background", nodeId(), CLOSE_DEADLINE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Completed when everything has stopped and another node may use the data directory. */
  CompletableFuture<@Nullable Void> released() {
    return released;
  }

  private void stopAndRelease() {
    String why;
    try {
      var running = stop(System.nanoTime() + STOP_DEADLINE.toNanos());
      if (running.isEmpty()) {
        disk.close();
        data.close();
        released.complete(null);
        return;
      }
      why = "after %s, this has not ended: %s".formatted(STOP_DEADLINE, running);
    } catch (InterruptedException | RuntimeException e) {
      log.warn("Node {}: the store did not stop cleanly", nodeId(), e);
      why = e.toString();
    }
    // Releasing the directory while a thread uses it would let another node in, or crash the process in native code.
    log.error("Node {}: the store cannot be stopped ({}); {} stays locked until the process ends", nodeId(), why, data.path());
  }

  /** Answers what still runs at the deadline; empty when nothing does. What comes before Ratis leaves it half of the time at least. */
  private String stop(long until) throws InterruptedException {
    long half = until - STOP_DEADLINE.toNanos() / 2;
    if (!stopMaintenance(half)) log.warn("Node {}: the maintenance of its ranges has not ended while the store stops", nodeId());
    each("close-", HAND_OVER, half);
    if (!each("close-", range -> range.stop(half), half)) log.warn("Node {}: not all ranges have stopped before Ratis does", nodeId());
    var serving = node;
    if (serving != null && !ended(run("close-raft", () -> close(serving)), until)) return "Ratis";
    var start = starting;
    if (start != null && !ended(start, until)) return "the start";
    callers.close();
    if (!stopMaintenance(until)) return "the maintenance of its ranges"; // a start that was about to finish may have begun it
    if (!each("close-", range -> range.close(until), until)) return "the use of its rows";
    if (!ended(memory, until)) return "the opening of RocksDB";
    if (!memory.isCompletedExceptionally()) memory.join().close();
    return "";
  }

  private boolean stopMaintenance(long until) throws InterruptedException {
    var looking = maintenance;
    return looking == null || looking.close(until);
  }

  private void close(RaftNode serving) {
    try {
      serving.close();
    } catch (IOException e) {
      log.warn("Node {}: Ratis did not stop cleanly", nodeId(), e);
    }
  }

  private interface Step {
    boolean take(ReplicatedRange<?, ?> range) throws InterruptedException;
  }

  private static final Step HAND_OVER =
      range -> {
        range.handOver();
        return true;
      };

  /** Runs a step for all ranges in parallel, on threads that are named by it; answers whether all succeeded in time. */
  private boolean each(String what, Step step, long until) throws InterruptedException {
    var failed = new AtomicBoolean();
    var steps = new ArrayList<CompletableFuture<Void>>();
    for (var range : replicas.all())
      steps.add(
          run(
              what + range.id(),
              () -> {
                try {
                  if (!step.take(range)) failed.set(true);
                } catch (InterruptedException e) {
                  failed.set(true);
                }
              }));
    for (var one : steps) if (!ended(one, until) || one.isCompletedExceptionally()) failed.set(true);
    return !failed.get();
  }

  private CompletableFuture<Void> run(String what, Runnable task) {
    return CompletableFuture.runAsync(task, thread(what));
  }

  /** Waits until a future has completed, normally or not. */
  static boolean ended(CompletableFuture<?> future, long untilNanos) throws InterruptedException {
    try {
      future.get(Math.max(1, untilNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      return true;
    }
    return true;
  }

  /** Runs each task on a new platform thread: the tasks block, some of them in native code. */
  private Executor thread(String what) {
    return task -> {
      var thread = Thread.ofPlatform().daemon().name(threadName(what)).unstarted(task);
      // Ratis loads classes by name with it, and its threads inherit it; it must not be the embedding application's.
      thread.setContextClassLoader(RangeStore.class.getClassLoader());
      thread.start();
    };
  }

  private String threadName(String what) {
    return "dunlin-" + nodeId().substring(0, 8) + "-store-" + what;
  }
}

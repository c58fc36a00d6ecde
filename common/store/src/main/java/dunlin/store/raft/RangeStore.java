package dunlin.store.raft;

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
import dunlin.store.snapshot.CheckpointCarrier;
import dunlin.store.snapshot.CheckpointSource;
import dunlin.store.snapshot.Checkpoints;
import dunlin.store.snapshot.LocalCheckpoints;
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
 * The replicas of ranges that one process keeps: one Raft server, and for each range a Raft group and a RocksDB, in one
 * data directory.
 *
 * <p>Use: {@link #open}, then {@link #range} for each that is to be there, then {@link #start} once, then {@link #close}.
 * Meanwhile {@link #createReplica} and {@link #dropReplica}.
 */
public final class RangeStore implements LocalCheckpoints, AutoCloseable {
  /*
   * Owner: the one that opened it calls open, range, start and close; the rest by any thread.
   * Failure: a range whose log, disk or logic fails is fenced at once and onFatal is called once; the process should then
   * stop, since a voter that goes on with a dead log costs the next fault its majority. A start that fails leaves
   * nothing running but at most one idle daemon thread of Ratis per range that it could not load.
   */
  private static final Logger log = LoggerFactory.getLogger(RangeStore.class);
  /** Stopping has to end within the 5 s that a supervisor waits before it kills. */
  private static final Duration CLOSE_DEADLINE = Duration.ofSeconds(3);

  /** How long the rest of it may go on behind, on a disk that hardly answers. */
  private static final Duration STOP_DEADLINE = Duration.ofMinutes(1);

  private enum State { OPEN, STARTING, STARTED, CLOSED }

  private final StoreSettings settings;
  private final LongSupplier nanoTime;
  private final boolean upkeepByItself;
  private final DataDirectory data;
  private final MeterRegistry meters;
  private final DiskSpace disk;
  private final CompletableFuture<RocksMemory> memory;
  private final LocalReplicaSet replicas;
  private final Checkpoints checkpoints;
  private final CheckpointCarrier source = new CheckpointCarrier();
  private final PeerCallers callers;
  private final AtomicReference<State> state = new AtomicReference<>(State.OPEN);
  private final CompletableFuture<StoreException> firstFailure = new CompletableFuture<>();
  private final CompletableFuture<StoreException> fatal = new CompletableFuture<>();

  private final CompletableFuture<@Nullable Void> closing = new CompletableFuture<>();
  private final CompletableFuture<@Nullable Void> released = new CompletableFuture<>();

  private volatile Consumer<RangeDescriptor> splitListener = _ -> {};
  private volatile @Nullable CompletableFuture<Void> starting;
  private volatile @Nullable RaftNode node;
  private volatile @Nullable RangeMaintenance upkeep;

  private RangeStore(
      StoreSettings settings, DataDirectory data, MeterRegistry meters, DiskSpace.Source disk, LongSupplier nanoTime,
      boolean upkeepByItself) {
    this.settings = settings;
    this.upkeepByItself = upkeepByItself;
    this.nanoTime = nanoTime;
    this.data = data;
    this.meters = meters;
    this.disk = new DiskSpace(disk, settings.disk().freeMin(), settings.disk().criticalMin());
    checkpoints = new Checkpoints(data.checkpoints(), System::nanoTime);
    callers = new PeerCallers(meters, System::nanoTime);
    // Unpacks RocksDB's native library, which takes as long as all the rest; the caller has other things to do in that time.
    memory = CompletableFuture.supplyAsync(() -> new RocksMemory(settings.memoryBytes()), thread("memory"));
    replicas = new LocalReplicaSet(settings, data, this.disk, source, meters, memory, this::thread, this::split, this::failed);
  }

  /**
   * Takes the data directory for this process, creating it when it is not there.
   *
   * @throws StoreException when the directory cannot be used: not writable, in use, not Dunlin's, of an unknown format
   *     or corrupt. Nothing that was in it has been changed then
   */
  public static RangeStore open(StoreSettings settings, Path dataDirectory, MeterRegistry meters) {
    return open(settings, dataDirectory, _ -> meters);
  }

  /** The same, with meters that are made for the node once its identity is known; their maker closes them. */
  public static RangeStore open(StoreSettings settings, Path dataDirectory, Function<String, MeterRegistry> metersOf) {
    var data = DataDirectory.open(dataDirectory);
    try {
      return new RangeStore(settings, data, metersOf.apply(data.identity().nodeId().toString()), data.disk(), System::nanoTime, true);
    } catch (RuntimeException | Error e) {
      data.close();
      throw e;
    }
  }

  /**
   * Finds out, and changes nothing, whether a node could use a data directory that no other one uses.
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

  /** Whose upkeep comes by {@link #upkeep} and never by itself. */
  static RangeStore openStepped(StoreSettings settings, Path dataDirectory, MeterRegistry meters, DiskSpace.Source disk) {
    return new RangeStore(settings, DataDirectory.open(dataDirectory), meters, disk, System::nanoTime, false);
  }

  /** By whose clock it is judged whether the start stands still. */
  static RangeStore open(StoreSettings settings, Path dataDirectory, MeterRegistry meters, LongSupplier nanoTime) {
    var data = DataDirectory.open(dataDirectory);
    return new RangeStore(settings, data, meters, data.disk(), nanoTime, true);
  }

  /** This node's identity: a UUID that lives and dies with the data directory. */
  public String nodeId() {
    return data.identity().nodeId().toString();
  }

  /** How often this data directory has been opened, this time included; on disk before {@link #open} returned. */
  public long incarnation() {
    return data.identity().incarnation();
  }

  /** This node as the others of its cluster know it. */
  public Member member() {
    return new Member(data.identity().nodeId(), settings.cluster().host(), settings.cluster().port());
  }

  /** The ranges that have a replica in the data directory, or have lost it there: each must be declared before the start. */
  public List<UUID> stored() {
    return data.ranges();
  }

  /**
   * Declares the first range of a kind, with this node as its only peer, before the start. The kind is a short lower-case
   * word such as "routes": a restart finds the range again by it.
   */
  public <C, R> Replica<C, R> range(String kind, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    return range(RangeId.firstOf(kind), List.of(), codec, logic);
  }

  /**
   * Declares a range, before the start.
   *
   * @param peers everyone who has a replica from the range's beginning, this node too; each of them must declare the same.
   *     Empty for this node alone. Of no account when the replica is there already: who the peers are is in its log
   */
  public <C, R> Replica<C, R> range(RangeId id, List<Member> peers, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    if (state.get() != State.OPEN) throw new IllegalStateException("range '" + id + "' comes after the start");
    var self = data.identity().nodeId();
    if (!peers.isEmpty() && peers.stream().noneMatch(peer -> peer.node().equals(self)))
      throw new IllegalArgumentException("range '" + id + "': this node " + self + " is none of its peers " + peers);
    return replicas.declare(id, RatisPeers.voters(peers), codec, logic, null);
  }

  /**
   * Declares a range that has been placed, before the start: its commands are fenced by epoch, and it can be split.
   *
   * @param initial what it is when it has no rows yet; of no account when it has some. This node is its only peer then
   */
  public <C, R> Replica<C, R> range(RangeDescriptor initial, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    var id = new RangeId(initial.kind(), initial.id());
    if (state.get() != State.OPEN) throw new IllegalStateException("range '" + id + "' comes after the start");
    return replicas.declare(id, List.of(), codec, logic, initial);
  }

  /**
   * Tells the listener what has been split off here, on the applying thread of the parent, and again when its own log has
   * confirmed that, on its own; before the start.
   */
  public void onSplit(Consumer<RangeDescriptor> listener) {
    splitListener = listener;
  }

  /**
   * Says which nodes belong to the cluster, and at which hosts: their Raft is heard, too, where this node's configuration of a group does not
   * have them yet. Before the start; any thread asks.
   */
  public void members(Function<UUID, Optional<String>> members) {
    callers.members(members);
  }

  private void split(RangeDescriptor upper) {
    splitListener.accept(upper);
  }

  /** The ranges that have been split off here and wait for {@link #startSplit}. */
  public List<RangeDescriptor> unstarted() {
    return data.unstarted();
  }

  /** Deletes what was split off here and will never be started: the range has moved to other nodes since. */
  public void dropUnstarted(RangeId id) {
    replicas.dropUnstarted(id);
  }

  /**
   * Begins the group of a range that was split off here, or goes on with that after a failure.
   *
   * @param peers who has a part of it, this node among them; all begin it with the same
   */
  public <C, R> Replica<C, R> startSplit(
      RangeId id, List<Member> peers, CommandCodec<C> codec, RangeLogic<C, R> logic, Duration deadline) {
    return replicas.startSplit(serving(), id, peers, codec, logic, deadline);
  }

  /**
   * Tells the listener, on a thread of its own and once, when a range has failed after the start. The store cannot go
   * on then; the listener may close it.
   */
  public void onFatal(Consumer<StoreException> listener) {
    var _ = fatal.thenAcceptAsync(listener, thread("fatal"));
  }

  /**
   * Starts every declared range; when this returns, the logic of each has been opened. One whose only peer is this node is
   * led here then, and has applied all that is committed; one with others has its part in it, whatever that is.
   *
   * <p>That takes as long as it takes to read the rows and to apply what the log has behind them. It is given up when nothing
   * has moved for so long: no row was read, no entry applied. While RocksDB opens its files and Ratis reads its log nothing can be seen
   * to move; these may take half an hour.
   *
   * @throws StoreException naming the range, when one cannot start or nothing moves any more; the store is closed then
   */
  public void start(Duration stallMax) {
    if (!state.compareAndSet(State.OPEN, State.STARTING)) throw new IllegalStateException("started or closed before");
    // Ratis blocks and cannot be told for how long; so it has a thread to itself.
    var running = run("start", this::startRanges);
    starting = running;
    try {
      var moves = new StartMoves(nanoTime);
      new StallWatch(stallMax, () -> moves.moved(progress()), nanoTime).await(running);
      if (!state.compareAndSet(State.STARTING, State.STARTED)) throw new StoreException("closed while it started");
      var _ = firstFailure.thenAccept(fatal::complete);
    } catch (ExecutionException e) {
      close();
      throw StartFailure.in(e, replicas.all(), data);
    } catch (TimeoutException e) {
      close();
      throw new StoreException("the store does not start: nothing has moved for " + stallMax + "; not led yet: " + notLed(), e);
    } catch (InterruptedException e) {
      close();
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted while the store started", e);
    }
  }

  /** How far each range has come, while the store starts and while it serves. Any thread; never blocks. */
  public List<RangeProgress> progress() {
    return replicas.all().stream().map(ReplicatedRange::progress).toList();
  }

  /** Has the upkeep of a store that was opened stepped come by once. */
  void upkeep(long nowNanos) {
    var looking = upkeep;
    if (upkeepByItself || looking == null) throw new IllegalStateException("its upkeep comes by itself, or it has not started");
    looking.step(nowNanos);
  }

  /** Whether the disk is so full that nothing new is stored. */
  public boolean diskLow() {
    return disk.low();
  }

  /** A range has fenced itself. */
  private void failed(StoreException e) {
    if (state.get() == State.STARTED) log.error("Node {}: {}", nodeId(), e.getMessage(), e);
    firstFailure.complete(e);
  }

  private void startRanges() {
    try {
      var start = new NodeStart(settings, data, callers, replicas.all(), () -> state.get() == State.CLOSED, built -> node = built);
      start.prepare();
      disk.show(meters);
      // The rows open on their own threads while Ratis' classes are loaded here and the logs are read.
      for (var range : start.served()) range.open(memory, thread("open-" + range.id()));
      var started = start.start();
      var ready = new ArrayList<CompletableFuture<?>>();
      for (var range : start.served()) ready.add(range.ready(started.server()));
      var all = CompletableFuture.allOf(ready.toArray(CompletableFuture<?>[]::new));
      CompletableFuture.anyOf(all, firstFailure, closing).join();
      if (closing.isDone()) throw new StoreException("closed while it started");
      if (firstFailure.isDone()) throw firstFailure.join();
      for (var range : start.served()) range.startProposing(started.server());
      var looking = new RangeMaintenance(replicas.all(), started, disk, checkpoints, upkeepByItself ? thread("compact") : Runnable::run);
      if (upkeepByItself) looking.start(threadName("upkeep"));
      upkeep = looking;
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }

  /**
   * Makes this node's replica of a range that others have, while the store runs.
   *
   * @param peers who the range's peers are now, this node among them or not
   * @param asListener whether the range's leader is going to take this node in, by {@link Replica#addListener}: so every
   *     replica begins whose range is older than it. Else this node is one of those that the range begins with
   * @throws StoreException when it cannot be made; then nothing is left of it, or it is deleted at the next start. Also when it
   *     is to begin with a vote and has had one here before, which it may have used, be it in a creation that failed: then it
   *     must be taken out of the range and come back as listener
   */
  public <C, R> Replica<C, R> createReplica(
      RangeId id, List<Member> peers, boolean asListener, CommandCodec<C> codec, RangeLogic<C, R> logic, Duration deadline) {
    return replicas.create(serving(), id, peers, asListener, codec, logic, deadline);
  }

  /**
   * Deletes this node's replica of a range, after the range's leader has taken it out. When this returns nothing of it is
   * left; after a crash in between, the next opening of the directory ends it. May be called again after it has thrown.
   */
  public void dropReplica(RangeId id, Duration deadline) {
    replicas.drop(serving(), id, deadline);
  }

  /** A copy of a range's rows for a node that is behind, which fetches it by {@link #readCheckpoint}. Blocks. */
  @Override
  public CheckpointSource.Checkpoint openCheckpoint(RangeId id) {
    var range = replicas.find(id);
    if (range == null) throw new StoreException("range '" + id + "' has no replica here");
    try {
      return range.checkpoint(checkpoints);
    } catch (IOException e) {
      throw new StoreException("range '" + id + "': its rows cannot be copied: " + e.getMessage(), e);
    }
  }

  /** Bytes of a file that {@link #openCheckpoint} has announced. Blocks. */
  @Override
  public byte[] readCheckpoint(UUID checkpoint, String file, long offset, int bytes) {
    try {
      return checkpoints.read(checkpoint, file, offset, bytes);
    } catch (IOException e) {
      throw new StoreException("checkpoint " + checkpoint + " cannot be read: " + e.getMessage(), e);
    }
  }

  /** Says how copies of rows come here from other nodes; before the start. Without it a replica too far behind stays so. */
  public void fetchCheckpointsBy(CheckpointSource carrier) {
    if (state.get() != State.OPEN) throw new IllegalStateException("comes after the start");
    source.use(carrier);
  }

  /** Shows each replica by JMX, those that are created later too, until they are dropped. */
  public void show(NodeBeans all) {
    replicas.show(all);
  }

  /** How each replica of this node is doing. */
  public List<RangeStatus> status() {
    return replicas.all().stream().map(ReplicatedRange::status).toList();
  }

  private RaftNode serving() {
    var serving = node;
    if (state.get() != State.STARTED || serving == null) throw new StoreException("the store is not running");
    if (!settings.cluster().hasPeers()) throw new StoreException("this node has no cluster port, so no peers");
    return serving;
  }

  private String notLed() {
    return String.join(
        ", ", replicas.all().stream().filter(range -> !range.led()).map(range -> range.id().toString()).toList());
  }

  /**
   * Ends the store. Commands not yet done fail; what was done is on disk. Returns within about three seconds: what takes
   * longer goes on behind, and the data directory stays taken until it has ended.
   */
  @Override
  public void close() {
    if (state.getAndSet(State.CLOSED) == State.CLOSED) return;
    closing.complete(null);
    var stopping = run("close", this::stopAndRelease);
    try {
      if (!ended(stopping, System.nanoTime() + CLOSE_DEADLINE.toNanos()))
        log.warn("Node {}: the store has not stopped within {} and goes on stopping", nodeId(), CLOSE_DEADLINE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Completed when everything has stopped and another node may take the data directory. */
  CompletableFuture<@Nullable Void> released() {
    return released;
  }

  private void stopAndRelease() {
    try {
      if (stop(System.nanoTime() + STOP_DEADLINE.toNanos())) {
        disk.close();
        data.close();
        released.complete(null);
        return;
      }
    } catch (InterruptedException | RuntimeException e) {
      log.warn("Node {}: the store did not stop cleanly", nodeId(), e);
    }
    // Releasing what a thread still uses would let another node in, or crash the process in native code.
    log.error("Node {}: the store cannot be stopped; {} stays taken until the process ends", nodeId(), data.path());
  }

  private boolean stop(long until) throws InterruptedException {
    stopUpkeep(until);
    each(
        range -> {
          range.handOver();
          return true;
        },
        until);
    each(range -> range.stop(until), until);
    var serving = node;
    if (serving != null && !ended(run("close-raft", () -> close(serving)), until)) return false;
    var start = starting;
    if (start != null && !ended(start, until)) return false;
    callers.close();
    stopUpkeep(until); // a start that was just ending may have begun it
    if (!each(range -> range.close(until), until) || !ended(memory, until)) return false;
    if (!memory.isCompletedExceptionally()) memory.join().close();
    return true;
  }

  private void stopUpkeep(long until) throws InterruptedException {
    var looking = upkeep;
    if (looking != null) looking.close(until);
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

  /** Does this with all ranges at once; answers whether it worked for all in time. */
  private boolean each(Step step, long until) throws InterruptedException {
    var failed = new AtomicBoolean();
    var steps = new ArrayList<CompletableFuture<Void>>();
    for (var range : replicas.all())
      steps.add(
          run(
              "close-" + range.id(),
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

  /** Waits until something has ended, well or not. */
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

  /** A thread for each task: what runs here blocks, some of it in native code. */
  private Executor thread(String what) {
    return task -> {
      var thread = Thread.ofPlatform().daemon().name(threadName(what)).unstarted(task);
      // Ratis loads classes by name with it, and its threads inherit it: not the embedding application's.
      thread.setContextClassLoader(RangeStore.class.getClassLoader());
      thread.start();
    };
  }

  private String threadName(String what) {
    return "dunlin-" + nodeId().substring(0, 8) + "-store-" + what;
  }
}

package dunlin.store;

import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
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
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.StateMachine;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ranges that one process keeps: one Raft server, and for each range a Raft group and a RocksDB, in one data
 * directory. In this version a range has one replica, this one.
 *
 * <p>Use: {@link #open}, then {@link #range} for each, then {@link #start} once, then {@link #close}.
 */
public final class RangeStore implements AutoCloseable {
  /*
   * Owner: whoever opened it calls open, range, start and close; the rest by any thread.
   * Failure: a range whose log, disk or logic fails is fenced at once and onFatal is told once; the process should then
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
  private final DataDirectory data;
  private final MeterRegistry meters;
  private final CompletableFuture<RocksMemory> memory;
  private final List<ReplicatedRange<?, ?>> ranges = new ArrayList<>();
  private final AtomicReference<State> state = new AtomicReference<>(State.OPEN);
  private final CompletableFuture<StoreException> firstFailure = new CompletableFuture<>();
  private final CompletableFuture<StoreException> fatal = new CompletableFuture<>();

  private final CompletableFuture<@Nullable Void> closing = new CompletableFuture<>();
  private final CompletableFuture<@Nullable Void> released = new CompletableFuture<>();

  private volatile @Nullable CompletableFuture<Void> starting;
  private volatile @Nullable RaftServer server;
  private volatile @Nullable Upkeep upkeep;

  private RangeStore(StoreSettings settings, DataDirectory data, MeterRegistry meters) {
    this.settings = settings;
    this.data = data;
    this.meters = meters;
    // Unpacks RocksDB's native library, which takes as long as all the rest; the caller has things to do meanwhile.
    memory = CompletableFuture.supplyAsync(() -> new RocksMemory(settings.memoryBytes()), thread("memory"));
  }

  /**
   * Takes the data directory for this process, creating it when it is not there.
   *
   * @throws StoreException when the directory cannot be used: not writable, in use, not Dunlin's, of an unknown format
   *     or corrupt. Nothing that was in it has been changed then
   */
  public static RangeStore open(StoreSettings settings, Path dataDirectory, MeterRegistry meters) {
    return new RangeStore(settings, DataDirectory.open(dataDirectory), meters);
  }

  /** This node's identity: a UUID that lives and dies with the data directory. */
  public String nodeId() {
    return data.identity().nodeId().toString();
  }

  /** How often this data directory has been opened, this time included; on disk before {@link #open} returned. */
  public long incarnation() {
    return data.identity().incarnation();
  }

  /**
   * Declares a range, before the start. The name is its kind, a short lower-case word such as "routes": a restart finds
   * the range again by it, and this version has one range of each kind.
   */
  public <C, R> Range<C, R> range(String kind, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    if (state.get() != State.OPEN) throw new IllegalStateException("range '" + kind + "' comes after the start");
    var id = RangeId.firstOf(kind);
    for (var other : ranges)
      if (RangeId.kindBits(other.id().uuid()) == RangeId.kindBits(id.uuid()))
        throw new IllegalArgumentException("range '" + kind + "' is there already, as '" + other.id() + "'");
    var range =
        new ReplicatedRange<>(id, settings, data, new RangeMeters(meters, id), codec, logic, this::failed);
    ranges.add(range);
    return range;
  }

  /**
   * Tells the listener, on a thread of its own and once, when a range has failed after the start. The store cannot go
   * on then; the listener may close it.
   */
  public void onFatal(Consumer<StoreException> listener) {
    var _ = fatal.thenAcceptAsync(listener, thread("fatal"));
  }

  /**
   * Starts every declared range; when this returns, each is led here, has applied all that is committed, and its logic
   * has been opened.
   *
   * @throws StoreException naming the range, when one cannot start or the deadline has passed; the store is closed then
   */
  public void start(Duration deadline) {
    if (!state.compareAndSet(State.OPEN, State.STARTING)) throw new IllegalStateException("started or closed before");
    // Ratis blocks and cannot be told for how long; so it has a thread to itself.
    var running = run("start", this::startRanges);
    starting = running;
    try {
      running.get(deadline.toMillis(), TimeUnit.MILLISECONDS);
      if (!state.compareAndSet(State.STARTING, State.STARTED)) throw new StoreException("closed while it started");
      var _ = firstFailure.thenAccept(fatal::complete);
    } catch (ExecutionException e) {
      close();
      throw startFailure(e);
    } catch (TimeoutException e) {
      close();
      throw new StoreException("the store has not started within " + deadline + "; not led yet: " + notLed(), e);
    } catch (InterruptedException e) {
      close();
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted while the store started", e);
    }
  }

  /** A range has fenced itself. */
  private void failed(StoreException e) {
    if (state.get() == State.STARTED) log.error("Node {}: {}", nodeId(), e.getMessage(), e);
    firstFailure.complete(e);
  }

  private void startRanges() {
    try {
      refuseUnknownRanges();
      for (var range : ranges) createIfNew(range);
      // The rows open on their own threads while Ratis' classes are loaded here and the logs are read.
      for (var range : ranges) range.open(memory, thread("open-" + range.id()));
      requireFreePort();
      var started =
          RaftServer.newBuilder()
              .setServerId(RaftPeerId.valueOf(nodeId()))
              .setStateMachineRegistry(this::stateMachine)
              .setProperties(RatisSettings.of(settings, data))
              .setParameters(RatisSettings.parameters(settings))
              .setOption(RaftStorage.StartupOption.RECOVER)
              .build();
      server = started;
      if (state.get() == State.CLOSED) started.close(); // close() may have passed by before there was a server
      started.start();
      requireAllGroups(started);
      for (var range : ranges) range.requireWholeLog(started);
      var led = ranges.stream().map(range -> range.stateMachine().leading()).toArray(CompletableFuture<?>[]::new);
      CompletableFuture.anyOf(CompletableFuture.allOf(led), firstFailure, closing).join();
      if (closing.isDone()) throw new StoreException("closed while it started");
      if (firstFailure.isDone()) throw firstFailure.join();
      for (var range : ranges) range.startProposing(started);
      upkeep = new Upkeep(List.copyOf(ranges), started, threadName("upkeep"));
    } catch (IOException e) {
      throw new CompletionException(e);
    }
  }

  /** Ratis would revive a group that nobody declared, and we would have no logic for it. */
  private void refuseUnknownRanges() {
    var unknown = new HashSet<>(data.ranges());
    for (var range : ranges) unknown.remove(range.id().uuid());
    if (!unknown.isEmpty())
      throw new StoreException("data directory " + data.path() + " holds ranges that this version does not know: " + unknown);
  }

  private void createIfNew(ReplicatedRange<?, ?> range) throws IOException {
    Path raftLog = data.raft(range.id());
    if (Files.isDirectory(raftLog)) return;
    Path rows = data.rows(range.id());
    if (RocksRange.holdsTables(range.id(), rows))
      throw new StoreException("range '" + range.id() + "': it has rows in " + rows + " but its log in " + raftLog + " is gone");
    var self =
        RaftPeer.newBuilder().setId(nodeId()).setAddress("127.0.0.1:" + settings.clusterPort()).build();
    GroupStorage.create(raftLog, self);
  }

  /** Ratis ends the whole Java process when its port is taken. */
  private void requireFreePort() {
    if (settings.clusterPort() == 0) return;
    try (var socket = new ServerSocket()) {
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), settings.clusterPort()));
    } catch (IOException e) {
      throw new StoreException("cluster port " + settings.clusterPort() + " cannot be used: " + e.getMessage(), e);
    }
  }

  private StateMachine stateMachine(RaftGroupId group) {
    for (var range : ranges) if (range.group().equals(group)) return range.stateMachine();
    throw new IllegalStateException("no range for " + group);
  }

  /** A group that Ratis could not load is only logged by it and then missing. */
  private void requireAllGroups(RaftServer started) {
    var served = new HashSet<RaftGroupId>();
    started.getGroupIds().forEach(served::add);
    for (var range : ranges)
      if (!served.contains(range.group()))
        throw new StoreException("range '" + range.id() + "': its log in " + data.raft(range.id()) + " was not loaded");
  }

  /** Finds the range that a failed start is about: Ratis names the group or its directory in one of its messages. */
  private StoreException startFailure(ExecutionException failed) {
    for (var range : ranges) {
      var rows = range.opening().isCompletedExceptionally() ? range.opening().exceptionNow() : null;
      if (rows instanceof StoreException e) return e;
    }
    Throwable root = failed;
    ReplicatedRange<?, ?> about = null;
    for (Throwable e = failed; e != null; e = e.getCause()) {
      if (e instanceof StoreException known) return known;
      for (var range : ranges)
        if (about == null && names(e.getMessage(), range)) about = range;
      root = e;
    }
    String reason = root.getMessage() == null ? root.toString() : root.getMessage();
    if (about == null) return new StoreException("the Raft server cannot start: " + reason, failed);
    return new StoreException(
        "range '" + about.id() + "': its log in " + data.raft(about.id()) + " cannot be loaded: " + reason, failed);
  }

  private static boolean names(@Nullable String message, ReplicatedRange<?, ?> range) {
    return message != null
        && (message.contains(range.group().toString()) || message.contains(range.id().uuid().toString()));
  }

  private String notLed() {
    return String.join(
        ", ", ranges.stream().filter(range -> !range.stateMachine().leading().isDone()).map(range -> range.id().kind()).toList());
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
    each(range -> range.stop(until), until);
    var serving = server;
    if (serving != null && !ended(run("close-raft", () -> close(serving)), until)) return false;
    var start = starting;
    if (start != null && !ended(start, until)) return false;
    stopUpkeep(until); // a start that was just ending has begun it meanwhile
    if (!each(range -> range.close(until), until) || !ended(memory, until)) return false;
    if (!memory.isCompletedExceptionally()) memory.join().close();
    return true;
  }

  private void stopUpkeep(long until) throws InterruptedException {
    var looking = upkeep;
    if (looking != null) looking.close(until);
  }

  private static void close(RaftServer serving) {
    try {
      serving.close();
    } catch (IOException e) {
      log.warn("Node {}: Ratis did not stop cleanly", serving.getId(), e);
    }
  }

  private interface Step {
    boolean take(ReplicatedRange<?, ?> range) throws InterruptedException;
  }

  /** Does this with all ranges at once; answers whether it worked for all in time. */
  private boolean each(Step step, long until) throws InterruptedException {
    var failed = new AtomicBoolean();
    var steps = new ArrayList<CompletableFuture<Void>>();
    for (var range : ranges)
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

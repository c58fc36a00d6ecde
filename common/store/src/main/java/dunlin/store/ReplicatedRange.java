package dunlin.store;

import java.io.File;
import java.io.IOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.util.LifeCycle;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** This process's replica of one range: its rows, its log's state machine, its proposer and its readers. */
final class ReplicatedRange<C, R> implements Range<C, R> {
  /*
   * Owner: the store starts and closes it; the upkeep thread calls upkeep(). Everything else by any thread.
   * Bounds: StoreSettings; the readers' queue answers with RejectedExecutionException and counts.
   * Failure: the first failure fences the range for good: proposals and reads fail with it, waiting ones too, and the
   * store is told.
   */
  private static final Logger log = LoggerFactory.getLogger(ReplicatedRange.class);

  private final RangeId id;
  private final RaftGroupId group;
  private final StoreSettings settings;
  private final DataDirectory data;
  private final RangeLogic<C, R> logic;
  private final RangeMeters meters;
  private final RangeProposer<C, R> proposer;
  private final RangeStateMachine<C, R> stateMachine;
  private final CompletableFuture<RocksRange> opening = new CompletableFuture<>();
  private final ThreadPoolExecutor readers;
  private final Consumer<StoreException> onFailure;
  private final AtomicReference<@Nullable StoreException> failure = new AtomicReference<>();

  private volatile boolean launched;

  // Of the upkeep thread.
  private long flushedNanos = System.nanoTime();
  private long flushedBytes;
  private volatile long logBytes; // single writer: the upkeep thread

  ReplicatedRange(
      RangeId id,
      StoreSettings settings,
      DataDirectory data,
      RangeMeters meters,
      CommandCodec<C> codec,
      RangeLogic<C, R> logic,
      Consumer<StoreException> onFailure) {
    this.id = id;
    this.group = RaftGroupId.valueOf(id.uuid());
    this.settings = settings;
    this.data = data;
    this.logic = logic;
    this.meters = meters;
    this.onFailure = onFailure;
    proposer = new RangeProposer<>(id, settings, codec, meters, this::fail);
    stateMachine = new RangeStateMachine<>(id, codec, logic, proposer, opening, this::fail);
    readers =
        new ThreadPoolExecutor(
            settings.readers(),
            settings.readers(),
            0,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(settings.queuedReadsMax()),
            Thread.ofPlatform().daemon().name(threadName("reader-"), 0).factory(),
            (_, _) -> {
              meters.readRejected();
              throw new RejectedExecutionException("range '" + id + "': its readers are busy or gone");
            });
    meters.gauge("dunlin.store.reads.queued", "Reads that wait for a reader", readers, pool -> pool.getQueue().size());
    meters.gauge("dunlin.store.log.bytes", "Bytes of the range's log on disk", this, range -> range.logBytes);
  }

  @Override
  public boolean propose(C command, Completion<R> completion) {
    return proposer.propose(command, completion);
  }

  @Override
  public RangeReader reader() {
    return new RangeReader() {
      @Override
      public byte @Nullable [] get(byte[] key) {
        return readable().get(key);
      }

      @Override
      public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
        readable().scan(from, to, visitor);
      }
    };
  }

  @Override
  public Executor readers() {
    return readers;
  }

  RangeId id() {
    return id;
  }

  RaftGroupId group() {
    return group;
  }

  RangeStateMachine<C, R> stateMachine() {
    return stateMachine;
  }

  CompletableFuture<RocksRange> opening() {
    return opening;
  }

  /** Opens the rows and lets the logic see them, on a thread of their own; the state machine waits for it. */
  void open(CompletableFuture<RocksMemory> memory, Executor thread) {
    launched = true;
    var _ =
        memory
            .thenApplyAsync(this::openRows, thread)
            .whenComplete(
                (rows, e) -> {
                  if (e == null) opening.complete(rows);
                  else opening.completeExceptionally(openFailure(e instanceof CompletionException ? e.getCause() : e));
                });
  }

  private StoreException openFailure(@Nullable Throwable cause) {
    if (cause instanceof StoreException known) return known;
    String message = "range '" + id + "' cannot be opened: " + cause;
    return cause == null ? new StoreException(message) : new StoreException(message, cause);
  }

  private RocksRange openRows(RocksMemory memory) {
    var rows = RocksRange.open(id, data.rows(id), memory, this::fail);
    try {
      logic.open(rows);
      return rows;
    } catch (RuntimeException | Error e) {
      rows.closeNow();
      throw e;
    }
  }

  /** Refuses rows that end before the log begins: what lay between was flushed once and is gone. */
  void requireWholeLog(RaftServer server) throws IOException {
    RaftLog raftLog = server.getDivision(group).getRaftLog();
    long rowsEnd = opening.join().flushed().index();
    long logBegin = raftLog.getStartIndex();
    if (raftLog.getLastEntryTermIndex() != null && logBegin > rowsEnd + 1)
      throw new StoreException(
          "range '" + id + "': its rows in " + data.rows(id) + " end at entry " + rowsEnd
              + " and its log begins at entry " + logBegin + "; rows are lost");
  }

  void startProposing(RaftServer server) throws IOException {
    proposer.start(server, group, threadName("proposer"));
  }

  /** Fences the range: nothing that waits or comes later succeeds. */
  void fail(StoreException e) {
    if (!failure.compareAndSet(null, e)) return;
    proposer.fail(e);
    onFailure.accept(e);
  }

  /** Watches the group, and flushes the rows and cuts the log when it is time. */
  void upkeep(RaftServer server, long nowNanos) throws IOException {
    if (failure.get() != null) return;
    var state = server.getDivision(group).getInfo().getLifeCycleState();
    if (state != LifeCycle.State.RUNNING || server.getLifeCycleState() != LifeCycle.State.RUNNING) {
      fail(new StoreException("range '" + id + "': Ratis has stopped serving it (" + state + ")"));
      return;
    }
    logBytes = bytesIn(data.raft(id).resolve("current").toFile());
    var rows = opening.join();
    long entries = rows.written().index() - rows.flushed().index();
    long bytes = stateMachine.appliedBytes();
    boolean due =
        entries >= settings.snapshotEntries()
            || bytes - flushedBytes >= settings.snapshotLogBytes()
            || nowNanos - flushedNanos >= settings.snapshotAge().toNanos();
    if (!due) return;
    flushedNanos = nowNanos;
    flushedBytes = bytes;
    if (entries == 0) return;
    rows.flush();
    // Not by asking Ratis for a snapshot: it answers that there is nothing to do, because our snapshot, which is what is
    // flushed, is new already, and cuts nothing.
    var _ = server.getDivision(group).getRaftLog().purge(rows.flushed().index());
  }

  /** Ends proposing and reading, then flushes: a later start has nothing to replay. */
  boolean stop(long untilNanos) throws InterruptedException {
    var closed = new StoreException("range '" + id + "' is closed");
    failure.compareAndSet(null, closed);
    proposer.fail(closed);
    readers.shutdown();
    boolean stopped = proposer.stop(untilNanos);
    stopped &= readers.awaitTermination(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
    var rows = rows();
    if (rows == null || failure.get() != closed) return stopped;
    try {
      rows.flush();
    } catch (StoreException e) {
      log.warn("Range {}: not flushed at the end; the next start replays its log", id, e);
    }
    return stopped;
  }

  /** After Ratis has stopped: nothing applies any more. Answers whether the rows are closed. */
  boolean close(long untilNanos) throws InterruptedException {
    meters.close();
    if (!launched) return true;
    if (!RangeStore.ended(opening, untilNanos)) return false;
    var rows = rows();
    return rows == null || rows.close(untilNanos);
  }

  private RocksRange readable() {
    var failed = failure.get();
    if (failed != null) throw failed;
    var rows = rows();
    if (rows == null) throw new StoreException("range '" + id + "' has not started");
    return rows;
  }

  private @Nullable RocksRange rows() {
    return opening.isDone() && !opening.isCompletedExceptionally() ? opening.join() : null;
  }

  private String threadName(String role) {
    return "dunlin-" + data.identity().nodeId().toString().substring(0, 8) + "-" + id + "-" + role;
  }

  private static long bytesIn(File directory) {
    long bytes = 0;
    File[] files = directory.listFiles();
    if (files != null) for (File file : files) bytes += file.length();
    return bytes;
  }
}

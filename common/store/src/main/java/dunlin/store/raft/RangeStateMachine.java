package dunlin.store.raft;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.CommandCodec;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import dunlin.store.disk.GroupStorage;
import dunlin.store.disk.LogPosition;
import dunlin.store.disk.PendingRows;
import dunlin.store.disk.RatisPeers;
import dunlin.store.disk.ReplicaLoad;
import dunlin.store.disk.RocksRange;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftConfigurationProto;
import org.apache.ratis.proto.RaftProtos.RoleInfoProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.statemachine.impl.FileListSnapshotInfo;
import org.apache.ratis.util.LifeCycle;
import org.jspecify.annotations.Nullable;

/**
 * Applies the committed entries of one range. Several entries share one write to RocksDB, together with their position;
 * only then are their commands reported as done.
 */
final class RangeStateMachine<C, R> extends BaseStateMachine {
  /*
   * Owner: Ratis' StateMachineUpdater thread of this group; before that exists, the thread that starts the server.
   * Methods that Ratis calls on other threads say so.
   * Bounds: WRITE_BYTES or WRITE_ENTRIES unwritten, plus one entry.
   * Failure: a failure while applying fences the range and is rethrown, which makes Ratis close the group. But not
   * while the group is being closed already: Ratis then waits for its applying thread, which after an exception spins
   * until the log is applied. Neither would ever end. So from ending() on, a failure only stops applying.
   *
   * The future returned to Ratis is complete at once, not after the write. Ratis waits for these futures before it takes
   * a snapshot and before it stops, in its updater thread, which is the only one that could complete them: entries
   * committed in that time keep our batch open, and it would wait for ever. That is safe: results go to the proposer
   * only after the write, and readers see nothing before it.
   *
   * The class is long because it implements all that Ratis asks of a state machine; the decisions are small.
   */
  private static final int WRITE_BYTES = 1024 * 1024;
  private static final int WRITE_ENTRIES = 4096;
  /** The suffix of the applying thread's name in Ratis. */
  private static final String APPLYING_THREAD = "StateMachineUpdater";

  private static final CompletableFuture<Message> APPLIED = CompletableFuture.completedFuture(Message.EMPTY);

  /** Callbacks to the replica, on Ratis' threads. */
  interface Events {
    /** The replica has failed. */
    void failed(StoreException e);

    /** The replica has been removed from the range's peers. */
    void removed();

    /**
     * The replica is behind the leader's log. Completes at once with the position of a snapshot that is ready.
     * Otherwise downloads one and fails afterwards, so that Ratis asks again: see {@link SnapshotInstaller}.
     */
    CompletableFuture<LogPosition> fetchSnapshot(UUID leader, long logBegin);

    /** The range is split: makes the child's rows, unless the child exists, and deletes them here. */
    void split(RangeDescriptor lower, RangeDescriptor upper, LogPosition at) throws IOException;

    /** The log confirms that the rows are those that the range was split off with. */
    void confirmed();

    /** Replaces the rows by the snapshot and opens the logic on it. */
    void installSnapshot() throws IOException, InterruptedException;
  }

  private record Applied<C, R>(RangeProposer<C, R>.Entry entry, List<R> results) {}

  private final RangeId range;
  private final CommandCodec<C> codec;
  private final RangeLogic<C, R> logic;
  private final RangeProposer<C, R> proposer;
  private final Leadership leadership;
  private final Barriers barriers;
  private final ReplicaLoad load;
  private final CompletableFuture<RocksRange> opening;
  private final Supplier<Duration> forceDelay;
  private final Events events;
  private final AtomicLong appliedBytes = new AtomicLong();
  private final AtomicLong appliedEntries = new AtomicLong();
  private final List<Applied<C, R>> unreported = new ArrayList<>();

  private volatile @Nullable Replica replica; // set once, by initialize()
  private volatile long committed = -1; // as last seen by the applying thread
  private final CompletableFuture<@Nullable Void> closed = new CompletableFuture<>();
  private int pendingEntries;
  private boolean failed;

  @GuardedBy("this")
  private boolean ending;

  @GuardedBy("this")
  private boolean thrown;

  /** The state once the rows are open. */
  private record Replica(RaftServer server, RaftGroupId group, RocksRange rows, PendingRows pending) {
    long committedIndex() throws IOException {
      return server.getDivision(group).getRaftLog().getLastCommittedIndex();
    }
  }

  RangeStateMachine(
      RangeId range,
      CommandCodec<C> codec,
      RangeLogic<C, R> logic,
      RangeProposer<C, R> proposer,
      Leadership leadership,
      Barriers barriers,
      ReplicaLoad load,
      CompletableFuture<RocksRange> opening,
      Supplier<Duration> forceDelay,
      Events events) {
    this.range = range;
    this.codec = codec;
    this.logic = logic;
    this.proposer = proposer;
    this.leadership = leadership;
    this.barriers = barriers;
    this.load = load;
    this.opening = opening;
    this.forceDelay = forceDelay;
    this.events = events;
  }

  /** Bytes of all entries applied since the start; read by any thread. */
  long appliedBytes() {
    return appliedBytes.get();
  }

  /** Entries applied since the start; read by any thread. */
  long appliedEntries() {
    return appliedEntries.get();
  }

  /** Entries that the applying thread has seen as committed and has not applied yet; read by any thread, without a call to Ratis. */
  long entriesLeft() {
    return Math.max(0, committed - getLastAppliedTermIndex().getIndex());
  }

  /** Waits until the range's rows and its logic are open. */
  @Override
  public void initialize(RaftServer server, RaftGroupId group, RaftStorage storage) throws IOException {
    super.initialize(server, group, storage);
    leadership.attach(server);
    try {
      getLifeCycle()
          .startAndTransition(
              () -> {
                var rows = opening.join();
                rows.requireReach(GroupStorage.logBegin(storage.getStorageDir().getCurrentDir().toPath()));
                replica = new Replica(server, group, rows, new PendingRows(rows, load::written));
                appliedUpTo(rows.written().term(), rows.written().index());
              });
    } catch (RuntimeException e) {
      throw new IOException("the rows of range '" + range + "' are not open", e);
    }
  }

  @Override
  public CompletableFuture<Message> applyTransaction(TransactionContext transaction) {
    LogEntryProto entry = requireNonNull(transaction.getLogEntry());
    if (failed) return APPLIED; // the range is being closed; its entries are applied at the next start
    try {
      apply(entry);
      appliedEntries.incrementAndGet();
    } catch (IOException | RuntimeException | Error e) {
      fail("applying entry " + entry.getIndex(), e);
    }
    return APPLIED;
  }

  private void apply(LogEntryProto entry) throws IOException {
    var to = replica();
    committed = to.committedIndex();
    var proposed = entry.getStateMachineLogEntry();
    var data = proposed.getLogData().asReadOnlyByteBuffer();
    if (ControlEntry.is(data)) {
      apply(entry, ControlEntry.parse(data), to);
      return;
    }
    var entered = EntryFormat.decode(data, codec);
    var placed = to.rows.placed();
    boolean admitted = placed == null || placed.range().epoch() == entered.epoch();
    List<R> results = admitted ? apply(entered.commands(), to) : List.of();
    appliedUpTo(entry.getTerm(), entry.getIndex());
    appliedBytes.addAndGet(proposed.getLogData().size());
    load.applied(results.size());
    pendingEntries++;
    var claimed = proposer.claim(proposed.getClientId(), proposed.getCallId());
    if (claimed != null && admitted) unreported.add(new Applied<>(claimed, results));
    else if (claimed != null) claimed.refused(new WrongEpochException(requireNonNull(placed).range(), entered.epoch()));
    // If more entries are committed already, the next one shares the write; otherwise write now.
    if (pendingEntries >= WRITE_ENTRIES
        || to.pending.bytes() >= WRITE_BYTES
        || entry.getIndex() >= committed) writeOut();
  }

  private List<R> apply(List<C> commands, Replica to) {
    List<R> results = logic.apply(commands, to.pending);
    if (results.size() != commands.size())
      throw new IllegalStateException(commands.size() + " commands gave " + results.size() + " results");
    return results;
  }

  private void apply(LogEntryProto entry, ControlEntry control, Replica to) throws IOException {
    writeOut(); // the rows are now those of the previous entry
    var placed = to.rows.placed();
    if (placed == null) throw new IllegalStateException("a change of a range that is not placed");
    var at = new LogPosition(entry.getTerm(), entry.getIndex());
    switch (control) {
      case ControlEntry.Split(var epoch, var cut, var child) -> {
        var outcome = new RangeFence(placed.range()).split(epoch, cut, child, at.term(), at.index());
        if (outcome instanceof RangeFence.SplitOutcome.Cut(var lower, var upper)) events.split(lower, upper, at);
      }
      case ControlEntry.Base(var origin) -> {
        RangeFence.requireOrigin(placed.range(), origin);
        to.rows.place(placed.confirmed());
      }
    }
    appliedUpTo(at.term(), at.index());
    writeOut();
    barriers.written(at.index()); // the split has written its position itself
    if (control instanceof ControlEntry.Base) events.confirmed();
  }

  /** Writes the pending rows together with their position, then reports the results. */
  private void writeOut() {
    var to = replica();
    var position = new LogPosition(getLastAppliedTermIndex().getTerm(), getLastAppliedTermIndex().getIndex());
    if (position.equals(to.rows.written())) return;
    if (pendingEntries > 0) logic.summarize(to.pending);
    to.rows.write(to.pending, position);
    to.pending.clear();
    pendingEntries = 0;
    unreported.forEach(applied -> applied.entry.done(applied.results));
    unreported.clear();
    barriers.written(position.index());
  }

  /**
   * An entry of Ratis itself: a leader's first one, or a change of peers. Called before {@link #notifyLeaderReady}.
   *
   * <p>Ratis also calls this on a network thread when it is to install a snapshot, with the leader's configuration at
   * that time. That is not an applied entry and must not change the position. If the applying thread is renamed one
   * day, {@link #notifyTermIndexUpdated} still follows.
   */
  @Override
  public void notifyConfigurationChanged(long term, long index, RaftConfigurationProto configuration) {
    if (failed || !Thread.currentThread().getName().endsWith(APPLYING_THREAD)) return;
    try {
      var rows = replica().rows;
      var placed = rows.placed();
      // A change in two steps takes effect with its second.
      if (placed != null && configuration.getOldPeersCount() == 0 && configuration.getOldListenersCount() == 0)
        rows.place(placed.with(RatisPeers.nodes(configuration), index));
      appliedUpTo(term, index);
      writeOut();
    } catch (RuntimeException | Error e) {
      fail("applying entry " + index, e);
    }
  }

  @Override
  public void notifyTermIndexUpdated(long term, long index) {
    if (failed) return;
    try {
      appliedUpTo(term, index);
      writeOut();
    } catch (RuntimeException | Error e) {
      fail("applying entry " + index, e);
    }
  }

  /** Called on a network thread of Ratis; the download runs on a thread of its own. */
  @Override
  public CompletableFuture<TermIndex> notifyInstallSnapshotFromLeader(RoleInfoProto role, TermIndex logBegin) {
    var leader = role.getFollowerInfo().getLeaderInfo().getId().getId();
    if (leader.isEmpty())
      return CompletableFuture.failedFuture(new StoreException("range '" + range + "': a snapshot is needed, but the leader is unknown"));
    return events
        .fetchSnapshot(RatisPeers.node(RaftPeerId.valueOf(leader)), logBegin.getIndex())
        .thenApply(position -> TermIndex.valueOf(position.term(), position.index()));
  }

  /** A snapshot is ready. The applying thread may still be working; it calls {@link #reinitialize} by itself. */
  @Override
  public void pause() {
    if (!getLifeCycle().compareAndTransition(LifeCycle.State.RUNNING, LifeCycle.State.PAUSING)) return;
    getLifeCycle().transition(LifeCycle.State.PAUSED);
  }

  @Override
  public void reinitialize() throws IOException {
    try {
      writeOut(); // commands wait for the results of what was applied before
      events.installSnapshot();
      getLifeCycle().transition(LifeCycle.State.STARTING);
      var rows = replica().rows;
      appliedUpTo(rows.written().term(), rows.written().index());
      barriers.written(rows.written().index());
      getLifeCycle().transition(LifeCycle.State.RUNNING);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      fail("installing a snapshot", e);
    } catch (IOException | RuntimeException e) {
      fail("installing a snapshot", e);
    }
  }

  @Override
  public TransactionContext preAppendTransaction(TransactionContext transaction) {
    var request = transaction.getClientRequest();
    if (request != null) proposer.appending(request.getCallId());
    return transaction;
  }

  @Override
  public void notifyLeaderReady() {
    leadership.gained();
  }

  /** Called on the thread that ends the leadership, after Ratis has failed the entries in flight. */
  @Override
  public void notifyNotLeader(Collection<TransactionContext> pending) {
    leadership.lost();
  }

  /** Called when the whole server stops, or when the group has removed this peer. */
  @Override
  public void notifyServerShutdown(RoleInfoProto role, boolean allServer) {
    if (!allServer) events.removed();
  }

  /** Called on the log's own thread. */
  @Override
  public void notifyLogFailed(Throwable cause, @Nullable LogEntryProto entry) {
    events.failed(new StoreException("range '" + range + "': its log cannot be written: " + cause.getMessage(), cause));
  }

  /** Called on the log's own thread, which waits for this before it forces what it has written; a test makes the disk slow here. */
  @Override
  public CompletableFuture<Void> flush(long index) {
    long nanos = forceDelay.get().toNanos();
    if (nanos == 0) return super.flush(index);
    return CompletableFuture.runAsync(() -> {}, CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS));
  }

  /** The position that survives a crash: Ratis replays from there at the start, and may truncate the log up to there. Any thread. */
  @Override
  public @Nullable SnapshotInfo getLatestSnapshot() {
    var to = replica;
    if (to == null || to.rows.flushed().index() < 0) return null;
    return new FileListSnapshotInfo(List.of(), to.rows.flushed().term(), to.rows.flushed().index());
  }

  /** Only reports the position: the maintenance thread has flushed, so that applying need not wait for the disk. */
  @Override
  public long takeSnapshot() {
    return replica().rows.flushed().index();
  }

  /** Rows are read from {@link RocksRange} directly; a query to Ratis only confirms the leadership. */
  @Override
  public CompletableFuture<Message> query(Message request) {
    return APPLIED;
  }

  @Override
  public CompletableFuture<Message> queryStale(Message request, long minIndex) {
    return query(request);
  }

  @Override
  public void close() {
    closed.complete(null);
    if (replica == null || failed) return;
    try {
      writeOut();
    } catch (RuntimeException e) {
      fail("closing", e);
    }
  }

  private void appliedUpTo(long term, long index) {
    setLastAppliedTermIndex(TermIndex.valueOf(term, index));
  }

  private Replica replica() {
    return requireNonNull(replica, "applied before it was initialized");
  }

  /**
   * Called before Ratis is asked to close the group. If a failure was thrown just before, Ratis closes the group by
   * itself, and this waits until it does: asked in between, Ratis would never finish.
   *
   * @return false when that took too long
   */
  boolean ending(long untilNanos) throws InterruptedException {
    synchronized (this) {
      ending = true;
      if (!thrown) return true;
    }
    return RangeStore.ended(closed, untilNanos);
  }

  private synchronized boolean throwsOn() {
    if (!ending) thrown = true;
    return thrown;
  }

  /** Fences the range, fails the commands that were applied and not written, and throws, unless the group is being closed. */
  private void fail(String doing, Throwable cause) {
    failed = true;
    var failure = new StoreException("range '" + range + "' failed " + doing + ": " + cause, cause);
    events.failed(failure);
    unreported.forEach(applied -> applied.entry.outcomeUnknown(failure));
    unreported.clear();
    if (throwsOn()) throw new IllegalStateException(failure);
  }
}

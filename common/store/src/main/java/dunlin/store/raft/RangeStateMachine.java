package dunlin.store.raft;

import static java.util.Objects.requireNonNull;

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
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
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
 * Applies the committed entries of one range: several entries make one write to RocksDB, together with the position
 * they lead to, and only then are their commands reported done.
 */
final class RangeStateMachine<C, R> extends BaseStateMachine {
  /*
   * Owner: Ratis' StateMachineUpdater thread of this group, and before that thread starts the one that starts the
   * server. What Ratis calls on other threads says so.
   * Bounds: WRITE_BYTES or WRITE_ENTRIES unwritten, plus one entry.
   * Failure: whatever goes wrong while applying fences the range and is thrown on, which makes Ratis close the group. Not while
   * the group is being closed already: Ratis then waits for its applying thread, and that one, after an exception, waits busily for
   * a log that is not applied any more. Neither would ever end. So from ending() on, a failure ends the applying and no more.
   *
   * The future returned to Ratis is complete at once, not after the write. Ratis waits for these futures before it takes
   * a snapshot and before it stops, in its updater thread, which is the only one that could complete them: entries
   * committed in that time keep our batch open, and it would wait for ever. Nothing is lost by it: results go to the
   * proposer only after the write, and readers see nothing before it.
   *
   * Long because it answers everything that Ratis asks of a state machine; what it decides is small.
   */
  private static final int WRITE_BYTES = 1024 * 1024;
  private static final int WRITE_ENTRIES = 4096;
  /** How Ratis ends the name of the one thread that applies. */
  private static final String APPLYING_THREAD = "StateMachineUpdater";

  private static final CompletableFuture<Message> APPLIED = CompletableFuture.completedFuture(Message.EMPTY);

  /** What the replica learns, on threads of Ratis. */
  interface Events {
    /** It cannot go on. */
    void failed(StoreException e);

    /** It is not one of the range's peers any more. */
    void removed();

    /**
     * It is behind the leader's log. Answers at once with where a copy of the rows has come that is ready; else fetches one, and
     * fails when that has ended, so that Ratis asks again and takes it then: see {@link RowsCopy}.
     */
    CompletableFuture<LogPosition> fetchCopy(UUID leader, long logBegin);

    /** The range loses what is above the cut: makes the child's rows, where there is no child yet, and drops them here. */
    void split(RangeDescriptor lower, RangeDescriptor upper, LogPosition at) throws IOException;

    /** The log says that the rows are those that the range was split off with. */
    void confirmed();

    /** Puts the copy in the place of the rows and lets the logic see it. */
    void installCopy() throws IOException, InterruptedException;
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
  private final Events events;
  private final AtomicLong appliedBytes = new AtomicLong();
  private final AtomicLong appliedEntries = new AtomicLong();
  private final List<Applied<C, R>> unreported = new ArrayList<>();

  private volatile @Nullable Replica replica; // set once, by initialize()
  private volatile long committed = -1; // as the applying thread saw it last
  private final CompletableFuture<@Nullable Void> closed = new CompletableFuture<>();
  private int pendingEntries;
  private boolean failed;
  private boolean ending; // with `thrown` under the lock
  private boolean thrown;

  /** What is there once the rows are open. */
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
      Events events) {
    this.range = range;
    this.codec = codec;
    this.logic = logic;
    this.proposer = proposer;
    this.leadership = leadership;
    this.barriers = barriers;
    this.load = load;
    this.opening = opening;
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

  /** Entries that the applying thread has seen to be committed and not applied yet; read by any thread, without a call to Ratis. */
  long entriesLeft() {
    return Math.max(0, committed - getLastAppliedTermIndex().getIndex());
  }

  /** Waits until the range's rows are open and its logic has seen them. */
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
    if (failed) return APPLIED; // it is being closed, and its entries are applied at the next start
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
    // With more committed already, the next entry shares the write; else nothing may wait for it.
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
    writeOut(); // the rows are now those of the entry before
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
    barriers.written(at.index()); // a split has written by itself
    if (control instanceof ControlEntry.Base) events.confirmed();
  }

  /** Writes what is pending together with the position it leads to, then reports the results. */
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
   * An entry of Ratis' own: a leader's first, or a change of peers. Comes before {@link #notifyLeaderReady}.
   *
   * <p>Ratis calls it also when it is told to install a snapshot, with the configuration that the leader has then: not as
   * an entry that is applied, and on a thread of its network. That must not move the position. Should the thread be called
   * otherwise one day, {@link #notifyTermIndexUpdated} still follows.
   */
  @Override
  public void notifyConfigurationChanged(long term, long index, RaftConfigurationProto configuration) {
    if (failed || !Thread.currentThread().getName().endsWith(APPLYING_THREAD)) return;
    try {
      var rows = replica().rows;
      var placed = rows.placed();
      // A change in two steps counts with its second.
      if (placed != null && configuration.getOldPeersCount() == 0 && configuration.getOldListenersCount() == 0)
        rows.place(placed.with(RatisPeers.peers(configuration), index));
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

  /** On a thread of Ratis' network; what it begins takes its time elsewhere. */
  @Override
  public CompletableFuture<TermIndex> notifyInstallSnapshotFromLeader(RoleInfoProto role, TermIndex logBegin) {
    var leader = role.getFollowerInfo().getLeaderInfo().getId().getId();
    if (leader.isEmpty())
      return CompletableFuture.failedFuture(new StoreException("range '" + range + "': a copy of its rows, but of which node?"));
    return events
        .fetchCopy(RatisPeers.node(RaftPeerId.valueOf(leader)), logBegin.getIndex())
        .thenApply(position -> TermIndex.valueOf(position.term(), position.index()));
  }

  /** A copy is there. The applying thread may still be at work; it comes to {@link #reinitialize} by itself. */
  @Override
  public void pause() {
    if (!getLifeCycle().compareAndTransition(LifeCycle.State.RUNNING, LifeCycle.State.PAUSING)) return;
    getLifeCycle().transition(LifeCycle.State.PAUSED);
  }

  @Override
  public void reinitialize() throws IOException {
    try {
      writeOut(); // what was applied before belongs to commands that wait for it
      events.installCopy();
      getLifeCycle().transition(LifeCycle.State.STARTING);
      var rows = replica().rows;
      appliedUpTo(rows.written().term(), rows.written().index());
      barriers.written(rows.written().index());
      getLifeCycle().transition(LifeCycle.State.RUNNING);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      fail("taking over a copy of the rows", e);
    } catch (IOException | RuntimeException e) {
      fail("taking over a copy of the rows", e);
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

  /** On whichever thread makes the replica stop leading, after Ratis has failed what was under way. */
  @Override
  public void notifyNotLeader(Collection<TransactionContext> pending) {
    leadership.lost();
  }

  /** When the whole server stops, or when the others of the group have said that this peer is none of theirs. */
  @Override
  public void notifyServerShutdown(RoleInfoProto role, boolean allServer) {
    if (!allServer) events.removed();
  }

  /** On the log's own thread. */
  @Override
  public void notifyLogFailed(Throwable cause, @Nullable LogEntryProto entry) {
    events.failed(new StoreException("range '" + range + "': its log cannot be written: " + cause.getMessage(), cause));
  }

  /** From where Ratis replays at the start and up to where it may cut the log: what survives a crash. Any thread. */
  @Override
  public @Nullable SnapshotInfo getLatestSnapshot() {
    var to = replica;
    if (to == null || to.rows.flushed().index() < 0) return null;
    return new FileListSnapshotInfo(List.of(), to.rows.flushed().term(), to.rows.flushed().index());
  }

  /** Reports only: the upkeep thread has flushed, so that applying need not wait for the disk. */
  @Override
  public long takeSnapshot() {
    return replica().rows.flushed().index();
  }

  /** Rows are read from {@link RocksRange} directly; Ratis is only asked whether this is still the leader. */
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
   * Ratis is about to be told to close the group. When a failure has been thrown just before, Ratis closes it by itself, and this
   * waits until it has come so far: told in between, it would never end.
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

  /** Fences the range, fails what was applied and not written, and throws, unless the group is being closed. */
  private void fail(String doing, Throwable cause) {
    failed = true;
    var failure = new StoreException("range '" + range + "' failed " + doing + ": " + cause, cause);
    events.failed(failure);
    unreported.forEach(applied -> applied.entry.outcomeUnknown(failure));
    unreported.clear();
    if (throwsOn()) throw new IllegalStateException(failure);
  }
}

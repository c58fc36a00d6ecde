package dunlin.store;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftConfigurationProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.SnapshotInfo;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.statemachine.impl.FileListSnapshotInfo;
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
   * Failure: whatever goes wrong while applying fences the range and is thrown on, which makes Ratis close the group.
   *
   * The future returned to Ratis is complete at once, not after the write. Ratis waits for these futures before it takes
   * a snapshot and before it stops, in its updater thread, which is the only one that could complete them: entries
   * committed meanwhile keep our batch open, and it would wait for ever. Nothing is lost by it: results go to the
   * proposer, and readers are told nothing, only after the write.
   */
  private static final int WRITE_BYTES = 1024 * 1024;
  private static final int WRITE_ENTRIES = 4096;
  private static final CompletableFuture<Message> APPLIED = CompletableFuture.completedFuture(Message.EMPTY);

  private record Applied<C, R>(RangeProposer<C, R>.Entry entry, List<R> results) {}

  private final RangeId range;
  private final CommandCodec<C> codec;
  private final RangeLogic<C, R> logic;
  private final RangeProposer<C, R> proposer;
  private final CompletableFuture<RocksRange> opening;
  private final Consumer<StoreException> onFailure;
  private final CompletableFuture<Void> leading = new CompletableFuture<>();
  private final AtomicLong appliedBytes = new AtomicLong();
  private final List<Applied<C, R>> unreported = new ArrayList<>();

  private volatile @Nullable Replica replica; // set once, by initialize()
  private int pendingEntries;
  private boolean failed;

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
      CompletableFuture<RocksRange> opening,
      Consumer<StoreException> onFailure) {
    this.range = range;
    this.codec = codec;
    this.logic = logic;
    this.proposer = proposer;
    this.opening = opening;
    this.onFailure = onFailure;
  }

  /** Completed when this replica leads the range and has applied everything committed before. */
  CompletableFuture<Void> leading() {
    return leading;
  }

  /** Bytes of all entries applied since the start; read by any thread. */
  long appliedBytes() {
    return appliedBytes.get();
  }

  /** Waits until the range's rows are open and its logic has seen them. */
  @Override
  public void initialize(RaftServer server, RaftGroupId group, RaftStorage storage) throws IOException {
    super.initialize(server, group, storage);
    try {
      getLifeCycle()
          .startAndTransition(
              () -> {
                var rows = opening.join();
                replica = new Replica(server, group, rows, new PendingRows(rows));
                appliedUpTo(rows.written().term(), rows.written().index());
              });
    } catch (RuntimeException e) {
      throw new IOException("the rows of range '" + range + "' are not open", e);
    }
  }

  @Override
  public CompletableFuture<Message> applyTransaction(TransactionContext transaction) {
    LogEntryProto entry = requireNonNull(transaction.getLogEntry());
    try {
      apply(entry);
      return APPLIED;
    } catch (IOException | RuntimeException | Error e) {
      throw failed("applying entry " + entry.getIndex(), e);
    }
  }

  private void apply(LogEntryProto entry) throws IOException {
    var to = replica();
    var proposed = entry.getStateMachineLogEntry();
    List<C> commands = EntryFormat.decode(proposed.getLogData().asReadOnlyByteBuffer(), codec);
    List<R> results = logic.apply(commands, to.pending);
    if (results.size() != commands.size())
      throw new IllegalStateException(commands.size() + " commands gave " + results.size() + " results");
    appliedUpTo(entry.getTerm(), entry.getIndex());
    appliedBytes.addAndGet(proposed.getLogData().size());
    pendingEntries++;
    var claimed = proposer.claim(proposed.getClientId(), proposed.getCallId());
    if (claimed != null) unreported.add(new Applied<>(claimed, results));
    // With more committed already, the next entry shares the write; else nothing may wait for it.
    if (pendingEntries >= WRITE_ENTRIES
        || to.pending.bytes() >= WRITE_BYTES
        || entry.getIndex() >= to.committedIndex()) writeOut();
  }

  /** Writes what is pending together with the position it leads to, then reports the results. */
  private void writeOut() {
    var to = replica();
    var position = new LogPosition(getLastAppliedTermIndex().getTerm(), getLastAppliedTermIndex().getIndex());
    if (position.equals(to.rows.written())) return;
    to.rows.write(to.pending, position);
    to.pending.clear();
    pendingEntries = 0;
    unreported.forEach(applied -> applied.entry.done(applied.results));
    unreported.clear();
  }

  /** An entry of Ratis' own: a leader's first, or a change of peers. Comes before {@link #notifyLeaderReady}. */
  @Override
  public void notifyConfigurationChanged(long term, long index, RaftConfigurationProto configuration) {
    try {
      appliedUpTo(term, index);
      writeOut();
    } catch (RuntimeException | Error e) {
      throw failed("applying entry " + index, e);
    }
  }

  @Override
  public void notifyTermIndexUpdated(long term, long index) {
    try {
      appliedUpTo(term, index);
      writeOut();
    } catch (RuntimeException | Error e) {
      throw failed("applying entry " + index, e);
    }
  }

  @Override
  public void notifyLeaderReady() {
    leading.complete(null);
  }

  /** On the log's own thread. */
  @Override
  public void notifyLogFailed(Throwable cause, @Nullable LogEntryProto entry) {
    onFailure.accept(new StoreException("range '" + range + "': its log cannot be written: " + cause.getMessage(), cause));
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

  /** Rows are read from {@link RocksRange} directly; nothing asks Ratis. */
  @Override
  public CompletableFuture<Message> query(Message request) {
    return CompletableFuture.failedFuture(new UnsupportedOperationException("rows are not read through Ratis"));
  }

  @Override
  public CompletableFuture<Message> queryStale(Message request, long minIndex) {
    return query(request);
  }

  @Override
  public void close() {
    if (replica == null || failed) return;
    try {
      writeOut();
    } catch (RuntimeException e) {
      throw failed("closing", e);
    }
  }

  private void appliedUpTo(long term, long index) {
    setLastAppliedTermIndex(TermIndex.valueOf(term, index));
  }

  private Replica replica() {
    return requireNonNull(replica, "applied before it was initialized");
  }

  /** Fences the range and fails what was applied and not written. */
  private IllegalStateException failed(String doing, Throwable cause) {
    failed = true;
    var failure = new StoreException("range '" + range + "' failed " + doing + ": " + cause, cause);
    onFailure.accept(failure);
    unreported.forEach(applied -> applied.entry.failed(failure));
    unreported.clear();
    return new IllegalStateException(failure);
  }
}

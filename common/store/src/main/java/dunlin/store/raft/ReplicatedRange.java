package dunlin.store.raft;

import dunlin.store.CommandCodec;
import dunlin.store.Completion;
import dunlin.store.DamagedException;
import dunlin.store.Member;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.RangeLoad;
import dunlin.store.RangeLogic;
import dunlin.store.RangeProgress;
import dunlin.store.RangeReader;
import dunlin.store.RangeStatus;
import dunlin.store.Replica;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.DiskSpace;
import dunlin.store.disk.GroupStorage;
import dunlin.store.disk.LogPosition;
import dunlin.store.disk.Placed;
import dunlin.store.disk.RatisPeers;
import dunlin.store.disk.ReplicaLoad;
import dunlin.store.disk.RocksMemory;
import dunlin.store.disk.RocksRange;
import dunlin.store.disk.RowsDirectory;
import dunlin.store.disk.SpaceCompaction;
import dunlin.store.settings.StoreSettings;
import dunlin.store.snapshot.SnapshotSource;
import dunlin.store.snapshot.OpenSnapshots;
import dunlin.store.snapshot.LogTruncation;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.server.RaftServer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** This process's replica of one range: its rows, its log's state machine, its proposer and its readers. */
final class ReplicatedRange<C, R> implements Replica<C, R>, RangeStateMachine.Events, SpaceCompaction.Rows {
  /*
   * Owner: the store starts and closes it; the maintenance thread calls maintain(). Any thread may call the other methods.
   * Bounds: StoreSettings; the readers' queue answers with RejectedExecutionException and counts.
   * Failure: the first failure fences the range for good: new and waiting proposals and reads fail with it, and the
   * store is notified. Removal from the range's peers also fences it, but is no failure of the store.
   */
  private static final Logger log = LoggerFactory.getLogger(ReplicatedRange.class);
  private final RangeId id;
  private final RaftGroupId group;
  private final List<RaftPeer> peers;
  private final DataDirectory data;
  private final RowsDirectory files;
  private final DiskSpace disk;
  private final Supplier<Duration> forceDelay;
  private final SnapshotInstaller installer;
  private final RangeLogic<C, R> logic;
  private final RangeMeters meters;
  private final Leadership leadership;
  private final Membership membership;
  private final Barriers barriers;
  private final RangeProposer<C, R> proposer;
  private final CommandCodec<C> codec;
  private final LeaderMonitor leaderMonitor;
  private final LogTruncation logTruncation;
  private final GroupWatch watch;
  private final RangeSplits splits;
  private final ReplicaLoad load;
  private final @Nullable RangeDescriptor initial;
  private final RowsRead rowsRead = new RowsRead();
  private final CompletableFuture<RocksRange> opening = new CompletableFuture<>();
  private final ThreadPoolExecutor readers;
  private final Consumer<StoreException> onFailure;
  private final AtomicReference<@Nullable StoreException> failure = new AtomicReference<>();

  private volatile RangeStateMachine<C, R> stateMachine; // replaced only while no Raft server runs
  private volatile boolean launched;
  private volatile boolean readingRows;
  private volatile boolean logRead;
  private volatile boolean quarantined;
  private volatile boolean removed;
  private volatile @Nullable RaftServer serving; // set once, when the range is served

  ReplicatedRange(
      RangeId id, List<RaftPeer> peers, StoreSettings settings, DataDirectory data, DiskSpace disk, SnapshotSource source, RangeMeters meters,
      CommandCodec<C> codec, RangeLogic<C, R> logic, @Nullable RangeDescriptor initial, Consumer<RangeDescriptor> onSplit,
      Consumer<StoreException> onFailure) {
    this.id = id;
    this.group = RaftGroupId.valueOf(id.uuid());
    this.peers = List.copyOf(peers);
    this.data = data;
    this.disk = disk;
    forceDelay = settings.surroundings().forceDelay();
    files = new RowsDirectory(data.rows(id));
    installer = new SnapshotInstaller(id, files, settings.cluster(), disk, source, meters, () -> failure.get() != null, this::logWritten);
    this.logic = logic;
    this.meters = meters;
    this.initial = initial;
    this.onFailure = onFailure;
    splits = new RangeSplits(id, group, data, this::descriptorOrNull, logic, threadName("settle"), () -> failure.get() != null, onSplit);
    load = new ReplicaLoad(id, this::readable);
    leadership = new Leadership(id, group);
    membership = new Membership(id, group, leadership);
    barriers = new Barriers(id, settings);
    proposer = new RangeProposer<>(id, settings, codec, leadership, disk, meters, this::descriptorOrNull, this::failed);
    this.codec = codec;
    stateMachine = new RangeStateMachine<>(id, codec, logic, proposer, leadership, barriers, load, opening, forceDelay, this);
    logTruncation = new LogTruncation(settings, data.raft(id));
    watch = new GroupWatch(id, data, this::failed);
    leaderMonitor = new LeaderMonitor(this, data.identity().nodeId(), meters);
    leadership.listen(
        leads -> {
          proposer.wake();
          if (leads) confirmBase();
        });
    readers =
        new ThreadPoolExecutor(
            settings.reads().threads(), settings.reads().threads(), 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(settings.reads().queuedMax()),
            Thread.ofPlatform().daemon().name(threadName("reader-"), 0).factory(),
            (_, _) -> {
              meters.readRejected();
              throw new RejectedExecutionException("range '" + id + "': its readers are busy or stopped");
            });
    meters.gauge("dunlin.store.reads.queued", "Reads that wait for a reader", readers, pool -> pool.getQueue().size());
    meters.gauge("dunlin.store.log.bytes", "Bytes of the range's log on disk", this, range -> range.logTruncation.bytes());
    meters.gauge("dunlin.store.leading", "1 on the node that leads the range", leadership, leads -> leads.leading() ? 1 : 0);
    meters.gauge(
        "dunlin.store.quarantined", "1 while the range's damaged files are in quarantine and it has no replica here", this, range -> range.quarantined ? 1 : 0);
    meters.status(this);
    meters.seconds(
        "dunlin.store.install.waiting", "How long a snapshot of another replica has waited to be installed", installer,
        SnapshotInstaller::waitingSeconds);
  }

  @Override
  public boolean propose(C command, Completion<R> completion) {
    return proposer.propose(EntryFormat.FIRST_EPOCH, command, completion);
  }

  @Override
  public void together(Runnable proposals) {
    proposer.together(proposals);
  }

  @Override
  public boolean propose(long epoch, C command, Completion<R> completion) {
    return proposer.propose(epoch, command, completion);
  }

  @Override
  public boolean whenRoom(Runnable caller) {
    return proposer.whenRoom(caller);
  }

  @Override
  public boolean hasDiskRoom() {
    return proposer.hasDiskRoom();
  }

  @Override
  public Optional<RangeDescriptor> descriptor() {
    return Optional.ofNullable(descriptorOrNull());
  }

  private @Nullable RangeDescriptor descriptorOrNull() {
    var rows = rows();
    var placed = rows == null ? null : rows.placed();
    return placed == null ? null : placed.range();
  }

  @Override
  public boolean based() {
    var rows = rows();
    if (rows == null || rows.written().index() < 0) return false;
    var placed = rows.placed();
    return placed == null || placed.based();
  }

  @Override
  public long unflushedBytes() {
    return readable().unflushedBytes();
  }

  @Override
  public RangeLoad load() {
    return load;
  }

  @Override
  public void flush() {
    readable().flush();
  }

  @Override
  public void split(long epoch, byte[] cut, UUID child, Duration deadline) {
    if (!leadership.leading()) throw leadership.notLeader();
    splits.propose(server(), epoch, cut, child, deadline);
  }

  /** Called on the applying thread. */
  @Override
  public void split(RangeDescriptor lower, RangeDescriptor upper, LogPosition at) throws IOException {
    splits.carryOut(opening.join(), lower, upper, at);
  }

  @Override
  public void confirmed() {
    splits.confirmed();
  }

  private void confirmBase() {
    var server = serving;
    if (server != null && !based()) splits.confirmBase(server, threadName("base"));
  }

  @Override
  public RangeReader reader() {
    return load.reader();
  }

  @Override
  public Executor readers() {
    return readers;
  }

  @Override
  public RangeId id() {
    return id;
  }

  @Override
  public CompletableFuture<@Nullable Void> readBarrier() {
    var failed = failure.get();
    if (failed != null) return CompletableFuture.failedFuture(failed);
    var server = serving;
    return server == null ? CompletableFuture.failedFuture(leadership.notLeader()) : barriers.ask(server, group, leadership);
  }

  @Override
  public RangeStatus status() {
    var rows = rows();
    long applied = rows == null ? -1 : rows.written().index();
    long flushed = rows == null ? -1 : rows.flushed().index();
    var server = serving;
    if (server != null && failure.get() == null) {
      try {
        return membership.status(server.getDivision(group), applied, flushed, logTruncation.bytes(), proposer.queued());
      } catch (IOException | RuntimeException e) { // it is being closed, and Ratis may throw any exception then
        log.debug("Range {}: no status", id, e);
      }
    }
    var role = quarantined ? ReplicaRole.QUARANTINED : removed ? ReplicaRole.OUTSIDE : ReplicaRole.STOPPED;
    return new RangeStatus(id, role, null, 0, -1, applied, -1, flushed, logTruncation.bytes(), proposer.queued(), List.of(), -1);
  }

  @Override
  public Optional<UUID> leader() {
    return serving == null || failure.get() != null ? Optional.empty() : leadership.known();
  }

  @Override
  public void onLeadership(Consumer<Boolean> listener) {
    leadership.listen(listener);
  }

  @Override
  public void add(Member member, Duration deadline) {
    membership.add(server(), member, deadline);
  }

  @Override
  public void changePeers(long configuration, List<Member> members, Duration deadline) {
    membership.changePeers(server(), configuration, members, deadline);
  }

  @Override
  public void remove(UUID node, Duration deadline) {
    membership.remove(server(), node, deadline);
  }

  @Override
  public void elect() {
    membership.elect(server());
  }

  @Override
  public void transferLeadership(UUID node, Duration deadline) {
    membership.transfer(server(), node, deadline);
  }

  private RaftServer server() {
    var failed = failure.get();
    if (failed != null) throw failed;
    var server = serving;
    if (server == null) throw new StoreException("range '" + id + "' has not started");
    return server;
  }

  /** The initial members of the range; empty for this node alone. */
  List<RaftPeer> peers() {
    return peers;
  }

  RangeMXBean bean() {
    return new RangeBean(this, meters, () -> proposer.oldestNanos(System.nanoTime()));
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

  /** Opens the rows and the logic, on a thread of their own: a range that was split off perhaps by what its parent has kept. The state machine waits for that. */
  void open(CompletableFuture<RocksMemory> memory, Executor thread, @Nullable ReplicatedRange<?, ?> parent) {
    launched = true;
    var _ =
        memory
            .thenApplyAsync(ready -> openRows(ready, parent), thread)
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

  private RocksRange openRows(RocksMemory memory, @Nullable ReplicatedRange<?, ?> parent) {
    try {
      files.recover();
    } catch (IOException e) {
      throw new StoreException("range '" + id + "': its rows in " + data.rows(id) + " cannot be put in order: " + e.getMessage(), e);
    }
    var rows = RocksRange.open(id, data.rows(id), memory, this::rowsFailed);
    try {
      // Rows without a descriptor are new, or of a broker that ran alone.
      if (initial != null && rows.placed() == null) rows.place(Placed.begin(initial));
      logTruncation.fit(id, rows, files);
      installer.replace(rows); // a snapshot that was complete when the process ended
      readingRows = true;
      if (parent == null || !splits.open(parent.logic, rows)) logic.open(rowsRead.counting(rows));
      return rows;
    } catch (IOException | InterruptedException e) {
      rows.closeNow();
      throw new StoreException("range '" + id + "': its rows in " + data.rows(id) + " cannot be replaced: " + e, e);
    } catch (RuntimeException | Error e) {
      rows.closeNow();
      throw e;
    }
  }

  /** Any thread; asks neither Ratis nor RocksDB. */
  RangeProgress progress() {
    var applying = stateMachine;
    return new RangeProgress(
        id, step(), rowsRead.count(), applying.appliedEntries(), applying.entriesLeft(), led(), proposer.queued(),
        Duration.ofNanos(proposer.oldestNanos(System.nanoTime())));
  }

  private RangeProgress.Step step() {
    if (rows() == null) return readingRows ? RangeProgress.Step.ROWS : RangeProgress.Step.FILES;
    return logRead ? RangeProgress.Step.ENTRIES : RangeProgress.Step.LOG;
  }

  private void rowsFailed(StoreException e) {
    if (opening.isDone()) failed(e); // otherwise the thread that opens it gets the error
  }

  @Override
  public CompletableFuture<LogPosition> fetchSnapshot(UUID leader, long logBegin) {
    return installer.offer(leader, logBegin, threadName("install"));
  }

  private boolean logWritten() {
    try {
      return LogTruncation.written(server().getDivision(group).getRaftLog());
    } catch (IOException | RuntimeException e) {
      return true; // it is just being closed, and Ratis throws what it likes then
    }
  }

  @Override
  public void installSnapshot() throws IOException, InterruptedException {
    var rows = opening.join();
    if (installer.replace(rows)) logic.open(rows);
    else rows.flush(); // Ratis is about to truncate the log up to here, so this must be on disk
  }

  /** A snapshot for another node that has fallen behind. */
  SnapshotSource.Snapshot snapshot(OpenSnapshots snapshots) throws IOException {
    var failed = failure.get();
    if (failed != null) throw failed;
    return snapshots.open(id, opening.join(), server().getDivision(group).getRaftLog().getStartIndex());
  }

  /** Whether other nodes have replicas too, as far as the files show. */
  boolean replicated() {
    var self = data.identity().nodeId();
    var known = GroupStorage.peersIn(data.raft(id));
    if (known.isEmpty()) return peers.size() > 1 || data.notes().hadOthers(id);
    return known.stream().anyMatch(node -> !node.equals(self));
  }

  /** Damage found while opening the rows, or by an earlier run of this process; waits for the opening. */
  @Nullable StoreException damage() {
    try {
      opening.join();
      return files.foundDamaged() ? new DamagedException("range '" + id + "': its rows were found damaged in an earlier run") : null;
    } catch (CompletionException e) {
      return e.getCause() instanceof DamagedException damaged ? damaged : null;
    }
  }

  /** Moves the files into quarantine and stops serving; called after the Raft server that may have opened them has stopped. */
  void quarantine(StoreException why) {
    var rows = rows();
    if (rows != null) rows.closeNow();
    var aside = data.quarantine(id);
    log.error(
        "Range {}: its files here are damaged or lost, and the remaining ones are in {}; it has no replica on this node until the"
            + " range's leader has removed the node and added it again", id, aside, why);
    stayInQuarantine();
  }

  void stayInQuarantine() {
    quarantined = true;
    fence(new StoreException("range '" + id + "': its files on this node were damaged or lost"));
  }

  boolean quarantined() {
    return quarantined;
  }

  /** Prepares for another Raft server, after one that did not start has stopped. */
  void renew() {
    opening.join().flush(); // Ratis replays from the flushed position, and must not replay what was written since
    leadership.lost();
    stateMachine = new RangeStateMachine<>(id, codec, logic, proposer, leadership, barriers, load, opening, forceDelay, this);
  }

  /** Starts the proposer: from now on commands go to the log whenever this replica leads. */
  void startProposing(RaftServer server) throws IOException {
    logRead = true;
    proposer.start(server, group, threadName("proposer"));
    serving = server;
    if (leadership.leading()) confirmBase();
  }

  /** Completed when this replica has become the leader; at once when it has peers. */
  CompletableFuture<@Nullable Void> ready(RaftServer server) throws IOException {
    logRead = true;
    return Membership.alone(server.getDivision(group)) ? leadership.first() : CompletableFuture.completedFuture(null);
  }

  boolean led() {
    return leadership.first().isDone();
  }

  /** Fences the range: nothing pending or later succeeds. */
  @Override
  public void failed(StoreException e) {
    if (fence(e)) onFailure.accept(e);
  }

  @Override
  public void removed() {
    removed = true;
    if (fence(new StoreException("range '" + id + "' has no replica on this node any more")))
      log.warn("Range {}: this node has been removed from it; its replica here can be dropped", id);
  }

  private boolean fence(StoreException e) {
    if (!failure.compareAndSet(null, e)) return false;
    leadership.lost();
    proposer.fail(e);
    barriers.fail(e);
    return true;
  }

  /** Watches the group, and flushes the rows and truncates the log when it is time. */
  void maintain(RaftServer server, boolean downloading, long nowNanos) throws IOException {
    // A replica that is being created is declared before Ratis has its group.
    if (failure.get() != null || serving == null) return;
    var division = server.getDivision(group);
    if (!watch.runs(server, division)) return;
    leadership.compare();
    membership.endStuckTransfer(division, nowNanos);
    watch.noteOthers(!Membership.alone(division));
    leaderMonitor.look(disk.low(), downloading, nowNanos);
    if (leadership.leading()) confirmBase();
    var rows = opening.join();
    installer.dropPassed(rows);
    var leader = division.getInfo().getLeaderId();
    if (leader != null) installer.look(RatisPeers.node(leader), nowNanos);
    if (!logTruncation.flush(rows, stateMachine.appliedBytes(), disk.low(), nowNanos)) return;
    // Not by asking Ratis for a snapshot: our snapshot is the flushed rows, so Ratis would find it up to date and
    // truncate nothing.
    long truncatable = logTruncation.truncatable(division.getRaftLog(), rows.flushed().index());
    if (truncatable >= 0) {
      var _ = division.getRaftLog().purge(truncatable);
    }
  }

  @Override
  public long deleted() {
    var rows = rows();
    return rows == null ? 0 : rows.deleted();
  }

  /** Flushes first: only deletions that are in files can be compacted. */
  @Override
  public void compact() {
    var rows = readable();
    rows.flush();
    rows.compact();
  }

  /** Transfers the leadership, so that the range need not wait for an election timeout. */
  void handOver() {
    if (failure.get() == null && leadership.leading()) leaderMonitor.handOverBeforeStop();
  }

  /**
   * Ends proposing and reading, then flushes, so that the next start has nothing to replay. Called before Ratis is
   * asked to close the group.
   */
  boolean stop(long untilNanos) throws InterruptedException {
    var closed = new StoreException("range '" + id + "' is closed");
    failure.compareAndSet(null, closed);
    leadership.lost();
    proposer.fail(closed);
    barriers.fail(closed);
    readers.shutdown();
    boolean stopped = proposer.stop(untilNanos);
    stopped &= installer.ended(untilNanos);
    stopped &= readers.awaitTermination(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
    stopped &= stateMachine.ending(untilNanos);
    var rows = rows();
    if (rows == null || failure.get() != closed) return stopped;
    try {
      rows.flush();
    } catch (StoreException e) {
      log.warn("Range {}: not flushed at the end; the next start replays its log", id, e);
    }
    return stopped;
  }

  /** Closes the rows; called after Ratis has stopped, when nothing is applied any more. Answers whether they are closed. */
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

  @Nullable RocksRange rows() {
    return opening.isDone() && !opening.isCompletedExceptionally() ? opening.join() : null;
  }

  private String threadName(String role) {
    return "dunlin-" + data.identity().nodeId().toString().substring(0, 8) + "-" + id + "-" + role;
  }
}

package dunlin.store.raft;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.RangeId;
import dunlin.store.disk.DiskSpace;
import dunlin.store.disk.LogPosition;
import dunlin.store.disk.RocksRange;
import dunlin.store.disk.RowsDirectory;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.snapshot.CheckpointDownload;
import dunlin.store.snapshot.CheckpointSource;
import java.io.IOException;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How a replica that is behind its leader's log gets that node's rows, up to the point where they can replace its own. */
final class RowsCopy {
  /*
   * Owner: a thread for each try, one try at a time. Offering what is ready does not block.
   * Bounds and failure: CheckpointDownload's. A try that fails is followed by another after a pause, when the leader says so again.
   * One from a node that does not lead any more is given up when nothing comes for a second: that node may be gone, Ratis does not
   * let the new leader speak before, and no write may be possible without this replica. Once all has come it is completed in any case.
   *
   * A try that succeeds fails its future, too, and the copy is offered when the leader says again that it is needed. For as long as
   * the future is open, Ratis 3.3.0 answers every append with the end of its own log, and the leader begins to append from there
   * when its log has that: with an old leader's uncommitted tail it often has. Then it never says again that a copy is needed,
   * Ratis takes over a copy only when it is told so, and the replica stays behind for ever, under the next leaders too. Once the
   * future has failed Ratis compares the logs, so the leader goes back to the beginning of its own, and says it again.
   *
   * It is not offered before what the log has is written: when a copy is taken over, Ratis 3.3.0 forgets what its log has still to
   * write, the beginning of its last file among it, misses that file a moment later, and closes the range. A disk that has just
   * let this replica fall behind has much to write. No log is waited for longer than LOG_PATIENCE: one that gets nowhere for so
   * long is not made worse.
   */
  private static final Logger log = LoggerFactory.getLogger(RowsCopy.class);

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long LOG_PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long LOG_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final RangeId range;
  private final RowsDirectory files;
  private final ClusterSettings settings;
  private final DiskSpace disk;
  private final CheckpointSource source;
  private final RangeMeters meters;
  private final BooleanSupplier cancelled;
  private final BooleanSupplier logWritten;
  private final long stalledNanos; // a second, or what two chunks take when they are fetched slowly on purpose
  private final ReentrantLock fetching = new ReentrantLock();
  private final Object replacing = new Object();

  private volatile @Nullable Ready ready; // written under replacing
  private volatile @Nullable Try underWay; // written by who holds fetching
  private volatile long progressNanos; // of that one

  /** A copy that is complete, and since when it waits. */
  private record Ready(LogPosition position, long sinceNanos) {}

  /** What this thread fetches from a node, and can be given up as long as it does. */
  static final class Try {
    private final UUID from;
    private final Thread thread = Thread.currentThread();
    @GuardedBy("this")
    private boolean fetching = true;

    Try(UUID from) {
      this.from = from;
    }

    synchronized void giveUp() {
      if (fetching) thread.interrupt();
    }

    /** Of its thread: nothing is fetched any more. Giving up that came too late is forgotten, as if it had not come. */
    synchronized void fetched() {
      fetching = false;
      var _ = Thread.interrupted();
    }
  }

  /**
   * @param cancelled whether the replica has failed or stops
   * @param logWritten whether all that its log has is on disk
   */
  RowsCopy(
      RangeId range,
      RowsDirectory files,
      ClusterSettings settings,
      DiskSpace disk,
      CheckpointSource source,
      RangeMeters meters,
      BooleanSupplier cancelled,
      BooleanSupplier logWritten) {
    this.range = range;
    this.files = files;
    this.settings = settings;
    this.disk = disk;
    this.source = source;
    this.meters = meters;
    this.cancelled = cancelled;
    this.logWritten = logWritten;
    long chunkNanos = TimeUnit.SECONDS.toNanos(CheckpointSource.CHUNK_BYTES_MAX) / settings.installBytesPerSecond();
    stalledNanos = Math.max(TimeUnit.SECONDS.toNanos(1), 2 * chunkNanos);
  }

  /**
   * Completes at once, with where it has come, when a copy is ready that the leader's log goes on from, and can be taken over now.
   * Else begins to fetch one, or to wait for the log, and fails when that has ended in whatever way.
   *
   * @param logBegin the first entry that the leader's log still has
   */
  CompletableFuture<LogPosition> offer(UUID leader, long logBegin, String threadName) {
    var waiting = ready;
    var position = waiting == null || waiting.position.index() + 1 < logBegin ? null : waiting.position;
    if (position != null && !logWrites()) return CompletableFuture.completedFuture(position);
    var copy = new CompletableFuture<LogPosition>();
    Thread.ofPlatform()
        .daemon()
        .name(threadName)
        .start(
            () -> {
              try {
                long end = (position == null ? fetch(leader, logBegin) : position).index();
                while (logWrites()) LockSupport.parkNanos(LOG_LOOK_NANOS);
                copy.completeExceptionally(
                    new IOException("a copy up to entry " + end + " is ready, and taken when the leader asks again"));
              } catch (IOException | RuntimeException e) {
                log.warn("Range {}: no copy of its rows from node {} yet: {}", range, leader, e.getMessage(), e);
                LockSupport.parkNanos(PAUSE_NANOS); // the leader says so again at once
                copy.completeExceptionally(e);
              }
            });
    return copy;
  }

  /** Whether a copy that is ready has to wait for the log. */
  private boolean logWrites() {
    var waiting = ready;
    return waiting != null
        && System.nanoTime() - waiting.sinceNanos < LOG_PATIENCE_NANOS
        && !cancelled.getAsBoolean()
        && !logWritten.getAsBoolean();
  }

  private LogPosition fetch(UUID leader, long logBegin) throws IOException {
    if (!fetching.tryLock()) throw new IOException("a copy is being fetched already");
    try {
      long begun = System.nanoTime();
      download(leader, begun);
      var position = RocksRange.positionIn(files.incoming());
      if (position.index() + 1 < logBegin)
        throw new IOException("the copy ends at entry " + position.index() + ", and the log begins at " + logBegin);
      synchronized (replacing) {
        ready = null; // it is overwritten
        files.complete();
        ready = new Ready(position, System.nanoTime());
      }
      log.info(
          "Range {}: has a copy of node {}'s rows up to entry {}, after {} ms",
          range, leader, position.index(), TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
      return position;
    } finally {
      fetching.unlock();
    }
  }

  private void download(UUID leader, long nowNanos) throws IOException {
    var one = new Try(leader);
    progressNanos = nowNanos;
    underWay = one;
    try {
      new CheckpointDownload(source, settings, disk, cancelled, this::came).fetch(leader, range, files.incoming());
    } finally {
      underWay = null;
      one.fetched();
    }
  }

  private void came(long bytes) {
    progressNanos = System.nanoTime();
    meters.installed(bytes);
  }

  /** Gives up a try that waits for a node which does not lead any more. */
  void look(UUID leader, long nowNanos) {
    var waiting = underWay;
    if (waiting != null && !waiting.from.equals(leader) && nowNanos - progressNanos > stalledNanos) waiting.giveUp();
  }

  /** Puts the copy that is ready in the place of these rows, when it is newer; answers whether it was. */
  boolean replace(RocksRange rows) throws IOException, InterruptedException {
    synchronized (replacing) { // the next copy may become ready in between
      var before = rows.written();
      ready = null;
      rows.replaceByReady(files);
      if (rows.written().equals(before)) return false;
    }
    log.info("Range {}: goes on with the copy of its rows, from entry {}", range, rows.written().index());
    return true;
  }

  /** Deletes a copy that is ready when these rows have come as far by themselves. */
  void dropPassed(RocksRange rows) {
    var waiting = ready;
    if (waiting == null || waiting.position.index() > rows.flushed().index()) return;
    synchronized (replacing) {
      if (!waiting.equals(ready)) return; // it has just been taken over, or is a newer one
      ready = null;
      try {
        files.deleteReady();
      } catch (IOException e) {
        log.warn("Range {}: a copy of its rows that is not needed cannot be deleted; the next start does that", range, e);
        return;
      }
    }
    log.info("Range {}: the copy of its rows up to entry {} is not needed any more", range, waiting.position.index());
  }

  /** For how many seconds a copy has been ready without being installed; 0 when there is none. */
  double waitingSeconds() {
    var waiting = ready;
    return waiting == null ? 0 : (System.nanoTime() - waiting.sinceNanos) / 1e9;
  }

  /** Waits for a running try to end; it ends soon once it is cancelled. */
  boolean ended(long untilNanos) throws InterruptedException {
    if (!fetching.tryLock(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS)) return false;
    fetching.unlock();
    return true;
  }
}

package dunlin.store.raft;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.RangeId;
import dunlin.store.disk.DiskSpace;
import dunlin.store.disk.LogPosition;
import dunlin.store.disk.RocksRange;
import dunlin.store.disk.RowsDirectory;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.snapshot.SnapshotDownload;
import dunlin.store.snapshot.SnapshotSource;
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

/** Installs a snapshot on a replica that is behind the leader's log: downloads the leader's rows, and replaces its own by them. */
final class SnapshotInstaller {
  /*
   * Owner: a thread for each attempt, one attempt at a time. Offering a snapshot that is ready does not block.
   * Bounds and failure: SnapshotDownload's. A failed attempt is followed by another after a pause, when the leader
   * asks again. A download from a node that no longer leads is cancelled when nothing arrives for a second: that node
   * may be dead, Ratis does not process the new leader's requests in the meantime, and the range may have no quorum
   * without this replica. A finished download is completed in any case.
   *
   * An attempt that succeeds fails its future, too, and the snapshot is offered when the leader asks again. While the
   * future is open, Ratis 3.3.0 answers every append with the end of its own log, and the leader starts appending from
   * there if its log has that entry: with an old leader's uncommitted tail it often does. Then the leader never asks
   * for a snapshot again, Ratis installs one only when asked, and the replica stays behind for ever, under the next
   * leaders too. Once the future has failed, Ratis compares the logs, so the leader goes back to the beginning of its
   * own and asks again.
   *
   * The snapshot is not offered before the log's entries are on disk. When Ratis 3.3.0 installs one, it drops its log's
   * unwritten entries, including the beginning of its last file, then misses that file and closes the range. A slow
   * disk, which may be why this replica is behind, has much to write. The wait ends after LOG_PATIENCE: a log without
   * progress for so long cannot be made worse.
   */
  private static final Logger log = LoggerFactory.getLogger(SnapshotInstaller.class);

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
  private static final long LOG_PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(1);
  private static final long LOG_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final RangeId range;
  private final RowsDirectory files;
  private final ClusterSettings settings;
  private final DiskSpace disk;
  private final SnapshotSource source;
  private final RangeMeters meters;
  private final BooleanSupplier cancelled;
  private final BooleanSupplier logWritten;
  private final long stalledNanos; // a second, or the time of two chunks at a limited rate
  private final ReentrantLock fetching = new ReentrantLock();
  private final Object replacing = new Object();

  private volatile @Nullable Ready ready; // written under replacing
  private volatile @Nullable Attempt running; // written by the holder of `fetching`
  private volatile long progressNanos; // of the attempt in `running`

  /** A complete snapshot, and since when it waits. */
  private record Ready(LogPosition position, long sinceNanos) {}

  /** A download from a node, which can be cancelled until it is complete. */
  static final class Attempt {
    private final UUID from;
    private final Thread thread = Thread.currentThread();
    @GuardedBy("this")
    private boolean fetching = true;

    Attempt(UUID from) {
      this.from = from;
    }

    synchronized void giveUp() {
      if (fetching) thread.interrupt();
    }

    /** Called by its thread when the download is complete. A late cancellation is ignored. */
    synchronized void fetched() {
      fetching = false;
      var _ = Thread.interrupted();
    }
  }

  /**
   * @param cancelled whether the replica has failed or is stopping
   * @param logWritten whether all entries of its log are on disk
   */
  SnapshotInstaller(
      RangeId range,
      RowsDirectory files,
      ClusterSettings settings,
      DiskSpace disk,
      SnapshotSource source,
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
    long chunkNanos = TimeUnit.SECONDS.toNanos(SnapshotSource.CHUNK_BYTES_MAX) / settings.installBytesPerSecond();
    stalledNanos = Math.max(TimeUnit.SECONDS.toNanos(1), 2 * chunkNanos);
  }

  /**
   * Completes at once, with its position, when a snapshot is ready that the leader's log continues from and that can be
   * installed now. Otherwise starts to download one, or to wait for the log, and fails when that has ended.
   *
   * @param logBegin the first entry that the leader's log still has
   */
  CompletableFuture<LogPosition> offer(UUID leader, long logBegin, String threadName) {
    var waiting = ready;
    var position = waiting == null || waiting.position.index() + 1 < logBegin ? null : waiting.position;
    if (position != null && !logWrites()) return CompletableFuture.completedFuture(position);
    var snapshot = new CompletableFuture<LogPosition>();
    Thread.ofPlatform()
        .daemon()
        .name(threadName)
        .start(
            () -> {
              try {
                long end = (position == null ? fetch(leader, logBegin) : position).index();
                while (logWrites()) LockSupport.parkNanos(LOG_LOOK_NANOS);
                snapshot.completeExceptionally(
                    new IOException("a snapshot up to entry " + end + " is ready, and is installed when the leader asks again"));
              } catch (IOException | RuntimeException e) {
                log.warn("Range {}: no snapshot of its rows from node {} yet: {}", range, leader, e.getMessage(), e);
                LockSupport.parkNanos(PAUSE_NANOS); // the leader asks again at once
                snapshot.completeExceptionally(e);
              }
            });
    return snapshot;
  }

  /** Whether a snapshot that is ready has to wait for the log. */
  private boolean logWrites() {
    var waiting = ready;
    return waiting != null
        && System.nanoTime() - waiting.sinceNanos < LOG_PATIENCE_NANOS
        && !cancelled.getAsBoolean()
        && !logWritten.getAsBoolean();
  }

  private LogPosition fetch(UUID leader, long logBegin) throws IOException {
    if (!fetching.tryLock()) throw new IOException("a snapshot is being downloaded already");
    try {
      long begun = System.nanoTime();
      download(leader, begun);
      var position = RocksRange.positionIn(files.incoming());
      if (position.index() + 1 < logBegin)
        throw new IOException("the snapshot ends at entry " + position.index() + ", and the log begins at " + logBegin);
      synchronized (replacing) {
        ready = null; // it is about to be overwritten
        files.complete();
        ready = new Ready(position, System.nanoTime());
      }
      log.info(
          "Range {}: has a snapshot of node {}'s rows up to entry {}, after {} ms",
          range, leader, position.index(), TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
      return position;
    } finally {
      fetching.unlock();
    }
  }

  private void download(UUID leader, long nowNanos) throws IOException {
    var one = new Attempt(leader);
    progressNanos = nowNanos;
    running = one;
    try {
      new SnapshotDownload(source, SnapshotDownload.Pace.of(settings), disk::canHold, cancelled, this::came).fetch(leader, range, files.incoming());
    } finally {
      running = null;
      one.fetched();
    }
  }

  private void came(long bytes) {
    progressNanos = System.nanoTime();
    meters.installed(bytes);
  }

  /** Cancels a download that waits for a node that no longer leads. */
  void look(UUID leader, long nowNanos) {
    var waiting = running;
    if (waiting != null && !waiting.from.equals(leader) && nowNanos - progressNanos > stalledNanos) waiting.giveUp();
  }

  /** Replaces these rows by the snapshot that is ready, if that is newer; answers whether it was. */
  boolean replace(RocksRange rows) throws IOException, InterruptedException {
    synchronized (replacing) { // the next snapshot may become ready in between
      var before = rows.written();
      ready = null;
      rows.replaceByReady(files);
      if (rows.written().equals(before)) return false;
    }
    log.info("Range {}: has installed the snapshot of its rows, and continues from entry {}", range, rows.written().index());
    return true;
  }

  /** Deletes a snapshot that is ready once these rows have caught up with it by themselves. */
  void dropPassed(RocksRange rows) {
    var waiting = ready;
    if (waiting == null || waiting.position.index() > rows.flushed().index()) return;
    synchronized (replacing) {
      if (!waiting.equals(ready)) return; // it has just been installed, or is a newer one
      ready = null;
      try {
        files.deleteReady();
      } catch (IOException e) {
        log.warn("Range {}: a snapshot of its rows that is no longer needed cannot be deleted; the next start deletes it", range, e);
        return;
      }
    }
    log.info("Range {}: the snapshot of its rows up to entry {} is no longer needed", range, waiting.position.index());
  }

  /** For how many seconds a snapshot has been ready without being installed; 0 when there is none. */
  double waitingSeconds() {
    var waiting = ready;
    return waiting == null ? 0 : (System.nanoTime() - waiting.sinceNanos) / 1e9;
  }

  /** Waits for a running attempt to end; it ends soon once it is cancelled. */
  boolean ended(long untilNanos) throws InterruptedException {
    if (!fetching.tryLock(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS)) return false;
    fetching.unlock();
    return true;
  }
}

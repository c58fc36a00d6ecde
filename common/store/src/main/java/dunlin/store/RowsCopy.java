package dunlin.store;

import java.io.IOException;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How a replica that is behind its leader's log gets that node's rows, up to the point where they can replace its own. */
final class RowsCopy {
  /*
   * Owner: a thread for each try, one try at a time.
   * Bounds and failure: CheckpointDownload's. A try that fails is followed by another after a pause, when the leader says so again.
   */
  private static final Logger log = LoggerFactory.getLogger(RowsCopy.class);

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final RangeId range;
  private final RowsDirectory files;
  private final ClusterSettings settings;
  private final DiskSpace disk;
  private final CheckpointSource source;
  private final RangeMeters meters;
  private final BooleanSupplier cancelled;
  private final ReentrantLock fetching = new ReentrantLock();
  private final Object replacing = new Object();

  RowsCopy(
      RangeId range,
      RowsDirectory files,
      ClusterSettings settings,
      DiskSpace disk,
      CheckpointSource source,
      RangeMeters meters,
      BooleanSupplier cancelled) {
    this.range = range;
    this.files = files;
    this.settings = settings;
    this.disk = disk;
    this.source = source;
    this.meters = meters;
    this.cancelled = cancelled;
  }

  /**
   * Completes when a copy is ready on disk, with where it has come.
   *
   * @param logBegin the first entry that the leader's log still has
   */
  CompletableFuture<LogPosition> fetch(UUID leader, long logBegin, String threadName) {
    var copy = new CompletableFuture<LogPosition>();
    Thread.ofPlatform()
        .daemon()
        .name(threadName)
        .start(
            () -> {
              try {
                copy.complete(fetch(leader, logBegin));
              } catch (IOException | RuntimeException e) {
                log.warn("Range {}: no copy of its rows from node {} yet: {}", range, leader, e.getMessage(), e);
                LockSupport.parkNanos(PAUSE_NANOS); // the leader says so again at once
                copy.completeExceptionally(e);
              }
            });
    return copy;
  }

  private LogPosition fetch(UUID leader, long logBegin) throws IOException {
    if (!fetching.tryLock()) throw new IOException("a copy is being fetched already");
    try {
      long begun = System.nanoTime();
      new CheckpointDownload(source, settings, disk, cancelled, meters::installed).fetch(leader, range, files.incoming());
      var position = RocksRange.positionIn(files.incoming());
      if (position.index() + 1 < logBegin)
        throw new IOException("the copy ends at entry " + position.index() + ", and the log begins at " + logBegin);
      synchronized (replacing) {
        files.complete();
      }
      log.info(
          "Range {}: has a copy of node {}'s rows up to entry {}, after {} ms",
          range, leader, position.index(), TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
      return position;
    } finally {
      fetching.unlock();
    }
  }

  /** Puts the copy that is ready in the place of these rows, when it is newer; answers whether it was. */
  boolean replace(RocksRange rows) throws IOException, InterruptedException {
    synchronized (replacing) { // the next copy may become ready meanwhile
      var before = rows.written();
      rows.replaceByReady(files);
      return !rows.written().equals(before);
    }
  }

  /** Waits for a try to end that is under way; it ends soon once it is cancelled. */
  boolean ended(long untilNanos) throws InterruptedException {
    if (!fetching.tryLock(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS)) return false;
    fetching.unlock();
    return true;
  }
}

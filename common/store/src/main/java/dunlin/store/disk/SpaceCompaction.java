package dunlin.store.disk;

import dunlin.store.RangeId;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Frees the space of deleted rows when the disk is low, by compacting the node's ranges one after the other. */
public final class SpaceCompaction {
  /*
   * Owner: the maintenance thread decides; a compaction has a thread of its own.
   * Bounds: one compaction at a time on the node. A range is compacted each time that the disk becomes low, and again
   * when more of its rows were deleted, at least PAUSE_NANOS after the last time. No compaction begins when the reserve
   * is used up: it writes new files before it deletes old ones.
   * Failure: an error of RocksDB fails the range, as with every use of the rows. A compaction that is cancelled because
   * the range closes or installs a snapshot is no failure.
   *
   * RocksDB compacts a level only when it is too large. Tombstones are small, so many of them do not make a level
   * large: the deleted rows would stay on disk until as much again was written, for which a low disk has no room.
   */
  private static final Logger log = LoggerFactory.getLogger(SpaceCompaction.class);
  public static final long PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** Rows of one range that may hold deleted rows on disk. */
  public interface Rows {
    RangeId id();

    /** How many rows were deleted since the start. */
    long deleted();

    /** Compacts all of them. Blocks. */
    void compact();
  }

  private record Compacted(long deletedBefore, long endedNanos) {}

  private record Running(Rows rows, long deletedBefore, CompletableFuture<?> end) {}

  private final Executor thread;
  private final Map<RangeId, Compacted> compacted = new HashMap<>();
  private @Nullable Running running;

  public SpaceCompaction(Executor thread) {
    this.thread = thread;
  }

  public void look(Collection<? extends Rows> ranges, DiskSpace disk, long nowNanos) {
    var last = running;
    if (last != null) {
      if (!last.end.isDone()) return;
      running = null;
      compacted.put(last.rows.id(), new Compacted(last.deletedBefore, nowNanos));
    }
    if (!disk.low()) compacted.clear();
    if (!disk.low() || disk.critical()) return;
    ranges.stream()
        .filter(range -> due(range, nowNanos))
        .min(Comparator.comparingLong(range -> endedNanos(range)))
        .ifPresent(this::begin);
  }

  /** When the range was last compacted; long ago for one that never was, so that it comes first. */
  private long endedNanos(Rows range) {
    var before = compacted.get(range.id());
    return before == null ? Long.MIN_VALUE : before.endedNanos;
  }

  private boolean due(Rows range, long nowNanos) {
    var before = compacted.get(range.id());
    return before == null || (range.deleted() > before.deletedBefore && nowNanos - before.endedNanos >= PAUSE_NANOS);
  }

  private void begin(Rows range) {
    log.info("Range {}: its rows are compacted, since the disk is low", range.id());
    long deletedBefore = range.deleted();
    var end =
        CompletableFuture.runAsync(
            () -> {
              try {
                range.compact();
              } catch (RuntimeException e) {
                log.info("Range {}: the compaction of its rows has not finished: {}", range.id(), e.getMessage());
              }
            },
            thread);
    running = new Running(range, deletedBefore, end);
  }
}

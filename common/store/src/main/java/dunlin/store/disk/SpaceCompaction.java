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

/** Gives the space of deleted rows back to a disk that is low, by compacting one range of the node after the other. */
public final class SpaceCompaction {
  /*
   * Owner: the upkeep thread looks; a compaction has a thread of its own.
   * Bounds: one compaction at a time on the node. A range has one each time that the disk has become low, and another when rows
   * of it were deleted since, PAUSE_NANOS after the last one at the soonest. None is begun when the reserve is used up: a compaction
   * writes new files before it deletes old ones.
   * Failure: as with every use of the rows, RocksDB's failure is the range's; one that ends early, since the range closes or is
   * replaced by a copy, is no failure.
   *
   * By itself RocksDB compacts a level that has grown too large. A deleted row is a small tombstone, and many of them make no level large:
   * the rows that they hide would stay on disk until as much again was written, which a disk that is low does not allow.
   */
  private static final Logger log = LoggerFactory.getLogger(SpaceCompaction.class);
  public static final long PAUSE_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** Rows of one range that may hold what is deleted. */
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

  /** Far back for one that was not compacted, so that it comes first. */
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
                log.info("Range {}: its rows were not compacted to the end: {}", range.id(), e.getMessage());
              }
            },
            thread);
    running = new Running(range, deletedBefore, end);
  }
}

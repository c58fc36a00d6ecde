package dunlin.store.backup;

import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.disk.DetachedRows;
import dunlin.store.disk.DiskSpace;
import dunlin.store.disk.GroupStorage;
import dunlin.store.snapshot.SnapshotDownload;
import dunlin.store.snapshot.SnapshotDownload.Pace;
import dunlin.store.snapshot.SnapshotSource;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.LongPredicate;

/** Copies ranges of running stores into directories, each as of one entry of its log. */
public final class RangeCopies {
  /*
   * Owner: one thread, which may block.
   * Bounds: those of SnapshotDownload: one chunk in memory, and the pace. The rows are read twice more at the speed of the disk, to count them and for their checksums.
   * Failure: a failed copy leaves files, which the caller deletes.
   */
  private final SnapshotSource source;
  private final Pace pace;
  private final LongPredicate room;
  private final BooleanSupplier cancelled;
  private final LongConsumer copied;

  /**
   * @param source opens snapshots that have all that was acknowledged before
   * @param room whether the disk of the copies has room for so many bytes more
   * @param copied is called with the bytes of each chunk
   */
  public RangeCopies(SnapshotSource source, Pace pace, LongPredicate room, BooleanSupplier cancelled, LongConsumer copied) {
    this.source = source;
    this.pace = pace;
    this.room = room;
    this.cancelled = cancelled;
    this.copied = copied;
  }

  /**
   * Copies a range. The files are on disk when this returns.
   *
   * @param leader the node that leads it
   * @throws IOException when that node does not, or the copy fails or is cancelled
   */
  public CopiedRange copy(UUID leader, RangeId range, Path into) throws IOException {
    new SnapshotDownload(source, pace, room, cancelled, copied).fetch(leader, range, into);
    var content = DetachedRows.read(into);
    var descriptor = content.descriptor();
    return new CopiedRange(
        range, descriptor.map(RangeDescriptor::keys).orElse(null), descriptor.map(RangeDescriptor::epoch).orElse(0L), content.position().term(),
        content.position().index(), content.rows(), CopiedFile.allIn(into));
  }

  /**
   * Whether a disk can hold so many bytes more.
   *
   * @param freeMin what stays free, as on the disk of a data directory; 0 derives it from the disk's size
   */
  public static boolean fits(Path directory, long more, long freeMin) {
    var disk = directory.toFile();
    return disk.getUsableSpace() - more >= DiskSpace.lowMark(freeMin, disk.getTotalSpace());
  }

  /** Deletes a directory with all that is in it, if it exists. */
  public static void delete(Path directory) throws IOException {
    GroupStorage.deleteTree(directory);
  }

  /**
   * Checks that the ranges of each kind have every key once. They do not when a range was split while they were copied.
   *
   * @throws StoreException when they do not
   */
  public static void requireWhole(Collection<CopiedRange> ranges) {
    Map<String, List<KeyInterval>> placed = new TreeMap<>();
    for (var each : ranges) each.keys().ifPresent(keys -> placed.computeIfAbsent(each.range().kind(), _ -> new ArrayList<>()).add(keys));
    placed.forEach(
        (kind, intervals) -> {
          intervals.sort(KeyInterval::compareStart);
          boolean whole = intervals.getFirst().start().length == 0 && intervals.getLast().end() == null;
          for (int i = 1; i < intervals.size(); i++) whole &= intervals.get(i - 1).meets(intervals.get(i));
          if (!whole) throw new StoreException("the ranges of the kind '" + kind + "' do not have every key once, since one was split in between: " + intervals);
        });
  }
}

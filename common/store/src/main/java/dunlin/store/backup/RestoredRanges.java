package dunlin.store.backup;

import dunlin.store.RangeId;
import dunlin.store.StoreException;
import dunlin.store.disk.DataDirectory;
import dunlin.store.disk.DetachedRows;
import dunlin.store.disk.GroupStorage;
import dunlin.store.disk.NewDataDirectory;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Makes the data directory of a broker that runs alone of copied ranges. The node is a new one, and the logs are empty; only the rows come back. What came of splits in a
 * cluster becomes one range again with the range that was split.
 */
public final class RestoredRanges {
  /*
   * Owner: one thread.
   * Bounds: those of DetachedRows. While ranges of a kind are joined, the disk has one of them twice.
   * Failure: nothing is left of the directory; see NewDataDirectory for a crash.
   */
  private final Path backup;

  /** @param backup with a directory for each range, named by its UUID */
  public RestoredRanges(Path backup) {
    this.backup = backup;
  }

  /**
   * Checks each file.
   *
   * @throws StoreException naming the first one that is missing or damaged
   */
  public void check(Collection<CopiedRange> ranges) throws IOException {
    for (var each : ranges) for (var file : each.files()) file.check(directoryOf(each));
  }

  /**
   * Makes the directory, and checks each file while it is copied.
   *
   * @param files of the node, beside its store, by their names
   * @return the id of the new node
   * @throws StoreException when there is something in the directory, the disk is too small, or a file is missing or damaged
   */
  public UUID restore(Collection<CopiedRange> ranges, Map<String, byte[]> files, Path to) throws IOException {
    RangeCopies.requireWhole(ranges);
    try (var made = NewDataDirectory.begin(to)) {
      requireRoom(made, ranges);
      for (var target : byTarget(ranges).entrySet()) {
        restore(target.getKey(), target.getValue(), made);
        made.add(target.getKey());
      }
      for (var file : files.entrySet()) made.write(file.getKey(), file.getValue());
      return made.complete();
    }
  }

  private static void requireRoom(NewDataDirectory made, Collection<CopiedRange> ranges) {
    long needed = ranges.stream().mapToLong(CopiedRange::bytes).sum() + ranges.stream().mapToLong(CopiedRange::bytes).max().orElse(0);
    if (made.free() < needed) throw new StoreException("the disk has " + made.free() + " free bytes; the data needs up to " + needed);
  }

  /** The ranges that become one: a range that a store begins with, and what was split from it. */
  private static Map<RangeId, List<CopiedRange>> byTarget(Collection<CopiedRange> ranges) {
    Map<RangeId, List<CopiedRange>> targets = new LinkedHashMap<>();
    for (var each : ranges) targets.computeIfAbsent(begunWith(each, ranges), _ -> new ArrayList<>()).add(each);
    return targets;
  }

  /** A split leaves the lower keys with the range that is split, so that one is the last that begins before. */
  private static RangeId begunWith(CopiedRange range, Collection<CopiedRange> all) {
    if (range.range().isNumbered() || range.keys().isEmpty()) return range.range();
    return all.stream()
        .filter(each -> each.range().kind().equals(range.range().kind()) && each.range().isNumbered() && each.keys().isPresent())
        .filter(each -> each.keys().get().compareStart(range.keys().get()) <= 0)
        .max((a, b) -> a.keys().get().compareStart(b.keys().get()))
        .map(CopiedRange::range)
        .orElseThrow(() -> new StoreException("range '" + range.range() + "' was split from one that is not there"));
  }

  private void restore(RangeId range, List<CopiedRange> parts, NewDataDirectory made) throws IOException {
    Path rows = made.rows(range);
    copy(parts.getFirst(), rows);
    DetachedRows.begin(rows);
    for (var other : parts.subList(1, parts.size())) {
      copy(other, made.scratch());
      DetachedRows.beginWith(rows, made.scratch());
      GroupStorage.deleteTree(made.scratch());
    }
    long expected = parts.stream().mapToLong(CopiedRange::rows).sum();
    long found = DetachedRows.read(rows).rows();
    if (found != expected) throw new StoreException("range '" + range + "' has " + found + " rows instead of " + expected);
  }

  private void copy(CopiedRange range, Path to) throws IOException {
    DataDirectory.createDirectory(to);
    for (var file : range.files()) file.copy(directoryOf(range), to);
    DataDirectory.force(to);
  }

  private Path directoryOf(CopiedRange range) {
    return backup.resolve(range.range().uuid().toString());
  }
}

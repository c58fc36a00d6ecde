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
 * Makes the data directory of a broker that runs alone of copied ranges. The node is a new one, and the logs are empty; only the rows come back. Several ranges of a kind of a
 * cluster become one again.
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
        restore(target.getValue(), made.rows(target.getKey()), made);
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

  /** The ranges that become one: those of a kind in a cluster become its first range, and others stay what they are. */
  private static Map<RangeId, List<CopiedRange>> byTarget(Collection<CopiedRange> ranges) {
    Map<RangeId, List<CopiedRange>> targets = new LinkedHashMap<>();
    for (var each : ranges) {
      var target = each.keys().isPresent() ? RangeId.firstOf(each.range().kind()) : each.range();
      targets.computeIfAbsent(target, _ -> new ArrayList<>()).add(each);
    }
    return targets;
  }

  private void restore(List<CopiedRange> parts, Path rows, NewDataDirectory made) throws IOException {
    copy(parts.getFirst(), rows);
    DetachedRows.begin(rows);
    for (var other : parts.subList(1, parts.size())) {
      copy(other, made.scratch());
      DetachedRows.beginWith(rows, made.scratch());
      GroupStorage.deleteTree(made.scratch());
    }
    long expected = parts.stream().mapToLong(CopiedRange::rows).sum();
    long found = DetachedRows.read(rows).rows();
    if (found != expected) throw new StoreException("range '" + parts.getFirst().range() + "' has " + found + " rows instead of " + expected);
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

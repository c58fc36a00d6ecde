package dunlin.store.backup;

import dunlin.store.KeyInterval;
import dunlin.store.RangeId;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The rows of one range as of one entry of its log.
 *
 * @param keysOrNull the keys of a range of a cluster; null for one of a broker that runs alone, which is not placed
 * @param epoch of a range of a cluster; else 0
 * @param term of the last entry that the rows include
 * @param index of that entry
 * @param rows their number
 */
public record CopiedRange(RangeId range, @Nullable KeyInterval keysOrNull, long epoch, long term, long index, long rows, List<CopiedFile> files) {
  public CopiedRange {
    files = List.copyOf(files);
  }

  public Optional<KeyInterval> keys() {
    return Optional.ofNullable(keysOrNull);
  }

  public long bytes() {
    return files.stream().mapToLong(CopiedFile::bytes).sum();
  }
}

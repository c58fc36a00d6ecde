package dunlin.inbox.repair;

import dunlin.store.RangeReader;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Presents the rows of several session ranges as the rows of one range. */
public final class DividedRows implements RangeReader {
  private final List<RangeReader> ranges;

  /** @param ranges in the order of their shards, and so of their keys */
  public DividedRows(List<? extends RangeReader> ranges) {
    this.ranges = List.copyOf(ranges);
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    for (RangeReader range : ranges) {
      byte[] value = range.get(key);
      if (value != null) return value;
    }
    return null;
  }

  @Override
  public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
    boolean[] goesOn = {true};
    for (RangeReader range : ranges) {
      range.scan(from, to, (key, value) -> goesOn[0] = visitor.row(key, value));
      if (!goesOn[0]) return;
    }
  }
}

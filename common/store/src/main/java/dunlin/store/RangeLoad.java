package dunlin.store;

import java.util.List;
import java.util.Optional;

/** The size and load of one replica, to decide whether and where its range is split. */
public interface RangeLoad {
  /** The approximate size of the rows with these keys, on disk and in memory. May block on the disk, as {@link #middle} may. */
  long bytes(KeyInterval keys);

  /** Commands applied and rows read since the replica was opened. */
  long operations();

  /** An approximately even sample of the keys written in the last seconds, in no order. */
  List<byte[]> writtenLately();

  /** The key of a row with about half of the interval's bytes below it; empty when there are too few rows. */
  Optional<byte[]> middle(KeyInterval keys);
}

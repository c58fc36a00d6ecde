package dunlin.store;

import java.util.List;
import java.util.Optional;

/** How much one replica of a range holds and does, to decide whether the range is to be split, and where. */
public interface RangeLoad {
  /** Of the rows with these keys, on disk and in memory, about. May block on the disk, as {@link #middle} may. */
  long bytes(KeyInterval keys);

  /** Commands applied and rows asked for by readers, since the replica was opened. */
  long operations();

  /** Keys of rows that were written in the last seconds, about evenly chosen among all that were; in no order. */
  List<byte[]> writtenLately();

  /** The key of a row with about half of the bytes of these keys below it; nothing when there are too few rows. */
  Optional<byte[]> middle(KeyInterval keys);
}

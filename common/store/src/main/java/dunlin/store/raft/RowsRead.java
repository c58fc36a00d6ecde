package dunlin.store.raft;

import dunlin.store.RangeReader;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Counts the rows that the logic of a range reads while it opens, to show the progress of the start. */
final class RowsRead {
  /*
   * Owner: the opening thread counts; any thread reads the count.
   */
  private final AtomicLong count = new AtomicLong();

  long count() {
    return count.get();
  }

  /** A reader of the same rows that counts them. */
  RangeReader counting(RangeReader rows) {
    return new RangeReader() {
      @Override
      public byte @Nullable [] get(byte[] key) {
        count.incrementAndGet();
        return rows.get(key);
      }

      @Override
      public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
        rows.scan(
            from,
            to,
            (key, value) -> {
              count.incrementAndGet();
              return visitor.row(key, value);
            });
      }
    };
  }
}

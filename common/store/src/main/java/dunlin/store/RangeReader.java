package dunlin.store;

import org.jspecify.annotations.Nullable;

/**
 * The durable rows of one range, in ascending order of their keys as unsigned bytes.
 *
 * <p>May block on disk: never called from an event loop.
 */
public interface RangeReader {
  /** The value of a key, or null when there is no such row. */
  byte @Nullable [] get(byte[] key);

  /**
   * Visits the rows with {@code from <= key < to} in order until the visitor has enough.
   *
   * @param to the exclusive end; null for the end of the range
   */
  void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor);

  /** Receives the rows of a scan. */
  @FunctionalInterface
  interface RowVisitor {
    /** Answers whether the scan goes on. */
    boolean row(byte[] key, byte[] value);
  }
}

package dunlin.store;

/**
 * Collects what the application of log entries changes. Reads through it see the changes made so far; others see them
 * only when the whole batch, together with the applied index, has been written.
 */
public interface RangeWriter extends RangeReader {
  /**
   * Keeps both arrays: they must not change any more.
   *
   * @throws IllegalArgumentException for the empty key, which is the store's own
   */
  void put(byte[] key, byte[] value);

  /** Like {@link #put}, and no error when there is no such row. */
  void delete(byte[] key);
}

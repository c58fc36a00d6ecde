package dunlin.store;

/**
 * Collects the changes of applied log entries. Reads through it see the changes made so far; other readers see them
 * only when the whole batch has been written, together with the applied index.
 */
public interface RangeWriter extends RangeReader {
  /**
   * Keeps both arrays: the caller must not change them afterwards.
   *
   * @throws IllegalArgumentException for the empty key, which is the store's own
   */
  void put(byte[] key, byte[] value);

  /** Like {@link #put}; does nothing when there is no such row. */
  void delete(byte[] key);
}

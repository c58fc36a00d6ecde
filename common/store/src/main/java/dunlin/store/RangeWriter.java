package dunlin.store;

/**
 * Collects what the application of log entries changes. Reads through it see the changes made so far; others see them
 * only when the whole batch, together with the applied index, has been written.
 */
public interface RangeWriter extends RangeReader {
  void put(byte[] key, byte[] value);

  void delete(byte[] key);
}

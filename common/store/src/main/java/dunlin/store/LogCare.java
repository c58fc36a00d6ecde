package dunlin.store;

import java.io.File;
import java.nio.file.Path;

/** When one range's rows are flushed and its log is cut: by entries, bytes and age. */
final class LogCare {
  /*
   * Owner: the upkeep thread; bytes() by any thread.
   */
  private final StoreSettings settings;
  private final Path log;

  private long flushedNanos = System.nanoTime();
  private long flushedBytes;
  private volatile long bytes; // single writer: the upkeep thread

  LogCare(StoreSettings settings, Path log) {
    this.settings = settings;
    this.log = log;
  }

  /** Bytes of the log's files when they were last looked at. */
  long bytes() {
    return bytes;
  }

  /** Flushes the rows if it is time, and answers whether the log can be cut now. */
  boolean flush(RocksRange rows, long appliedBytes, long nowNanos) {
    bytes = bytesIn(log.resolve("current").toFile());
    long entries = rows.written().index() - rows.flushed().index();
    boolean due =
        entries >= settings.snapshotEntries()
            || appliedBytes - flushedBytes >= settings.snapshotLogBytes()
            || nowNanos - flushedNanos >= settings.snapshotAge().toNanos();
    if (!due) return false;
    flushedNanos = nowNanos;
    flushedBytes = appliedBytes;
    if (entries == 0) return false;
    rows.flush();
    return true;
  }

  private static long bytesIn(File directory) {
    long bytes = 0;
    File[] files = directory.listFiles();
    if (files != null) for (File file : files) bytes += file.length();
    return bytes;
  }
}

package dunlin.store.disk;

import dunlin.store.RangeDescriptor;
import dunlin.store.disk.Placed.Head;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/** The rows of a range in a directory of their own that no store uses: a copy, which may become the rows of another store. */
public final class DetachedRows {
  /*
   * Owner: one thread, which may block for as long as reading all rows takes.
   * Bounds: MEMORY for RocksDB, and BATCH_BYTES of rows that are being copied.
   * Failure: an IOException with what RocksDB says. After a failed begin() the rows are good for nothing.
   */
  private static final long MEMORY = 16L * 1024 * 1024;
  private static final int OPEN_FILES = 64;
  private static final int BATCH_BYTES = 1024 * 1024;
  private static final String INFO_LOGS = "LOG*";

  private DetachedRows() {}

  /**
   * What the rows say of themselves.
   *
   * @param descriptor of a range that was placed
   * @param rows their number, without the one that holds the position
   */
  public record Content(LogPosition position, Optional<RangeDescriptor> descriptor, long rows) {}

  /** Reads all rows. Changes nothing. */
  public static Content read(Path directory) throws IOException {
    RocksDB.loadLibrary();
    try (var options = new Options().setMaxOpenFiles(OPEN_FILES);
        var db = RocksDB.openReadOnly(options, directory.toString());
        var read = new ReadOptions().setFillCache(false);
        var rows = db.newIterator(read)) {
      var head = Head.read(db.get(RocksRange.POSITION_KEY));
      long count = 0;
      for (rows.seekToFirst(); rows.isValid(); rows.next()) if (rows.key().length > 0) count++;
      rows.status();
      return new Content(head.position(), Optional.ofNullable(head.placed()).map(Placed::range), count);
    } catch (RocksDBException | IllegalStateException e) {
      throw new IOException("the rows in " + directory + " cannot be read: " + e.getMessage(), e);
    } finally {
      deleteInfoLogs(directory);
    }
  }

  /** RocksDB writes them also for a database that it only reads. */
  private static void deleteInfoLogs(Path directory) throws IOException {
    try (var found = Files.newDirectoryStream(directory, INFO_LOGS)) {
      for (Path log : found) Files.delete(log);
    }
  }

  /** Makes these rows those of a range that begins with them: it has no applied entry and is not placed. */
  public static void begin(Path directory) throws IOException {
    begin(directory, null);
  }

  /** The same, after rows of other keys were added, which are not changed themselves. */
  public static void beginWith(Path directory, Path others) throws IOException {
    begin(directory, others);
  }

  private static void begin(Path directory, @Nullable Path others) throws IOException {
    try (var memory = new RocksMemory(MEMORY);
        var options = memory.options(false);
        var db = RocksDB.open(options, directory.toString());
        var unlogged = new WriteOptions().setDisableWAL(true);
        var wait = new FlushOptions().setWaitForFlush(true).setAllowWriteStall(true)) {
      if (others != null) add(db, unlogged, others);
      db.put(unlogged, RocksRange.POSITION_KEY, new Head(LogPosition.NONE, null).toBytes());
      db.flush(wait);
    } catch (RocksDBException e) {
      throw new IOException("the rows in " + directory + " cannot be written: " + e.getMessage(), e);
    }
    deleteInfoLogs(directory);
    DataDirectory.force(directory);
  }

  private static void add(RocksDB to, WriteOptions unlogged, Path other) throws RocksDBException, IOException {
    try (var options = new Options().setMaxOpenFiles(OPEN_FILES);
        var from = RocksDB.openReadOnly(options, other.toString());
        var read = new ReadOptions().setFillCache(false);
        var rows = from.newIterator(read);
        var batch = new WriteBatch()) {
      for (rows.seekToFirst(); rows.isValid(); rows.next()) {
        if (rows.key().length > 0) batch.put(rows.key(), rows.value());
        if (batch.getDataSize() < BATCH_BYTES) continue;
        to.write(unlogged, batch);
        batch.clear();
      }
      rows.status();
      to.write(unlogged, batch);
    } finally {
      deleteInfoLogs(other);
    }
  }
}

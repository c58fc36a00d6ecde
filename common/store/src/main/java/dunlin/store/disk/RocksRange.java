package dunlin.store.disk;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.DamagedException;
import dunlin.store.KeyInterval;
import dunlin.store.RangeId;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import dunlin.store.disk.Placed.Head;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rocksdb.Checkpoint;
import org.rocksdb.CompactRangeOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.SizeApproximationFlag;
import org.rocksdb.Slice;
import org.rocksdb.Status;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * The rows of one range in a RocksDB of its own, together with their position in the log.
 *
 * <p>RocksDB's own log is off: after a crash the rows are those of an earlier position, never a mixture, and the Raft
 * log is replayed from there. The position is the row of the empty key, which is reserved for it.
 */
public final class RocksRange implements RangeReader {
  /*
   * Owner: one thread at a time writes; any thread reads and flushes.
   * Bounds: see RocksMemory.
   * Failure: any error of RocksDB is reported to the listener and thrown; corruption is noted for the next start. Reads
   * and writes hold a read lock, close() and replace() the write lock: a call into a closed RocksDB would crash the
   * process. A compaction holds the read lock for minutes, so a thread that wants the write lock cancels it first.
   */
  private static final long READERS_LEAVE_SECONDS = 60;
  static final byte[] POSITION_KEY = new byte[0];
  private static final byte[] LOWEST_KEY = {0}; // the first key after the position's

  private final RangeId range;
  private final Path directory;
  private final RocksMemory memory;
  private final WriteOptions writeOptions = new WriteOptions().setDisableWAL(true);
  private final WriteBatch batch = new WriteBatch();
  private final Consumer<StoreException> onFailure;
  private final Object flushing = new Object();
  private final Object compacting = new Object();
  private final AtomicLong deleted = new AtomicLong();
  private final ReentrantReadWriteLock use = new ReentrantReadWriteLock();

  private volatile LogPosition written; // single writer: the applying thread
  private volatile LogPosition flushed; // written under flushing
  private volatile @Nullable Placed placed; // single writer: the applying thread
  @GuardedBy("compacting")
  private @Nullable CompactRangeOptions compaction; // while one runs
  @GuardedBy("compacting")
  private int leaving; // threads that want the write lock
  @GuardedBy("use")
  private Options options;
  @GuardedBy("use")
  private RocksDB db;
  @GuardedBy("use")
  private boolean closed;

  private RocksRange(
      RangeId range, Path directory, RocksMemory memory, Options options, RocksDB db, Consumer<StoreException> onFailure)
      throws RocksDBException {
    this.range = range;
    this.directory = directory;
    this.memory = memory;
    this.options = options;
    this.db = db;
    this.onFailure = onFailure;
    // After opening, everything there has been flushed.
    var head = Head.read(db.get(POSITION_KEY));
    written = head.position();
    placed = head.placed();
    flushed = written;
  }

  /** Opens the rows of a range; a missing or empty directory becomes an empty range. */
  public static RocksRange open(RangeId range, Path directory, RocksMemory memory, Consumer<StoreException> onFailure) {
    boolean exists = Files.exists(directory.resolve("CURRENT"));
    if (!exists && holdsTables(range, directory))
      // RocksDB would create a new database here and delete the tables.
      throw damage(range, directory, "be opened: its CURRENT file is missing", null);
    DataDirectory.createDirectory(directory);
    Options options = memory.options(!exists);
    RocksDB db = null;
    try {
      db = RocksDB.open(options, directory.toString());
      return new RocksRange(range, directory, memory, options, db, onFailure);
    } catch (RocksDBException | RuntimeException e) {
      if (db != null) db.close();
      options.close();
      throw e instanceof RocksDBException rocks && !damaged(rocks)
          ? failure(range, directory, "be opened: " + e.getMessage(), e)
          : damage(range, directory, "be opened: " + e.getMessage(), e);
    }
  }

  /** The position of rows that are not open. */
  public static LogPosition positionIn(Path directory) throws IOException {
    try (var options = new Options();
        var db = RocksDB.openReadOnly(options, directory.toString())) {
      return Head.read(db.get(POSITION_KEY)).position();
    } catch (RocksDBException e) {
      throw new IOException("the rows in " + directory + " cannot be opened: " + e.getMessage(), e);
    }
  }

  public static boolean holdsTables(RangeId range, Path directory) {
    if (!Files.isDirectory(directory)) return false;
    try (var tables = Files.newDirectoryStream(directory, "*.sst")) {
      return tables.iterator().hasNext();
    } catch (IOException e) {
      throw failure(range, directory, "be listed: " + e.getMessage(), e);
    }
  }

  /** The position of the rows that readers see. */
  public LogPosition written() {
    return written;
  }

  /** The position of the rows that survive a crash. */
  public LogPosition flushed() {
    return flushed;
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    if (key.length == 0) return null;
    enter();
    try {
      return db.get(key);
    } catch (RocksDBException e) {
      throw failed("be read", e);
    } finally {
      use.readLock().unlock();
    }
  }

  @Override
  public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
    enter();
    // The bound lets RocksDB skip deleted rows behind it instead of walking them.
    try (var bound = to == null ? null : new Slice(to);
        var read = new ReadOptions();
        var rows = db.newIterator(bound == null ? read : read.setIterateUpperBound(bound))) {
      rows.seek(from);
      if (rows.isValid() && rows.key().length == 0) rows.next();
      while (rows.isValid() && visitor.row(rows.key(), rows.value())) rows.next();
      rows.status();
    } catch (RocksDBException e) {
      throw failed("be read", e);
    } finally {
      use.readLock().unlock();
    }
  }

  /** The range's descriptor by its own rows; null for one that is not placed. */
  public @Nullable Placed placed() {
    return placed;
  }

  /** Changes the descriptor; it is stored with the next write. Called by the applying thread only. */
  public void place(Placed changed) {
    placed = changed;
  }

  /** The approximate bytes of rows that would have to be replayed from the log after a crash. */
  public long unflushedBytes() {
    enter();
    try {
      return written.equals(flushed) ? 0 : db.getLongProperty("rocksdb.cur-size-all-mem-tables");
    } catch (RocksDBException e) {
      throw failed("be measured", e);
    } finally {
      use.readLock().unlock();
    }
  }

  /** The approximate size, in files and in memory, of the rows from one key up to another, exclusive, or to the last. */
  long bytes(byte[] from, byte @Nullable [] to) {
    enter();
    try {
      byte[] begin = from.length == 0 ? LOWEST_KEY : from;
      byte[] end = to == null ? endOfRows() : to;
      return end == null || Arrays.compareUnsigned(begin, end) >= 0 ? 0 : measured(begin, end);
    } catch (RocksDBException e) {
      throw failed("be measured", e);
    } finally {
      use.readLock().unlock();
    }
  }

  private long measured(byte[] from, byte[] to) {
    try (var start = new Slice(from);
        var end = new Slice(to)) {
      return db.getApproximateSizes(
          List.of(new org.rocksdb.Range(start, end)),
          SizeApproximationFlag.INCLUDE_FILES,
          SizeApproximationFlag.INCLUDE_MEMTABLES)[0];
    }
  }

  /** The key of a row with about half of the interval's bytes below it; empty when there are too few rows. */
  Optional<byte[]> middle(KeyInterval keys) {
    enter();
    try (var read = new ReadOptions();
        var rows = db.newIterator(read)) {
      var found =
          MiddleKey.find(
              new MiddleKey.Rows() {
                @Override
                public byte @Nullable [] ceiling(byte[] key) {
                  rows.seek(key.length == 0 ? LOWEST_KEY : key);
                  return rows.isValid() ? rows.key() : null;
                }

                @Override
                public byte @Nullable [] lower(byte @Nullable [] key) {
                  if (key == null) rows.seekToLast();
                  else rows.seekForPrev(key);
                  if (key != null && rows.isValid() && Arrays.equals(rows.key(), key)) rows.prev();
                  return rows.isValid() && rows.key().length > 0 ? rows.key() : null;
                }

                @Override
                public long bytes(byte[] from, byte[] to) {
                  return measured(from, to);
                }
              },
              keys);
      rows.status();
      return found;
    } catch (RocksDBException e) {
      throw failed("be read", e);
    } finally {
      use.readLock().unlock();
    }
  }

  /** Writes changes and their position atomically. */
  public void write(PendingRows changes, LogPosition position) {
    enter();
    try {
      batch.clear();
      int more = changes.copyTo(batch);
      batch.put(POSITION_KEY, new Head(position, placed).toBytes());
      db.write(writeOptions, batch);
      written = position;
      deleted.addAndGet(more);
    } catch (RocksDBException e) {
      throw failed("be written", e);
    } finally {
      use.readLock().unlock();
    }
  }

  /** Flushes everything written so far to disk. Blocks for as long as the disk takes. */
  public void flush() {
    enter();
    try (var wait = new FlushOptions().setWaitForFlush(true).setAllowWriteStall(true)) {
      synchronized (flushing) { // the applying thread flushes, too, when it splits; the position must not go back
        var position = written;
        if (position.equals(flushed)) return;
        db.flush(wait);
        flushed = position;
      }
    } catch (RocksDBException e) {
      throw failed("be flushed", e);
    } finally {
      use.readLock().unlock();
    }
  }

  /** How many rows were deleted since this was opened; all rows deleted by a split count as one. */
  public long deleted() {
    return deleted.get();
  }

  /**
   * Compacts all files, so that deleted rows free their space. Blocks until that is done, or until the rows are closed
   * or replaced. One thread at a time may call it.
   */
  public void compact() {
    enter();
    try (var options = new CompactRangeOptions().setExclusiveManualCompaction(false)) {
      if (!beginCompaction(options)) return;
      try {
        db.compactRange(db.getDefaultColumnFamily(), null, null, options);
      } finally {
        endCompaction();
      }
    } catch (RocksDBException e) {
      if (e.getStatus() == null || e.getStatus().getCode() != Status.Code.Incomplete) throw failed("be compacted", e);
    } finally {
      use.readLock().unlock();
    }
  }

  boolean compacting() {
    synchronized (compacting) {
      return compaction != null;
    }
  }

  private boolean beginCompaction(CompactRangeOptions options) {
    synchronized (compacting) {
      if (leaving > 0 || compaction != null) return false;
      compaction = options;
      return true;
    }
  }

  private void endCompaction() {
    synchronized (compacting) {
      compaction = null;
    }
  }

  /** Cancels a running compaction, and blocks new ones until {@link #stay}. */
  private void leave() {
    synchronized (compacting) {
      leaving++;
      if (compaction != null) compaction.setCanceled(true);
    }
  }

  private void stay() {
    synchronized (compacting) {
      leaving--;
    }
  }

  /** Refuses rows that end before the log begins: the rows of the entries in between are lost. */
  public void requireReach(long logBegin) {
    if (logBegin > flushed.index() + 1)
      throw new DamagedException(
          "range '" + range + "': its rows in " + directory + " end at entry " + flushed.index()
              + " and its log begins at entry " + logBegin + "; rows are lost");
  }

  /** Writes a snapshot of the current rows into a new directory. */
  public void snapshot(Path made) {
    enter();
    try (var maker = Checkpoint.create(db)) {
      maker.createCheckpoint(made.toString());
    } catch (RocksDBException e) {
      throw failure(range, directory, "be copied to " + made + ": " + e.getMessage(), e);
    } finally {
      use.readLock().unlock();
    }
  }

  /** Writes the rows from the cut upwards into a new directory, as rows of another range without an applied entry. */
  public void copyUpper(Path made, byte[] cut, Placed upper) throws IOException {
    snapshot(made);
    try (var options = memory.options(false);
        var copy = RocksDB.open(options, made.toString());
        var changes = new WriteBatch();
        var wait = new FlushOptions().setWaitForFlush(true).setAllowWriteStall(true)) {
      copy.deleteFilesInRanges(copy.getDefaultColumnFamily(), List.of(LOWEST_KEY, cut), false);
      changes.deleteRange(LOWEST_KEY, cut);
      changes.put(POSITION_KEY, new Head(LogPosition.NONE, upper).toBytes());
      copy.write(writeOptions, changes);
      copy.flush(wait);
    } catch (RocksDBException e) {
      throw new IOException("the rows from the cut up cannot be copied to " + made + ": " + e.getMessage(), e);
    }
  }

  /** Deletes the rows from the cut upwards, and flushes. Called by the applying thread only. */
  public void dropUpper(byte[] cut, Placed lower, LogPosition position) {
    enter();
    try {
      byte[] end = endOfRows();
      batch.clear();
      if (end != null && Arrays.compareUnsigned(cut, end) < 0) batch.deleteRange(cut, end);
      batch.put(POSITION_KEY, new Head(position, lower).toBytes());
      placed = lower; // before the rows go, so that a reader who misses one sees that the keys have changed
      db.write(writeOptions, batch);
      written = position;
      deleted.incrementAndGet();
    } catch (RocksDBException e) {
      throw failed("be written", e);
    } finally {
      use.readLock().unlock();
    }
    flush();
  }

  /** A key behind the last row, or null when there is none. */
  private byte @Nullable [] endOfRows() throws RocksDBException {
    try (var read = new ReadOptions();
        var rows = db.newIterator(read)) {
      rows.seekToLast();
      rows.status();
      return rows.isValid() ? Arrays.copyOf(rows.key(), rows.key().length + 1) : null;
    }
  }

  /**
   * Replaces these rows by the ready snapshot beside them, if that is newer. Called by the writing thread only; readers
   * wait.
   */
  public void replaceByReady(RowsDirectory files) throws IOException, InterruptedException {
    if (!Files.exists(files.ready())) return;
    long end = positionIn(files.ready()).index();
    if (end <= written.index()) {
      files.deleteReady();
      return;
    }
    files.noteInstalled(end); // while the rows are still read
    leave();
    try {
      swap(files);
    } finally {
      stay();
    }
    files.deleteOld();
  }

  private void swap(RowsDirectory files) throws IOException, InterruptedException {
    if (!use.writeLock().tryLock(READERS_LEAVE_SECONDS, TimeUnit.SECONDS))
      throw new IOException("the readers of range '" + range + "' do not leave");
    try {
      if (closed) throw new IOException("range '" + range + "' is closed");
      db.close();
      options.close();
      closed = true; // when it cannot be opened again
      files.swapIn();
      options = memory.options(false);
      db = RocksDB.open(options, directory.toString());
      closed = false;
      var head = Head.read(db.get(POSITION_KEY));
      written = head.position();
      placed = head.placed();
      flushed = written;
    } catch (RocksDBException e) {
      throw failed("be opened after they were replaced", e);
    } finally {
      use.writeLock().unlock();
    }
  }

  /** Closes the database once no reader or writer uses it; answers false when one still does at the deadline. */
  public boolean close(long untilNanos) throws InterruptedException {
    leave(); // for good
    if (!use.writeLock().tryLock(untilNanos - System.nanoTime(), TimeUnit.NANOSECONDS)) return false;
    try {
      closeNow();
      return true;
    } finally {
      use.writeLock().unlock();
    }
  }

  /** Closes the database while no other thread knows it. */
  public void closeNow() {
    if (closed) return;
    closed = true;
    db.close();
    batch.close();
    writeOptions.close();
    options.close();
  }

  private void enter() {
    use.readLock().lock();
    if (closed) {
      use.readLock().unlock();
      throw new StoreException("range '" + range + "' is closed");
    }
  }

  private StoreException failed(String what, RocksDBException e) {
    boolean corrupt = e.getStatus() != null && e.getStatus().getCode() == Status.Code.Corruption;
    if (corrupt) new RowsDirectory(directory).markDamaged();
    String message = what + ": " + e.getMessage();
    var failure = corrupt ? damage(range, directory, message, e) : failure(range, directory, message, e);
    onFailure.accept(failure);
    return failure;
  }

  /** Whether a database that cannot be opened is damaged: not when space or permissions are missing. */
  private static boolean damaged(RocksDBException e) {
    if (e.getStatus() == null) return true;
    return switch (e.getStatus().getCode()) {
      case Corruption, InvalidArgument, NotFound -> true;
      case IOError -> String.valueOf(e.getMessage()).contains("No such file");
      default -> false;
    };
  }

  private static StoreException damage(RangeId range, Path directory, String what, @Nullable Exception cause) {
    String message = "range '" + range + "': its rows in " + directory + " cannot " + what;
    return cause == null ? new DamagedException(message) : new DamagedException(message, cause);
  }

  private static StoreException failure(RangeId range, Path directory, String what, Exception cause) {
    return new StoreException("range '" + range + "': its rows in " + directory + " cannot " + what, cause);
  }
}

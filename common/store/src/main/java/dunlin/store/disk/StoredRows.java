package dunlin.store.disk;

import dunlin.store.RangeId;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a data directory that no node is using, as they stand on disk: without the log behind them, and without the memory that
 * the tiers need. For looking at what is there when a start is not wanted, or does not come to its end.
 */
public final class StoredRows implements AutoCloseable {
  /*
   * Owner: one thread.
   * Bounds: RocksDB's memory; a scan holds one row.
   * Failure: a directory that is in use, not Dunlin's or of another version is refused, and so are damaged rows.
   */
  private static final long MEMORY = 16L * 1024 * 1024;
  private static final RangeReader NONE =
      new RangeReader() {
        @Override
        public byte @Nullable [] get(byte[] key) {
          return null;
        }

        @Override
        public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {}
      };

  private final DataDirectory data;
  private final RocksMemory memory;
  private final Map<RangeId, RocksRange> open = new HashMap<>();

  private StoredRows(DataDirectory data) {
    this.data = data;
    memory = new RocksMemory(MEMORY);
  }

  /** Takes the directory for this process; {@link #requireDataDirectory} says what must be there. */
  public static StoredRows open(Path dataDirectory) {
    requireDataDirectory(dataDirectory);
    return new StoredRows(DataDirectory.open(dataDirectory));
  }

  /** @throws StoreException when this is no data directory, which {@link RangeStore#open} would begin there */
  public static void requireDataDirectory(Path directory) {
    if (!Files.exists(directory)) throw new StoreException("there is no directory " + directory);
    if (!Files.isRegularFile(directory.resolve(NodeIdentity.FILE)))
      throw new StoreException(directory + " is not a data directory of Dunlin: it has no file " + NodeIdentity.FILE);
  }

  /** The rows of the first range of a kind; none when the directory has none. */
  public RangeReader of(String kind) {
    return of(RangeId.firstOf(kind));
  }

  /** The rows of a range; none when the directory has none. */
  public RangeReader of(RangeId range) {
    var rows = rows(range);
    return rows == null ? NONE : rows;
  }

  /** The entry of the log that the rows lead to; -1 when there are none. What the log has behind it is not in them. */
  public long applied(String kind) {
    return applied(RangeId.firstOf(kind));
  }

  /** The same of a range. */
  public long applied(RangeId range) {
    var rows = rows(range);
    return rows == null ? -1 : rows.written().index();
  }

  private @Nullable RocksRange rows(RangeId id) {
    var known = open.get(id);
    if (known != null) return known;
    if (!Files.exists(data.rows(id).resolve("CURRENT")) && !RocksRange.holdsTables(id, data.rows(id))) return null;
    var rows = RocksRange.open(id, data.rows(id), memory, _ -> {});
    open.put(id, rows);
    return rows;
  }

  @Override
  public void close() {
    open.values().forEach(RocksRange::closeNow);
    memory.close();
    data.close();
  }
}

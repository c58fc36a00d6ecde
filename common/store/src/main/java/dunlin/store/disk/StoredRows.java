package dunlin.store.disk;

import dunlin.store.RangeId;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a data directory that no node is using, as they are on disk: the log is not replayed and the tiers are
 * not started. For inspection when a start is not wanted or does not succeed.
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

  /** Locks the directory for this process; {@link #requireDataDirectory} checks what must be there. */
  public static StoredRows open(Path dataDirectory) {
    requireDataDirectory(dataDirectory);
    return new StoredRows(DataDirectory.open(dataDirectory));
  }

  /** @throws StoreException when this is not a data directory; {@link RangeStore#open} would create one */
  public static void requireDataDirectory(Path directory) {
    if (!Files.exists(directory)) throw new StoreException("there is no directory " + directory);
    if (!Files.isRegularFile(directory.resolve(NodeIdentity.FILE)))
      throw new StoreException(directory + " is not a data directory of Dunlin: it has no file " + NodeIdentity.FILE);
  }

  /** The ranges that the directory has, or has lost. */
  public List<UUID> ranges() {
    return data.ranges();
  }

  /** The rows of the first range of a kind; empty when the directory has none. */
  public RangeReader of(String kind) {
    return of(RangeId.firstOf(kind));
  }

  /** The rows of a range; none when the directory has none. */
  public RangeReader of(RangeId range) {
    var rows = rows(range);
    return rows == null ? NONE : rows;
  }

  /** The last entry of the log that the rows include; -1 when there are none. Later entries of the log are not in them. */
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

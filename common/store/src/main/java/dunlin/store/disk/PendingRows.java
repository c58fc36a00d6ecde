package dunlin.store.disk;

import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;

/** The changes of applied entries that are not in RocksDB yet, merged with the rows that are. */
public final class PendingRows implements RangeWriter {
  /*
   * Owner: the applying thread.
   * Bounds: the state machine writes them to RocksDB at WRITE_BYTES or WRITE_ENTRIES, so at most that plus one entry's
   * changes.
   *
   * A sorted map and not RocksDB's WriteBatchWithIndex: a put or a read of an own write stays in Java, and a row that is
   * written many times in one batch (a cursor) reaches RocksDB once.
   */
  private static final byte[] DELETED = new byte[0]; // distinguished from an empty value by identity

  private final RangeReader durable;
  private final Consumer<byte[]> written;
  private final NavigableMap<byte[], byte[]> changes = new TreeMap<>(Arrays::compareUnsigned);

  private long bytes;

  /** @param written called with the key of each change */
  public PendingRows(RangeReader durable, Consumer<byte[]> written) {
    this.durable = durable;
    this.written = written;
  }

  @Override
  public void put(byte[] key, byte[] value) {
    if (key.length == 0) throw new IllegalArgumentException("the empty key is the store's own");
    changes.put(key, value);
    bytes += key.length + value.length;
    written.accept(key);
  }

  @Override
  public void delete(byte[] key) {
    if (key.length == 0) throw new IllegalArgumentException("the empty key is the store's own");
    changes.put(key, DELETED);
    bytes += key.length;
    written.accept(key);
  }

  @Override
  @SuppressWarnings("ReferenceEquality") // DELETED is one array
  public byte @Nullable [] get(byte[] key) {
    byte[] changed = changes.get(key);
    if (changed == null) return durable.get(key);
    return changed == DELETED ? null : changed;
  }

  @Override
  public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
    if (to != null && Arrays.compareUnsigned(from, to) >= 0) return;
    var range = to == null ? changes.tailMap(from, true) : changes.subMap(from, true, to, false);
    if (range.isEmpty()) {
      durable.scan(from, to, visitor);
      return;
    }
    // A copy, since the visitor may change rows while it looks at them.
    var asOfNow = new ArrayList<Map.Entry<byte[], byte[]>>();
    for (var change : range.entrySet()) asOfNow.add(Map.entry(change.getKey(), change.getValue()));
    var merge = new Merge(asOfNow, visitor);
    durable.scan(from, to, merge);
    merge.rest();
  }

  /** Bytes put or deleted since the last {@link #clear}; a row changed twice counts twice. */
  public long bytes() {
    return bytes;
  }

  /** Returns how many rows are deleted. */
  @SuppressWarnings("ReferenceEquality") // DELETED is one array
  int copyTo(WriteBatch batch) throws RocksDBException {
    int deleted = 0;
    for (var change : changes.entrySet()) {
      if (change.getValue() == DELETED) {
        batch.delete(change.getKey());
        deleted++;
      } else batch.put(change.getKey(), change.getValue());
    }
    return deleted;
  }

  public void clear() {
    changes.clear();
    bytes = 0;
  }

  /** Merges the changes into a scan of the durable rows. */
  private static final class Merge implements RowVisitor {
    private final List<Map.Entry<byte[], byte[]>> changes;
    private final RowVisitor visitor;

    private int next;
    private boolean enough;

    Merge(List<Map.Entry<byte[], byte[]>> changes, RowVisitor visitor) {
      this.changes = changes;
      this.visitor = visitor;
    }

    @Override
    public boolean row(byte[] key, byte[] value) {
      for (; next < changes.size(); next++) {
        int order = Arrays.compareUnsigned(changes.get(next).getKey(), key);
        if (order > 0) break;
        if (!visit(changes.get(next))) return false;
        if (order == 0) {
          next++;
          return true;
        }
      }
      enough = !visitor.row(key, value);
      return !enough;
    }

    void rest() {
      while (!enough && next < changes.size()) visit(changes.get(next++));
    }

    @SuppressWarnings("ReferenceEquality") // DELETED is one array
    private boolean visit(Map.Entry<byte[], byte[]> change) {
      if (change.getValue() != DELETED) enough = !visitor.row(change.getKey(), change.getValue());
      return !enough;
    }
  }
}

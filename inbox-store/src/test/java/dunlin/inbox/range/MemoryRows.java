package dunlin.inbox.range;

import dunlin.store.RangeWriter;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Rows in a map, in the order of a range's keys; it counts reads and writes. */
public final class MemoryRows implements RangeWriter {
  private final TreeMap<byte[], byte[]> rows = new TreeMap<>(Arrays::compareUnsigned);

  /** Reads and writes of these rows since {@link #countAnew}. */
  public int gets;

  public int scans;
  public int rowsRead;
  long bytesRead;
  int writes;

  public MemoryRows() {}

  /** A copy of the present rows. */
  public MemoryRows(MemoryRows others) {
    synchronized (others) {
      rows.putAll(others.rows);
    }
  }

  public void countAnew() {
    gets = 0;
    scans = 0;
    rowsRead = 0;
    bytesRead = 0;
    writes = 0;
  }

  @Override
  public synchronized byte @Nullable [] get(byte[] key) {
    gets++;
    byte[] value = rows.get(key);
    if (value != null) bytesRead += value.length;
    return value;
  }

  @Override
  public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
    TreeMap<byte[], byte[]> copy;
    synchronized (this) {
      scans++;
      copy = new TreeMap<>(to == null ? rows.tailMap(from) : rows.subMap(from, to));
    }
    for (Map.Entry<byte[], byte[]> row : copy.entrySet()) {
      synchronized (this) {
        rowsRead++;
        bytesRead += row.getValue().length;
      }
      if (!visitor.row(row.getKey(), row.getValue())) return;
    }
  }

  @Override
  public synchronized void put(byte[] key, byte[] value) {
    writes++;
    rows.put(key, value);
  }

  @Override
  public synchronized void delete(byte[] key) {
    writes++;
    rows.remove(key);
  }

  /** All rows as text, to compare and to print. */
  public synchronized Map<String, String> dump() {
    var dump = new TreeMap<String, String>();
    rows.forEach((key, value) -> dump.put(readable(key), HexFormat.of().formatHex(value)));
    return dump;
  }

  private static String readable(byte[] key) {
    var text = new StringBuilder();
    for (byte b : key) {
      if (b >= 0x20 && b < 0x7F) text.append((char) b);
      else text.append('<').append(b).append('>');
    }
    return text.toString();
  }
}

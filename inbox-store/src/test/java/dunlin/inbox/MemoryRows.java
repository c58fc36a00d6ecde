package dunlin.inbox;

import dunlin.store.RangeWriter;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Rows in a map, in the order that a range keeps them in; it counts what is asked of it. */
final class MemoryRows implements RangeWriter {
  private final TreeMap<byte[], byte[]> rows = new TreeMap<>(Arrays::compareUnsigned);

  /** What was asked of these rows since {@link #countAnew}. */
  int gets;

  int scans;
  int rowsRead;
  long bytesRead;
  int writes;

  MemoryRows() {}

  /** The rows as they are now. */
  MemoryRows(MemoryRows others) {
    synchronized (others) {
      rows.putAll(others.rows);
    }
  }

  void countAnew() {
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
  synchronized Map<String, String> dump() {
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

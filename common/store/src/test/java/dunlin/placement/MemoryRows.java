package dunlin.placement;

import dunlin.store.RangeWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Rows of a range in memory. */
public final class MemoryRows implements RangeWriter {
  private final NavigableMap<byte[], byte[]> rows = new TreeMap<>(Arrays::compareUnsigned);

  MemoryRows copy() {
    var copy = new MemoryRows();
    copy.rows.putAll(rows);
    return copy;
  }

  /** All rows as text, for comparison. */
  List<String> lines() {
    return rows.entrySet().stream().map(row -> hex(row.getKey()) + " " + hex(row.getValue())).toList();
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }

  @Override
  public void put(byte[] key, byte[] value) {
    rows.put(key, value);
  }

  @Override
  public void delete(byte[] key) {
    rows.remove(key);
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    return rows.get(key);
  }

  @Override
  public void scan(byte[] from, byte @Nullable [] to, RowVisitor visitor) {
    var within = new ArrayList<Map.Entry<byte[], byte[]>>(rows.tailMap(from, true).entrySet());
    for (var row : within) {
      if (to != null && Arrays.compareUnsigned(row.getKey(), to) >= 0) return;
      if (!visitor.row(row.getKey(), row.getValue())) return;
    }
  }
}

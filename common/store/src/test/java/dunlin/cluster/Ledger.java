package dunlin.cluster;

import dunlin.store.CommandCodec;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** A range that appends each command's text to the row of its key, so that lost and repeated commands show. */
final class Ledger implements RangeLogic<Ledger.Entry, String> {
  static final String KIND = "ledger";

  record Entry(String key, String text) {}

  static final CommandCodec<Entry> CODEC =
      new CommandCodec<>() {
        @Override
        public int encodedLength(Entry entry) {
          return 4 + bytes(entry.key).length + bytes(entry.text).length;
        }

        @Override
        public void encode(Entry entry, ByteBuffer out) {
          out.putInt(bytes(entry.key).length).put(bytes(entry.key)).put(bytes(entry.text));
        }

        @Override
        public Entry decode(ByteBuffer in) {
          byte[] key = new byte[in.getInt()];
          in.get(key);
          byte[] text = new byte[in.remaining()];
          in.get(text);
          return new Entry(text(key), text(text));
        }
      };

  private final Runnable opening;

  Ledger() {
    this(() -> {});
  }

  /** @param opening is called when the rows are open */
  Ledger(Runnable opening) {
    this.opening = opening;
  }

  @Override
  public void open(RangeReader state) {
    opening.run();
  }

  @Override
  public List<String> apply(List<Entry> entries, RangeWriter out) {
    var results = new ArrayList<String>();
    for (var entry : entries) {
      byte[] known = out.get(bytes(entry.key));
      String row = (known == null ? "" : text(known) + ",") + entry.text;
      out.put(bytes(entry.key), bytes(row));
      results.add(row);
    }
    return results;
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}

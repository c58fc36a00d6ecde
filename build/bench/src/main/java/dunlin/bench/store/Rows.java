package dunlin.bench.store;

import dunlin.store.CommandCodec;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import dunlin.store.serve.ResultCodec;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;

/** A range of rows of 120 bytes. The keys are spread evenly over the key space; the values cannot be compressed. */
final class Rows implements RangeLogic<Rows.Row, Boolean> {
  /*
   * Owner: the range's applying thread; any thread reads the times.
   */
  static final int KEY_BYTES = 20;
  static final int VALUE_BYTES = 100;
  static final int ROW_BYTES = KEY_BYTES + VALUE_BYTES;

  private static final byte FORMAT = 1;

  /** One write. */
  record Row(byte[] key, byte[] value) {}

  static final CommandCodec<Row> ROWS =
      new CommandCodec<>() {
        @Override
        public int encodedLength(Row row) {
          return 1 + ROW_BYTES;
        }

        @Override
        public void encode(Row row, ByteBuffer out) {
          out.put(FORMAT).put(row.key).put(row.value);
        }

        @Override
        public Row decode(ByteBuffer in) {
          if (in.remaining() != 1 + ROW_BYTES || in.get() != FORMAT) throw new IllegalStateException("not a row: " + in);
          byte[] key = new byte[KEY_BYTES];
          byte[] value = new byte[VALUE_BYTES];
          in.get(key).get(value);
          return new Row(key, value);
        }
      };

  static final ResultCodec<Boolean> RESULTS =
      new ResultCodec<>() {
        @Override
        public byte[] encode(Boolean result) {
          return new byte[] {FORMAT};
        }

        @Override
        public Boolean decode(ByteBuffer in) {
          if (in.remaining() != 1 || in.get() != FORMAT) throw new IllegalStateException("not a result: " + in);
          return true;
        }
      };

  private volatile long appliedNanos; // single writer: the applying thread
  private volatile long reopenedAfterNanos;

  static RangeId range(int number) {
    return RangeId.firstOf("rows-" + number);
  }

  static byte[] key(long number) {
    return ByteBuffer.allocate(KEY_BYTES).putLong(mixed(number)).putLong(number).array();
  }

  static Row row(long number) {
    byte[] value = new byte[VALUE_BYTES];
    var out = ByteBuffer.wrap(value);
    long state = mixed(~number);
    for (; out.remaining() >= Long.BYTES; state = mixed(state)) out.putLong(state);
    for (; out.hasRemaining(); state >>>= Byte.SIZE) out.put((byte) state);
    return new Row(key(number), value);
  }

  /** Whether the row lies in the lower half of all keys. */
  static boolean lower(long number) {
    return mixed(number) >= 0;
  }

  /** The key between the two halves. */
  static byte[] middle() {
    return new byte[] {(byte) 0x80};
  }

  /** Maps each number to a different one that looks random. */
  private static long mixed(long number) {
    long mixed = (number + 1) * 0x9E37_79B9_7F4A_7C15L;
    mixed = (mixed ^ (mixed >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94D0_49BB_1331_11EBL;
    return mixed ^ (mixed >>> 31);
  }

  @Override
  public void open(RangeReader state) {
    long last = appliedNanos;
    if (last != 0) reopenedAfterNanos = System.nanoTime() - last;
  }

  @Override
  public List<Boolean> apply(List<Row> rows, RangeWriter out) {
    for (var row : rows) out.put(row.key, row.value);
    appliedNanos = System.nanoTime();
    return Collections.nCopies(rows.size(), true);
  }

  /** The time from the last write that was applied before the split until the logic was opened again; 0 without a split. */
  long splitNanos() {
    return reopenedAfterNanos;
  }
}

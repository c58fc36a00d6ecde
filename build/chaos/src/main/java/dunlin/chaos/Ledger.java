package dunlin.chaos;

import dunlin.store.CommandCodec;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import dunlin.store.serve.ResultCodec;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The state machine of a trial's range: a list of writes in the order of the log. A repeated write is listed twice, so
 * that it is visible.
 *
 * <pre>
 *   key 0             the last place, 8 bytes
 *   key 1, place (8)  the write at this place, as the codec has written it
 * </pre>
 */
final class Ledger implements RangeLogic<Ledger.Write, Ledger.Answer> {
  /*
   * Owner: the range's applying thread.
   */
  static final RangeId RANGE = RangeId.firstOf("ledger");
  static final byte[] LAST_KEY = {0};

  private static final byte FORMAT = 1;
  private static final int FILL_BYTES = 83;
  private static final int WRITE_BYTES = 1 + Long.BYTES + Long.BYTES + FILL_BYTES;

  /**
   * One write.
   *
   * @param id unique in its trial
   * @param seen the last place that its writer knew to be taken: the ledger cannot end before it
   */
  record Write(long id, long seen) {}

  /** The result of a write. */
  sealed interface Answer {
    /** The write has this place. */
    record Placed(long place) implements Answer {}

    /** The ledger ends here, before a place that the writer has seen acknowledged: writes are lost, and nothing was written. */
    record Behind(long last) implements Answer {}
  }

  static final CommandCodec<Write> WRITES =
      new CommandCodec<>() {
        @Override
        public int encodedLength(Write write) {
          return WRITE_BYTES;
        }

        @Override
        public void encode(Write write, ByteBuffer out) {
          out.put(FORMAT).putLong(write.id).putLong(write.seen);
          for (int i = 0; i < FILL_BYTES; i++) out.put(fill(write.id, i));
        }

        @Override
        public Write decode(ByteBuffer in) {
          if (in.remaining() != WRITE_BYTES || in.get() != FORMAT) throw new IllegalStateException("not a write: " + in);
          var write = new Write(in.getLong(), in.getLong());
          for (int i = 0; i < FILL_BYTES; i++)
            if (in.get() != fill(write.id, i)) throw new IllegalStateException(write + " is damaged at byte " + i);
          return write;
        }
      };

  static final ResultCodec<Answer> ANSWERS =
      new ResultCodec<>() {
        @Override
        public byte[] encode(Answer answer) {
          return switch (answer) {
            case Answer.Placed(long place) -> ByteBuffer.allocate(1 + Long.BYTES).put((byte) 1).putLong(place).array();
            case Answer.Behind(long last) -> ByteBuffer.allocate(1 + Long.BYTES).put((byte) 2).putLong(last).array();
          };
        }

        @Override
        public Answer decode(ByteBuffer in) {
          byte kind = in.get();
          return switch (kind) {
            case 1 -> new Answer.Placed(in.getLong());
            case 2 -> new Answer.Behind(in.getLong());
            default -> throw new IllegalStateException("an answer of kind " + kind);
          };
        }
      };

  private long last;

  @Override
  public void open(RangeReader state) {
    last = last(state);
  }

  @Override
  public List<Answer> apply(List<Write> writes, RangeWriter out) {
    var answers = new ArrayList<Answer>(writes.size());
    for (var write : writes) {
      if (write.seen > last) {
        answers.add(new Answer.Behind(last));
        continue;
      }
      last++;
      out.put(key(last), encoded(write));
      answers.add(new Answer.Placed(last));
    }
    out.put(LAST_KEY, ByteBuffer.allocate(Long.BYTES).putLong(last).array());
    return answers;
  }

  static long last(RangeReader state) {
    byte[] known = state.get(LAST_KEY);
    return known == null ? 0 : ByteBuffer.wrap(known).getLong();
  }

  /** The key of a place; that of place 0 sorts before all others. */
  static byte[] key(long place) {
    return ByteBuffer.allocate(1 + Long.BYTES).put((byte) 1).putLong(place).array();
  }

  static long place(byte[] key) {
    return ByteBuffer.wrap(key).getLong(1);
  }

  private static byte[] encoded(Write write) {
    var out = ByteBuffer.allocate(WRITE_BYTES);
    WRITES.encode(write, out);
    return out.array();
  }

  private static byte fill(long id, int at) {
    return (byte) ((id * 0x9E37_79B9_7F4A_7C15L) >>> (8 + 8 * (at % 7)));
  }
}

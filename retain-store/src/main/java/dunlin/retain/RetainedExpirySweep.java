package dunlin.retain;

import dunlin.retain.RetainCommand.RemoveExpired;
import dunlin.store.RangeReader;
import java.util.List;
import java.util.function.Predicate;

/** Walks over all retained messages in a cycle, a part at a time, and passes expired ones on for removal. */
final class RetainedExpirySweep {
  /*
   * Owner: one task at a time on the range's reader threads; RetainRangeServer ensures that.
   * Bounds: a step reads up to a number of rows or of bytes, whichever comes first.
   * Failure: a message that cannot be removed now is found again by the next step. The position is not kept over a
   * restart.
   */
  private static final int STEP_BYTES = 8 << 20;
  private static final byte[] FIRST = {};

  private byte[] from = FIRST;
  private int rowsLeft;
  private long bytesLeft;

  /**
   * Checks the next rows.
   *
   * @param remove takes the keys of expired messages, as many as fit into one command; answers false when it cannot now
   */
  void step(RangeReader rows, long nowMillis, int rowsMax, Predicate<List<byte[]>> remove) {
    rowsLeft = rowsMax;
    bytesLeft = STEP_BYTES;
    while (rowsLeft > 0 && bytesLeft > 0) {
      RemoveExpired.Keys expired = new RemoveExpired.Keys();
      byte[] next = scan(rows, nowMillis, expired);
      if (!expired.list().isEmpty() && !remove.test(expired.list())) return;
      from = next;
      if (next.length == 0) return;
    }
  }

  /** Collects expired keys, and returns the key to continue from: the first one again after the last row. */
  private byte[] scan(RangeReader rows, long nowMillis, RemoveExpired.Keys expired) {
    byte[][] next = {FIRST};
    rows.scan(
        from,
        null,
        (key, value) -> {
          if (rowsLeft <= 0 || bytesLeft <= 0 || expired.full()) {
            next[0] = key;
            return false;
          }
          rowsLeft--;
          bytesLeft -= value.length;
          if (RetainCodec.message(value).expired(nowMillis)) expired.add(key);
          return true;
        });
    return next[0];
  }
}

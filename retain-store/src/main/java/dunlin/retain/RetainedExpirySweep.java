package dunlin.retain;

import dunlin.retain.RetainCommand.RemoveExpired;
import dunlin.store.RangeReader;
import java.util.List;
import java.util.function.Predicate;

/** Walks round all retained messages, a part at a time, and hands the expired ones on to be removed. */
final class RetainedExpirySweep {
  /*
   * Owner: one task at a time on the range's reading threads; RetainServer sees to that.
   * Bounds: a step looks at so many rows or so many bytes, whichever is less.
   * Failure: what cannot be removed now is met again by the next step. The place is not kept over a restart.
   */
  private static final int STEP_BYTES = 8 << 20;
  private static final byte[] FIRST = {};

  private byte[] from = FIRST;
  private int rowsLeft;
  private long bytesLeft;

  /**
   * Looks at the next rows.
   *
   * @param remove takes the keys of expired messages, as many as fit into one command; false when it cannot now
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

  /** Collects expired keys, and answers where to go on: at the first key again when the last row was seen. */
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

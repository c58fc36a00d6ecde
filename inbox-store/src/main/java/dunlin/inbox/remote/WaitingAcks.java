package dunlin.inbox.remote;

import dunlin.inbox.SessionRef;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Acknowledged sequences of all sessions that wait to be sent. Those of one session merge, up to its next call: what is
 * called later takes effect later.
 */
final class WaitingAcks {
  /*
   * Owner: any thread adds; the link's thread takes.
   * Bounds: WAITING_MAX sequences, where each call counts as A_CALL more. Further ones are dropped and counted, and their
   * messages come again to the client's next connection, unless this one reads its inbox again.
   */
  private static final int WAITING_MAX = 1 << 20;
  private static final int A_CALL = 16;

  private final Map<SessionRef, MergedAcks> merging = new ConcurrentHashMap<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final LongAdder dropped = new LongAdder();

  /** Adds at least one sequence; answers what is to be sent for it, or null when it has merged or was dropped. */
  @Nullable MergedAcks add(SessionRef session, long[] sequences) {
    if (waiting.addAndGet(sequences.length) > WAITING_MAX) {
      waiting.addAndGet(-sequences.length);
      dropped.add(sequences.length);
      return null;
    }
    var present = merging.get(session);
    if (present != null && present.add(sequences)) return null;
    waiting.addAndGet(A_CALL);
    var begun = new MergedAcks(session, sequences);
    merging.put(session, begun);
    return begun;
  }

  /** Later sequences of a session are sent behind its next call. */
  void mergeNoMore(SessionRef session) {
    merging.remove(session);
  }

  /** Takes what is sent now, or will never be. On the link's thread. */
  long[] take(MergedAcks acks) {
    merging.remove(acks.session(), acks);
    long[] sequences = acks.take();
    waiting.addAndGet(-sequences.length - A_CALL);
    return sequences;
  }

  /** Sequences that wait, and A_CALL for each call that will carry them; any thread. */
  int waiting() {
    return waiting.get();
  }

  /** Sessions whose waiting sequences may merge with further ones; any thread. */
  int sessionsMerging() {
    return merging.size();
  }

  /** Sequences that were dropped since too many waited; any thread. */
  long dropped() {
    return dropped.sum();
  }
}

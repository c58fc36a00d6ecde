package dunlin.inbox.remote;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.SessionRef;
import java.util.Arrays;

/** Sequences that one session has acknowledged and that wait to be sent: one call takes them all. */
final class MergedAcks {
  /*
   * Owner: any thread adds until the link's thread has taken them.
   * Bounds: SEQUENCES_MAX, or as many as it began with; further ones begin another of these.
   */
  private static final int SEQUENCES_MAX = 4_096;

  private final SessionRef session;

  @GuardedBy("this")
  private long[] sequences;

  @GuardedBy("this")
  private int size;

  @GuardedBy("this")
  private boolean taken;

  MergedAcks(SessionRef session, long[] sequences) {
    this.session = session;
    this.sequences = sequences.clone();
    size = sequences.length;
  }

  SessionRef session() {
    return session;
  }

  /** Answers whether they were added, rather than too late or too many. */
  synchronized boolean add(long[] more) {
    if (taken || size + more.length > SEQUENCES_MAX) return false;
    if (size + more.length > sequences.length) sequences = Arrays.copyOf(sequences, Math.max(size * 2, size + more.length));
    System.arraycopy(more, 0, sequences, size, more.length);
    size += more.length;
    return true;
  }

  /** Takes all of them; nothing is added any more. */
  synchronized long[] take() {
    taken = true;
    return Arrays.copyOf(sequences, size);
  }
}

package dunlin.store.node;

import java.util.ArrayDeque;

/** What a leader has sent to one follower without an answer, and whether that is enough for now. */
final class UnansweredAppends {
  /*
   * Ratis counts calls, each with as many entries as its buffer takes. A follower that is far away needs more calls with small entries in flight than would be good for the
   * memory when one catches up, with large ones. So after CALLS_MAX calls the next one waits, unless they have few bytes.
   *
   * Owner: the thread of the follower's appender.
   * Bounds: the calls that Ratis has in flight.
   */
  static final int CALLS_MAX = 8;
  static final long FEW_BYTES = 1 << 20;

  private record Append(long lastIndex, int bytes) {}

  private final ArrayDeque<Append> appends = new ArrayDeque<>();
  private long bytes;

  /** @param lastIndex that of the call's last entry */
  void sent(long lastIndex, int callBytes) {
    appends.add(new Append(lastIndex, callBytes));
    bytes += callBytes;
  }

  /**
   * Whether the next call waits.
   *
   * @param matched the last entry that the follower has confirmed
   * @param next the one that is sent next; what was sent from there on is sent again, over another stream
   */
  boolean isFull(long matched, long next) {
    while (!appends.isEmpty() && appends.getFirst().lastIndex <= matched) bytes -= appends.removeFirst().bytes;
    while (!appends.isEmpty() && appends.getLast().lastIndex >= next) bytes -= appends.removeLast().bytes;
    return appends.size() >= CALLS_MAX && bytes > FEW_BYTES;
  }
}

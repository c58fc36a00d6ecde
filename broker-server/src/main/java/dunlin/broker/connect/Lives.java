package dunlin.broker.connect;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The lives of a frontend's connections, as each range of sessions counts them. When a range cannot be reached for longer than its leader waits for a
 * frontend, the leader treats all connections to its sessions as lost: sessions may have other owners then. So this frontend ends them too, and those that
 * come later belong to a new life. Connections to sessions of other ranges stay in theirs.
 */
final class Lives {
  /*
   * No two ranges ever have the same life, and each is later than those before.
   *
   * Owner: any thread asks for the present life; the one that notices the loss of a range begins the next, one at a time for each range.
   * Bounds: an event loop ends SLICE connections at a time, and does its other work in between.
   * Failure: none. A connection whose CONNECT was not answered fails with its call; one that has not sent CONNECT belongs to the new life.
   */
  private static final int SLICE = 256;

  /** Lives within one life of the process: a million, where a loss takes seconds. */
  private static final int BITS = 20;

  private final long incarnation;
  private final AtomicLong last;

  /** By the number of the range. */
  private final AtomicLongArray present;

  /**
   * @param incarnation which life of the process, larger than in all before
   * @param ranges the number of ranges of sessions
   */
  Lives(long incarnation, int ranges) {
    this.incarnation = incarnation;
    long first = incarnation << BITS;
    this.last = new AtomicLong(first + ranges - 1);
    this.present = new AtomicLongArray(ranges);
    for (int range = 0; range < ranges; range++) present.set(range, first + range);
  }

  /** The number of ranges of sessions. */
  int ranges() {
    return present.length();
  }

  long present(int range) {
    return present.get(range);
  }

  /** Whether a connection with this life was, or is, of this process. */
  boolean isOfThisProcess(long life) {
    return life >> BITS == incarnation;
  }

  /** Ends all connections that have sessions of a range, and answers the life of those that come later. */
  long next(int range, List<LoopConnections> parts) {
    long next = last.incrementAndGet();
    present.set(range, next);
    for (LoopConnections part : parts) part.loop().post(() -> end(part, range, part.table().lastNumber(part.loop().index(), parts.size())));
    return next;
  }

  private static void end(LoopConnections part, int range, long lastNumber) {
    List<Connection> some = part.table().opened(SLICE, range, lastNumber);
    for (Connection each : some) each.sessionTierLost();
    if (!some.isEmpty()) part.loop().post(() -> end(part, range, lastNumber));
  }
}

package dunlin.broker.connect;

import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The lives of a frontend's connections, as the session tier counts them. When the tier cannot be reached for longer than it waits for a
 * frontend, it treats all its connections as lost: sessions may have other owners then. So this frontend ends them too, and those that come
 * later belong to a new life.
 */
final class Lives {
  /*
   * Owner: any thread asks for the present life; the one that notices the loss begins the next.
   * Bounds: an event loop ends SLICE connections at a time, and does its other work in between.
   * Failure: none. A connection whose CONNECT was not answered fails with its call; one that has not sent CONNECT belongs to the new life.
   */
  private static final int SLICE = 256;

  /** Lives within one life of the process: a million, where a loss takes seconds. */
  private static final int BITS = 20;

  private final long incarnation;
  private final AtomicLong present;

  /** @param incarnation which life of the process, larger than in all before */
  Lives(long incarnation) {
    this.incarnation = incarnation;
    this.present = new AtomicLong(incarnation << BITS);
  }

  long present() {
    return present.get();
  }

  /** Whether a connection with this life was, or is, of this process. */
  boolean isOfThisProcess(long life) {
    return life >> BITS == incarnation;
  }

  /** Ends all connections that have sessions, and answers the life of those that come later. */
  long next(List<LoopConnections> parts) {
    long next = present.incrementAndGet();
    for (LoopConnections part : parts) part.loop().post(() -> end(part, part.table().lastNumber(part.loop().index(), parts.size())));
    return next;
  }

  private static void end(LoopConnections part, long lastNumber) {
    List<Connection> some = part.table().opened(SLICE, lastNumber);
    for (Connection each : some) each.sessionTierLost();
    if (!some.isEmpty()) part.loop().post(() -> end(part, lastNumber));
  }
}

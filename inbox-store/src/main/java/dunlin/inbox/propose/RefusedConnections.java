package dunlin.inbox.propose;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/** Connections that end since a message of theirs was refused, for all ranges of a node: whichever has refused it, none takes what comes behind it. */
public final class RefusedConnections {
  /*
   * Owner: any thread, under the lock of the set.
   * Bounds: MAX connections, the oldest goes first. Each has at most the credit of its lane on its way.
   * Failure: one that was forgotten may have a message stored that comes again behind the one that was refused.
   */
  static final int MAX = 65_536;

  private final Set<Long> refused = new LinkedHashSet<>(); // guarded by itself

  /** Whether there is any: without one, a proposal costs no lock. */
  private volatile boolean any;

  /** Refuses what the connection with this fence publishes from here on. */
  void add(long fence) {
    if (fence == 0) return;
    synchronized (refused) {
      if (!refused.add(fence)) return;
      any = true;
      if (refused.size() <= MAX) return;
      Iterator<Long> oldest = refused.iterator();
      oldest.next();
      oldest.remove();
    }
  }

  boolean holds(long fence) {
    if (!any || fence == 0) return false;
    synchronized (refused) {
      return refused.contains(fence);
    }
  }
}

package dunlin.inbox.propose;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Connections that are being closed because a message of theirs was refused. Shared by all ranges of a node: whichever
 * range refused the message, no range accepts later ones.
 */
public final class RefusedConnections {
  /*
   * Owner: any thread, under the lock of the set.
   * Bounds: MAX connections; the oldest is removed first. Each has at most its lane's credit of messages in flight.
   * Failure: if a connection was removed too early, a message behind the refused one may be stored, and is stored again
   * when the client repeats both.
   */
  static final int MAX = 65_536;

  private final Set<Long> refused = new LinkedHashSet<>(); // guarded by itself

  /** Whether the set is not empty. While it is empty, a proposal takes no lock. */
  private volatile boolean any;

  /** Refuses all further messages of the connection with this fence. */
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

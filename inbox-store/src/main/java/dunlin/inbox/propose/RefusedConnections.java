package dunlin.inbox.propose;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.StoreException;
import java.util.LinkedHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Connections of which a message was refused: they are being closed, or the message comes again. Shared by all ranges of
 * a node: whichever range refused the message, no range accepts later ones.
 */
public final class RefusedConnections {
  /*
   * Owner: any thread, under the lock of the set.
   * Bounds: MAX connections; the oldest is removed first. Each has at most its lane's credit of messages in flight.
   * Failure: if a connection was removed too early, a message behind the refused one may be stored, and is stored again
   * when the client repeats both.
   */
  static final int MAX = 65_536;

  /**
   * Why later messages are refused.
   *
   * @param open the failure that has left the message open: it comes again, and later ones behind it; null when the
   *     connection is being closed
   */
  record Reason(@Nullable StoreException open) {}

  /** By fence. */
  @GuardedBy("refused")
  private final LinkedHashMap<Long, Reason> refused = new LinkedHashMap<>();

  /** Whether the set is not empty. While it is empty, a proposal takes no lock. */
  private volatile boolean any;

  /** Refuses all further messages of the connection with this fence. */
  void add(long fence, Reason reason) {
    if (fence == 0) return;
    synchronized (refused) {
      if (refused.putIfAbsent(fence, reason) != null) return;
      any = true;
      if (refused.size() > MAX) refused.pollFirstEntry();
    }
  }

  /** Why a message is refused; null when it is not. */
  @Nullable Reason find(long fence) {
    if (!any || fence == 0) return null;
    synchronized (refused) {
      return refused.get(fence);
    }
  }
}

package dunlin.inbox.operate;

import java.lang.ref.SoftReference;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/**
 * Client identifiers that listings have found beyond their pages, so that they need not look at all sessions again for each of the next ones. It serves a listing that goes on, and
 * none that begins: what such a one has found before may lack sessions that are there now.
 */
final class SessionsAhead {
  /*
   * Owner: any thread, under the lock.
   * Bounds: WINDOWS_MAX listings, each with IDS_MAX client identifiers, for LASTING_MILLIS. They are held softly, since the sessions that share their memory may end.
   * Full: the oldest listing gives way. It then looks at all sessions again, as it does when its time is over.
   */
  static final int IDS_MAX = 16_384;
  private static final int WINDOWS_MAX = 8;
  private static final long LASTING_MILLIS = 10_000;

  private final InstantSource clock;

  /** The oldest first. */
  private final ArrayDeque<Window> windows = new ArrayDeque<>();

  /** @param clientIds in their order: all that there were behind one of them, up to the last one here */
  private record Window(String tenant, String prefix, String behind, long untilMillis, SoftReference<List<String>> clientIds) {
    boolean isOf(String tenant, String prefix) {
      return this.tenant.equals(tenant) && this.prefix.equals(prefix);
    }
  }

  SessionsAhead(InstantSource clock) {
    this.clock = clock;
  }

  /** A listing begins: what others have found for the same question is out of date. */
  synchronized void begin(String tenant, String prefix) {
    windows.removeIf(window -> window.isOf(tenant, prefix));
  }

  /**
   * Keeps what a listing has found behind a client identifier.
   *
   * @param found at least one, at most IDS_MAX; never changes
   */
  synchronized void keep(String tenant, String prefix, String behind, List<String> found) {
    if (windows.size() == WINDOWS_MAX) windows.removeFirst();
    windows.add(new Window(tenant, prefix, behind, clock.millis() + LASTING_MILLIS, new SoftReference<>(found)));
  }

  /** What is known to follow a client identifier, in its order; there may be more. */
  synchronized List<String> behind(String tenant, String prefix, String clientId) {
    long now = clock.millis();
    windows.removeIf(window -> window.untilMillis <= now);
    return windows.stream()
        .filter(window -> window.isOf(tenant, prefix) && window.behind.compareTo(clientId) <= 0)
        .map(window -> window.clientIds.get())
        .filter(Objects::nonNull)
        .filter(ids -> ids.getLast().compareTo(clientId) > 0)
        .findFirst()
        .map(ids -> ids.subList(place(ids, clientId), ids.size()))
        .orElse(List.of());
  }

  private static int place(List<String> ids, String clientId) {
    int found = Collections.binarySearch(ids, clientId);
    return found < 0 ? -found - 1 : found + 1;
  }
}

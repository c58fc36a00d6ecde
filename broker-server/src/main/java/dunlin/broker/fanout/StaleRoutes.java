package dunlin.broker.fanout;

import dunlin.broker.loop.Loop;
import dunlin.runtime.LogText;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Routes without a subscription whose removal has failed. They are removed again a little later: a message that comes
 * over such a route finds no filter here, and if the route is one of a group, the group's members at other frontends
 * do not get the message.
 */
final class StaleRoutes {
  /*
   * Owner: the event loop of its RouteTable.
   * Bounds: ROUTES_MAX routes and BYTES_MAX bytes of tenants and filters for each table. If there is no room, the oldest
   *   route is left to the next start of the node, which removes all routes of its last life; it is counted and logged.
   * Failure: a removal that fails again comes back here.
   */
  private static final Logger log = LoggerFactory.getLogger(StaleRoutes.class);
  static final int ROUTES_MAX = 4_096;
  static final int BYTES_MAX = 1 << 20;
  static final int DELAY_MILLIS = 1_000;

  private final Loop loop;
  private final Consumer<FilterHandle> remove;

  /** In the order in which removals failed. */
  private final Map<RouteTable.Key, FilterHandle> waiting = new LinkedHashMap<>();

  private int bytes;
  private long abandoned;
  private boolean scheduled;

  StaleRoutes(Loop loop, Consumer<FilterHandle> remove) {
    this.loop = loop;
    this.remove = remove;
  }

  /** Has the route removed again later. */
  void add(FilterHandle handle) {
    var before = waiting.put(RouteTable.Key.of(handle), handle);
    if (before == null) bytes += bytesOf(handle);
    while (waiting.size() > ROUTES_MAX || bytes > BYTES_MAX) abandonOldest();
    if (scheduled || waiting.isEmpty() || loop.executor().isShuttingDown()) return;
    scheduled = true;
    loop.executor().schedule(this::removeAll, DELAY_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** The route is in use again and stays. Answers whether it was to be removed. */
  boolean used(RouteTable.Key key) {
    var handle = waiting.isEmpty() ? null : waiting.remove(key);
    if (handle == null) return false;
    bytes -= bytesOf(handle);
    return true;
  }

  int size() {
    return waiting.size();
  }

  /** Number of routes that are left to the next start; any thread, may be stale. */
  long abandoned() {
    return abandoned;
  }

  private void removeAll() {
    scheduled = false;
    var handles = List.copyOf(waiting.values());
    waiting.clear();
    bytes = 0;
    handles.forEach(remove);
  }

  private void abandonOldest() {
    var oldest = waiting.values().iterator();
    var handle = oldest.next();
    oldest.remove();
    bytes -= bytesOf(handle);
    if (abandoned++ == 0)
      log.warn("Too many routes could not be removed; the next start of the node removes the others. The first is {}", LogText.quoted(handle.filter().text()));
  }

  private static int bytesOf(FilterHandle handle) {
    return handle.tenant().length() + handle.filter().text().length();
  }
}

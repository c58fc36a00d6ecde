package dunlin.dist;

import dunlin.dist.route.FilterRoutes;
import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What other ranges have answered of the topics of a lane. It is used only when the range's leader says that it is still so. */
final class MatchCache {
  /*
   * Owner: the lane's thread.
   * Bounds: BYTES_MAX, as sizeOf() estimates them; the topics that were not published for the longest time go first. A topic with more than a quarter of that is not
   *   kept.
   */
  static final long BYTES_MAX = 512 << 10;

  private static final int ENTRY_BYTES = 200;
  private static final int ROUTE_BYTES = 250;

  /** A topic name of a publisher's tenant in one range. */
  record Key(UUID range, String tenant, String topic) {}

  /** The routes, and by what the leader knows them. */
  record Kept(MatchSignature signature, List<FilterRoutes> filters, long bytes) {}

  private final LinkedHashMap<Key, Kept> kept = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;

  @Nullable Kept get(Key key) {
    return kept.get(key);
  }

  void put(Key key, MatchSignature signature, List<Route> routes, List<FilterRoutes> filters) {
    remove(key);
    long size = sizeOf(key, routes);
    if (size > BYTES_MAX / 4) return;
    kept.put(key, new Kept(signature, filters, size));
    bytes += size;
    while (bytes > BYTES_MAX) bytes -= kept.pollFirstEntry().getValue().bytes;
  }

  private void remove(Key key) {
    var before = kept.remove(key);
    if (before != null) bytes -= before.bytes;
  }

  private static long sizeOf(Key key, List<Route> routes) {
    long size = ENTRY_BYTES + 2L * key.topic.length();
    for (Route route : routes) size += ROUTE_BYTES + 2L * route.filter().text().length();
    return size;
  }

  /** Bytes of all that is kept. */
  long bytes() {
    return bytes;
  }
}

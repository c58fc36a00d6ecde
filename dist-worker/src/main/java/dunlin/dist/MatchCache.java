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
   *   kept. What messages use counts apart, in used(), for each way of use, and once however many use it so; their lane bounds it.
   */
  static final long BYTES_MAX = 512 << 10;

  private static final int ENTRY_BYTES = 200;
  private static final int ROUTE_BYTES = 250;

  /** A topic name of a publisher's tenant in one range. */
  record Key(UUID range, String tenant, String topic) {}

  /** How messages use what was answered. */
  enum Use {
    /** They wait for other answers, or for messages in front of them. */
    GATHERS(0),
    /** They were passed on, and are not delivered yet. */
    PASSED_ON(1);

    /** Of its counters. */
    private final int index;

    Use(int index) {
      this.index = index;
    }
  }

  /** The routes, and by what the leader knows them. */
  static final class Kept {
    private final MatchSignature signature;
    private final List<FilterRoutes> filters;
    private final long bytes;
    private final int[] users = new int[Use.values().length];

    private Kept(MatchSignature signature, List<FilterRoutes> filters, long bytes) {
      this.signature = signature;
      this.filters = filters;
      this.bytes = bytes;
    }

    MatchSignature signature() {
      return signature;
    }

    List<FilterRoutes> filters() {
      return filters;
    }
  }

  private final LinkedHashMap<Key, Kept> kept = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;
  private final long[] used = new long[Use.values().length];

  @Nullable Kept get(Key key) {
    return kept.get(key);
  }

  /** Keeps what a range has answered, unless it is too large; in any case a message can use it. */
  Kept put(Key key, MatchSignature signature, List<Route> routes, List<FilterRoutes> filters) {
    remove(key);
    var one = new Kept(signature, filters, sizeOf(key, routes));
    if (one.bytes > BYTES_MAX / 4) return one;
    kept.put(key, one);
    bytes += one.bytes;
    while (bytes > BYTES_MAX) bytes -= kept.pollFirstEntry().getValue().bytes;
    return one;
  }

  /** A message uses it from now on. */
  void use(Kept one, Use use) {
    if (one.users[use.index]++ == 0) used[use.index] += one.bytes;
  }

  void release(Kept one, Use use) {
    if (--one.users[use.index] == 0) used[use.index] -= one.bytes;
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

  /** Bytes of all that messages use so, whether it is kept or not. */
  long used(Use use) {
    return used[use.index];
  }
}

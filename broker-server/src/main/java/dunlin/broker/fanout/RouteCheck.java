package dunlin.broker.fanout;

import dunlin.dist.route.Route;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What one table of filters notes while {@link RouteAudit} goes through the routes that the dist tier has of this frontend. */
final class RouteCheck {
  /*
   * A page says what the routes were at some time between its request and its arrival. So it says nothing about a filter
   * whose route was being changed when it was requested, or whose change has begun since. A filter whose route has been
   * set since the beginning of the check counts as found: the change itself has told whether it was made.
   *
   * Owner: the event loop of the table.
   * Bounds: a bit for each number of the table. CHANGED_MAX filters that change during one page; with more, the page judges
   * no route.
   */
  static final int CHANGED_MAX = 10_000;

  /** What is wrong with a route. */
  enum Finding {
    NOTHING,

    /** No session here has a subscription of the filter. */
    STRAY,

    /** The route has another number than the filter has here, or an earlier life of this frontend has set it. */
    OUTDATED
  }

  /** By slot. */
  private final BitSet found = new BitSet();

  /** Filters that this page says nothing about. */
  private final Set<RouteTable.Key> changed = new HashSet<>();

  /** Slots before this one have been looked at, at the end of the check. */
  private int ended;

  /** The next page is about to be requested, while the routes of these filters are being changed. */
  void beginPage(Set<RouteTable.Key> changing) {
    changed.clear();
    changed.addAll(changing);
  }

  /** A change of the filter's route begins, or was in progress when the check began. */
  void changes(RouteTable.Key filter, int slot, boolean set) {
    if (changed.size() <= CHANGED_MAX) changed.add(filter);
    if (set) found.set(slot);
  }

  /**
   * Looks at a route of the page.
   *
   * @param here the filter's handle; null if there are no subscriptions of it
   */
  Finding find(RouteTable.Key filter, Route route, @Nullable FilterHandle here, int slot, long incarnation) {
    if (changed.size() > CHANGED_MAX || changed.contains(filter)) return Finding.NOTHING;
    if (route.incarnation() > incarnation) return Finding.NOTHING; // a later life of this node has begun; its routes are not ours
    if (here == null) return Finding.STRAY;
    found.set(slot);
    return here.number() == route.handle() && route.incarnation() == incarnation ? Finding.NOTHING : Finding.OUTDATED;
  }

  /**
   * The next slots whose routes were not found, from where the last call has ended.
   *
   * @param used slots that the table uses
   * @param most how many slots to look at
   */
  BitSet missing(int used, int most) {
    int to = Math.min(used, ended + most);
    var missing = new BitSet();
    missing.set(ended, to);
    missing.andNot(found);
    ended = to;
    return missing;
  }

  /** Whether {@link #missing} has looked at all slots. */
  boolean hasEnded(int used) {
    return ended >= used;
  }
}

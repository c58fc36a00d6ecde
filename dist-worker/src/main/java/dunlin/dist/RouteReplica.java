package dunlin.dist;

import dunlin.cluster.RangeKind;
import dunlin.store.Range;
import dunlin.store.Replica;
import java.util.function.BiConsumer;

/** A replica of a range of routes on this node. A {@link DistWorker} serves it while the node leads it. */
public final class RouteReplica {
  /** The kind of these ranges. */
  public static final String KIND = "routes";

  private final Range<RouteCommand, RouteResult> range;
  private final RouteRange routes;

  RouteReplica(Range<RouteCommand, RouteResult> range, RouteRange routes) {
    this.range = range;
    this.routes = routes;
  }

  /**
   * The kind of ranges of routes, for the nodes of a cluster. All routes of a filter stay in one range.
   *
   * @param opened receives each replica before it has started; must be quick
   */
  public static RangeKind<?, ?, ?> kind(BiConsumer<Replica<?, ?>, RouteReplica> opened) {
    return new RangeKind<RouteCommand, RouteResult, RouteRange>(
        KIND,
        new RouteCodec(),
        _ -> new RouteRange(),
        (replica, routes) -> opened.accept(replica, new RouteReplica(replica, routes)),
        RouteRows::together);
  }

  Range<RouteCommand, RouteResult> range() {
    return range;
  }

  RouteRange routes() {
    return routes;
  }
}

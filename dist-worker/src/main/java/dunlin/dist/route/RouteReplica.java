package dunlin.dist.route;

import dunlin.cluster.RangeKind;
import dunlin.store.Range;
import dunlin.store.Replica;
import dunlin.store.serve.EpochRange;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** A replica of a range of routes on this node. A {@link RouteServer} serves it while the node leads it. */
public final class RouteReplica {
  /** The kind of these ranges. */
  public static final String KIND = "routes";

  private final EpochRange<RouteCommand, RouteResult> served;
  private final RouteRange routes;

  private RouteReplica(EpochRange<RouteCommand, RouteResult> served, RouteRange routes) {
    this.served = served;
    this.routes = routes;
  }

  /** A range of a node that runs alone. */
  public static RouteReplica alone(Range<RouteCommand, RouteResult> range, RouteRange routes) {
    return new RouteReplica(EpochRange.alone(range, null), routes);
  }

  /** A range of a cluster. */
  static RouteReplica placed(Replica<RouteCommand, RouteResult> range, RouteRange routes) {
    return new RouteReplica(EpochRange.placed(range, "topic filter"), routes);
  }

  /**
   * The kind of ranges of routes, for the nodes of a cluster. All routes of a filter stay in one range.
   *
   * @param opened receives each replica before it has started; must be quick
   */
  public static RangeKind<?, ?, ?> kind(BiConsumer<Replica<?, ?>, RouteReplica> opened) {
    return new RangeKind<RouteCommand, RouteResult, RouteRange>(
        KIND, new RouteCodec(), _ -> new RouteRange(), (replica, routes) -> opened.accept(replica, placed(replica, routes)), RouteRows::together);
  }

  /** The first key of the routes of a topic filter, which may be that of a shared subscription or the beginning of a filter. */
  public static byte[] first(String tenant, String filter) {
    return RouteRows.first(tenant, filter);
  }

  /** The range, with its epochs in a cluster. */
  EpochRange<RouteCommand, RouteResult> served() {
    return served;
  }

  /** Asks for a read barrier. A node that runs alone needs none. */
  public CompletableFuture<@Nullable Void> readBarrier() {
    return served.readBarrier();
  }

  /** Memory of the applied routes. Any thread. */
  public long memory() {
    return routes.memory();
  }

  /** The number of a tenant's applied routes. Any thread. */
  public long routesOf(String tenant) {
    return routes.size(tenant);
  }

  RouteRange routes() {
    return routes;
  }
}

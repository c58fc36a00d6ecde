package dunlin.dist.route;

import dunlin.cluster.RangeKind;
import dunlin.store.Range;
import dunlin.store.Replica;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A replica of a range of routes on this node. A {@link RouteServer} serves it while the node leads it. */
public final class RouteReplica {
  /** The kind of these ranges. */
  public static final String KIND = "routes";

  private final Range<RouteCommand, RouteResult> range;
  private final RouteRange routes;
  private final @Nullable Supplier<CompletableFuture<@Nullable Void>> barrier;

  /** The only replica of its range. */
  public RouteReplica(Range<RouteCommand, RouteResult> range, RouteRange routes) {
    this(range, routes, null);
  }

  private RouteReplica(
      Range<RouteCommand, RouteResult> range, RouteRange routes, @Nullable Supplier<CompletableFuture<@Nullable Void>> barrier) {
    this.range = range;
    this.routes = routes;
    this.barrier = barrier;
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
        (replica, routes) -> opened.accept(replica, new RouteReplica(replica, routes, replica::readBarrier)),
        RouteRows::together);
  }

  Range<RouteCommand, RouteResult> range() {
    return range;
  }

  /** Asks for a read barrier; null for the only replica of its range, which needs none. */
  public @Nullable Supplier<CompletableFuture<@Nullable Void>> barrier() {
    return barrier;
  }

  RouteRange routes() {
    return routes;
  }
}

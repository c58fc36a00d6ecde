package dunlin.dist.remote;

import dunlin.dist.route.Route;
import dunlin.dist.route.RouteRangeClient;
import dunlin.model.ShardId;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.MalformedFrameException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;

/** The calls of other processes, as they arrive at the leader of a range of routes: makes them, in their order. */
public final class RouteCalls implements CallReceiver.Answerer {
  /** Says whose routes a node may change. Called on the thread of the links. */
  @FunctionalInterface
  public interface Rights {
    /**
     * Whether a node may add and remove routes of a shard.
     *
     * @param node the identity of the node, which the other side of the link has proven
     */
    boolean mayChange(String node, ShardId shard);
  }

  private final RouteRangeClient range;
  private final String node;
  private final Rights rights;

  private RouteCalls(RouteRangeClient range, String node, Rights rights) {
    this.range = range;
    this.node = node;
    this.rights = rights;
  }

  /**
   * Takes the links of those who call.
   *
   * @param owner runs tasks on the thread of the links, soon, in their order; calls are made on it
   * @param bounds of each caller
   * @param rights a node that changes what it may not change loses its link
   */
  public static CallReceiver receiver(Executor owner, CallBounds bounds, RouteRangeClient range, Rights rights) {
    Function<String, CallReceiver.Answerer> calls = node -> new RouteCalls(range, node, rights);
    return new CallReceiver(RouteCallCodec.PROTOCOL, owner, bounds, calls);
  }

  @Override
  public CompletableFuture<byte[]> answer(byte[] call) throws MalformedFrameException {
    return switch (RouteCallCodec.decode(call)) {
      case RouteCall.Add(var epoch, var route) -> range.addRoute(epoch, checked(route)).thenApply(_ -> RouteCallCodec.nothing());
      case RouteCall.Remove(var epoch, var route) -> range.removeRoute(epoch, checked(route)).thenApply(_ -> RouteCallCodec.nothing());
      case RouteCall.RemoveBefore(var epoch, var shard, var incarnation, var from) ->
          range.removeRoutesBefore(epoch, checked(shard), incarnation, from).thenApply(RouteCallCodec::encode);
      case RouteCall.Page(var epoch, var kind, var from) -> range.routes(epoch, kind, from).thenApply(RouteCallCodec::encode);
      case RouteCall.PageOf(var epoch, var shard, var from) -> range.routesOf(epoch, shard, from).thenApply(RouteCallCodec::encode);
      case RouteCall.Match(var epoch, var tenant, var topic, var known, var after) -> range.match(epoch, tenant, topic, known, after).thenApply(RouteCallCodec::encode);
      case RouteCall.AskSums() -> range.sums().thenApply(RouteCallCodec::encode);
      case RouteCall.AskTenants(var tenants) -> range.routesOfTenants(tenants).thenApply(RouteCallCodec::encode);
    };
  }

  private Route checked(Route route) throws MalformedFrameException {
    checked(route.shard());
    return route;
  }

  private ShardId checked(ShardId shard) throws MalformedFrameException {
    if (!rights.mayChange(node, shard)) throw new MalformedFrameException("it may not change routes of %s".formatted(shard));
    return shard;
  }
}

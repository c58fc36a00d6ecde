package dunlin.dist.remote;

import dunlin.dist.route.RouteRangeClient;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.MalformedFrameException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** The calls of other processes, as they arrive at the leader of a range of routes: makes them, in their order. */
public final class RouteCalls implements CallReceiver.Answerer {
  private final RouteRangeClient range;

  private RouteCalls(RouteRangeClient range) {
    this.range = range;
  }

  /**
   * Takes the links of those who call.
   *
   * @param owner runs tasks on the thread of the links, soon, in their order; calls are made on it
   * @param bounds of each caller
   */
  public static CallReceiver receiver(Executor owner, CallBounds bounds, RouteRangeClient range) {
    return new CallReceiver(RouteCallCodec.PROTOCOL, owner, bounds, new RouteCalls(range));
  }

  @Override
  public CompletableFuture<byte[]> answer(byte[] call) throws MalformedFrameException {
    return switch (RouteCallCodec.decode(call)) {
      case RouteCall.Add(var epoch, var route) -> range.addRoute(epoch, route).thenApply(_ -> RouteCallCodec.nothing());
      case RouteCall.Remove(var epoch, var route) -> range.removeRoute(epoch, route).thenApply(_ -> RouteCallCodec.nothing());
      case RouteCall.RemoveBefore(var epoch, var shard, var incarnation, var from) ->
          range.removeRoutesBefore(epoch, shard, incarnation, from).thenApply(RouteCallCodec::encode);
      case RouteCall.Page(var epoch, var kind, var from) -> range.routes(epoch, kind, from).thenApply(RouteCallCodec::encode);
      case RouteCall.PageOf(var epoch, var shard, var from) -> range.routesOf(epoch, shard, from).thenApply(RouteCallCodec::encode);
      case RouteCall.Match(var epoch, var tenant, var topic, var known, var after) -> range.match(epoch, tenant, topic, known, after).thenApply(RouteCallCodec::encode);
      case RouteCall.AskSums() -> range.sums().thenApply(RouteCallCodec::encode);
    };
  }
}

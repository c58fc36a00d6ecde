package dunlin.dist.remote;

import dunlin.dist.route.RouteClient;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.MalformedFrameException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** The calls of frontends and session owners in other processes, as they arrive at the dist tier: makes them, in their order. */
public final class RouteCalls implements CallReceiver.Answerer {
  /** The gauge that {@link #receiver} registers. Its owner removes it with the receiver. */
  public static final String SERVED = "dunlin.dist.calls.served";

  private final RouteClient routes;

  private RouteCalls(RouteClient routes) {
    this.routes = routes;
  }

  /**
   * Takes the links of those who call.
   *
   * @param owner runs tasks on the thread of the links, soon, in their order; calls are made on it
   * @param bounds of each caller
   */
  public static CallReceiver receiver(Executor owner, CallBounds bounds, RouteClient routes, MeterRegistry registry) {
    var receiver = new CallReceiver(RouteCallCodec.PROTOCOL, owner, bounds, new RouteCalls(routes));
    Gauge.builder(SERVED, receiver, CallReceiver::unanswered)
        .description("Calls of other processes, for routes, that the dist tier has not answered")
        .register(registry);
    return receiver;
  }

  @Override
  public CompletableFuture<byte[]> answer(byte[] call) throws MalformedFrameException {
    return switch (RouteCallCodec.decode(call)) {
      case RouteCall.Add(var route) -> routes.addRoute(route).thenApply(_ -> RouteCallCodec.nothing());
      case RouteCall.Remove(var route) -> routes.removeRoute(route).thenApply(_ -> RouteCallCodec.nothing());
      case RouteCall.RemoveBefore(var shard, var incarnation) -> routes.removeRoutesBefore(shard, incarnation).thenApply(RouteCallCodec::encode);
      case RouteCall.Page(var kind, var from) -> routes.routes(kind, from).thenApply(RouteCallCodec::encode);
      case RouteCall.PageOf(var shard, var from) -> routes.routesOf(shard, from).thenApply(RouteCallCodec::encode);
    };
  }
}

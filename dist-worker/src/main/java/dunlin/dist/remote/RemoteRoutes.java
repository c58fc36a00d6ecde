package dunlin.dist.remote;

import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RoutePage;
import dunlin.model.ShardId;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** The routes in the dist tier of another process. Futures complete on the links' thread; those that fail at once have failed when they are returned. */
public final class RemoteRoutes implements RouteClient, AutoCloseable {
  /*
   * Owner: any thread calls it (CallLinks).
   * Bounds: CallBounds; those who change routes bound what they have in progress as well (the frontend's RouteTable, the session tier's RouteAnnouncer). A page puts
   *   PAGE_BYTES aside, and waits in a line for that.
   * Full: the call fails with a StoreException and is counted.
   * Failure: a change that was on its way over a lost link fails with an OutcomeUnknownException: it may have been made. Later calls wait for the next link
   *   (CallLinks).
   */
  private static final int PAGE_BYTES = 4 << 20;

  private final CallLinks links;

  /**
   * Without a link, until {@link #begin}.
   *
   * @param part of the node that calls, for its meters: a node has a link for each
   * @param nodeId of the node that calls
   * @param incarnation which life of it, larger than those before
   * @param owner runs tasks on the links' thread, soon, in their order
   */
  public RemoteRoutes(
      String part, String nodeId, long incarnation, CallLinks.Network network, Executor owner, CallBounds bounds, MeterRegistry registry) {
    this(new CallLinks(RouteCallCodec.PROTOCOL, nodeId + "/" + part, incarnation, network, owner, bounds), part, registry);
  }

  RemoteRoutes(CallLinks links, String part, MeterRegistry registry) {
    this.links = links;
    Gauge.builder("dunlin.dist.calls", links, CallLinks::calls)
        .tag("part", part)
        .description("Calls to the dist tier of another process, for routes, that are not answered")
        .register(registry);
    Gauge.builder("dunlin.dist.calls.size", links, CallLinks::bytes)
        .tag("part", part)
        .description("Bytes of the calls to the dist tier of another process, for routes, that are not answered")
        .baseUnit("bytes")
        .register(registry);
    FunctionCounter.builder("dunlin.dist.calls.refused", links, CallLinks::refused)
        .tag("part", part)
        .description("Calls to the dist tier of another process, for routes, that failed since too many were not answered")
        .register(registry);
    FunctionCounter.builder("dunlin.dist.links.lost", links, CallLinks::lost)
        .tag("part", part)
        .description("Links to the dist tier of another process, for routes, that were lost")
        .register(registry);
  }

  /** Begins the first link. Completes on the links' thread when the tier has taken it. Any thread, once. */
  public CompletableFuture<Void> begin() {
    return links.begin();
  }

  /** Whether the tier has taken the present link. Any thread. */
  public boolean isReached() {
    return links.isReached();
  }

  @Override
  public CompletableFuture<Void> addRoute(Route route) {
    return links.call(RouteCallCodec.encode(new RouteCall.Add(route)), 0, RouteCallCodec::decodeNothing);
  }

  @Override
  public CompletableFuture<Void> removeRoute(Route route) {
    return links.call(RouteCallCodec.encode(new RouteCall.Remove(route)), 0, RouteCallCodec::decodeNothing);
  }

  @Override
  public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
    return links.call(RouteCallCodec.encode(new RouteCall.RemoveBefore(shard, incarnation)), 0, RouteCallCodec::decodeCount);
  }

  @Override
  public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
    return links.call(RouteCallCodec.encode(new RouteCall.Page(kind, from)), PAGE_BYTES, RouteCallCodec::decodePage);
  }

  @Override
  public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
    return links.call(RouteCallCodec.encode(new RouteCall.PageOf(shard, from)), PAGE_BYTES, RouteCallCodec::decodePage);
  }

  /** Ends the link; what is not answered fails. */
  @Override
  public void close() {
    links.close();
  }
}

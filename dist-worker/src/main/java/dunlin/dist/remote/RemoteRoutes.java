package dunlin.dist.remote;

import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RoutePage;
import dunlin.dist.route.RouteRangeClient;
import dunlin.dist.route.RouteResult;
import dunlin.model.ShardId;
import dunlin.store.ways.RangeLink;
import dunlin.transport.call.CallLinks;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A range of routes, whichever node leads it. Futures complete on the links' thread; those that fail at once have failed when they are returned. */
final class RemoteRoutes implements RouteRangeClient, RangeLink {
  /*
   * Owner: any thread calls it (CallLinks).
   * Bounds: CallBounds; those who change routes bound what they have in progress as well (the frontend's RouteTable, the session tier's RouteAnnouncer). A page puts
   *   PAGE_BYTES aside, a match MATCH_BYTES, and both wait in a line for that.
   * Full: the call fails with a StoreException and is counted.
   * Failure: a change that was on its way over a lost link fails with an OutcomeUnknownException: it may have been made. Later calls wait for the next link
   *   (CallLinks).
   */
  private static final int PAGE_BYTES = 4 << 20;
  private static final int MATCH_BYTES = 128 << 10;

  private final CallLinks links;

  /** Without a link, until {@link #begin}. */
  RemoteRoutes(CallLinks links) {
    this.links = links;
  }

  @Override
  public CompletableFuture<Void> begin() {
    return links.begin();
  }

  @Override
  public boolean isReached() {
    return links.isReached();
  }

  /** Its calls and their fate, for meters. */
  CallLinks links() {
    return links;
  }

  @Override
  public CompletableFuture<Void> addRoute(long epoch, Route route) {
    return links.call(RouteCallCodec.encode(new RouteCall.Add(epoch, route)), 0, RouteCallCodec::decodeNothing);
  }

  @Override
  public CompletableFuture<Void> removeRoute(long epoch, Route route) {
    return links.call(RouteCallCodec.encode(new RouteCall.Remove(epoch, route)), 0, RouteCallCodec::decodeNothing);
  }

  @Override
  public CompletableFuture<RouteResult.Purged> removeRoutesBefore(long epoch, ShardId shard, long incarnation, byte[] from) {
    return links.call(RouteCallCodec.encode(new RouteCall.RemoveBefore(epoch, shard, incarnation, from)), 0, RouteCallCodec::decodePurged);
  }

  @Override
  public CompletableFuture<RoutePage> routes(long epoch, ShardId.Kind kind, byte[] from) {
    return links.call(RouteCallCodec.encode(new RouteCall.Page(epoch, kind, from)), PAGE_BYTES, RouteCallCodec::decodePage);
  }

  @Override
  public CompletableFuture<RoutePage> routesOf(long epoch, ShardId shard, byte[] from) {
    return links.call(RouteCallCodec.encode(new RouteCall.PageOf(epoch, shard, from)), PAGE_BYTES, RouteCallCodec::decodePage);
  }

  @Override
  public CompletableFuture<RouteMatch> match(long epoch, String tenant, byte[] topic, MatchSignature known, byte[] after) {
    return links.call(RouteCallCodec.encode(new RouteCall.Match(epoch, tenant, topic, known, after)), MATCH_BYTES, RouteCallCodec::decodeMatch);
  }

  @Override
  public CompletableFuture<Sums> sums() {
    return links.call(RouteCallCodec.encode(new RouteCall.AskSums()), 0, RouteCallCodec::decodeSums);
  }

  @Override
  public CompletableFuture<List<Long>> routesOfTenants(List<String> tenants) {
    return links.call(RouteCallCodec.encode(new RouteCall.AskTenants(tenants)), 0, RouteCallCodec::decodeRoutesOfTenants);
  }

  @Override
  public void close() {
    links.close();
  }
}

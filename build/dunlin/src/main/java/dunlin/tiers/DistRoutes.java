package dunlin.tiers;

import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RouteQuotaException;
import dunlin.inbox.InboxRoutes;
import dunlin.inbox.QuotaExceededException;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Announces the session tier's filters to the dist tier. An inbox shard lives as long as its data, so it has only one incarnation. */
public final class DistRoutes implements InboxRoutes {
  private static final long ONLY_LIFE = 1;
  private static final int NO_HANDLE = 0;

  private final RouteClient dist;
  private final LongAdder announced;

  /** @param announced counts the routes that have been announced */
  public DistRoutes(RouteClient dist, LongAdder announced) {
    this.dist = dist;
    this.announced = announced;
  }

  @Override
  public CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter) {
    var added = dist.addRoute(new Route(tenant, filter, shard, ONLY_LIFE, NO_HANDLE));
    var _ = added.thenRun(announced::increment);
    return added.exceptionallyCompose(
        failure -> CompletableFuture.failedFuture(failure instanceof RouteQuotaException full ? quotaExceeded(full) : failure));
  }

  private static QuotaExceededException quotaExceeded(RouteQuotaException full) {
    return switch (full.kind()) {
      case MEMORY -> new QuotaExceededException(QuotaExceededException.Kind.ROUTES, "bytes of routes", full.limit());
      case TENANT -> new QuotaExceededException(QuotaExceededException.Kind.TENANT_ROUTES, "routes of the tenant", full.limit());
      case GROUPS -> new QuotaExceededException(QuotaExceededException.Kind.GROUPS, "groups with the same topic filter", full.limit());
      case PATTERNS -> new QuotaExceededException(QuotaExceededException.Kind.PATTERNS, "patterns of wildcards in topic filters of the tenant", full.limit());
    };
  }

  @Override
  public CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter) {
    return dist.removeRoute(new Route(tenant, filter, shard, ONLY_LIFE, NO_HANDLE));
  }

  @Override
  public void together(Runnable calls) {
    dist.together(calls);
  }

  @Override
  public CompletableFuture<Page> announced(byte @Nullable [] from) {
    return dist.routes(ShardId.Kind.INBOX, from).thenApply(page -> new Page(page.routes().stream().map(DistRoutes::announced).toList(), page.next()));
  }

  private static Announced announced(Route route) {
    return new Announced(route.shard(), route.tenant(), route.filter());
  }
}

package dunlin.dist.remote;

import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.model.ShardId;
import java.util.List;

/** What is asked of a range of routes: the calls of {@link dunlin.dist.route.RouteRangeClient}. */
sealed interface RouteCall {
  record Add(long epoch, Route route) implements RouteCall {}

  record Remove(long epoch, Route route) implements RouteCall {}

  record RemoveBefore(long epoch, ShardId shard, long incarnation, byte[] from) implements RouteCall {}

  record Page(long epoch, ShardId.Kind kind, byte[] from) implements RouteCall {}

  record PageOf(long epoch, ShardId shard, byte[] from) implements RouteCall {}

  record Match(long epoch, String tenant, byte[] topic, MatchSignature known, byte[] after) implements RouteCall {}

  record AskSums() implements RouteCall {}

  record AskTenants(List<String> tenants) implements RouteCall {}
}

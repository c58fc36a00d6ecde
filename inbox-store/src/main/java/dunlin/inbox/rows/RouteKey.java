package dunlin.inbox.rows;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;

/** That one shard of sessions wants the messages of a topic filter. */
public record RouteKey(int shardNumber, String tenant, TopicFilter filter) implements Comparable<RouteKey> {
  /** The route through which a session's subscription gets its messages: a group's, or its shard's. */
  public static RouteKey of(SessionKey session, TopicFilter filter, int shards) {
    String tenant = session.tenant();
    int shard = filter.shared() ? new GroupKey(tenant, filter).shard(shards) : session.shard(shards);
    return new RouteKey(shard, tenant, filter);
  }

  public ShardId shard() {
    return ShardId.inbox(shardNumber);
  }

  @Override
  public int compareTo(RouteKey other) {
    int byShard = Integer.compare(shardNumber, other.shardNumber);
    if (byShard != 0) return byShard;
    int byFilter = filter.compareTo(other.filter);
    return byFilter != 0 ? byFilter : tenant.compareTo(other.tenant);
  }
}

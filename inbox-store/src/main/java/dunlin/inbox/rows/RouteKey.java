package dunlin.inbox.rows;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;

/** A route: one shard of sessions gets the messages that match a topic filter. */
public record RouteKey(int shardNumber, String tenant, TopicFilter filter) implements Comparable<RouteKey> {
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

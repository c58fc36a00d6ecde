package dunlin.inbox;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;

/** That one bucket of sessions wants the messages of a topic filter. */
record RouteKey(int bucket, String tenant, TopicFilter filter) implements Comparable<RouteKey> {
  ShardId shard() {
    return ShardId.inbox(bucket);
  }

  @Override
  public int compareTo(RouteKey other) {
    int byBucket = Integer.compare(bucket, other.bucket);
    if (byBucket != 0) return byBucket;
    int byFilter = filter.compareTo(other.filter);
    return byFilter != 0 ? byFilter : tenant.compareTo(other.tenant);
  }
}

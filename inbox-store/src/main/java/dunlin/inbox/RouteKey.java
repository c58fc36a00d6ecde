package dunlin.inbox;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;

/** That one bucket of sessions wants the messages of a topic filter. */
record RouteKey(int bucket, String tenant, TopicFilter filter) {
  ShardId shard() {
    return ShardId.inbox(bucket);
  }
}

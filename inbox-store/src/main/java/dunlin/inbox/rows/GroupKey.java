package dunlin.inbox.rows;

import dunlin.model.TopicFilter;

/** A shared subscription: the same group name, filter and mode. */
public record GroupKey(String tenant, TopicFilter filter) implements Comparable<GroupKey> {
  /** The shard that all its durable members have in common as a group, the same on every node and in every version. */
  public int shard(int shards) {
    return SessionKey.shard(shards, tenant, filter.text());
  }

  @Override
  public int compareTo(GroupKey other) {
    int byFilter = filter.compareTo(other.filter);
    return byFilter != 0 ? byFilter : tenant.compareTo(other.tenant);
  }
}

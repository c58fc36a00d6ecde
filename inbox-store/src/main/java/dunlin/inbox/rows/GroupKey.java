package dunlin.inbox.rows;

import dunlin.model.TopicFilter;

/** Identifies a shared subscription: its tenant, share name, topic filter and mode. */
public record GroupKey(String tenant, TopicFilter filter) implements Comparable<GroupKey> {
  @Override
  public int compareTo(GroupKey other) {
    int byFilter = filter.compareTo(other.filter);
    return byFilter != 0 ? byFilter : tenant.compareTo(other.tenant);
  }
}

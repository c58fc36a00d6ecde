package dunlin.inbox.server;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The ranges of sessions in which a message matched something, and in each the shared subscriptions for which a shard of it was picked. */
public final class MatchedRanges {
  /** The number of its range, for each shard. */
  private final int[] rangeOfShard;

  /** By the number of the range; null for one in which nothing matched. */
  private final @Nullable List<TopicFilter>[] groups;

  private int count;

  @SuppressWarnings({"unchecked", "rawtypes"})
  MatchedRanges(int[] rangeOfShard, int ranges) {
    this.rangeOfShard = rangeOfShard;
    groups = new List[ranges];
  }

  /** A route has matched. */
  public void add(ShardId shard, TopicFilter filter) {
    int number = Integer.parseInt(shard.name());
    if (number >= rangeOfShard.length) return; // a route that is left over from a time with more shards
    int range = rangeOfShard[number];
    add(range);
    if (!filter.shared()) return;
    var present = groups[range];
    if (present == null || present.isEmpty()) groups[range] = present = new ArrayList<>(2);
    present.add(filter);
  }

  /** A range is to take the message. */
  void add(int range) {
    if (groups[range] != null) return;
    groups[range] = List.of();
    count++;
  }

  /** How many ranges there are. */
  int count() {
    return count;
  }

  /** The groups of a range; null when it is none of them. */
  @Nullable List<TopicFilter> groups(int range) {
    return groups[range];
  }
}

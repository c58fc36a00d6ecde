package dunlin.inbox.server;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The session ranges in which a message matched a route, and for each of them the shared subscriptions for which one of
 * its shards was picked.
 */
public final class MatchedRanges {
  /** For each shard, the number of its range. */
  private final int[] rangeOfShard;

  /** By the number of the range; null for a range in which nothing matched. */
  private final @Nullable List<TopicFilter>[] groups;

  private int count;

  @SuppressWarnings({"unchecked", "rawtypes"})
  MatchedRanges(int[] rangeOfShard, int ranges) {
    this.rangeOfShard = rangeOfShard;
    groups = new List[ranges];
  }

  /** Adds a route that matched. */
  public void add(ShardId shard, TopicFilter filter) {
    int number = Integer.parseInt(shard.name());
    if (number >= rangeOfShard.length) return; // a route from a time with more shards
    int range = rangeOfShard[number];
    add(range);
    if (!filter.shared()) return;
    var present = groups[range];
    if (present == null || present.isEmpty()) groups[range] = present = new ArrayList<>(2);
    present.add(filter);
  }

  /** Adds a range that has to get the message. */
  void add(int range) {
    if (groups[range] != null) return;
    groups[range] = List.of();
    count++;
  }

  /** Number of ranges that get the message. */
  int count() {
    return count;
  }

  /** The groups of a range; null if the range does not get the message. */
  @Nullable List<TopicFilter> groups(int range) {
    return groups[range];
  }
}

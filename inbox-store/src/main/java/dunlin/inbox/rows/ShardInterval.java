package dunlin.inbox.rows;

import dunlin.inbox.InboxSettings;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The interval of shards that a range holds.
 *
 * @param from the first of them
 * @param to the first shard behind the interval
 * @param shards the number of shards in the cluster
 */
public record ShardInterval(int from, int to, int shards) {
  public ShardInterval {
    if (from < 0 || from >= to || to > shards) throw new IllegalArgumentException("shards %d to %d of %d".formatted(from, to, shards));
  }

  /** All shards in one range. */
  public static ShardInterval whole(int shards) {
    return new ShardInterval(0, shards, shards);
  }

  /** Divides all shards into ranges, in order. Their sizes differ by at most one shard. */
  public static List<ShardInterval> divide(int shards, int ranges) {
    var layout = new InboxSettings.Layout(shards, ranges);
    var intervals = new ArrayList<ShardInterval>(ranges);
    for (int i = 0; i < ranges; i++) intervals.add(new ShardInterval(layout.firstShard(i), layout.firstShard(i + 1), shards));
    return List.copyOf(intervals);
  }

  /** For each shard, the number of the interval that has it. */
  public static int[] rangeOfShard(List<ShardInterval> intervals) {
    int[] rangeOfShard = new int[intervals.getLast().to];
    for (int i = 0; i < intervals.size(); i++) Arrays.fill(rangeOfShard, intervals.get(i).from, intervals.get(i).to, i);
    return rangeOfShard;
  }

  public boolean isWhole() {
    return size() == shards;
  }

  public int size() {
    return to - from;
  }

  public boolean contains(int shard) {
    return shard >= from && shard < to;
  }

  /** The shard of a session; it may be in another range. */
  public int of(SessionKey session) {
    return session.shard(shards);
  }

  /** The shard of a group's durable members in this range, the same on every node and in every version. */
  public int of(GroupKey group) {
    return from + SessionKey.shard(size(), group.tenant(), group.filter().text());
  }

  /** The shard for the rows that this range keeps of another range's session. */
  public int homeOf(SessionKey foreign) {
    return from + foreign.shard(size());
  }

  /** The route through which a session of this range gets the messages of a subscription: its group's, or its shard's. */
  public RouteKey route(SessionKey session, TopicFilter filter) {
    return new RouteKey(filter.shared() ? of(new GroupKey(session.tenant(), filter)) : of(session), session.tenant(), filter);
  }
}

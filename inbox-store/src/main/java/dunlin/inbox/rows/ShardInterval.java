package dunlin.inbox.rows;

import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.List;

/**
 * The shards of sessions that a range has.
 *
 * @param from the first of them
 * @param to the first one behind them
 * @param shards how many the cluster has
 */
public record ShardInterval(int from, int to, int shards) {
  public ShardInterval {
    if (from < 0 || from >= to || to > shards) throw new IllegalArgumentException("shards %d to %d of %d".formatted(from, to, shards));
  }

  /** All shards in one range. */
  public static ShardInterval whole(int shards) {
    return new ShardInterval(0, shards, shards);
  }

  /** All shards in so many ranges, in their order, of which none has more than one shard more than another. */
  public static List<ShardInterval> divide(int shards, int ranges) {
    if (ranges < 1 || ranges > shards) throw new IllegalArgumentException("%d shards in %d ranges".formatted(shards, ranges));
    var intervals = new ArrayList<ShardInterval>(ranges);
    for (int i = 0; i < ranges; i++) intervals.add(new ShardInterval(i * shards / ranges, (i + 1) * shards / ranges, shards));
    return List.copyOf(intervals);
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

  /** The shard of a session, which may be in another range. */
  public int of(SessionKey session) {
    return session.shard(shards);
  }

  /** The shard that the durable members in this range have in common as a group, the same on every node and in every version. */
  public int of(GroupKey group) {
    return from + SessionKey.shard(size(), group.tenant(), group.filter().text());
  }

  /** The shard that has what this range keeps of a session of another one. */
  public int homeOf(SessionKey foreign) {
    return from + foreign.shard(size());
  }

  /** The route through which a session of this range gets the messages of a subscription: its group's, or its shard's. */
  public RouteKey route(SessionKey session, TopicFilter filter) {
    return new RouteKey(filter.shared() ? of(new GroupKey(session.tenant(), filter)) : of(session), session.tenant(), filter);
  }
}

package dunlin.dist.route;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;

/** A change of the routes, as logged. */
public sealed interface RouteCommand {
  /** Sets a route, unless a later incarnation of its shard has set one. */
  record Add(Route route) implements RouteCommand {}

  /** Removes the route of a shard, unless an incarnation later than this one has set it. */
  record Remove(String tenant, TopicFilter filter, ShardId shard, long incarnation) implements RouteCommand {}

  /**
   * One step of removing all routes that a shard set before an incarnation.
   *
   * @param cursor the first key to visit; empty for the first of all
   * @param limit how many rows to visit, 1 to {@link #LIMIT_MAX}
   */
  record PurgeBefore(ShardId shard, long incarnation, byte[] cursor, int limit) implements RouteCommand {
    /** About 10 ms of the applying thread. */
    static final int LIMIT_MAX = 10_000;

    public PurgeBefore {
      if (limit < 1 || limit > LIMIT_MAX) throw new IllegalArgumentException("a purge of " + limit + " rows");
    }
  }
}

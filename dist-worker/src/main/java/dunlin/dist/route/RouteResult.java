package dunlin.dist.route;

import org.jspecify.annotations.Nullable;

/** The result of a route command. */
public sealed interface RouteResult {
  /** The route is set. */
  record Added() implements RouteResult {}

  /** The shard's route was set by this later incarnation; the command has no effect. */
  record Superseded(long incarnation) implements RouteResult {}

  /** The route is not possible; nothing happened. */
  record Refused(String problem) implements RouteResult {}

  /** There is no route of that incarnation or an earlier one any more. */
  record Removed() implements RouteResult {}

  /**
   * A step of a purge is done.
   *
   * @param next the cursor of the next step, or null when this was the last one
   */
  record Purged(long removed, byte @Nullable [] next) implements RouteResult {}
}

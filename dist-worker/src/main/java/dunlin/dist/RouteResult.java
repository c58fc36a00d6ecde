package dunlin.dist;

import org.jspecify.annotations.Nullable;

/** How a change of the routes ended. */
sealed interface RouteResult {
  /** The route is there. */
  record Added() implements RouteResult {}

  /** The shard's route was set by this later incarnation; the command's is void. */
  record Superseded(long incarnation) implements RouteResult {}

  /** There can be no such route; nothing happened. */
  record Refused(String problem) implements RouteResult {}

  /** The route of that incarnation or an earlier one is not there. */
  record Removed() implements RouteResult {}

  /**
   * A step of a purge is done.
   *
   * @param next the cursor of the next step, or null when this was the last one
   */
  record Purged(long removed, byte @Nullable [] next) implements RouteResult {}
}

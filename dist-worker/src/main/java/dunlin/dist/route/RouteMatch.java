package dunlin.dist.route;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the leader of a range says of the routes that a topic matches. */
public sealed interface RouteMatch {
  /** The routes are those of the signature that the caller has named. */
  record Unchanged() implements RouteMatch {}

  /**
   * The routes, or the next of them in the order of their rows, when they are many. Those of a filter stand together.
   *
   * @param next behind which row the others are; null when there are no others
   */
  record Found(MatchSignature signature, List<Route> routes, byte @Nullable [] next) implements RouteMatch {
    // Not a compact constructor: with that, other modules do not see that the last parameter may be null.
    public Found(MatchSignature signature, List<Route> routes, byte @Nullable [] next) {
      this.signature = signature;
      this.routes = List.copyOf(routes);
      this.next = next;
    }
  }
}

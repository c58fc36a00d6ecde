package dunlin.dist.route;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A page of routes.
 *
 * @param next where the next page begins, or null when this is the last one
 */
public record RoutePage(List<Route> routes, byte @Nullable [] next) {
  // Not a compact constructor: with that, other modules do not see that the second parameter may be null.
  public RoutePage(List<Route> routes, byte @Nullable [] next) {
    this.routes = List.copyOf(routes);
    this.next = next;
  }
}

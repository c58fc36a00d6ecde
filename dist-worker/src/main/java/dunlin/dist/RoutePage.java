package dunlin.dist;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Some of the routes.
 *
 * @param next where the next page begins, or null when this is the last one
 */
public record RoutePage(List<Route> routes, byte @Nullable [] next) {
  // Written out, since of a compact constructor no other module learns that the second one may be null.
  public RoutePage(List<Route> routes, byte @Nullable [] next) {
    this.routes = List.copyOf(routes);
    this.next = next;
  }
}

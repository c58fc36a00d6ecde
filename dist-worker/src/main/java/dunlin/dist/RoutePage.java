package dunlin.dist;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Some of the routes.
 *
 * @param next where the next page begins, or null when this is the last one
 */
public record RoutePage(List<Route> routes, byte @Nullable [] next) {
  public RoutePage {
    routes = List.copyOf(routes);
  }
}

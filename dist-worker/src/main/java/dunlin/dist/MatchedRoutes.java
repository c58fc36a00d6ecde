package dunlin.dist;

import dunlin.dist.route.Route;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The routes of one destination that a message matched: all plain ones, and the picked one of each group.
 *
 * <p>Reused: valid only during the call that it is passed to, on that thread. A {@linkplain #copy copy} is immutable.
 */
public final class MatchedRoutes {
  private @Nullable Route[] routes = new Route[8];
  private int size;
  private boolean immutable;

  public int size() {
    return size;
  }

  public Route get(int index) {
    return Objects.requireNonNull(routes[index]);
  }

  /** Called by the dist tier, and by tests of destinations. */
  public void add(Route route) {
    assert !immutable : "a route is added to a copy";
    if (size == routes.length) routes = Arrays.copyOf(routes, size * 2);
    routes[size++] = route;
  }

  /** A copy that may be kept beyond the call, and passed to other threads. */
  public MatchedRoutes copy() {
    if (immutable) return this;
    var copy = new MatchedRoutes();
    copy.routes = Arrays.copyOf(routes, size);
    copy.size = size;
    copy.immutable = true;
    return copy;
  }

  /** Clears it for the next message. */
  public void clear() {
    assert !immutable : "a copy is cleared";
    Arrays.fill(routes, 0, size, null);
    size = 0;
  }
}

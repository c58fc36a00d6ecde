package dunlin.dist;

import dunlin.dist.route.FilterRoutes;
import java.util.List;

/**
 * What a message matches in other ranges of routes than that of its lane's process.
 *
 * @param epoch of the lane's own range when the others were chosen; with another one, keys have moved, and routes may be missing
 * @param visited how many others there are
 */
record Elsewhere(long epoch, int visited, List<FilterRoutes> filters) {
  /** Of a process that has all ranges, whose keys never change. */
  static final Elsewhere NOWHERE = new Elsewhere(0, 0, List.of());

  static Elsewhere nothing(long epoch) {
    return new Elsewhere(epoch, 0, List.of());
  }
}

package dunlin.dist;

import dunlin.dist.route.FilterRoutes;
import java.util.List;

/**
 * What a message matches in other ranges of routes than that of its lane's process.
 *
 * @param epoch of the lane's own range when the others were chosen; with another one, keys have moved, and routes may be missing
 * @param visited how many others there are
 * @param memory counts the filters while they are kept
 */
record Elsewhere(long epoch, int visited, List<FilterRoutes> filters, Memory memory) {
  private static final Memory UNCOUNTED =
      new Memory() {
        @Override
        public void keep() {}

        @Override
        public void release() {}
      };

  /** Of a process that has all ranges, whose keys never change. */
  static final Elsewhere NOWHERE = nothing(0);

  /** Bounds the memory of routes that are kept for longer than a call. On the lane's thread. */
  interface Memory {
    /** They are kept from now on. */
    void keep();

    /** They are kept no longer. Called once for each {@link #keep}. */
    void release();
  }

  static Elsewhere nothing(long epoch) {
    return new Elsewhere(epoch, 0, List.of(), UNCOUNTED);
  }
}

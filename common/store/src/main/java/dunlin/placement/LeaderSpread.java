package dunlin.placement;

import java.util.Collection;
import java.util.Collections;

/** How evenly leaderships are spread over the nodes that can have them. */
public final class LeaderSpread {
  /** How many ranges a node may lead more than another one: with one more, a transfer would only make the other one have it. */
  public static final int DIFFERENCE_MAX = 1;

  private LeaderSpread() {}

  /**
   * Whether no transfer would make it more even.
   *
   * @param led how many ranges each node leads, also of those that lead none
   */
  public static boolean isEven(Collection<Integer> led) {
    return led.isEmpty() || Collections.max(led) - Collections.min(led) <= DIFFERENCE_MAX;
  }
}

package dunlin.broker.guard;

import java.time.Duration;

/**
 * When something is blocked, and for how long.
 *
 * @param max how often it may happen within the window; the last of them begins the block. 0 for any number
 * @param window begins with the first time that it happens, and does not slide
 * @param block how long the block lasts; what is refused during it does not prolong it
 */
public record BlockRule(int max, Duration window, Duration block) {
  /** A rule that never blocks. */
  public static BlockRule none() {
    return new BlockRule(0, Duration.ofMinutes(1), Duration.ofMinutes(1));
  }

  boolean on() {
    return max > 0;
  }
}

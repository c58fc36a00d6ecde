package dunlin.chaos;

import dunlin.chaos.NodeOptions.LogCut;
import java.time.Duration;
import java.util.List;

/**
 * What rows of the suite run under.
 *
 * @param rounds how often the fault strikes one cluster
 * @param electionTimeout of the nodes, and the time after which callers doubt a silent node; the product has 1 s for both
 * @param writesPerSecond at most so many are begun by all writers together, at least 1
 * @param steady how long writes go well before a fault strikes, and after it
 * @param nodeFlags of the nodes' JVMs, beside those that they always have
 */
record Conditions(
    int rounds, Duration electionTimeout, LogCut logCut, int writesPerSecond, Duration steady, List<String> nodeFlags) {
  Conditions {
    if (rounds < 1) throw new IllegalArgumentException("--rounds is " + rounds);
    if (writesPerSecond < 1) throw new IllegalArgumentException("--writes-per-second is " + writesPerSecond);
    if (steady.isNegative()) throw new IllegalArgumentException("--steady-seconds is below 0");
  }
}

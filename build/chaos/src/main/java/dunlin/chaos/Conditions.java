package dunlin.chaos;

import dunlin.chaos.NodeOptions.LogCut;
import java.time.Duration;
import java.util.List;

/**
 * The conditions of a run.
 *
 * @param rounds how often the fault strikes one cluster
 * @param electionTimeout of the nodes, and the time after which callers suspect a silent node; the product has 1 s for
 *     both
 * @param writesPerSecond the most writes that all writers together begin in a second, at least 1
 * @param steady how long writes must succeed before a fault strikes, and after it
 * @param nodeFlags additional JVM options of the nodes
 */
record Conditions(
    int rounds, Duration electionTimeout, LogCut logCut, int writesPerSecond, Duration steady, List<String> nodeFlags) {
  Conditions {
    if (rounds < 1) throw new IllegalArgumentException("--rounds is " + rounds);
    if (writesPerSecond < 1) throw new IllegalArgumentException("--writes-per-second is " + writesPerSecond);
    if (steady.isNegative()) throw new IllegalArgumentException("--steady-seconds is below 0");
  }
}

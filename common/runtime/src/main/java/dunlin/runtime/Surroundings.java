package dunlin.runtime;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.InstantSource;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * What a node takes from its machine, and what a test that runs several nodes in one JVM replaces.
 *
 * @param wallClock the wall clock
 * @param routes where this node connects to when it wants to reach an address of another node. Called by any thread, must not block; the answer
 *     for one address must stay the same, since it is kept for as long as the node runs. Some connections compare a certificate with the answer and not with
 *     what was asked, so this is for nodes without TLS among each other
 * @param forceDelay how much longer than the disk needs it takes until what was written to a log counts as forced to disk. Asked before every
 *     time, by the thread of the log. Not negative, and below the ten seconds after which Ratis warns
 * @param diskTaken bytes of the disk of the data directory that count as taken, although they are free. Asked about once a second, by the thread that looks
 *     after the store
 */
public record Surroundings(InstantSource wallClock, UnaryOperator<InetSocketAddress> routes, Supplier<Duration> forceDelay, LongSupplier diskTaken) {
  private static final Surroundings MACHINE = new Surroundings(InstantSource.system(), UnaryOperator.identity(), () -> Duration.ZERO, () -> 0);

  /** The machine as it is. */
  public static Surroundings machine() {
    return MACHINE;
  }

  /** Where this node connects to when it wants to reach a host and port of another node; unresolved, if that is where. */
  public InetSocketAddress route(String host, int port) {
    return routes.apply(InetSocketAddress.createUnresolved(host, port));
  }
}

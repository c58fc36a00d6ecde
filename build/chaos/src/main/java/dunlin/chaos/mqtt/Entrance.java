package dunlin.chaos.mqtt;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Optional;

/** Chooses the broker for a client's next connection. */
public interface Entrance {
  /**
   * A broker's listener.
   *
   * @param node the number of the broker, from 1
   * @param connectMax how long opening a connection may take
   */
  record Entry(int node, InetSocketAddress address, Duration connectMax) {}

  /** Empty while no broker runs. */
  Optional<Entry> next();
}

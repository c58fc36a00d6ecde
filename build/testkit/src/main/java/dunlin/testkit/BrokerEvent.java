package dunlin.testkit;

import dunlin.broker.ConnectionEvent;
import java.time.Instant;
import org.slf4j.event.Level;

/** Something that a broker has reported. */
public sealed interface BrokerEvent {
  /** When it happened, by the clock of the machine. */
  Instant at();

  /** The number of the node. */
  int node();

  /** A client has connected, was taken over, or has disconnected. */
  record Connection(Instant at, int node, ConnectionEvent event) implements BrokerEvent {
    @Override
    public String toString() {
      return "node %d: %s".formatted(node, event);
    }
  }

  /**
   * A line of the logs {@code dunlin.events} and {@code dunlin.audit}, or a warning or an error of another one.
   *
   * @param logger the name of the log
   */
  record Line(Instant at, int node, Level level, String logger, String text) implements BrokerEvent {
    @Override
    public String toString() {
      return "node %d: %s %s %s".formatted(node, level, logger, text);
    }
  }
}

package dunlin.broker.meter;

import dunlin.runtime.EventLine;
import dunlin.runtime.LineLimit;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * What clients were denied by access rules. Each denial is counted and written as one line to the log
 * {@code dunlin.audit}, but only a few a second of each kind.
 */
public final class Denials {
  /*
   * Owner: any thread.
   * Bounds: a counter for each kind. Lines: LINES_A_SECOND for each kind; the next line, or the one that flush() writes,
   * has the number of those left out.
   */
  private static final Logger events = LoggerFactory.getLogger("dunlin.audit");
  private static final int LINES_A_SECOND = 5;

  /** What was denied; a tag of the metric. */
  public enum Kind {
    /** A PUBLISH. */
    PUBLISH,
    /** A topic filter of a SUBSCRIBE. */
    SUBSCRIBE,
    /** A message that was to be sent to the client. */
    RECEIVE,
    /** A will, with CONNECT or when it was to be sent. */
    WILL,
    /** A subscription that was allowed once; it was ended. */
    SUBSCRIPTION
  }

  private record Tally(Counter counter, LineLimit lines) {}

  private final String node;
  private final Map<Kind, Tally> tallies = new EnumMap<>(Kind.class);

  Denials(String node, MeterRegistry meters, LongSupplier nanoTime) {
    this.node = node;
    for (Kind kind : Kind.values()) {
      Counter counter =
          Counter.builder("dunlin.auth.denied")
              .description("What clients were denied by access rules")
              .tag("kind", label(kind))
              .register(meters);
      tallies.put(kind, new Tally(counter, new LineLimit(LINES_A_SECOND, nanoTime)));
    }
  }

  private static String label(Kind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }

  private Tally tally(Kind kind) {
    return Objects.requireNonNull(tallies.get(kind));
  }

  /** @param topic a topic name, or a topic filter with the prefix of a shared subscription */
  public void denied(Kind kind, String clientId, String user, String topic) {
    Tally tally = tally(kind);
    tally.counter().increment();
    if (!tally.lines().admits()) return;
    EventLine.of(events, Level.INFO, "access-denied")
        .word("node", node)
        .word("kind", label(kind))
        .text("client", clientId)
        .text("user", user)
        .text("topic", topic)
        .number("untold", tally.lines().leftOut())
        .write();
  }

  /** Logs how many denials were left out; called about once a second. */
  public void flush() {
    tallies.forEach(
        (kind, tally) -> {
          long untold = tally.lines().leftOut();
          if (untold == 0) return;
          EventLine.of(events, Level.INFO, "access-denied").word("node", node).word("kind", label(kind)).number("untold", untold).write();
        });
  }
}

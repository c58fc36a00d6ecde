package dunlin.broker.meter;

import dunlin.broker.codec.Limit;
import dunlin.model.ReasonCode;
import dunlin.runtime.EventLine;
import dunlin.runtime.LineLimit;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.SocketAddress;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Violations of the protocol or of this server's limits by clients. Each is counted once and written as one line to the
 * log {@code dunlin.events}, but only a few a second for each reason.
 */
public final class Violations {
  /*
   * Owner: any thread.
   * Bounds: a tally for each reason code and a counter for each limit. Lines: LINES_A_SECOND for each reason; the next
   * line, or the one that flush() writes, has the number of those left out.
   */
  private static final Logger events = LoggerFactory.getLogger("dunlin.events");
  private static final int LINES_A_SECOND = 5;

  private final String node;
  private final Map<ReasonCode, Tally> tallies = new EnumMap<>(ReasonCode.class);
  private final Map<Limit, Counter> limits = new EnumMap<>(Limit.class);

  public Violations(String node, MeterRegistry meters, LongSupplier nanoTime) {
    this.node = node;
    for (ReasonCode reason : ReasonCode.values()) {
      if (reason.isError()) tallies.put(reason, new Tally(reason, meters, nanoTime));
    }
    for (Limit limit : Limit.values()) {
      Counter hit =
          Counter.builder("dunlin.limits.hit")
              .description("Packets refused because a client has or asks for more than a setting allows")
              .tag("limit", limit.label())
              .register(meters);
      limits.put(limit, hit);
    }
  }

  /**
   * @param limit the limit that was exceeded, or null if MQTT itself was violated
   * @param clientId the client identifier, empty before it is known
   */
  public void violated(ReasonCode reason, @Nullable Limit limit, String clientId, SocketAddress address, String explanation) {
    Tally tally = Objects.requireNonNull(tallies.get(reason), "not an error");
    tally.counter().increment();
    if (limit != null) Objects.requireNonNull(limits.get(limit)).increment();
    if (!tally.lines.admits()) return;
    EventLine.of(events, Level.WARN, "protocol-error")
        .word("node", node)
        .text("client", clientId)
        .text("address", address.toString())
        .word("reason", reason.label())
        .word("limit", limit == null ? "none" : limit.label())
        .text("explanation", explanation)
        .number("untold", tally.lines.leftOut())
        .write();
  }

  /** Logs how many violations were left out; called about once a second. */
  public void flush() {
    for (Tally tally : tallies.values()) {
      long untold = tally.lines.leftOut();
      if (untold == 0) continue;
      EventLine.of(events, Level.WARN, "protocol-error").word("node", node).word("reason", tally.reason.label()).number("untold", untold).write();
    }
  }

  /** The violations of one reason. */
  private static final class Tally {
    private final ReasonCode reason;
    private final MeterRegistry meters;
    private final LineLimit lines;

    Tally(ReasonCode reason, MeterRegistry meters, LongSupplier nanoTime) {
      this.reason = reason;
      this.meters = meters;
      this.lines = new LineLimit(LINES_A_SECOND, nanoTime);
    }

    /** Registered when it is first needed: most reasons never are. */
    Counter counter() {
      return Counter.builder("dunlin.frontend.protocol-errors")
          .description("Violations of the protocol or of a limit by clients, by the reason code of the answer")
          .tag("reason", reason.label())
          .register(meters);
    }
  }
}

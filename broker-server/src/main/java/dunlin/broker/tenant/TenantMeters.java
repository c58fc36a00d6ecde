package dunlin.broker.tenant;

import dunlin.runtime.EventLine;
import dunlin.runtime.LineLimit;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Counts messages, and counts and logs how often limits of tenants are hit: of one tenant that metrics name, or of all others together. */
final class TenantMeters {
  /*
   * Owner: any thread. Bounds: a counter for each limit; one line for each limit and tenant in a minute (Tenant), and EVENTS_A_SECOND for all tenants.
   */
  private static final Logger events = LoggerFactory.getLogger("dunlin.events");
  static final int EVENTS_A_SECOND = 5;

  private final LineLimit lines;
  private final Map<TenantLimit, Counter> hits = new EnumMap<>(TenantLimit.class);

  /** Messages from and to clients of a tenant that metrics name; null for all others, whose messages cost nothing here. */
  private final @Nullable LongAdder received;

  private final @Nullable LongAdder sent;

  /**
   * @param label the value of the tag {@code tenant}
   * @param lines of all tenants
   */
  TenantMeters(String label, LineLimit lines, MeterRegistry meters) {
    this.lines = lines;
    boolean named = !label.equals(TenantSettings.OTHERS);
    received = named ? messages("dunlin.tenants.received", "PUBLISH packets from clients of a tenant that dunlin.tenants.metrics names", label, meters) : null;
    sent = named ? messages("dunlin.tenants.sent", "PUBLISH packets to clients of a tenant that dunlin.tenants.metrics names", label, meters) : null;
    for (TenantLimit limit : TenantLimit.values()) {
      Counter counter =
          Counter.builder("dunlin.tenants.limited")
              .description("Times that a limit of a tenant was reached: a client was refused, or was not read from or sent to for a while")
              .tag("limit", limit.label())
              .tag("tenant", label)
              .register(meters);
      hits.put(limit, counter);
    }
  }

  private static LongAdder messages(String name, String description, String label, MeterRegistry meters) {
    LongAdder count = new LongAdder();
    FunctionCounter.builder(name, count, LongAdder::sum).description(description).baseUnit("messages").tag("tenant", label).register(meters);
    return count;
  }

  void received() {
    if (received != null) received.increment();
  }

  void sent() {
    if (sent != null) sent.increment();
  }

  void hit(TenantLimit limit) {
    Objects.requireNonNull(hits.get(limit)).increment();
  }

  boolean admitsEvent() {
    return lines.admits();
  }

  void tell(String tenant, TenantLimit limit, long max, long untold) {
    EventLine.of(events, Level.WARN, "tenant-limited").word("tenant", tenant).word("limit", limit.label()).number("max", max).number("untold", untold).write();
  }
}

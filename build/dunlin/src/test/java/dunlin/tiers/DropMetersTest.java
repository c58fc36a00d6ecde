package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Trace.Event;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class DropMetersTest {
  private static final Publication MESSAGE = Publication.of(new Publisher("default", "p"), "t", QoS.AT_MOST_ONCE, false, 0, new byte[0]);

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Tracer tracer = Tracer.idle();

  private double dropped(String hop, String reason) {
    return registry.get("dunlin.messages.dropped").tag("hop", hop).tag("reason", reason).functionCounter().count();
  }

  @Test
  void eachHopIsCountedForItself() {
    try (var drops = new DropMeters(registry, tracer)) {
      drops.deliveries().countOverloaded(MESSAGE);
      drops.deliveries().countOverloaded(MESSAGE);
      drops.lanes().countOverloaded(MESSAGE);
      drops.pushes().countUnreachable(MESSAGE);

      assertThat(dropped("delivery", "overloaded")).isEqualTo(2);
      assertThat(dropped("lane", "overloaded")).isEqualTo(1);
      assertThat(dropped("lane", "unreachable")).isZero();
      assertThat(dropped("push", "unreachable")).isEqualTo(1);
      assertThat(dropped("delivery", "unreachable")).isZero();
    }
    assertThat(registry.getMeters()).isEmpty();
  }

  /** The counters take their reasons from the set of all reasons, and the notes must not say another one. */
  @Test
  void aTraceSaysTheReasonThatIsCounted() {
    Trace trace = tracer.begin("t", "default", "p", "", "", Duration.ofMinutes(1));
    try (var drops = new DropMeters(registry, tracer)) {
      drops.lanes().countOverloaded(MESSAGE);
      drops.pushes().countUnreachable(MESSAGE);
      drops.deliveries().countUnreachable(null);

      assertThat(trace.read(0, 10).events())
          .extracting(Event::hop, Event::step, Event::reason)
          .containsExactly(tuple("lane", "dropped", DropReason.OVERLOADED.tag()), tuple("push", "dropped", DropReason.UNREACHABLE.tag()));
      assertThat(dropped("delivery", "unreachable")).isEqualTo(1);
    }
  }

  @Test
  void whatAFrontendDropsIsCountedUnderTheSameName() {
    try (var drops = new DropMeters(registry, tracer);
        var _ = new HopLedger(registry, "publish", () -> 0)) {
      drops.deliveries().countOverloaded(MESSAGE);

      double all = registry.get("dunlin.messages.dropped").functionCounters().stream().mapToDouble(each -> each.count()).sum();
      assertThat(all).isEqualTo(1);
    }
  }
}

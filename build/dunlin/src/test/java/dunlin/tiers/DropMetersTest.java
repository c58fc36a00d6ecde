package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.runtime.HopLedger;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;

class DropMetersTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  private double dropped(String hop, String reason) {
    return registry.get("dunlin.messages.dropped").tag("hop", hop).tag("reason", reason).functionCounter().count();
  }

  @Test
  void eachHopIsCountedForItself() {
    try (var drops = new DropMeters(registry)) {
      drops.deliveries().countOverloaded();
      drops.deliveries().countOverloaded();
      drops.lanes().countOverloaded();
      drops.pushes().countUnreachable();

      assertThat(dropped("delivery", "overloaded")).isEqualTo(2);
      assertThat(dropped("lane", "overloaded")).isEqualTo(1);
      assertThat(dropped("lane", "unreachable")).isZero();
      assertThat(dropped("push", "unreachable")).isEqualTo(1);
      assertThat(dropped("delivery", "unreachable")).isZero();
    }
    assertThat(registry.getMeters()).isEmpty();
  }

  @Test
  void whatAFrontendDropsIsCountedUnderTheSameName() {
    try (var drops = new DropMeters(registry);
        var _ = new HopLedger(registry, "publish", () -> 0)) {
      drops.deliveries().countOverloaded();

      double all = registry.get("dunlin.messages.dropped").functionCounters().stream().mapToDouble(each -> each.count()).sum();
      assertThat(all).isEqualTo(1);
    }
  }
}

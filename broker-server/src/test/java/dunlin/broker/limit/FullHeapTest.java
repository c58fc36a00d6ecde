package dunlin.broker.limit;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.runtime.memory.HeapGuard;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;

/** What clients may still use of a node whose heap is full. */
class FullHeapTest {
  private static final int LARGE = 64 << 20;

  private double live;
  private final HeapGuard heap = new HeapGuard(() -> new HeapGuard.Found(live, HeapGuard.Found.EXACT, 0), 80);
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final NodeBudget node = new NodeBudget(new NodeBudget.Bounds(LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE), heap, meters);

  private double limit(String budget) {
    return meters.get("dunlin.memory.limit").tag("budget", budget).gauge().value();
  }

  @Test
  void messagesGoOnAndRequestsAreTakenAndThereIsNoFurtherSubscription() {
    live = 0.9;
    heap.look();

    assertThat(node.outgoing().share().allows(0, LARGE / 8)).isTrue();
    assertThat(node.outgoing().share().allows(0, LARGE / 2)).isFalse();
    assertThat(node.requests().share().allows(0, LARGE / 2)).as("subscriptions can be repeated").isTrue();
    assertThat(node.subscriptions().share().allows(0, 10_000)).isFalse();
    assertThat(node.sockets().share().allows(0, LARGE / 2)).as("not on the heap").isTrue();
    assertThat(limit("outgoing")).isEqualTo(LARGE / 4.0);
    assertThat(meters.get("dunlin.memory.full").gauge().value()).isEqualTo(1);
    assertThat(meters.get("dunlin.memory.live").gauge().value()).isEqualTo(0.9);

    live = 0.5;
    heap.look();
    assertThat(node.subscriptions().share().allows(0, 10_000)).isTrue();
    assertThat(limit("outgoing")).isEqualTo(LARGE);
  }
}

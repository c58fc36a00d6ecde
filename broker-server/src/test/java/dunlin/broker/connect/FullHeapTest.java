package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.Budgets;
import dunlin.broker.LoopClient;
import dunlin.broker.OpenFrontend;
import dunlin.runtime.memory.HeapGuard;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Clients of a node whose heap has little room. */
class FullHeapTest {
  private double live;
  private final HeapGuard heap = new HeapGuard(() -> live, 80);
  private final OpenFrontend broker = new OpenFrontend(1, 100, Budgets.large(heap));

  @AfterEach
  void close() {
    broker.close();
  }

  private void look(double share) {
    live = share;
    heap.look();
  }

  @Test
  void whoConnectsIsRefusedOnlyWhileItIsNearlyUsedUp() {
    look(0.85);
    LoopClient first = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    look(0.95);
    LoopClient second = LoopClient.connecting(broker.frontend(), 0, 'b', 60);
    second.hears("20..0089.*");
    second.hearsTheEnd();
    first.hearsNothing();
    look(0.5);
    LoopClient.connected(broker.frontend(), 0, 'b', 60);

    assertThat(broker.sessions.connects).hasSize(2);
    assertThat(broker.meters.get("dunlin.limits.hit").tag("limit", "live-memory").counter().count()).isEqualTo(1);
  }
}

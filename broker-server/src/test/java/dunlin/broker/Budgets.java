package dunlin.broker;

import dunlin.broker.limit.NodeBudget;
import dunlin.runtime.memory.HeapGuard;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;

/** Budgets for tests. */
public final class Budgets {
  private static final int LARGE = 64 << 20;

  private Budgets() {}

  /** A budget that is larger than a test needs. */
  static NodeBudget large() {
    return of(new NodeBudget.Bounds(LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE));
  }

  public static NodeBudget of(NodeBudget.Bounds bounds) {
    return new NodeBudget(bounds, HeapGuard.OFF, new SimpleMeterRegistry());
  }
}

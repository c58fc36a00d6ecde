package dunlin.load.plan;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One thing after the other that a run does. */
public sealed interface Step {
  String name();

  /**
   * Connects all clients of pools that are not connected, and waits until each has been answered, and its subscriptions too.
   *
   * @param rate in place of the pools' own
   */
  record Connect(String name, List<String> pools, @Nullable Rate rate) implements Step {
    public Connect {
      pools = List.copyOf(pools);
    }
  }

  /** Lets pools publish, and clients come and go, for a time; without either it waits. */
  record Traffic(String name, List<Flow> flows, List<Churn> churns, Duration lasting) implements Step {
    public Traffic {
      flows = List.copyOf(flows);
      churns = List.copyOf(churns);
      if (flows.isEmpty() && churns.isEmpty() && lasting.compareTo(FOREVER) >= 0) {
        throw new IllegalArgumentException("the phase %s does nothing, and does not end".formatted(name));
      }
    }
  }

  /**
   * Ends the connections of pools.
   *
   * @param abrupt without DISCONNECT, so that wills are published
   */
  record Disconnect(String name, List<String> pools, boolean abrupt) implements Step {
    public Disconnect {
      pools = List.copyOf(pools);
    }
  }

  /** Waits until everything expected has come, for a time at most. */
  record Drain(String name, Duration atMost) implements Step {}

  /** As long as anybody would wait. */
  Duration FOREVER = Duration.ofDays(365);

  /**
   * The publishing of one pool.
   *
   * @param rate of each client, in place of the pool's own
   * @param rateAtEnd null for a rate that stays; otherwise it grows or falls evenly until then
   * @param messages of all clients together, after which it ends; 0 for no such end
   */
  record Flow(String pool, @Nullable Rate rate, @Nullable Rate rateAtEnd, long messages) {}

  /** Clients of a pool that leave and come back, one after the other, so many in a second. */
  record Churn(String pool, Rate rate) {}
}

package dunlin.load.plan;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A step of a run. Steps are executed one after the other. */
public sealed interface Step {
  String name();

  /**
   * Connects all unconnected clients of pools, and waits for the answers to the connects and subscriptions.
   *
   * @param rate overrides the pools' own rate
   */
  record Connect(String name, List<String> pools, @Nullable Rate rate) implements Step {
    public Connect {
      pools = List.copyOf(pools);
    }
  }

  /** Lets pools publish and clients reconnect for a time; without either it only waits. */
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

  /** Waits until everything expected has arrived, up to a time limit. */
  record Drain(String name, Duration atMost) implements Step {}

  /** A duration longer than any run. */
  Duration FOREVER = Duration.ofDays(365);

  /**
   * The publishing of one pool.
   *
   * @param rate of each client; overrides the pool's own rate
   * @param rateAtEnd null for a constant rate; otherwise the rate changes linearly to this one
   * @param messages the number of messages of all clients together after which it ends; 0 for no limit
   */
  record Flow(String pool, @Nullable Rate rate, @Nullable Rate rateAtEnd, long messages) {}

  /** Clients of a pool that disconnect and reconnect in turn at a rate. */
  record Churn(String pool, Rate rate) {}
}

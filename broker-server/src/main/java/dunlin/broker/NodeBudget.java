package dunlin.broker;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.util.internal.PlatformDependent;
import java.util.List;

/**
 * The memory that the clients of a node can make it use, all of them together: a budget in bytes for each kind. What one client may have is
 * bounded by settings of its own; these budgets hold however many clients there are.
 */
public final class NodeBudget {
  /*
   * Owner: made by who composes the node, before the frontend; each event loop has a share of each budget (Budget.Share).
   * Bounds and what happens at them:
   * A budget covers what is held from one packet to the next; who may hold more, Budget says.
   *   outgoing      heap. Messages of QoS 1 and 2 that wait for connected clients or are in flight to them, and pages that were read for them. A
   *                 message that an event loop hands to many sessions in one go counts there once, and 128 bytes for each of them; in any
   *                 other case it counts for each. A session without expiry gets no more (dropped and counted, a group asks another
   *                 member), a durable one is not read for: its messages wait in the inbox.
   *   sockets       direct memory. What was written for clients and their sockets have not taken. QoS 0 is dropped and counted, QoS 1 and 2 wait
   *                 in their queues, and who does not read the answers to its own packets is not read from.
   * Failure: what is held beside it (a packet's objects while it is handled, lanes, the stores' queues, retained topics) has bounds of its own.
   */
  private final Budget outgoing;
  private final Budget sockets;
  private final Bounds bounds;

  /**
   * Bounds in bytes.
   *
   * @param outgoing of messages that wait for connected clients or are in flight to them, on the heap
   * @param sockets of what waits for clients' sockets, in direct memory
   * @param inFlight of messages in flight to one client, passed by one message at most
   */
  public record Bounds(long outgoing, long sockets, int inFlight) {
    private static final int IN_FLIGHT = 16 << 20;

    public Bounds {
      if (inFlight < 1) throw new IllegalArgumentException("bytes in flight: at most " + inFlight);
    }

    /** What this process should have, by its largest heap and its most direct memory. */
    public static Bounds ofThisProcess() {
      return new Bounds(Runtime.getRuntime().maxMemory() / 4, PlatformDependent.maxDirectMemory() / 4, IN_FLIGHT);
    }
  }

  public NodeBudget(Bounds bounds, MeterRegistry meters) {
    this.bounds = bounds;
    this.outgoing = new Budget("outgoing", bounds.outgoing());
    this.sockets = new Budget("sockets", bounds.sockets());
    for (Budget budget : List.of(outgoing, sockets)) show(budget, meters);
  }

  private static void show(Budget budget, MeterRegistry meters) {
    Gauge.builder("dunlin.memory.used", budget, Budget::used)
        .description("Memory that clients make the node use, by kind")
        .baseUnit("bytes")
        .tag("budget", budget.name())
        .register(meters);
    Gauge.builder("dunlin.memory.limit", budget, Budget::limit)
        .description("The most of it that the node uses")
        .baseUnit("bytes")
        .tag("budget", budget.name())
        .register(meters);
    FunctionCounter.builder("dunlin.memory.refused", budget, Budget::refused)
        .description("Times that a client was refused, dropped a message for or held up because too little of it was left")
        .tag("budget", budget.name())
        .register(meters);
  }

  Bounds bounds() {
    return bounds;
  }

  /** The limits, in a line for the log. */
  @Override
  public String toString() {
    return "%d MiB of outgoing messages and their copies, %d MiB for clients' sockets".formatted(outgoing.limit() >> 20, sockets.limit() >> 20);
  }

  Budget outgoing() {
    return outgoing;
  }

  Budget sockets() {
    return sockets;
  }
}

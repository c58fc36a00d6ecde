package dunlin.broker.limit;

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
   *   unfinished    direct memory. What was read from known clients and not handled: packets that have not come whole, and what follows them while a
   *                 client is not read from. Who holds too much is not read from; packets that stay unfinished while others wait end their
   *                 connections (0x97).
   *   unauthenticated  the same of connections whose clients are not known yet, so that these cannot harm those that are.
   *   subscriptions  heap. The subscriptions of connected clients, with what the node keeps for their filters. One more is refused (0x97) to a session
   *                 that has much. What a durable session has stored before counts, and is taken in all the same.
   * Failure: what is held beside it (a packet's objects while it is handled, lanes, the stores' queues, retained topics) has bounds of its own.
   */
  private final Budget outgoing;
  private final Budget sockets;
  private final Budget unfinished;
  private final Budget unauthenticated;
  private final Budget subscriptions;
  private final Bounds bounds;

  /**
   * Bounds in bytes.
   *
   * @param outgoing of messages that wait for connected clients or are in flight to them, on the heap
   * @param sockets of what waits for clients' sockets, in direct memory
   * @param unfinished of packets of known clients that have not come whole, in direct memory
   * @param unauthenticated of what clients send before they are known, in direct memory
   * @param subscriptions of the subscriptions of connected clients, on the heap
   * @param inFlight of messages in flight to one client, passed by one message at most
   * @param filters of the topic filters of one session
   */
  public record Bounds(long outgoing, long sockets, long unfinished, long unauthenticated, long subscriptions, int inFlight, int filters) {
    /** Room for one packet of the largest size that can be set, whose buffer has twice its size, and as much for others. */
    public static final int INPUT_MIN = 8 << 20;

    public Bounds {
      if (inFlight < 1) throw new IllegalArgumentException("bytes in flight: at most " + inFlight);
      if (filters < 1) throw new IllegalArgumentException("bytes of filters: at most " + filters);
    }

    /** What this process should have, by its largest heap and its most direct memory. */
    public static Bounds ofThisProcess() {
      long heap = Runtime.getRuntime().maxMemory();
      long direct = PlatformDependent.maxDirectMemory();
      return new Bounds(heap / 4, direct / 4, Math.max(INPUT_MIN, direct / 4), Math.max(INPUT_MIN, direct / 16), heap / 8,
          Math.toIntExact(MemoryKeys.IN_FLIGHT.defaultValue()), Math.toIntExact(MemoryKeys.FILTERS.defaultValue()));
    }
  }

  public NodeBudget(Bounds bounds, MeterRegistry meters) {
    this.bounds = bounds;
    this.outgoing = new Budget("outgoing", bounds.outgoing());
    this.sockets = new Budget("sockets", bounds.sockets());
    this.unfinished = new Budget("unfinished", bounds.unfinished());
    this.unauthenticated = new Budget("unauthenticated", bounds.unauthenticated());
    this.subscriptions = new Budget("subscriptions", bounds.subscriptions());
    for (Budget budget : List.of(outgoing, sockets, unfinished, unauthenticated, subscriptions)) show(budget, meters);
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

  public Bounds bounds() {
    return bounds;
  }

  /** The limits, in a line for the log. */
  @Override
  public String toString() {
    return "%s for outgoing messages, %s for sockets, %s for unfinished packets, %s before authentication, %s for subscriptions"
        .formatted(text(outgoing), text(sockets), text(unfinished), text(unauthenticated), text(subscriptions));
  }

  private static String text(Budget budget) {
    return (budget.limit() >> 20) + " MiB";
  }

  public Budget outgoing() {
    return outgoing;
  }

  public Budget sockets() {
    return sockets;
  }

  public Budget unfinished() {
    return unfinished;
  }

  public Budget unauthenticated() {
    return unauthenticated;
  }

  public Budget subscriptions() {
    return subscriptions;
  }
}

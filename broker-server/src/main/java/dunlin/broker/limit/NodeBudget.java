package dunlin.broker.limit;

import dunlin.runtime.memory.HeapGuard;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.util.internal.PlatformDependent;
import java.util.List;

/**
 * The memory that all clients of a node together can make it use: a budget in bytes for each kind. Other settings bound
 * a single client; these budgets hold for any number of clients.
 */
public final class NodeBudget {
  /*
   * Owner: created when the node is composed, before the frontend; each event loop has a share of each budget (Budget.Share).
   * Bounds, and what happens when they are reached:
   * A budget covers memory that is held from one packet to the next; Budget decides who may hold more.
   *   outgoing      heap. Messages of QoS 1 and 2 that wait for connected clients or are in flight to them, and pages that were
   *                 read for them. A message that an event loop hands to many sessions at once counts once there, plus 128
   *                 bytes for each of them; in any other case it counts for each. A session without expiry gets no more
   *                 (messages are dropped and counted, a group asks another member); a durable session is not read for: its
   *                 messages wait in the inbox.
   *   sockets       direct memory. Bytes written for clients that their sockets have not accepted. QoS 0 is dropped and
   *                 counted, QoS 1 and 2 wait in their queues, and a client that does not read the answers to its own packets
   *                 is not read from.
   *   unfinished    direct memory. Bytes that were read from known clients and not processed: incomplete packets, and what
   *                 follows them while a client is not read from. A client that holds too much is not read from; if packets
   *                 stay incomplete while others wait, their connections are closed (0x97).
   *   unauthenticated  the same for connections whose clients are not known yet, so that these cannot harm the others.
   *   subscriptions  heap. The subscriptions of connected clients, with what the node keeps for their filters, and the routes of
   *                 filters without a subscription that are still to be removed. A session that has many is refused a further
   *                 one (0x97). Stored subscriptions of a durable session count, but are always accepted.
   *   requests      heap. SUBSCRIBE and UNSUBSCRIBE packets that wait for the session tier or for routes, until these answer, for the session
   *                 tier even if the connection has ended before. A SUBSCRIBE of a client that has much waiting is refused (0x97 for each topic
   *                 filter). It is not part of `subscriptions`: when stored subscriptions have used that up, clients must still be able to
   *                 repeat theirs. An UNSUBSCRIBE counts and is never refused, since it frees memory: it holds less than the subscriptions that
   *                 it ends have given back. The client is then not read from until it is answered.
   * The defaults of these and of the tiers' own bounds are more than the heap. While too much of that is live (HeapGuard), there is no further subscription but for a few of each client, and outgoing
   * messages have a quarter of their budget, or what waits then and a sixteenth of it: messages that are acknowledged go on. Requests come and go as well, and clients must be able to repeat their subscriptions.
   * Failure: other memory (the objects of a packet while it is processed, lanes, the stores' queues, retained topics) has
   * its own bounds.
   */
  private final Budget outgoing;
  private final Budget sockets;
  private final Budget unfinished;
  private final Budget unauthenticated;
  private final Budget subscriptions;
  private final Budget requests;
  private final Bounds bounds;
  private final HeapGuard heap;

  /**
   * Bounds in bytes.
   *
   * @param outgoing messages that wait for connected clients or are in flight to them, on the heap
   * @param sockets bytes that wait for clients' sockets, in direct memory
   * @param unfinished incomplete packets of known clients, in direct memory
   * @param unauthenticated packets of clients that are not authenticated yet, in direct memory
   * @param subscriptions subscriptions of connected clients, on the heap
   * @param requests unanswered SUBSCRIBE and UNSUBSCRIBE packets, on the heap
   * @param inFlight messages in flight to one client, exceeded by one message at most
   * @param filters topic filters of one session
   */
  public record Bounds(
      long outgoing, long sockets, long unfinished, long unauthenticated, long subscriptions, long requests, int inFlight, int filters) {
    /**
     * Room for one packet of the largest size that can be configured, whose buffer has twice its size, and the same
     * amount for others.
     */
    public static final int INPUT_MIN = 8 << 20;

    public Bounds {
      if (inFlight < 1) throw new IllegalArgumentException("bytes in flight: at most " + inFlight);
      if (filters < 1) throw new IllegalArgumentException("bytes of filters: at most " + filters);
    }

    /** The defaults for this process, from its maximum heap and direct memory. */
    public static Bounds ofThisProcess() {
      long heap = Runtime.getRuntime().maxMemory();
      long direct = PlatformDependent.maxDirectMemory();
      return new Bounds(heap / 4, direct / 4, Math.max(INPUT_MIN, direct / 4), Math.max(INPUT_MIN, direct / 16), heap / 8, heap / 16,
          Math.toIntExact(MemoryKeys.IN_FLIGHT.defaultValue()), Math.toIntExact(MemoryKeys.FILTERS.defaultValue()));
    }
  }

  public NodeBudget(Bounds bounds, HeapGuard heap, MeterRegistry meters) {
    this.bounds = bounds;
    this.heap = heap;
    this.outgoing = new Budget("outgoing", bounds.outgoing(), heap, held -> Math.max(bounds.outgoing() / 4, held + bounds.outgoing() / 16));
    this.sockets = new Budget("sockets", bounds.sockets());
    this.unfinished = new Budget("unfinished", bounds.unfinished());
    this.unauthenticated = new Budget("unauthenticated", bounds.unauthenticated());
    this.subscriptions = new Budget("subscriptions", bounds.subscriptions(), heap, _ -> 0);
    this.requests = new Budget("requests", bounds.requests());
    for (Budget budget : List.of(outgoing, sockets, unfinished, unauthenticated, subscriptions, requests)) show(budget, meters);
    Gauge.builder("dunlin.memory.live", heap, HeapGuard::live)
        .description("Part of the heap that was live after old objects were last collected, from 0 to 1; 0 before the first such collection")
        .register(meters);
    Gauge.builder("dunlin.memory.full", heap, guard -> guard.isFull() ? 1 : 0)
        .description("1 while so much of the heap is live (dunlin.memory.live-max) that new sessions, subscriptions and retained topics are refused, else 0")
        .register(meters);
  }

  private static void show(Budget budget, MeterRegistry meters) {
    Gauge.builder("dunlin.memory.used", budget, Budget::used)
        .description("Memory that clients make the node use, by kind")
        .baseUnit("bytes")
        .tag("budget", budget.name())
        .register(meters);
    Gauge.builder("dunlin.memory.limit", budget, Budget::present)
        .description("Limit of the memory that clients may make the node use, by kind")
        .baseUnit("bytes")
        .tag("budget", budget.name())
        .register(meters);
    FunctionCounter.builder("dunlin.memory.refused", budget, Budget::refused)
        .description("Times that a client was refused or delayed, or lost a message, because a memory limit was nearly used up")
        .tag("budget", budget.name())
        .register(meters);
  }

  public Bounds bounds() {
    return bounds;
  }

  /** Where most of this memory is. */
  public HeapGuard heap() {
    return heap;
  }

  /** The limits in one line, for the log. */
  @Override
  public String toString() {
    return "%s for outgoing messages, %s for sockets, %s for unfinished packets, %s before authentication, %s for subscriptions, %s for requests"
        .formatted(text(outgoing), text(sockets), text(unfinished), text(unauthenticated), text(subscriptions), text(requests));
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

  public Budget requests() {
    return requests;
  }
}

package dunlin.broker.fanout;

import dunlin.broker.loop.Loop;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.transport.Acknowledgement;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Delivers messages of one event loop that have too many subscribers there for one round. They are delivered in slices,
 * and the loop serves its sockets between two slices, so that a broadcast delays no client for longer than a slice.
 */
public final class WideFanout {
  /*
   * Owner: the event loop.
   * Messages are delivered one after the other in the order of arrival. A message waits here if it is wide itself, or
   * if one of its filters has a waiting message, so that each subscriber gets the messages of a topic in order. All
   * other messages are delivered directly.
   * Bounds: each message holds credit of its lane until it is delivered, so a publisher that is faster than its
   *   subscribers' sockets is not read from. Only the first message has a list of its subscribers.
   * Failure: a subscriber that has left between two slices is skipped. If a bug keeps the message from a subscriber,
   *   the others get it, and its publisher gets an error. However a slice ends, another one follows while messages
   *   wait.
   */
  private final LoopFanout fanout;
  private final Loop loop;
  private final int threshold;

  private final ArrayDeque<Wide> waiting = new ArrayDeque<>();

  /** The number of waiting messages of each filter. */
  private final Map<FilterHandle, Integer> busy = new HashMap<>();

  private boolean sliceDue;
  private volatile int waitingCount;

  /** A delivery to one session that was decided but not made yet. */
  private record Due(Recipient session, @Nullable Subscriber subscriber, SubscriptionOptions options, int[] identifiers) {}

  /** A waiting message with the filters that it matched. */
  private static final class Wide {
    final Publication message;
    final FilterHandle[] filters;
    final @Nullable Acknowledgement acknowledgement;
    final Loop from;
    @Nullable List<Due> due;
    int delivered;

    Wide(Publication message, FilterHandle[] filters, @Nullable Acknowledgement acknowledgement, Loop from) {
      this.message = message;
      this.filters = filters;
      this.acknowledgement = acknowledgement;
      this.from = from;
    }
  }

  /** @param threshold maximum number of subscribers on this loop for delivery at once, and the size of a slice */
  WideFanout(LoopFanout fanout, int threshold) {
    this.fanout = fanout;
    this.loop = fanout.loop();
    this.threshold = threshold;
  }

  /** Number of waiting messages; any thread. */
  public int waiting() {
    return waitingCount;
  }

  /** Whether a message of this filter has to wait. */
  boolean takes(FilterHandle filter) {
    SubscriberList subscribers = filter.on(loop.index());
    if (subscribers != null && subscribers.size() > threshold) return true;
    return !waiting.isEmpty() && busy.containsKey(filter);
  }

  /** Whether a message of these filters has to wait. */
  boolean takes(FilterHandle[] filters, int count) {
    int wide = 0;
    for (int i = 0; i < count; i++) {
      SubscriberList subscribers = filters[i].on(loop.index());
      if (subscribers != null) wide += subscribers.size();
      if (wide > threshold || (!waiting.isEmpty() && busy.containsKey(filters[i]))) return true;
    }
    return false;
  }

  /**
   * Adds a message that has to wait.
   *
   * @param acknowledgement expects one answer for this message; null for none
   * @param from the loop of its lane, which gets its credit back
   */
  void add(Publication message, FilterHandle[] filters, @Nullable Acknowledgement acknowledgement, Loop from) {
    waiting.add(new Wide(message, filters, acknowledgement, from));
    waitingCount = waiting.size();
    for (FilterHandle filter : filters) busy.merge(filter, 1, Integer::sum);
    if (sliceDue) return;
    sliceDue = true;
    loop.executor().execute(this::slice);
  }

  private void slice() {
    sliceDue = false;
    int left = threshold;
    try {
      for (Wide head = waiting.peek(); head != null && left > 0; head = waiting.peek()) {
        List<Due> due = head.due;
        if (due == null) head.due = due = subscribers(head);
        int end = Math.min(due.size(), head.delivered + left);
        left -= Math.max(1, end - head.delivered);
        while (head.delivered < end) deliver(head, due.get(head.delivered++));
        if (end == due.size()) done(head);
      }
    } finally {
      if (!waiting.isEmpty()) {
        sliceDue = true;
        loop.afterSockets(this::slice);
      }
    }
  }

  private List<Due> subscribers(Wide head) {
    if (head.filters.length > 1) return merged(head);
    SubscriberList subscribers = head.filters[0].on(loop.index());
    if (subscribers == null) return List.of();
    List<Due> due = new ArrayList<>(subscribers.size());
    for (int i = 0; i < subscribers.size(); i++) {
      Subscriber subscriber = subscribers.get(i);
      due.add(new Due(subscriber.session, subscriber, subscriber.options(), subscriber.identifiers()));
    }
    return due;
  }

  /** The deliveries to each session once, with its merged subscriptions. */
  private List<Due> merged(Wide head) {
    List<Due> due = new ArrayList<>();
    fanout.merge(
        head.message,
        head.filters,
        head.filters.length,
        head.acknowledgement,
        (session, options, identifiers) -> due.add(new Due(session, null, options, identifiers)));
    return due;
  }

  private void deliver(Wide head, Due due) {
    boolean left = due.subscriber() != null && due.subscriber().place() < 0;
    if (left) return;
    try {
      due.session().offer(head.message, due.options(), due.identifiers());
    } catch (RuntimeException | AssertionError e) {
      fanout.notDelivered(due.session(), head.acknowledgement, e);
    }
  }

  private void done(Wide head) {
    waiting.remove();
    waitingCount = waiting.size();
    for (FilterHandle filter : head.filters) {
      busy.computeIfPresent(filter, (_, count) -> count == 1 ? null : count - 1);
    }
    int size = head.message.body().length;
    if (head.from == loop) loop.window().give(1, size);
    else loop.batchTo(head.from).giveCredit(1, size);
    Acknowledgement acknowledgement = head.acknowledgement;
    if (acknowledgement != null) loop.runSafely(() -> acknowledgement.answer(ReasonCode.SUCCESS));
  }
}

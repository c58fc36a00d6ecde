package dunlin.broker;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.broker.meter.LoopCounts;
import dunlin.model.Publication;
import dunlin.retain.RetainClient;
import dunlin.runtime.DropReason;
import dunlin.runtime.LogText;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One subscription of the application that embeds the node. */
public final class ApplicationSubscription implements ApplicationSubscriptions.Taker, AutoCloseable {
  /*
   * Owner: any thread, under the lock. A separate virtual thread first reads the retained messages, a page at a time,
   * and calls the listener.
   * Bounds: MESSAGES_MAX waiting messages, within a number of bytes that all subscriptions share; a page of retained
   * messages.
   * Order: live messages arrive in the order of their lanes, behind all retained ones. A retained message is left out
   * if a live message of its topic has arrived since the subscription, because it may be older [MQTT-3.3.1-9].
   * Failure: if the queue is full, new messages are dropped and counted. A message whose listener throws counts as
   * delivered, and the next one follows. A page that cannot be read is logged and ends the retained messages.
   */
  static final int MESSAGES_MAX = 10_000;

  /** Estimated memory of a message apart from its body. */
  private static final int MESSAGE_BYTES = 160;

  private static final int PAGE_MESSAGES = 100;
  private static final int PAGE_BYTES = 1_024 * 1_024;
  private static final Logger log = LoggerFactory.getLogger(ApplicationSubscription.class);

  /**
   * A message for the listener.
   *
   * @param retained whether it was a retained message when the application subscribed
   */
  public record Received(Publication message, boolean retained) {}

  /** The bytes that the queues of all subscriptions share. */
  interface Room {
    /** Takes a number of bytes; false if that many are not left. */
    boolean take(long bytes);

    void give(long bytes);
  }

  private final String tenant;
  private final String filter;
  private final RetainClient retain;
  private final InstantSource clock;
  private final Room room;
  private final Consumer<Received> listener;
  private final Consumer<ApplicationSubscription> onClose;
  @GuardedBy("this")
  private final ArrayDeque<Publication> waiting = new ArrayDeque<>();
  @GuardedBy("this")
  private @Nullable Set<String> cameLive = new HashSet<>(); // null once the retained messages have been read
  @GuardedBy("this")
  private long dropped;
  @GuardedBy("this")
  private boolean closed;

  ApplicationSubscription(
      String tenant,
      String filter,
      RetainClient retain,
      InstantSource clock,
      Room room,
      Consumer<Received> listener,
      Consumer<ApplicationSubscription> onClose) {
    this.tenant = tenant;
    this.filter = filter;
    this.retain = retain;
    this.clock = clock;
    this.room = room;
    this.listener = listener;
    this.onClose = onClose;
  }

  void start() {
    Thread.ofVirtual().name("dunlin-application " + LogText.quoted(filter)).start(this::run);
  }

  /** Number of messages that were dropped because the listener did not keep up. */
  public synchronized long dropped() {
    return dropped;
  }

  @Override
  public void take(Publication message, LoopCounts.Hop copies) {
    copies.received(message, null);
    if (offer(message)) copies.delivered(message, null);
    else copies.dropped(DropReason.QUEUE_FULL, message, null);
  }

  /** Queues a message for the listener; false if there is no room. */
  private synchronized boolean offer(Publication message) {
    if (closed) return true; // a closed subscription gets no messages
    if (waiting.size() == MESSAGES_MAX || !room.take(cost(message))) {
      dropped++;
      return false;
    }
    waiting.add(message);
    if (cameLive != null) cameLive.add(message.topic());
    notifyAll();
    return true;
  }

  private void run() {
    try {
      readRetained();
      for (Publication next; (next = take()) != null; ) if (!next.expired(clock.millis())) tell(next, false);
    } catch (InterruptedException e) {
      close();
    }
  }

  private void readRetained() {
    RetainClient.Cursor from = null;
    try {
      do {
        var page = retain.find(tenant, filter, from, PAGE_MESSAGES, PAGE_BYTES).join();
        for (var message : page.messages()) if (isNewest(message)) tell(message, true);
        from = page.next();
      } while (from != null && !isClosed());
    } catch (CompletionException e) {
      log.warn("Retained messages of {} could not be read for the application", LogText.quoted(filter), e);
    }
    synchronized (this) {
      cameLive = null;
    }
  }

  private synchronized boolean isNewest(Publication retained) {
    return !closed && (cameLive == null || !cameLive.contains(retained.topic()));
  }

  private synchronized @Nullable Publication take() throws InterruptedException {
    while (waiting.isEmpty() && !closed) wait();
    var next = waiting.poll();
    if (next != null) room.give(cost(next));
    return next;
  }

  private static long cost(Publication message) {
    return (long) message.body().length + MESSAGE_BYTES;
  }

  private void tell(Publication message, boolean retained) {
    try {
      listener.accept(new Received(message, retained));
    } catch (RuntimeException | Error e) {
      log.error("The listener of {} failed with a message to {}", LogText.quoted(filter), LogText.quoted(message.topic()), e);
    }
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  /**
   * Ends the subscription: waiting messages are discarded, and the listener gets none after the one that it is
   * processing.
   */
  @Override
  public void close() {
    synchronized (this) {
      if (closed) return;
      closed = true;
      for (var message : waiting) room.give(cost(message));
      waiting.clear();
      notifyAll();
    }
    onClose.accept(this);
  }
}

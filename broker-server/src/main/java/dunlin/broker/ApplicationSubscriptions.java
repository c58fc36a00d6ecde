package dunlin.broker;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.broker.auth.Identity;
import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.codec.MalformedPacketException;
import dunlin.broker.codec.TopicNames;
import dunlin.broker.loop.LoopThread;
import dunlin.broker.loop.Tiers;
import dunlin.broker.meter.LoopCounts;
import dunlin.broker.session.SubscribeRules;
import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.runtime.LogText;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The subscriptions of the application that embeds the node, without a connection, and what operators watch. They are one more shard of the
 * dist tier.
 */
public final class ApplicationSubscriptions implements Delivery, AutoCloseable {
  /*
   * As for a client whose session ends with its connection, a message counts as delivered when it is in the
   * subscription's queue. So a slow or blocked listener delays no publisher, and loses messages when its queue is full.
   *
   * Owner: any thread subscribes, under the lock; event loops deliver without a lock.
   * Bounds: SUBSCRIPTIONS_MAX subscriptions; a queue for each, see ApplicationSubscription; bytesMax bytes in all
   * queues.
   * Failure: a route that cannot be set fails the call. Routes from before a restart of the node are void by their
   * incarnation, and the start removes them.
   */
  static final int SUBSCRIPTIONS_MAX = 1_000;
  private static final String NAME = "application:";

  private final FrontendIdentity identity;
  private final Tiers tiers;
  private final DecoderLimits limits;
  private final SubscribeRules rules;
  private final InstantSource clock;
  private final ShardId shard;
  private final Consumer<ApplicationSubscriptions> attach;
  private final Room room;
  @GuardedBy("this")
  private final Map<Key, Filter> filters = new HashMap<>();
  private final ConcurrentHashMap<Integer, Filter> byHandle = new ConcurrentHashMap<>();
  @GuardedBy("this")
  private int lastHandle;
  @GuardedBy("this")
  private int count;
  @GuardedBy("this")
  private long incarnation;
  @GuardedBy("this")
  private boolean attached;
  @GuardedBy("this")
  private boolean closed;

  private record Key(String tenant, TopicFilter filter) {}

  /** The bytes that all queues together may take. */
  private static final class Room implements ApplicationSubscription.Room {
    final AtomicLong bytes = new AtomicLong();
    private final long max;

    Room(long max) {
      this.max = max;
    }

    @Override
    public boolean take(long more) {
      if (bytes.addAndGet(more) <= max) return true;
      bytes.addAndGet(-more);
      return false;
    }

    @Override
    public void give(long back) {
      bytes.addAndGet(-back);
    }
  }

  /** What matched messages are handed to, on the event loop of their lane. */
  interface Taker {
    /** Takes a message, or drops it, without waiting. */
    void take(Publication message, LoopCounts.Hop copies);

    void close();
  }

  /** One topic filter with all its subscriptions. */
  private static final class Filter {
    volatile Route route; // its incarnation rises
    volatile Taker[] subscriptions = {};

    Filter(Route route) {
      this.route = route;
    }

    void add(Taker more) {
      var before = subscriptions;
      var after = Arrays.copyOf(before, before.length + 1);
      after[before.length] = more;
      subscriptions = after;
    }

    boolean remove(Taker gone) {
      var before = subscriptions;
      subscriptions = Arrays.stream(before).filter(each -> !each.equals(gone)).toArray(Taker[]::new);
      return subscriptions.length < before.length;
    }
  }

  /**
   * @param identity the frontend on whose event loops it is called; its incarnation is the smallest that these routes have
   * @param attach attaches this object to the dist tier; called before the first route is set
   * @param bytesMax maximum number of bytes of all messages that wait for listeners
   */
  ApplicationSubscriptions(
      FrontendIdentity identity,
      Tiers tiers,
      DecoderLimits limits,
      SubscribeRules rules,
      InstantSource clock,
      Consumer<ApplicationSubscriptions> attach,
      MeterRegistry meters,
      long bytesMax) {
    this.identity = identity;
    this.incarnation = identity.incarnation();
    this.tiers = tiers;
    this.limits = limits;
    this.rules = rules;
    this.clock = clock;
    this.shard = shardOf(identity.nodeId());
    this.attach = attach;
    this.room = new Room(bytesMax);
    Gauge.builder("dunlin.application.waiting.bytes", room.bytes, AtomicLong::get)
        .description("Size of the messages that wait for listeners of the application that embeds the node")
        .baseUnit("bytes")
        .register(meters);
  }

  /** The shard of the subscriptions of the application that embeds a node. */
  public static ShardId shardOf(String nodeId) {
    return ShardId.frontend(NAME + nodeId);
  }

  /** The shard of these subscriptions. */
  public ShardId shard() {
    return shard;
  }

  /**
   * Subscribes. When the future completes, the listener gets every message that is accepted from then on, after the
   * present retained messages.
   *
   * @param text a topic filter, not a shared subscription
   * @param listener called on a thread of its own, with one message after the other
   * @throws IllegalArgumentException if a client could not subscribe to it
   * @return the subscription; fails with an {@link IllegalStateException} if there are too many, the node is closed, or
   *     the route cannot be set
   */
  public CompletableFuture<ApplicationSubscription> subscribe(String tenant, String text, Consumer<ApplicationSubscription.Received> listener) {
    TopicFilter filter = plain(text);
    var subscription = new ApplicationSubscription(tenant, filter.filter(), tiers.retain(), clock, room, listener, this::remove);
    return routed(tenant, filter, subscription)
        .thenApply(
            made -> {
              made.start();
              return made;
            });
  }

  /**
   * Watches the messages of a topic filter for an operator. What is accepted once the future has completed, is seen, or skipped and counted;
   * retained messages are not. While a filter is watched, its publishers are not told that there are no matching subscribers.
   *
   * @param text a topic filter, not a shared subscription
   * @param messagesMax the most messages that wait to be looked at
   * @param bytesMax the most bytes of these, if there is more than one
   * @throws IllegalArgumentException if a client could not subscribe to it, or be of that tenant
   * @return as of {@link #subscribe}
   */
  public CompletableFuture<MessageWatch> watch(String tenant, String text, int messagesMax, long bytesMax) {
    String checked = new Identity(tenant, "").tenant();
    return routed(checked, plain(text), new MessageWatch(messagesMax, bytesMax, this::remove));
  }

  private <T extends Taker> CompletableFuture<T> routed(String tenant, TopicFilter filter, T subscription) {
    CompletableFuture<Void> routed;
    synchronized (this) {
      if (closed) return CompletableFuture.failedFuture(new IllegalStateException("this node has been closed"));
      if (count == SUBSCRIPTIONS_MAX) return CompletableFuture.failedFuture(new IllegalStateException("the limit of %d subscriptions is reached".formatted(count)));
      count++;
      if (!attached) attach.accept(this);
      attached = true;
      var of = filters.computeIfAbsent(new Key(tenant, filter), key -> new Filter(new Route(tenant, filter, shard, incarnation, ++lastHandle)));
      byHandle.put(of.route.handle(), of);
      of.add(subscription);
      routed = tiers.dist().addRoute(of.route);
    }
    return routed.handle(
        (_, failure) -> {
          if (failure == null) return subscription;
          subscription.close();
          throw new IllegalStateException("not subscribed to " + filter.text() + ": " + failure.getMessage(), failure);
        });
  }

  /** Parses a topic filter by the rules for clients. */
  private TopicFilter plain(String text) {
    try {
      TopicNames.checkCharacters(text, limits);
    } catch (MalformedPacketException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
    var parsed = TopicFilter.parse(text);
    var refusal = rules.refusal(parsed);
    if (refusal != null) throw new IllegalArgumentException("the topic filter %s %s".formatted(LogText.quoted(text), refusal.explanation()));
    var filter = parsed.orElseThrow();
    if (filter.shared()) throw new IllegalArgumentException("a shared subscription: " + LogText.quoted(text));
    return filter;
  }

  private synchronized void remove(Taker gone) {
    for (var each : filters.entrySet()) {
      var of = each.getValue();
      if (!of.remove(gone)) continue;
      count--;
      if (of.subscriptions.length > 0) return;
      filters.remove(each.getKey());
      byHandle.remove(of.route.handle());
      var _ = tiers.dist().removeRoute(of.route); // a route that cannot be removed is void after the node's restart
      return;
    }
  }

  /** Sets all routes again with a larger incarnation, which later ones have, too. Completes when they are set. */
  CompletableFuture<Void> renewRoutes(long larger) {
    synchronized (this) {
      incarnation = larger;
      var each = new ArrayList<CompletableFuture<Void>>();
      for (var of : filters.values()) {
        of.route = new Route(of.route.tenant(), of.route.filter(), shard, larger, of.route.handle());
        each.add(tiers.dist().addRoute(of.route));
      }
      return CompletableFuture.allOf(each.toArray(CompletableFuture[]::new));
    }
  }

  @Override
  public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    var loop = LoopThread.current();
    if (loop == null) throw new IllegalStateException("a lane without an event loop");
    for (int i = 0; i < routes.size(); i++) {
      var route = routes.get(i);
      var of = route.incarnation() >= identity.incarnation() ? byHandle.get(route.handle()) : null;
      if (of == null) continue;
      for (var subscription : of.subscriptions) subscription.take(message, loop.counts().copies());
    }
    if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
  }

  @Override
  public int groupCredit(Route route) {
    return 0;
  }

  /** Ends all subscriptions. */
  @Override
  public void close() {
    Taker[] all;
    synchronized (this) {
      closed = true;
      all = filters.values().stream().flatMap(of -> Arrays.stream(of.subscriptions)).toArray(Taker[]::new);
    }
    for (var subscription : all) subscription.close();
  }
}

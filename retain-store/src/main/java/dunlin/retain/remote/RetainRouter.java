package dunlin.retain.remote;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient;
import dunlin.retain.RetainOperations;
import dunlin.retain.RetainRangeClient.Listing;
import dunlin.retain.RetainRangeClient.Sums;
import dunlin.retain.RetainedMessagesMXBean;
import dunlin.retain.TopicKeys;
import dunlin.runtime.Failures;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The retain tier of a cluster: passes each call to the leader of the range that has its key, also while ranges are split. */
public final class RetainRouter implements RetainClient, AutoCloseable {
  /*
   * A call goes to a range at the epoch that the map says. A range that was split refuses what names its old epoch, and does nothing. From the first such answer, or
   * from the map that shows the split, all calls for the old range's keys wait until every call on its way is answered. Then they go, with the refused ones among them and
   * in the order in which they were made, to the ranges that the map has now. So the changes of a topic keep the order in which a thread has made them, and what a thread
   * has set before it asks for a page is in that page.
   *
   * Owner: any thread calls. The lock is taken when ranges change or a call has to wait; while they do not, a call only reads `ways` and counts itself on its way. The lock
   *   is held while waiting calls are made, which never blocks.
   * Bounds: a message that is set holds credit of its publisher's lane until it is answered, waiting or not. A session and an operator have one page each. All pages together
   *   have room for pageBytesMax; the others wait in a line. One link for each range, and ranges are never joined.
   * Failure: a call that waits for the map for PATIENCE fails, and nothing was done. With a lost link, set() answers SERVER_UNAVAILABLE for what was on its way, which may be kept or
   *   not; all others fail with a StoreException.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RetainRouter.class);
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final long LOOK_AGAIN_MILLIS = 1_000;

  private final Function<UUID, RemoteRetain> opener;
  private final ScheduledExecutorService timer;
  private final AtomicLong calls = new AtomicLong();
  private final int messageMax;
  private final Duration patience;
  private final PageRoom room;
  private final CompletableFuture<Void> reached = new CompletableFuture<>();

  /** What ranges had when they were asked last. */
  private final Map<UUID, Sums> known = new ConcurrentHashMap<>();

  /** Ranges that have been asked, and have not answered yet. */
  private final Set<UUID> asked = ConcurrentHashMap.newKeySet();

  /** By range; never removed. */
  private final Map<UUID, RemoteRetain> links = new ConcurrentHashMap<>();

  /** All ways, by their keys: those that have ended and are not empty hide those in their place. */
  private volatile Ways ways = new Ways(List.of(RangeWay.unknown()), List.of());

  @GuardedBy("this")
  private boolean begun;

  @GuardedBy("this")
  private boolean closed;

  @GuardedBy("this")
  private boolean looking;

  /**
   * @param ending have ended; calls for their keys wait
   * @param newest of the newest map
   */
  private record Ways(List<RangeWay> ending, List<RangeWay> newest) {
    @Nullable RangeWay find(byte[] key) {
      return find(key, null);
    }

    /** @param without a way that is not looked at */
    @Nullable RangeWay find(byte[] key, @Nullable RangeWay without) {
      for (var way : ending) if (way != without && way.has(key)) return way;
      for (var way : newest) if (way.has(key)) return way;
      return null;
    }

    Ways ending(RangeWay way) {
      if (ending.contains(way)) return this;
      var more = new ArrayList<>(ending);
      more.add(way);
      return new Ways(List.copyOf(more), newest);
    }

    Ways without(RangeWay way) {
      return new Ways(ending.stream().filter(each -> each != way).toList(), newest);
    }
  }

  /**
   * Knows no range, until {@link #ranges}.
   *
   * @param node as the leaders of ranges are to know this caller; no two callers have one name
   * @param incarnation which life of it, larger than those before
   * @param networks leads to the leader of a range
   * @param owner runs tasks on the links' thread, soon, in their order
   * @param bounds of each range's calls; those of pages are for all ranges together
   * @param messageMax bytes of the largest message there can be, from 1
   * @param timer gives up calls that have waited for too long; the caller closes it
   */
  public RetainRouter(
      String node, long incarnation, Function<UUID, CallLinks.Network> networks, Executor owner, CallBounds bounds, int messageMax, ScheduledExecutorService timer,
      MeterRegistry registry) {
    this(
        range -> new RemoteRetain(node, incarnation, networks.apply(range), owner, bounds, messageMax), timer, bounds.answersMax(), messageMax, PATIENCE, registry);
  }

  /**
   * With other ways to ranges.
   *
   * @param opener makes the way to a range, without a link
   */
  RetainRouter(
      Function<UUID, RemoteRetain> opener, ScheduledExecutorService timer, long pageBytesMax, int messageMax, Duration patience, MeterRegistry registry) {
    this.opener = opener;
    this.timer = timer;
    this.messageMax = messageMax;
    this.patience = patience;
    room = new PageRoom(pageBytesMax);
    gauge(registry, "dunlin.retain.calls", null, router -> router.sum(CallLinks::calls), "Calls to the leaders of retained messages that are not answered");
    gauge(registry, "dunlin.retain.calls.size", "bytes", router -> router.sum(CallLinks::bytes), "Bytes of the calls to the leaders of retained messages that are not answered");
    gauge(registry, "dunlin.retain.calls.held", null, RetainRouter::held, "Calls about retained messages that wait until the map of the cluster shows how a range was split");
    counter(registry, "dunlin.retain.calls.refused", CallLinks::refused, "Calls to the leaders of retained messages that failed since too many were not answered");
    counter(registry, "dunlin.retain.links.lost", CallLinks::lost, "Links to the leaders of retained messages that were lost");
  }

  private void gauge(MeterRegistry registry, String name, @Nullable String unit, ToDoubleFunction<RetainRouter> value, String help) {
    Gauge.builder(name, this, value).description(help).baseUnit(unit).register(registry);
  }

  private void counter(MeterRegistry registry, String name, ToLongFunction<CallLinks> value, String help) {
    FunctionCounter.builder(name, this, router -> router.sum(value)).description(help).register(registry);
  }

  private long sum(ToLongFunction<CallLinks> of) {
    return links.values().stream().map(RemoteRetain::links).mapToLong(of).sum();
  }

  private synchronized double held() {
    return ways.ending.stream().mapToInt(way -> way.held.size()).sum();
  }

  /** Begins the links. Completes when the leaders of all ranges of the first map with ranges have taken theirs. Any thread, once. */
  public CompletableFuture<Void> begin() {
    List<RemoteRetain> first;
    synchronized (this) {
      begun = true;
      first = List.copyOf(links.values());
    }
    begin(first);
    return reached;
  }

  private void begin(List<RemoteRetain> some) {
    var taken = some.stream().map(RemoteRetain::begin).toArray(CompletableFuture<?>[]::new);
    if (taken.length > 0) CompletableFuture.allOf(taken).thenRun(() -> reached.complete(null));
  }

  /** Whether the leaders of all ranges have taken the present links. Any thread. */
  public boolean isReached() {
    var now = ways.newest;
    return !now.isEmpty() && now.stream().allMatch(way -> way.link != null && way.link.isReached());
  }

  /** Takes the ranges of a newer map, whose keys are disjoint. Any thread, in the order of the maps; never blocks. */
  public synchronized void ranges(List<RangeDescriptor> ranges) {
    if (closed || ranges.isEmpty()) return;
    var fresh = new ArrayList<RemoteRetain>();
    var before = new HashMap<UUID, RangeWay>();
    for (var way : ways.newest) if (way.range != null) before.put(way.range.id(), way);
    var newest = new ArrayList<RangeWay>();
    for (var range : ranges) {
      var same = before.get(range.id());
      if (same != null && same.epoch() >= range.epoch()) newest.add(same);
      else newest.add(RangeWay.to(range, links.computeIfAbsent(range.id(), id -> opened(id, fresh))));
    }
    var next = new Ways(ways.ending, List.copyOf(newest));
    for (var way : ways.newest) {
      if (newest.contains(way)) continue;
      way.end();
      next = next.ending(way);
    }
    ways = next;
    if (begun) begin(fresh); // before calls that have waited for them
    for (var way : next.ending) {
      way.superseded = !newest.contains(way);
      settle(way);
    }
  }

  private RemoteRetain opened(UUID range, List<RemoteRetain> fresh) {
    var link = opener.apply(range);
    fresh.add(link);
    return link;
  }

  /** Makes the calls that wait for a way to be empty, when it is. Other calls for its keys wait for the lock until these are made. */
  @GuardedBy("this")
  private void settle(RangeWay way) {
    if (!way.superseded || !way.isEmpty() || !ways.ending.contains(way)) return;
    for (var next = way.held.pollFirstEntry(); next != null; next = way.held.pollFirstEntry()) dispatch(next.getValue(), way);
    ways = ways.without(way);
  }

  private <T> CompletableFuture<T> call(byte[] key, RoutedCall.Maker<T> maker) {
    var call = new RoutedCall<>(calls.incrementAndGet(), key, maker);
    var way = ways.find(key);
    if (way != null && way.enter()) {
      make(call, way);
      return call.answer;
    }
    synchronized (this) {
      dispatch(call, null);
    }
    return call.answer;
  }

  @GuardedBy("this")
  private void dispatch(RoutedCall<?> call, @Nullable RangeWay without) {
    var way = ways.find(call.key, without);
    if (closed || way == null) call.answer.completeExceptionally(new StoreException(closed ? "this node is closing" : "no range of the cluster has the topic"));
    else if (way.enter()) make(call, way);
    else hold(call, way);
  }

  private <T> void make(RoutedCall<T> call, RangeWay way) {
    var _ =
        Failures.inFuture(() -> call.maker.make(Objects.requireNonNull(way.link), way.epoch()))
            .whenComplete((answer, failure) -> answered(call, way, answer, failure == null ? null : Failures.unwrapped(failure)));
  }

  private <T> void answered(RoutedCall<T> call, RangeWay way, T answer, @Nullable Throwable failure) {
    if (failure instanceof WrongEpochException) {
      synchronized (this) {
        way.end();
        ways = ways.ending(way);
        hold(call, way);
        way.leave();
        settle(way);
      }
      return;
    }
    way.leave();
    if (way.isEmpty()) {
      synchronized (this) {
        settle(way);
      }
    }
    if (failure == null) call.answer.complete(answer);
    else call.answer.completeExceptionally(failure);
  }

  @GuardedBy("this")
  private void hold(RoutedCall<?> call, RangeWay way) {
    call.untilNanos = System.nanoTime() + patience.toNanos();
    way.held.put(call.number, call);
    if (looking) return;
    looking = true;
    timer.schedule(this::giveUp, LOOK_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Fails what has waited for too long. */
  private void giveUp() {
    var late = new ArrayList<RoutedCall<?>>();
    synchronized (this) {
      long now = System.nanoTime();
      boolean all = closed;
      for (var way : ways.ending) way.held.values().removeIf(call -> (all || call.untilNanos - now < 0) && late.add(call));
      looking = !closed && ways.ending.stream().anyMatch(way -> !way.held.isEmpty());
      if (looking) timer.schedule(this::giveUp, LOOK_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
    }
    for (var call : late) call.answer.completeExceptionally(new StoreException("the map of the cluster does not show which range has the topic"));
  }

  @Override
  public void set(Publication message, Consumer<ReasonCode> answer) {
    assert message.retain() : "not to be retained [MQTT-3.3.1-8]: " + message;
    if (!TopicKeys.hasKey(message)) {
      answer.accept(ReasonCode.TOPIC_NAME_INVALID);
      return;
    }
    var _ =
        call(TopicKeys.of(message), (link, epoch) -> link.set(epoch, message))
            .whenComplete((reason, failure) -> answer.accept(failure == null ? reason : unavailable(failure)));
  }

  private static ReasonCode unavailable(Throwable failure) {
    LOG.debug("It is not known whether a message to be retained was stored: {}", failure.getMessage());
    return ReasonCode.SERVER_UNAVAILABLE;
  }

  @Override
  public CompletableFuture<Page> find(String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    if (messagesMax < 1) throw new IllegalArgumentException("a page of " + messagesMax + " messages");
    byte[] key = TopicKeys.first(tenant, filter, after);
    return room.when((long) bytesMax + messageMax, () -> call(key, (link, epoch) -> link.find(epoch, tenant, filter, after, messagesMax, bytesMax)));
  }

  /** The operations on all ranges for operators. */
  public RetainedMessagesMXBean operations() {
    return RetainOperations.over(this, this::list, this::topics);
  }

  /** Lists keys that begin with a prefix, as far as one range has them. */
  CompletableFuture<Listing> list(byte[] prefix, byte[] from, int max) {
    return call(from, (link, epoch) -> link.list(epoch, prefix, from, max));
  }

  @Override
  public CompletableFuture<Long> count() {
    var asking = ways.newest.stream().map(way -> Objects.requireNonNull(way.link).sums()).toList();
    if (asking.isEmpty()) return CompletableFuture.failedFuture(new StoreException("no range of the cluster is known yet"));
    return CompletableFuture.allOf(asking.toArray(CompletableFuture<?>[]::new)).thenApply(_ -> asking.stream().mapToLong(each -> each.join().messages()).sum());
  }

  /** Asks all ranges what they have now. Any thread; the answers come later. */
  public void ask() {
    for (var way : ways.newest) {
      if (way.range == null || way.link == null || !asked.add(way.range.id())) continue;
      UUID range = way.range.id();
      var _ =
          way.link
              .sums()
              .whenComplete(
                  (sums, failure) -> {
                    if (failure == null) known.put(range, sums);
                    asked.remove(range);
                  });
    }
  }

  /** What all ranges but this one had when they were asked last; a range that has never answered counts for nothing. Any thread. */
  public Sums elsewhere(UUID range) {
    var sums = Sums.NONE;
    for (var each : known.entrySet()) if (!each.getKey().equals(range)) sums = sums.plus(each.getValue());
    return sums;
  }

  /** How many topics had a message when all ranges were asked last. Any thread. */
  long topics() {
    return known.values().stream().mapToLong(Sums::messages).sum();
  }

  /** Ends the links; what is not answered fails. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    giveUp();
    links.values().forEach(RemoteRetain::close);
  }
}

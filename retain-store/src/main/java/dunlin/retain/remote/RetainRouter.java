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
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The retain tier of a cluster: passes each call to the leader of the range that has its key, also while ranges are split. */
public final class RetainRouter implements RetainClient, AutoCloseable {
  /*
   * A call goes to a range at the epoch that the map says. A range that was split refuses what names its old epoch, and does nothing. From the first such answer, or
   * from the map that shows the split, all calls for the old range's keys wait until every call on its way is answered. Then they go, with the refused ones among them and
   * in the order in which they were made, to the ranges that have the keys now. So the changes of a topic keep the order in which a thread has made them, and what a thread
   * has set before it asks for a page is in that page. A refusal says which keys the range has kept: calls for these do not wait for the map.
   *
   * Owner: any thread calls. The lock is taken when ranges change or a call has to wait; while they do not, a call only reads `ways` and counts itself on its way. Calls that
   *   have waited are made under the lock, which encodes them and never waits; answers are given outside of it.
   * Bounds: a message that is set holds credit of its publisher's lane until it is answered, waiting or not. Pages: PageRoom, and before the first map the bounds of links. One link
   *   for each range, and ranges are never joined.
   * Failure: a call that has waited for the map for PATIENCE fails, and nothing was done. With a lost link, set() answers SERVER_UNAVAILABLE for what was on its way, which may be
   *   kept or not; all others fail with a StoreException. So do calls that a leader refuses that knows less than the map.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RetainRouter.class);
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final long LOOK_AGAIN_MILLIS = 1_000;

  /** Who asks ranges more often than this has the answers of before. */
  private static final long ASK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private final Function<UUID, RemoteRetain> opener;
  private final ScheduledExecutorService timer;
  private final AtomicLong calls = new AtomicLong();
  private final int messageMax;
  private final Duration patience;
  private final PageRoom room;
  private final Counter invalid;
  private final CompletableFuture<Void> reached = new CompletableFuture<>();

  /** What ranges had when they were asked last, at their present epoch. */
  private final Map<UUID, Sums> known = new ConcurrentHashMap<>();

  /** Ranges that have been asked, and have not answered yet. */
  private final Set<UUID> asked = ConcurrentHashMap.newKeySet();

  private final AtomicLong askedNanos = new AtomicLong(System.nanoTime() - ASK_NANOS);

  /** By range; never removed. */
  private final Map<UUID, RangeLink> links = new ConcurrentHashMap<>();

  /** All ways, by their keys: those that have ended and are not empty hide those in their place. */
  private volatile Ways ways = new Ways(List.of(RangeWay.unknown(KeyInterval.all())), List.of());

  /** Answers that are to be given outside of the lock. */
  @GuardedBy("this")
  private final ArrayDeque<Runnable> answers = new ArrayDeque<>();

  @GuardedBy("this")
  private boolean begun;

  @GuardedBy("this")
  private boolean closed;

  @GuardedBy("this")
  private boolean looking;

  /**
   * @param ending have ended; calls for their keys wait
   * @param newest to the ranges as they are known now
   */
  private record Ways(List<RangeWay> ending, List<RangeWay> newest) {
    @Nullable RangeWay find(byte[] key) {
      return find(key, null);
    }

    /** @param without a way that is not looked at */
    @Nullable RangeWay find(byte[] key, @Nullable RangeWay without) {
      for (var way : ending) if (way != without && way.keys.contains(key)) return way;
      for (var way : newest) if (way != without && way.keys.contains(key)) return way;
      return null;
    }

    /** Whether all these keys belong to other ways than the given one. */
    boolean hasOthers(RangeWay way) {
      byte[] key = way.keys.start();
      while (true) {
        byte[] from = key;
        var next = newest.stream().filter(each -> each != way && each.keys.contains(from)).findFirst();
        if (next.isEmpty()) return false;
        byte @Nullable [] end = next.get().keys.end();
        if (end == null || !way.keys.contains(end)) return true;
        key = end;
      }
    }

    Ways ending(RangeWay way) {
      return ending.contains(way) ? this : new Ways(with(ending, way), newest);
    }

    /** With a way to what another one has led to. */
    Ways replaced(RangeWay way, RangeWay by) {
      return new Ways(ending, with(without(newest, way), by));
    }

    Ways without(RangeWay way) {
      return new Ways(without(ending, way), without(newest, way));
    }

    private static List<RangeWay> with(List<RangeWay> some, RangeWay one) {
      return Stream.concat(some.stream(), Stream.of(one)).toList();
    }

    private static List<RangeWay> without(List<RangeWay> some, RangeWay one) {
      return some.stream().filter(each -> each != one).toList();
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
    room = new PageRoom(pageBytesMax, timer);
    invalid =
        Counter.builder("dunlin.retain.refused")
            .description("Retained messages, or pages of them, that were refused, by reason")
            .tag("reason", "invalid")
            .register(registry);
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
    return links.values().stream().map(each -> each.calls().links()).mapToLong(of).sum();
  }

  private synchronized double held() {
    return ways.ending.stream().mapToInt(way -> way.held.size()).sum();
  }

  /** Begins the links. Completes when the leaders of all ranges of the first map with ranges have taken theirs. Any thread, once. */
  public CompletableFuture<Void> begin() {
    synchronized (this) {
      begun = true;
      begin(List.copyOf(links.values()));
      for (var way : ways.ending) settle(way);
    }
    giveAnswers();
    return reached;
  }

  @GuardedBy("this")
  private void begin(Collection<RangeLink> some) {
    boolean first = !some.isEmpty() && some.size() == links.size();
    var taken = some.stream().map(link -> link.calls().begin()).toArray(CompletableFuture<?>[]::new);
    if (first) CompletableFuture.allOf(taken).thenRun(() -> reached.complete(null));
  }

  /** Whether the leaders of all ranges have taken the present links. Any thread. */
  public boolean isReached() {
    var now = ways.newest;
    return !now.isEmpty() && now.stream().allMatch(way -> way.link != null && way.link.calls().isReached());
  }

  /** Takes the ranges of a newer map, whose keys are disjoint. Any thread, in the order of the maps; never waits. */
  public void ranges(List<RangeDescriptor> ranges) {
    synchronized (this) {
      if (!closed && !ranges.isEmpty()) take(ranges);
    }
    giveAnswers();
  }

  @GuardedBy("this")
  private void take(List<RangeDescriptor> ranges) {
    var fresh = new ArrayList<RangeLink>();
    var newest = new ArrayList<RangeWay>();
    for (var range : ranges) {
      var same = ways.newest.stream().filter(way -> way.isTo(range) && way.epoch >= range.epoch()).findFirst();
      newest.add(same.orElseGet(() -> RangeWay.to(range, links.computeIfAbsent(range.id(), id -> opened(id, fresh)))));
    }
    var next = new Ways(ways.ending, List.copyOf(newest));
    for (var way : ways.newest) {
      if (newest.contains(way)) continue;
      way.end();
      forget(way);
      next = next.ending(way);
    }
    ways = next;
    if (!begun) return;
    begin(fresh); // before calls that have waited for them
    for (var way : next.ending) settle(way);
  }

  private RangeLink opened(UUID range, List<RangeLink> fresh) {
    var link = new RangeLink(range, opener.apply(range), room.line());
    fresh.add(link);
    return link;
  }

  /** What the range had at another epoch may have gone to another one since. */
  private void forget(RangeWay way) {
    if (way.link != null) known.remove(way.link.range());
  }

  /** Makes the calls that wait for a way to be empty, when it is. Other calls for its keys wait for the lock until these are made. */
  @GuardedBy("this")
  private void settle(RangeWay way) {
    if (!way.isEmpty() || !ways.ending.contains(way) || !begun) return;
    if (ways.hasOthers(way)) {
      dispatchHeld(way);
      ways = ways.without(way);
    } else if (way.next != null) {
      keep(way, way.next);
    }
  }

  /** Goes on with what a range has kept at its next epoch; calls for the rest wait for the map. */
  @GuardedBy("this")
  private void keep(RangeWay way, RangeDescriptor kept) {
    way.next = null;
    byte @Nullable [] cut = kept.keys().end();
    if (way.link == null || cut == null || !way.keys.splitsAt(cut)) return;
    var rest = RangeWay.unknown(way.keys.from(cut));
    rest.held.putAll(way.held);
    var to = RangeWay.to(kept, way.link);
    rest.held.values().removeIf(call -> kept.keys().contains(call.key));
    way.held.keySet().removeAll(rest.held.keySet());
    forget(way);
    ways = ways.replaced(way, to).ending(rest);
    dispatchHeld(way);
    ways = ways.without(way);
  }

  @GuardedBy("this")
  private void dispatchHeld(RangeWay way) {
    for (var next = way.held.pollFirstEntry(); next != null; next = way.held.pollFirstEntry()) dispatch(next.getValue(), way);
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
    giveAnswers();
    return call.answer;
  }

  @GuardedBy("this")
  private void dispatch(RoutedCall<?> call, @Nullable RangeWay without) {
    var way = ways.find(call.key, without);
    if (closed) fail(call, "this node is closing");
    else if (way == null) fail(call, "no range of the cluster has the topic");
    else if (way.enter()) make(call, way);
    else hold(call, way);
  }

  @GuardedBy("this")
  private void fail(RoutedCall<?> call, String why) {
    answers.add(() -> call.answer.completeExceptionally(new StoreException(why)));
  }

  private <T> void make(RoutedCall<T> call, RangeWay way) {
    var _ =
        Failures.inFuture(() -> call.maker.make(Objects.requireNonNull(way.link).calls(), way.epoch))
            .whenComplete((answer, failure) -> answered(call, way, answer, failure == null ? null : Failures.unwrapped(failure)));
  }

  private <T> void answered(RoutedCall<T> call, RangeWay way, T answer, @Nullable Throwable failure) {
    if (failure instanceof WrongEpochException refused && refused.now().epoch() > way.epoch) {
      synchronized (this) {
        way.end();
        way.next = refused.now();
        ways = ways.ending(way);
        if (closed) fail(call, "this node is closing");
        else hold(call, way);
        way.leave();
        settle(way);
      }
      giveAnswers();
      return;
    }
    way.leave();
    Runnable giving = () -> give(call, answer, failure);
    boolean locked = Thread.holdsLock(this);
    if (locked || way.isEmpty()) {
      synchronized (this) {
        if (locked) answers.add(giving);
        settle(way);
      }
      giveAnswers();
    }
    if (!locked) giving.run();
  }

  private static <T> void give(RoutedCall<T> call, T answer, @Nullable Throwable failure) {
    if (failure == null) call.answer.complete(answer);
    else call.answer.completeExceptionally(failure);
  }

  /** Gives the answers that were found under the lock, unless this thread still holds it. */
  private void giveAnswers() {
    if (Thread.holdsLock(this)) return;
    for (var next = nextAnswer(); next != null; next = nextAnswer()) next.run();
  }

  private synchronized @Nullable Runnable nextAnswer() {
    return answers.poll();
  }

  @GuardedBy("this")
  private void hold(RoutedCall<?> call, RangeWay way) {
    if (!call.waited) call.untilNanos = System.nanoTime() + patience.toNanos();
    call.waited = true;
    way.held.put(call.number, call);
    if (!looking) lookLater();
  }

  @GuardedBy("this")
  private void lookLater() {
    try {
      var _ = timer.schedule(this::giveUp, LOOK_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
      looking = true;
    } catch (RejectedExecutionException closing) {
      looking = false; // close() follows, and fails all
    }
  }

  /** Fails what has waited for too long. */
  private void giveUp() {
    synchronized (this) {
      long now = System.nanoTime();
      boolean all = closed;
      var late = new ArrayList<RoutedCall<?>>();
      for (var way : ways.ending) way.held.values().removeIf(call -> (all || call.untilNanos - now < 0) && late.add(call));
      for (var call : late) fail(call, closed ? "this node is closing" : "the map of the cluster does not show which range has the topic");
      looking = false;
      if (!closed && ways.ending.stream().anyMatch(way -> !way.held.isEmpty())) lookLater();
    }
    giveAnswers();
  }

  @Override
  public void set(Publication message, Consumer<ReasonCode> answer) {
    assert message.retain() : "not to be retained [MQTT-3.3.1-8]: " + message;
    if (!TopicKeys.hasKey(message)) {
      invalid.increment();
      answer.accept(ReasonCode.TOPIC_NAME_INVALID);
      return;
    }
    var _ =
        call(TopicKeys.of(message), (range, epoch) -> range.set(epoch, message))
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
    var way = ways.find(key);
    Supplier<CompletableFuture<Page>> page = () -> call(key, (range, epoch) -> range.find(epoch, tenant, filter, after, messagesMax, bytesMax));
    return way == null || way.link == null ? page.get() : way.link.pages().ask((long) bytesMax + messageMax, page);
  }

  /** The operations on all ranges for operators. */
  public RetainedMessagesMXBean operations() {
    return RetainOperations.over(this, this::list, this::topics);
  }

  /** Lists keys that begin with a prefix, as far as one range has them. */
  CompletableFuture<Listing> list(byte[] prefix, byte[] from, int max) {
    return call(from, (range, epoch) -> range.list(epoch, prefix, from, max));
  }

  /** Without the topics of a range that was split off and is not in the map yet. */
  @Override
  public CompletableFuture<Long> count() {
    var asking = ways.newest.stream().map(way -> Objects.requireNonNull(way.link).calls().sums()).toList();
    if (asking.isEmpty()) return CompletableFuture.failedFuture(new StoreException("no range of the cluster is known yet"));
    return CompletableFuture.allOf(asking.toArray(CompletableFuture<?>[]::new)).thenApply(_ -> asking.stream().mapToLong(each -> each.join().messages()).sum());
  }

  /** Asks all ranges what they have now, unless that was done a moment ago. Any thread; the answers come later. */
  public void ask() {
    long before = askedNanos.get();
    long now = System.nanoTime();
    if (now - before < ASK_NANOS || !askedNanos.compareAndSet(before, now)) return;
    for (var way : ways.newest) if (way.link != null && asked.add(way.link.range())) ask(way, way.link);
  }

  private void ask(RangeWay way, RangeLink link) {
    var _ =
        link.calls()
            .sums()
            .whenComplete(
                (sums, failure) -> {
                  if (failure == null && ways.newest.contains(way)) known.put(link.range(), sums);
                  asked.remove(link.range());
                });
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
    links.values().forEach(link -> link.calls().close());
  }
}

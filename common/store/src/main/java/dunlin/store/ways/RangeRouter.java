package dunlin.store.ways;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.runtime.Failures;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Passes each call to the leader of the range that has its key, also while ranges are split. Calls of one thread for keys that belong together take effect in their
 * order.
 *
 * @param <L> links to leaders, by which calls are made
 */
public final class RangeRouter<L extends RangeLink> implements AutoCloseable {
  /*
   * A call goes to a range at the epoch that the map says. A range that was split refuses what names its old epoch, and does nothing. From the first such answer, or
   * from the map that shows the split, all calls for the old range's keys wait until every call on its way is answered. Then they go, with the refused ones among them
   * and in the order in which they were made, to the ranges that have the keys now. So the calls for a key keep the order in which a thread has made them. A refusal
   * says which keys the range has kept: calls for these do not wait for the map.
   *
   * Owner: any thread calls. The lock is taken when ranges change or a call has to wait; while they do not, a call only reads `ways` and counts itself on its way. Calls
   *   that have waited are made under the lock, which encodes them and never waits; answers are given outside of it.
   * Bounds: the callers', who are not answered while their calls wait here, and those of the links. One link for each range, and ranges are never joined.
   * Failure: a call that has waited for the map for the router's patience fails, and nothing was done. So do calls that a leader refuses that knows less than the map.
   */
  /** For how long calls wait for a map that shows how a range was split. */
  public static final Duration PATIENCE = Duration.ofSeconds(10);

  private static final long LOOK_AGAIN_MILLIS = 1_000;

  /** Makes a call to a range at an epoch. */
  @FunctionalInterface
  public interface Maker<L, T> {
    CompletableFuture<T> make(L link, long epoch);
  }

  private final Function<UUID, L> opener;
  private final Consumer<UUID> changed;
  private final String keyName;
  private final ScheduledExecutorService timer;
  private final Duration patience;
  private final AtomicLong calls = new AtomicLong();
  private final CompletableFuture<Void> reached = new CompletableFuture<>();

  /** By range; never removed. */
  private final Map<UUID, L> links = new ConcurrentHashMap<>();

  /** All ways, by their keys: those that have ended and are not empty hide those in their place. */
  private volatile Ways<L> ways = new Ways<>(List.of(RangeWay.unknown(KeyInterval.all())), List.of());

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
   * A range at its present epoch, as far as it is known.
   *
   * @param link to its leader
   */
  public record Known<L>(UUID range, long epoch, L link) {}

  /**
   * @param ending have ended; calls for their keys wait
   * @param newest to the ranges as they are known now
   */
  private record Ways<L extends RangeLink>(List<RangeWay<L>> ending, List<RangeWay<L>> newest) {
    @Nullable RangeWay<L> find(byte[] key, @Nullable RangeWay<L> without) {
      for (var way : ending) if (way != without && way.keys.contains(key)) return way;
      for (var way : newest) if (way != without && way.keys.contains(key)) return way;
      return null;
    }

    /** Whether all these keys belong to other ways than the given one. */
    boolean hasOthers(RangeWay<L> way) {
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

    Ways<L> ending(RangeWay<L> way) {
      return ending.contains(way) ? this : new Ways<>(with(ending, way), newest);
    }

    /** With a way to what another one has led to. */
    Ways<L> replaced(RangeWay<L> way, RangeWay<L> by) {
      return new Ways<>(ending, with(without(newest, way), by));
    }

    Ways<L> without(RangeWay<L> way) {
      return new Ways<>(without(ending, way), without(newest, way));
    }

    private static <L extends RangeLink> List<RangeWay<L>> with(List<RangeWay<L>> some, RangeWay<L> one) {
      return Stream.concat(some.stream(), Stream.of(one)).toList();
    }

    private static <L extends RangeLink> List<RangeWay<L>> without(List<RangeWay<L>> some, RangeWay<L> one) {
      return some.stream().filter(each -> each != one).toList();
    }
  }

  /**
   * Knows no range, until {@link #ranges}.
   *
   * @param opener makes the link to a range, and does not begin it; called under the lock
   * @param changed learns of a range whose keys are not the ones any more that it was known with; called under the lock
   * @param keyName what has a key, as sentences name it, as in "topic"
   * @param timer gives up calls that have waited for too long; the caller closes it
   * @param patience for how long calls wait for a map, as {@link #PATIENCE}
   */
  public RangeRouter(Function<UUID, L> opener, Consumer<UUID> changed, String keyName, ScheduledExecutorService timer, Duration patience) {
    this.opener = opener;
    this.changed = changed;
    this.keyName = keyName;
    this.timer = timer;
    this.patience = patience;
  }

  /** The links to all ranges that were ever known. Any thread. */
  public Collection<L> links() {
    return links.values();
  }

  /** The link to a range; empty for one that was never known. Any thread. */
  public Optional<L> link(UUID range) {
    return Optional.ofNullable(links.get(range));
  }

  /** The ranges as they are known now; empty before the first map. Any thread. */
  public List<Known<L>> known() {
    return ways.newest.stream().map(RangeRouter::known).flatMap(Optional::stream).toList();
  }

  /** The range that has a key, as it is known now; empty while that is unknown. Any thread. */
  public Optional<Known<L>> known(byte[] key) {
    var way = ways.find(key, null);
    return way == null ? Optional.empty() : known(way);
  }

  private static <L extends RangeLink> Optional<Known<L>> known(RangeWay<L> way) {
    return way.range == null || way.link == null ? Optional.empty() : Optional.of(new Known<>(way.range, way.epoch, way.link));
  }

  /** Calls that wait until the map shows how a range was split. Any thread. */
  public synchronized int held() {
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
  private void begin(Collection<L> some) {
    boolean first = !some.isEmpty() && some.size() == links.size();
    var taken = some.stream().map(RangeLink::begin).toArray(CompletableFuture<?>[]::new);
    if (first) CompletableFuture.allOf(taken).thenRun(() -> reached.complete(null));
  }

  /** Whether the leaders of all ranges have taken the present links. Any thread. */
  public boolean isReached() {
    var now = ways.newest;
    return !now.isEmpty() && now.stream().allMatch(way -> way.link != null && way.link.isReached());
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
    var fresh = new ArrayList<L>();
    var newest = new ArrayList<RangeWay<L>>();
    for (var range : ranges) {
      var same = ways.newest.stream().filter(way -> way.isTo(range) && way.epoch >= range.epoch()).findFirst();
      newest.add(same.orElseGet(() -> RangeWay.to(range, links.computeIfAbsent(range.id(), id -> opened(id, fresh)))));
    }
    var next = new Ways<>(ways.ending, List.copyOf(newest));
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

  private L opened(UUID range, List<L> fresh) {
    var link = opener.apply(range);
    fresh.add(link);
    return link;
  }

  /** What is known of the range at another epoch may be of keys that have gone to another one since. */
  private void forget(RangeWay<L> way) {
    if (way.range != null) changed.accept(way.range);
  }

  /** Makes the calls that wait for a way to be empty, when it is. Other calls for its keys wait for the lock until these are made. */
  @GuardedBy("this")
  private void settle(RangeWay<L> way) {
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
  private void keep(RangeWay<L> way, RangeDescriptor kept) {
    way.next = null;
    byte @Nullable [] cut = kept.keys().end();
    if (way.link == null || cut == null || !way.keys.splitsAt(cut)) return;
    var rest = RangeWay.<L>unknown(way.keys.from(cut));
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
  private void dispatchHeld(RangeWay<L> way) {
    for (var next = way.held.pollFirstEntry(); next != null; next = way.held.pollFirstEntry()) dispatch(next.getValue(), way);
  }

  /**
   * Makes a call to the range that has a key, now or once that is known. Any thread; never waits.
   *
   * @return completes on the links' thread, or when the call is given up
   */
  public <T> CompletableFuture<T> call(byte[] key, Maker<L, T> maker) {
    var call = new RoutedCall<L, T>(calls.incrementAndGet(), key, maker);
    var way = ways.find(key, null);
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
  private void dispatch(RoutedCall<L, ?> call, @Nullable RangeWay<L> without) {
    var way = ways.find(call.key, without);
    if (closed) fail(call, "this node is closing");
    else if (way == null) fail(call, "no range of the cluster has the " + keyName);
    else if (way.enter()) make(call, way);
    else hold(call, way);
  }

  @GuardedBy("this")
  private void fail(RoutedCall<L, ?> call, String why) {
    answers.add(() -> call.answer.completeExceptionally(new StoreException(why)));
  }

  private <T> void make(RoutedCall<L, T> call, RangeWay<L> way) {
    var _ =
        Failures.inFuture(() -> call.maker.make(Objects.requireNonNull(way.link), way.epoch))
            .whenComplete((answer, failure) -> answered(call, way, answer, failure == null ? null : Failures.unwrapped(failure)));
  }

  private <T> void answered(RoutedCall<L, T> call, RangeWay<L> way, T answer, @Nullable Throwable failure) {
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

  private static <T> void give(RoutedCall<?, T> call, T answer, @Nullable Throwable failure) {
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
  private void hold(RoutedCall<L, ?> call, RangeWay<L> way) {
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
      var late = new ArrayList<RoutedCall<L, ?>>();
      for (var way : ways.ending) way.held.values().removeIf(call -> (all || call.untilNanos - now < 0) && late.add(call));
      for (var call : late) fail(call, closed ? "this node is closing" : "the map of the cluster does not show which range has the " + keyName);
      looking = false;
      if (!closed && ways.ending.stream().anyMatch(way -> !way.held.isEmpty())) lookLater();
    }
    giveAnswers();
  }

  /** Ends the links; what is not answered fails. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    giveUp();
    links.values().forEach(RangeLink::close);
  }
}

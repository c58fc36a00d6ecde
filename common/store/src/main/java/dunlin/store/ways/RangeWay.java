package dunlin.store.ways;

import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The way to a range at one epoch. It ends with the epoch; calls for its keys then wait here until all earlier ones are answered. */
final class RangeWay<L extends RangeLink> {
  /*
   * Owner: the router. Any thread enters and leaves; all else is under the router's lock.
   * Bounds: the calls' own.
   */
  private static final long ENDED = 1L << 62;

  final KeyInterval keys;

  /** Null where no range is known. */
  final @Nullable UUID range;

  /** 0 where no range is known. */
  final long epoch;

  /** Null where no range is known. */
  final @Nullable L link;

  /** Calls that wait, by their numbers, so in the order in which they were made. */
  final TreeMap<Long, RoutedCall<L, ?>> held = new TreeMap<>();

  /** The range as its leader has described it with a refusal; null without one. */
  @Nullable RangeDescriptor next;

  /** The calls on their way, and whether it has ended. */
  private final AtomicLong state = new AtomicLong();

  private RangeWay(KeyInterval keys, @Nullable UUID range, long epoch, @Nullable L link) {
    this.keys = keys;
    this.range = range;
    this.epoch = epoch;
    this.link = link;
  }

  static <L extends RangeLink> RangeWay<L> to(RangeDescriptor range, L link) {
    return new RangeWay<>(range.keys(), range.id(), range.epoch(), link);
  }

  /** For keys whose range is not known, on which calls wait for a map. */
  static <L extends RangeLink> RangeWay<L> unknown(KeyInterval keys) {
    var way = new RangeWay<L>(keys, null, 0, null);
    way.end();
    return way;
  }

  boolean isTo(RangeDescriptor of) {
    return of.id().equals(range);
  }

  /** Counts a call that is about to be made; false when the way has ended. */
  boolean enter() {
    long now = state.get();
    while (now < ENDED) {
      if (state.compareAndSet(now, now + 1)) return true;
      now = state.get();
    }
    return false;
  }

  /** Counts the answer of a call. */
  void leave() {
    state.decrementAndGet();
  }

  void end() {
    state.getAndUpdate(now -> now | ENDED);
  }

  /** Whether it has ended and all its calls are answered. */
  boolean isEmpty() {
    return state.get() == ENDED;
  }
}

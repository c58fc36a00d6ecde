package dunlin.retain.remote;

import dunlin.store.RangeDescriptor;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The way to a range at one epoch. It ends with the epoch; calls for its keys then wait here until all earlier ones are answered. */
final class RangeWay {
  /*
   * Owner: the router. Any thread enters and leaves; all else is under the router's lock.
   * Bounds: the calls' own.
   */
  private static final long ENDED = 1L << 62;

  /** The range, with its keys at that epoch; null where no range is known yet, and for all keys. */
  final @Nullable RangeDescriptor range;

  final @Nullable RemoteRetain link;

  /** Calls that wait, by their numbers, so in the order in which they were made. */
  final TreeMap<Long, RoutedCall<?>> held = new TreeMap<>();

  /** Whether the newest map has the range at another epoch. */
  boolean superseded;

  /** The calls on their way, and whether it has ended. */
  private final AtomicLong state = new AtomicLong();

  private RangeWay(@Nullable RangeDescriptor range, @Nullable RemoteRetain link) {
    this.range = range;
    this.link = link;
  }

  static RangeWay to(RangeDescriptor range, RemoteRetain link) {
    return new RangeWay(range, link);
  }

  /** No way, for all keys, before the first map. */
  static RangeWay unknown() {
    var way = new RangeWay(null, null);
    way.end();
    return way;
  }

  boolean has(byte[] key) {
    return range == null || range.keys().contains(key);
  }

  long epoch() {
    return range == null ? 0 : range.epoch();
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

  boolean hasEnded() {
    return state.get() >= ENDED;
  }

  /** Whether it has ended and all its calls are answered. */
  boolean isEmpty() {
    return state.get() == ENDED;
  }
}

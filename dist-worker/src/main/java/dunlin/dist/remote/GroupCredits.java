package dunlin.dist.remote;

import dunlin.dist.route.Route;
import dunlin.model.ShardId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/** The credit of groups at one destination, as the destination has reported it. */
final class GroupCredits {
  /*
   * A group's credit is requested when it is first needed, and again when the answer is BELIEVED_NANOS old. The
   * destination also reports it when messages have changed it by half. So a group that had no credit, and so gets no
   * messages, is not skipped for ever.
   *
   * Owner: the lane's thread reads it; reports come on the thread that serves the destination.
   * Bounds: CREDITS_MAX groups of up to SHORT characters, which are all forgotten when there are more, and LONG_CHARACTERS of longer ones, of which some are
   * forgotten then. So long names, which clients choose, take the place of no short ones. One pending request for each that is known.
   * Failure: all are forgotten with the link.
   */
  private static final int CREDITS_MAX = 4_096;
  private static final int SHORT = 256;
  private static final int LONG_CHARACTERS = 1 << 20;
  private static final long BELIEVED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  /** The credit of a group before the first answer. A frontend has connected members; those of inbox shards may all be absent. */
  private static final int UNKNOWN_OF_FRONTEND = 2;

  private static final int UNKNOWN_OF_INBOX = 1;

  private final LongSupplier nanoTime;
  private final Map<Route, Credit> credits = new ConcurrentHashMap<>();
  private final Map<Route, Credit> ofLong = new ConcurrentHashMap<>();
  private final AtomicInteger longCharacters = new AtomicInteger();

  /** The credit of one group. */
  final class Credit {
    private volatile int value;
    private volatile long saidNanos;

    /** Set by the lane, cleared by the serving thread. When a report crosses a request, there may be a second request. */
    private volatile boolean asked;

    private Credit(int value, long saidNanos) {
      this.value = value;
      this.saidNanos = saidNanos;
    }

    /** It may be old. */
    int value() {
      return value;
    }

    /** Whether the caller must request it. If so, no other caller has to until it is reported, or could not be requested. */
    boolean mustAsk() {
      if (asked || nanoTime.getAsLong() - saidNanos < BELIEVED_NANOS) return false;
      asked = true;
      return true;
    }

    /** The request could not be sent. */
    void notAsked() {
      asked = false;
    }
  }

  /** @param nanoTime a clock that never steps, in nanoseconds */
  GroupCredits(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** The destination has reported a group's credit. */
  void said(Route group, int value) {
    var credit = of(group);
    credit.value = value;
    credit.saidNanos = nanoTime.getAsLong();
    credit.asked = false;
  }

  void forget() {
    credits.clear();
    forgetLong(0);
  }

  private void forgetLong(int left) {
    for (var each = ofLong.keySet().iterator(); each.hasNext() && longCharacters.get() > left; ) {
      Route next = each.next();
      if (ofLong.remove(next) != null) longCharacters.addAndGet(-MatchedRoutesCodec.length(next));
    }
  }

  /** The characters of all names that are held. */
  long characters() {
    long sum = 0;
    for (var among : List.of(credits, ofLong)) for (Route group : among.keySet()) sum += MatchedRoutesCodec.length(group);
    return sum;
  }

  /** The credit of a group, as far as it is known. */
  Credit of(Route group) {
    int length = MatchedRoutesCodec.length(group);
    var among = length <= SHORT ? credits : ofLong;
    var known = among.get(group);
    if (known != null) return known;
    if (length > SHORT) {
      if (longCharacters.get() + length > LONG_CHARACTERS) forgetLong(LONG_CHARACTERS * 3 / 4);
    } else if (credits.size() >= CREDITS_MAX) {
      credits.clear();
    }
    int value = group.shard().kind() == ShardId.Kind.FRONTEND ? UNKNOWN_OF_FRONTEND : UNKNOWN_OF_INBOX;
    return among.computeIfAbsent(
        group,
        _ -> {
          if (length > SHORT) longCharacters.addAndGet(length);
          return new Credit(value, nanoTime.getAsLong() - BELIEVED_NANOS);
        });
  }
}

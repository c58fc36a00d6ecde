package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.WillPublisher.Outcome;
import dunlin.inbox.WillPublisher.Rest;
import dunlin.inbox.WillPublisher.Sending;
import dunlin.inbox.range.Effects.DueWill;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.Failures;
import dunlin.runtime.LogText;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Publishes wills that are due. Repeats each until it was published or finally refused, and then logs that. */
final class WillRunner {
  /*
   * Owner: any thread, under this object's lock, which is not held while a will is published or its outcome is
   * proposed.
   * Bounds: PLACES first attempts at once, and PLACES further ones, so that what is tried again does not hold up what has
   * just become due. An attempt that takes longer than PLACE_NANOS gives its place to another one and
   * continues without it, so that one slow receiver delays other wills by no more than that. A will
   * takes no place while its displaced connection settles, for SETTLE_NANOS at most. WILLS_MAX wills and
   * BYTES_MAX bytes altogether. Full: those that a destination could not accept, and that wait for their next attempt, go back to
   * their range one by one for wills that become due; it reports them again a minute after it has last. Of RESTS_MAX of them it is kept
   * here which destinations have accepted them; more than these do not go back. When none can go back, further wills
   * stay in the range until room() answers that there is room: an attempt that has begun is waited for.
   * Failure: a will that a destination cannot accept now is tried again after 200 ms, then after twice the delay each
   * time up to 10 s, and only at the destinations that have not accepted it. A will that a rule refuses is counted and
   * finished; so is one without an answer after ANSWER_NANOS: it was handed over, and another attempt would deliver it
   * twice to all others. A finished will stays here until the range has recorded it, so that it is published once by
   * this leader. To the next one, after a crash too, the range reports it again: at least once.
   * Once: in a cluster, attempts of this leader may be on their way when the next one makes its own. So a will with QoS 1 or 2 names itself in each: its
   * range records that its message is stored, before the others get it, and frontends know it by the same name.
   * Displaced connections: the frontend may know a DISCONNECT that the range has not seen yet. It reports that before the
   * connection has settled, and the range discards the will, which recorded() says.
   */
  static final int PLACES = 64;
  static final int WILLS_MAX = 4_096;
  static final int RESTS_MAX = 16_384;
  static final long PLACE_NANOS = TimeUnit.SECONDS.toNanos(1);
  static final long ANSWER_NANOS = TimeUnit.MINUTES.toNanos(10);
  static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final Logger LOG = LoggerFactory.getLogger(WillRunner.class);
  private static final long BYTES_MAX = 16L * 1024 * 1024;
  private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
  private static final long RETRY_MAX_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long TOLD_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final String UNANSWERED = "unanswered";

  private final WillPublisher publisher;
  private final LongSupplier nanoTime;
  private final InboxMeters meters;

  /** Completes when all packets that came over a connection have been processed, and its end is reported. */
  private final Function<ConnectionId, CompletableFuture<Void>> settled;

  private volatile BooleanSupplier recordsSending = () -> false;

  /** Proposes to record that a will is finished; false if the range's queue is full. */
  private final Predicate<DueWill> done;

  /** By epoch, in the order in which they were reported. */
  @GuardedBy("this")
  private final Map<Long, Running> running = new LinkedHashMap<>();

  /** By epoch, of wills that went back to their range when some destinations had accepted them. */
  @GuardedBy("this")
  private final Map<Long, Rest> rests = new HashMap<>();

  @GuardedBy("this")
  private long bytes;
  @GuardedBy("this")
  private boolean told;
  @GuardedBy("this")
  private long toldAt;

  private enum Step {
    /** The displaced connection that left it has been asked since {@code since} to settle. */
    SETTLING,
    /** An attempt has run since {@code since}. */
    PUBLISHING,
    /** The next attempt is due {@code delay} after {@code since}. */
    WAITING,
    /** The range has to record that the will is finished. */
    RECORDING,
    /** The range has not yet answered a proposal. */
    PROPOSED
  }

  private static final class Running {
    private final DueWill will;
    private final Sending sending;
    private final int bytes;
    private Step step;

    /** Whether its attempt, or its next one, is not the first. */
    private boolean again;

    private long since;
    private long delay = RETRY_NANOS;

    Running(DueWill will, Sending sending, long now) {
      this.will = will;
      this.sending = sending;
      this.bytes = will.message().body().length;
      this.since = now;
      this.step = will.displaced() == null ? Step.PUBLISHING : Step.SETTLING;
    }

    /** Whether it has no outcome yet. */
    boolean isOpen() {
      return switch (step) {
        case SETTLING, PUBLISHING, WAITING -> true;
        case RECORDING, PROPOSED -> false;
      };
    }
  }

  WillRunner(
      WillPublisher publisher,
      Function<ConnectionId, CompletableFuture<Void>> settled,
      LongSupplier nanoTime,
      InboxMeters meters,
      Predicate<DueWill> done) {
    this.publisher = publisher;
    this.settled = settled;
    this.nanoTime = nanoTime;
    this.meters = meters;
    this.done = done;
  }

  /** Has the sending of wills recorded while this is true; set before the first one is started. */
  void recordWhile(BooleanSupplier all) {
    recordsSending = all;
  }

  synchronized int running() {
    return running.size();
  }

  /** Those that are neither published nor refused. */
  synchronized int publishing() {
    return (int) running.values().stream().filter(Running::isOpen).count();
  }

  /** Leaves what is not published to the next leader, as this node leads no more. */
  synchronized void close() {
    meters.willsWithdrawn(publishing());
    running.clear();
    rests.clear();
  }

  /** How many more wills may be reported. */
  synchronized int room() {
    int places = places(nanoTime.getAsLong(), false);
    int room = bytes >= BYTES_MAX ? 0 : Math.max(0, WILLS_MAX - running.size());
    for (var each = running.values().iterator(); room < places && each.hasNext(); ) if (mayGoBack(each.next())) room++;
    return Math.min(places, room);
  }

  /**
   * How many more attempts may begin.
   *
   * @param again those that are not the first of their will
   */
  @GuardedBy("this")
  private int places(long now, boolean again) {
    int places = PLACES;
    for (Running each : running.values()) {
      if (each.step == Step.PUBLISHING && each.again == again && now - each.since < PLACE_NANOS) places--;
    }
    return Math.max(0, places);
  }

  @GuardedBy("this")
  private boolean mayGoBack(Running each) {
    return each.step == Step.WAITING && each.again && rests.size() < RESTS_MAX;
  }

  /** Leaves wills to their range that have been here for the longest time, as far as others need their room. */
  @GuardedBy("this")
  private void giveBack() {
    for (var each = running.values().iterator(); each.hasNext() && (bytes >= BYTES_MAX || running.size() >= WILLS_MAX); ) {
      Running longest = each.next();
      if (!mayGoBack(longest)) continue;
      longest.sending.giveBack().ifPresent(rest -> rests.put(longest.will.epoch(), rest));
      each.remove();
      bytes -= longest.bytes;
      meters.willsWithdrawn(1);
    }
  }

  /** Starts publishing wills that are due, except those that are already in progress. */
  void start(List<DueWill> wills) {
    for (DueWill will : wills) {
      Running begun = begin(will);
      if (begun == null) continue;
      var displaced = will.displaced();
      if (displaced == null) publish(begun);
      else settle(begun, displaced);
    }
  }

  private void settle(Running each, ConnectionId displaced) {
    var asked = Failures.inFuture(() -> settled.apply(displaced));
    var _ =
        asked.whenComplete(
            (_, failure) -> {
              if (failure != null) LOG.debug("{} could not be asked to settle, its will is published", displaced, failure);
              if (takePlace(each)) publish(each);
            });
  }

  /**
   * The displaced connection has settled. Answers whether the will is to be published now: false when it has been
   * discarded, and when there is no place, for which it waits then.
   */
  private synchronized boolean takePlace(Running each) {
    if (each.step != Step.SETTLING || running.get(each.will.epoch()) != each) return false;
    each.since = nanoTime.getAsLong();
    boolean free = places(each.since, false) > 0;
    each.step = free ? Step.PUBLISHING : Step.WAITING;
    if (!free) each.delay = 0;
    return free;
  }

  private synchronized @Nullable Running begin(DueWill will) {
    if (running.containsKey(will.epoch())) return null;
    giveBack();
    var message = will.message();
    boolean records = message.qos() != QoS.AT_MOST_ONCE && (will.stored() || recordsSending.getAsBoolean());
    var named = records ? message.asWillOf(will.epoch()) : message;
    var rest = rests.remove(will.epoch());
    var sending = rest != null ? rest.goOn(named) : publisher.prepare(named, will.user(), will.again());
    Running begun = new Running(will, sending, nanoTime.getAsLong());
    running.put(will.epoch(), begun);
    meters.willDue();
    bytes += begun.bytes;
    return begun;
  }

  private void publish(Running each) {
    var attempt = Failures.inFuture(each.sending::attempt);
    var _ = attempt.whenComplete((outcome, failure) -> ended(each, outcome, failure));
  }

  private void ended(Running each, @Nullable Outcome outcome, @Nullable Throwable failure) {
    synchronized (this) {
      if (each.step != Step.PUBLISHING || running.get(each.will.epoch()) != each) return;
      if (failure != null) LOG.debug("A will could not be published, trying again", failure);
      var ended = outcome == null ? new Outcome.NotNow(ReasonCode.UNSPECIFIED_ERROR) : outcome;
      switch (ended) {
        case Outcome.Published _ -> {
          meters.willPublished();
          each.step = Step.RECORDING;
        }
        case Outcome.Refused(var reason) -> {
          refused(each, reason.label());
          each.step = Step.RECORDING;
        }
        case Outcome.NotNow _ -> {
          meters.willFailed();
          each.step = Step.WAITING;
          each.again = true;
          each.since = nanoTime.getAsLong();
          return;
        }
      }
    }
    record(each);
  }

  /** Counts each refused will, and logs at most one a second. */
  @GuardedBy("this")
  private void refused(Running each, String reason) {
    meters.willRefused(reason);
    long now = nanoTime.getAsLong();
    if (told && now - toldAt < TOLD_NANOS) return;
    told = true;
    toldAt = now;
    LOG.warn("The will of client {} was refused and will not be published again: {}", LogText.escaped(each.will.session().clientId()), reason);
  }

  private void record(Running each) {
    synchronized (this) {
      if (each.step != Step.RECORDING) return;
      each.step = Step.PROPOSED;
    }
    if (!done.test(each.will)) notRecorded(each.will.epoch());
  }

  /** The range has recorded that the will is finished, or has discarded it. */
  synchronized void recorded(long epoch) {
    rests.remove(epoch);
    Running ended = running.remove(epoch);
    if (ended == null) return;
    bytes -= ended.bytes;
    if (ended.isOpen()) meters.willsWithdrawn(1);
  }

  /** The range did not record that the will is finished. */
  synchronized void notRecorded(long epoch) {
    Running each = running.get(epoch);
    if (each == null) return;
    each.step = Step.RECORDING;
    each.since = nanoTime.getAsLong();
  }

  /** Does the work that is due. Called by the timer. */
  void turn() {
    for (Running each : due()) {
      if (each.step == Step.PUBLISHING) publish(each);
      else record(each);
    }
  }

  /** The wills to be published again or recorded, in the order in which they were reported. */
  private synchronized List<Running> due() {
    if (running.isEmpty()) return List.of();
    long now = nanoTime.getAsLong();
    int first = places(now, false);
    int further = places(now, true);
    var due = new ArrayList<Running>();
    for (Running each : running.values()) {
      long passed = now - each.since;
      switch (each.step) {
        case SETTLING -> {
          if (passed < SETTLE_NANOS || first == 0) continue;
          first--;
          each.step = Step.PUBLISHING;
          each.since = now;
          due.add(each);
        }
        case PUBLISHING -> {
          if (passed < ANSWER_NANOS) continue;
          refused(each, UNANSWERED);
          each.step = Step.RECORDING;
          due.add(each);
        }
        case WAITING -> {
          if (passed < each.delay || (each.again ? further : first) == 0) continue;
          if (each.again) further--;
          else first--;
          each.step = Step.PUBLISHING;
          each.since = now;
          each.delay = Math.clamp(each.delay * 2, RETRY_NANOS, RETRY_MAX_NANOS);
          due.add(each);
        }
        case RECORDING -> {
          if (passed >= RETRY_NANOS) due.add(each);
        }
        case PROPOSED -> {}
      }
    }
    return due;
  }
}

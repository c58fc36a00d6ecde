package dunlin.dist;

import dunlin.dist.MatchCache.Use;
import dunlin.dist.route.FilterRanges;
import dunlin.dist.route.FilterRoutes;
import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RouteView;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.Failures;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lane to the leader of the first range of routes, which gathers what a message matches in other ranges before it is delivered: so a destination gets it once, whatever
 * ranges its filters are in. Messages keep their order.
 */
final class GatheringLane implements Lane {
  /*
   * A message whose topic may match filters of other ranges waits until their leaders have answered, and everything behind it waits, too. What only the first range can
   * match, with nothing in front of it, passes at once. The leaders answer behind read barriers, and at the epochs of one view of all ranges: so no route is missed that
   * was confirmed before the message came, also when a range is split at that time.
   *
   * Owner: the lane's thread. Answers come on any thread and are handed to it.
   * Bounds: what waits holds credit of its publishers' lanes. Only the first AHEAD messages are asked about, and none but the first as long as the answers that wait have
   *   AHEAD_BYTES, as MatchCache counts them. An answer beyond that is forgotten, counted, and asked for again later, and half as many messages are asked about from then
   *   on; each that is passed on adds one. So AHEAD_BYTES and the routes of one message wait here. What the lane behind keeps of messages that were passed on may be as
   *   much: until that is less, no message that others were asked about is passed on, nor what is behind it.
   * Failure: a question that fails is asked again RETRY_MILLIS later, in all ranges and by the view of that time, since the next view or the next leader may answer it.
   *   When a message has been the first for HOLD_MILLIS, all that waits is given up: QoS 1 and 2 are answered USE_ANOTHER_SERVER, so that their senders send them again
   *   in their order, and QoS 0 is dropped and counted. What waits behind a message of the same sender that was refused is returned as well.
   */
  private static final Logger LOG = LoggerFactory.getLogger(GatheringLane.class);
  static final int AHEAD = 256;

  /** Some 8,000 routes. */
  static final long AHEAD_BYTES = 2 << 20;

  static final long RETRY_MILLIS = 50;
  static final long HOLD_MILLIS = 5_000;
  private static final long CHECK_MILLIS = 1_000;

  /** What a lane needs of its process. */
  interface Surroundings {
    /** All ranges as they are known now. */
    RouteView view();

    long nanoTime();

    /** Runs a task on the lane's thread some milliseconds later, unless that has ended by then. */
    void later(Runnable task, long millis);

    /** A QoS 0 message was given up. */
    void dropped(Publication message);
  }

  private final MatchedLane lane;
  private final Surroundings around;
  private final Executor thread;
  private final long aheadBytes;
  private final MatchCache cache = new MatchCache();

  // Written by the owner only, read by metrics.
  private final AtomicLong waiting = new AtomicLong();
  private final AtomicLong asked = new AtomicLong();
  private final AtomicLong unchanged = new AtomicLong();
  private final AtomicLong repeated = new AtomicLong();
  private final AtomicLong forgotten = new AtomicLong();
  private final AtomicLong givenUp = new AtomicLong();

  private final ArrayDeque<Gathering> line = new ArrayDeque<>();

  /** Those at the end of the line that have not been asked about. */
  private final ArrayDeque<Gathering> unasked = new ArrayDeque<>();

  /** How many messages are asked about at once. */
  private int ahead = AHEAD;

  /** Messages whose answers were forgotten and that have not been asked about again. */
  private int toRepeat;

  private RouteView view;
  private FilterRanges.Search search;
  private boolean retries;
  private boolean checks;
  private boolean goesOn;
  private boolean goesOnSoon;

  /** When the first message of the line became the first. */
  private long firstSinceNanos;

  /** A message that waits. */
  private static final class Gathering {
    final Publication message;
    final @Nullable Feedback feedback;
    final @Nullable Acknowledgement acknowledgement;

    /** Answers to the questions of earlier attempts are not looked at. */
    int attempt;

    /** The own range's epoch, and what other ranges have answered, in this attempt. */
    long epoch;

    int visited;
    List<MatchCache.Kept> found = List.of();

    /** What this attempt keeps from being released: what was found, and what was known when it was asked. */
    List<MatchCache.Kept> uses = List.of();

    int unanswered;
    boolean failed;

    /** All ranges have answered, or it is to be asked again. */
    boolean ready;

    boolean again;

    /** Its answers were forgotten, and it has not been asked about again. */
    boolean forgotten;

    Gathering(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      this.message = message;
      this.feedback = feedback;
      this.acknowledgement = acknowledgement;
    }
  }

  /** The answers for a message that was passed on. */
  private final class PassedOn implements Elsewhere.Memory {
    private final List<MatchCache.Kept> found;

    PassedOn(List<MatchCache.Kept> found) {
      this.found = found;
    }

    @Override
    public void keep() {
      for (var each : found) cache.use(each, Use.PASSED_ON);
    }

    @Override
    public void release() {
      for (var each : found) cache.release(each, Use.PASSED_ON);
      goOnSoon();
    }
  }

  /**
   * @param thread runs tasks on the lane's thread, soon
   * @param aheadBytes {@link #AHEAD_BYTES}, but for tests
   */
  GatheringLane(MatchedLane lane, Surroundings around, Executor thread, long aheadBytes) {
    this.lane = lane;
    this.around = around;
    this.thread = thread;
    this.aheadBytes = aheadBytes;
    view = around.view();
    search = view.search();
  }

  @Override
  public void append(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    look();
    if (line.isEmpty() && others(message).isEmpty()) {
      lane.append(message, Elsewhere.nothing(view.epoch()), feedback, acknowledgement);
      return;
    }
    if (acknowledgement != null) acknowledgement.expect();
    var one = new Gathering(message, feedback, acknowledgement);
    if (line.isEmpty()) firstSinceNanos = around.nanoTime();
    line.add(one);
    unasked.add(one);
    count(waiting, 1);
    askAhead();
    checkLater();
  }

  @SuppressWarnings("ReferenceEquality") // compared for each message: there is a new view for each change
  private void look() {
    var present = around.view();
    if (present == view) return;
    view = present;
    search = present.search();
  }

  /** The parts of the view that a message has to visit beside the first one. */
  private List<Integer> others(Publication message) {
    boolean[] in = search.in(message.publisher().tenant(), message.body(), message.topicLength());
    if (in.length == 1) return List.of();
    List<Integer> parts = List.of();
    for (int part = 1; part < in.length; part++) {
      if (!in[part]) continue;
      if (parts.isEmpty()) parts = new ArrayList<>(2);
      parts.add(part);
    }
    return parts;
  }

  @SuppressWarnings("ReferenceEquality") // the message at this place of the line
  private void askAhead() {
    if (toRepeat > 0) {
      for (var one : line.stream().limit(ahead).filter(each -> each.forgotten).toList()) {
        if (one.forgotten && (one == line.peek() || hasRoom())) ask(one);
      }
    }
    while (!unasked.isEmpty() && line.size() - unasked.size() < ahead) {
      boolean isFirst = unasked.peek() == line.peek();
      if (!isFirst && (toRepeat > 0 || !hasRoom())) return;
      ask(unasked.remove());
    }
  }

  private boolean hasRoom() {
    return cache.used(Use.GATHERS) < aheadBytes;
  }

  private void ask(Gathering one) {
    look();
    int attempt = ++one.attempt;
    if (attempt > 1) count(repeated, 1);
    release(one);
    var present = view;
    var parts = others(one.message);
    one.epoch = present.epoch();
    one.visited = parts.size();
    one.found = parts.isEmpty() ? List.of() : new ArrayList<>(2);
    one.uses = parts.isEmpty() ? List.of() : new ArrayList<>(2);
    one.failed = false;
    one.ready = false;
    one.again = false;
    if (one.forgotten) toRepeat--;
    one.forgotten = false;
    one.unanswered = 1 + parts.size();
    for (int part : parts) {
      if (one.attempt != attempt) return;
      var other = present.part(part);
      if (other.isPresent()) ask(one, attempt, other.get());
      else answered(one, false);
    }
    if (one.attempt == attempt) answered(one, true);
  }

  private void ask(Gathering one, int attempt, RouteView.Other other) {
    String tenant = one.message.publisher().tenant();
    byte[] topic = Arrays.copyOf(one.message.body(), one.message.topicLength());
    var key = new MatchCache.Key(other.range(), tenant, one.message.topic());
    var kept = cache.get(key);
    if (kept != null) use(one, kept); // it may be the answer, also when it is not kept any more by then
    count(asked, 1);
    var _ =
        Failures.inFuture(() -> other.match(tenant, topic, kept == null ? MatchSignature.NONE : kept.signature()))
            .whenCompleteAsync(
                (match, failure) -> {
                  if (one.attempt != attempt) return;
                  if (failure != null) LOG.debug("Range {} has not said what a topic matches: {}", key.range(), Failures.unwrapped(failure).getMessage());
                  answered(one, failure == null && take(one, key, kept, match));
                },
                thread);
  }

  /** Adds what a range has answered; false when it cannot be meant. */
  private boolean take(Gathering one, MatchCache.Key key, MatchCache.@Nullable Kept kept, RouteMatch match) {
    return switch (match) {
      case RouteMatch.Unchanged() -> {
        count(unchanged, 1);
        if (kept == null) yield false;
        one.found.add(kept);
        yield true;
      }
      case RouteMatch.Found(var signature, var routes, _) -> {
        var found = cache.put(key, signature, routes, FilterRoutes.of(routes));
        use(one, found);
        one.found.add(found);
        yield true;
      }
    };
  }

  private void use(Gathering one, MatchCache.Kept kept) {
    cache.use(kept, Use.GATHERS);
    one.uses.add(kept);
  }

  private void release(Gathering one) {
    for (var each : one.uses) cache.release(each, Use.GATHERS);
    one.uses = List.of();
    one.found = List.of();
  }

  /** Whether the answers that wait are too many for that of a message which is not the first; it has none then, and answers to the questions about it are not looked at. */
  @SuppressWarnings("ReferenceEquality") // the message at this place of the line
  private boolean forgets(Gathering one) {
    if (cache.used(Use.GATHERS) <= aheadBytes || one == line.peek()) return false;
    release(one);
    one.attempt++;
    one.forgotten = true;
    toRepeat++;
    ahead = Math.max(1, ahead / 2);
    count(forgotten, 1);
    return true;
  }

  private void answered(Gathering one, boolean well) {
    one.failed |= !well;
    if (forgets(one)) return;
    if (--one.unanswered > 0) return;
    one.again = one.failed;
    one.ready = !one.failed;
    if (one.failed) retryLater();
    else goOn();
  }

  /** Passes on what is ready at the head of the line. */
  private void goOn() {
    if (goesOn) return;
    goesOn = true;
    try {
      for (var head = line.peek(); head != null && head.ready; head = line.peek()) {
        look();
        if (head.epoch != view.epoch()) {
          ask(head);
          continue;
        }
        if (!head.found.isEmpty() && cache.used(Use.PASSED_ON) >= aheadBytes) return;
        line.remove();
        firstSinceNanos = around.nanoTime();
        count(waiting, -1);
        passOn(head);
        release(head);
        if (ahead < AHEAD) ahead++;
        askAhead();
      }
    } finally {
      goesOn = false;
    }
  }

  /** The lane behind has released routes. It may be in the middle of its work. */
  private void goOnSoon() {
    if (goesOnSoon) return;
    goesOnSoon = true;
    thread.execute(
        () -> {
          goesOnSoon = false;
          goOn();
        });
  }

  private void passOn(Gathering one) {
    if (one.acknowledgement != null && one.acknowledgement.comesAgain()) {
      one.acknowledgement.answer(ReasonCode.USE_ANOTHER_SERVER);
      return;
    }
    var reason = ReasonCode.SUCCESS;
    try {
      lane.append(one.message, elsewhere(one), one.feedback, one.acknowledgement);
    } catch (RuntimeException e) {
      LOG.error("A message could not be delivered", e);
      reason = ReasonCode.SERVER_UNAVAILABLE;
    }
    if (one.acknowledgement != null) one.acknowledgement.answer(reason);
  }

  private Elsewhere elsewhere(Gathering one) {
    return one.found.isEmpty() ? Elsewhere.nothing(one.epoch) : new Elsewhere(one.epoch, one.visited, filters(one.found), new PassedOn(one.found));
  }

  private static List<FilterRoutes> filters(List<MatchCache.Kept> found) {
    if (found.size() == 1) return found.getFirst().filters();
    var all = new ArrayList<FilterRoutes>();
    for (var each : found) all.addAll(each.filters());
    return all;
  }

  private void retryLater() {
    if (retries) return;
    retries = true;
    around.later(this::retry, RETRY_MILLIS);
  }

  private void retry() {
    retries = false;
    if (isOverdue()) {
      giveUp();
      return;
    }
    for (Gathering one : line.stream().filter(each -> each.again).toList()) if (one.again) ask(one);
  }

  private void checkLater() {
    if (checks) return;
    checks = true;
    around.later(this::check, CHECK_MILLIS);
  }

  /** A question may have no answer for as long as its link is dialled. */
  private void check() {
    checks = false;
    if (isOverdue()) giveUp();
    if (!line.isEmpty()) checkLater();
  }

  private boolean isOverdue() {
    return !line.isEmpty() && around.nanoTime() - firstSinceNanos >= TimeUnit.MILLISECONDS.toNanos(HOLD_MILLIS);
  }

  /** Returns all that waits to the senders. */
  private void giveUp() {
    var all = List.copyOf(line);
    line.clear();
    unasked.clear();
    toRepeat = 0;
    count(waiting, -all.size());
    count(givenUp, all.size());
    for (Gathering one : all) {
      one.attempt++;
      one.again = false;
      one.forgotten = false;
      release(one);
      refuse(one);
    }
  }

  private void refuse(Gathering one) {
    boolean acknowledges = one.acknowledgement != null && one.message.qos() != QoS.AT_MOST_ONCE;
    if (!acknowledges) around.dropped(one.message);
    if (one.acknowledgement != null) one.acknowledgement.answer(acknowledges ? ReasonCode.USE_ANOTHER_SERVER : ReasonCode.SUCCESS);
  }

  /** Returns what waits to its senders, soon: this process is about to lead the routes no more. Any thread. */
  void giveUpSoon() {
    thread.execute(this::giveUp);
  }

  private static void count(AtomicLong counter, long more) {
    counter.setOpaque(counter.getPlain() + more);
  }

  /** Messages that wait. Any thread. */
  long waiting() {
    return waiting.getOpaque();
  }

  /** Questions to other ranges. Any thread. */
  long asked() {
    return asked.getOpaque();
  }

  /** Answers that what was kept is still so. Any thread. */
  long unchanged() {
    return unchanged.getOpaque();
  }

  /** Messages that were asked about again, each time. Any thread. */
  long repeated() {
    return repeated.getOpaque();
  }

  /** Memory of the answers that messages use so, in bytes; for tests, on the lane's thread. */
  long bytes(Use use) {
    return cache.used(use);
  }

  /** Answers that were forgotten, since too much waited. Any thread. */
  long forgotten() {
    return forgotten.getOpaque();
  }

  /** Messages that were given up. Any thread. */
  long givenUp() {
    return givenUp.getOpaque();
  }
}

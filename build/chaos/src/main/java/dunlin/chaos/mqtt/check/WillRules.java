package dunlin.chaos.mqtt.check;

import dunlin.chaos.mqtt.check.Event.ConnectFailed;
import dunlin.chaos.mqtt.check.Event.Connected;
import dunlin.chaos.mqtt.check.Event.End;
import dunlin.chaos.mqtt.check.Event.Ended;
import dunlin.chaos.mqtt.check.Event.WillSet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** D7, as observed by a durable QoS 2 subscriber to the wills' topics. */
public final class WillRules {
  /*
   * A will is owed when the connection ended without DISCONNECT 0x00 and the client did not return before the delay had
   * passed. It is forbidden when one of these did certainly happen. In between nothing is required: a client that
   * returns at about the end of the delay, a broker that was killed at about the time of a DISCONNECT, or cut off just after it was sent, or sent one itself, the will of a
   * session that is not durable when the broker was killed.
   */
  private static final long SECOND = 1_000_000_000L;
  /** How late a will may be; a client that returns in this time may still cancel it. */
  private static final long LATE_MOST = 3 * SECOND;

  /** For how long a link that broke can go on. */
  private static final long AWAY_MOST = 10 * SECOND;

  private static final String LOST = "will lost";

  private final Facts facts;
  private final List<Violation> violations = new ArrayList<>();

  WillRules(Facts facts) {
    this.facts = facts;
  }

  List<Violation> check() {
    for (var session : facts.sessions) {
      if (!session.durable() || session.group().isPresent()) continue;
      Map<MessageId, List<Long>> came = new HashMap<>();
      for (var each : session.received)
        if (facts.wills.containsKey(each.id()) && !each.repeated())
          came.computeIfAbsent(each.id(), _ -> new ArrayList<>()).add(each.nanos());
      facts.wills.forEach(
          (id, will) -> {
            if (watches(facts, session, will)) check(id, will, came.getOrDefault(id, List.of()));
          });
    }
    return violations;
  }

  /** Whether a session must get a will, and get it at the right time: it was subscribed before the will was set, and is until the end. */
  public static boolean watches(Facts facts, Session session, WillSet will) {
    return session.durable()
        && session.group().isEmpty()
        && session.aliveAt(facts.drainedNanos)
        && session.subscriptions.stream().anyMatch(each -> each.fromNanos() < will.nanos() && each.qos() == 2 && Filters.matches(each.filter(), will.topic()));
  }

  static List<Violation> missing(Facts facts) {
    return new WillRules(facts).check().stream().filter(each -> each.kind().equals(LOST)).toList();
  }

  /** A connection with a will that has ended, and the next one of its client. */
  private record Course(MessageId id, WillSet will, Connected connected, Ended end, Optional<Connected> next) {
    /** The will of a session that ends with its connection is not delayed. */
    long delay() {
      return stored() && connected.level() == 5 ? will.delaySeconds() * SECOND : 0;
    }

    /** Whether the session, and with it the will, outlives the connection. */
    boolean stored() {
      return connected.expirySeconds() > 0;
    }

    boolean back() {
      return next.isPresent() && next.get().sessionPresent() && delay() > 0;
    }
  }

  private void check(MessageId id, WillSet will, List<Long> came) {
    var life = facts.lives.getOrDefault(id.publisher(), List.of());
    var connected = life.stream().filter(Connected.class::isInstance).map(Connected.class::cast).filter(each -> each.connection() == will.connection()).findFirst();
    if (connected.isEmpty()) return;
    var course = course(facts, id, will);
    if (course.isPresent()) judge(course.get(), came);
    else if (came.stream().anyMatch(nanos -> nanos < facts.drainedNanos)) add("will sent while connected", id, will, Optional.empty());
  }

  /** Empty when it was not connected, or is until the end. */
  private static Optional<Course> course(Facts facts, MessageId id, WillSet will) {
    @Nullable Connected connected = null;
    @Nullable Ended end = null;
    @Nullable Connected next = null;
    for (var each : facts.lives.getOrDefault(id.publisher(), List.of())) {
      if (each instanceof Connected it && it.connection() == will.connection()) connected = it;
      if (each instanceof Connected it && it.connection() > will.connection() && next == null) next = it;
      if (each instanceof Ended it && it.connection() == will.connection() && end == null) end = it;
    }
    if (connected == null || end == null || end.nanos() > facts.drainedNanos) return Optional.empty();
    return Optional.of(new Course(id, will, connected, end, Optional.ofNullable(next)));
  }

  private void judge(Course it, List<Long> came) {
    var end = it.end;
    if (end.how() == End.DISCONNECTED) {
      if (!came.isEmpty() && !killedAtTheEnd(facts, it) && !facts.mayHaveMissed(end)) add("will sent after DISCONNECT", it);
      return;
    }
    if (returnedInTime(facts, it)) {
      if (!came.isEmpty()) add("will sent though the client was back", it);
      return;
    }
    if (!facts.disturbedBetween(it.connected.askedNanos(), end.nanos())) early(it, came);
    if (came.size() > 1 && !facts.willMayComeTwice(facts.earliestEnd(it.connected, end), came.getLast())) add("will sent twice", it);
    if (came.isEmpty() && owed(facts, it)) add(LOST, it);
  }

  private static boolean killedAtTheEnd(Facts facts, Course it) {
    return facts.killedBetween(it.end.nanos() - SECOND, it.end.nanos() + SECOND);
  }

  private static boolean returnedInTime(Facts facts, Course it) {
    return it.back() && it.next.orElseThrow().nanos() < facts.earliestEnd(it.connected, it.end) + it.delay() - clocksApart(facts, it);
  }

  /** At the client's return, if there was one. */
  private static long clocksApart(Facts facts, Course it) {
    return it.back() ? facts.clocksApartNanos(it.next.orElseThrow().nanos()) : 0;
  }

  /** Whether a will must come to those that watch. */
  public static boolean owed(Facts facts, MessageId id, WillSet will) {
    return course(facts, id, will).filter(it -> it.end.how() != End.DISCONNECTED && !returnedInTime(facts, it) && owed(facts, it)).isPresent();
  }

  /** Of one whose client has not disconnected, and did not return in time. */
  private static boolean owed(Facts facts, Course it) {
    var end = it.end;
    long delay = it.delay();
    long late = delay > 0 ? facts.clocksApartNanos(end.nanos() + delay + LATE_MOST) : 0;
    // The harness records the drain only after waiting for pending wills.
    boolean due = end.nanos() + delay + late < facts.drainedNanos;
    boolean gone = !it.stored() && (killedAtTheEnd(facts, it) || end.how() == End.BY_BROKER);
    return due && !gone && !disconnects(end) && (delay == 0 || (!triedInTime(facts, it, late) && !mayHaveReturned(facts, it)));
  }

  /** Whether a client has sent DISCONNECT and then closed its connection, as at the end of a row: its broker may have got both in one. */
  private static boolean disconnects(Ended end) {
    return end.how() == End.ABANDONED && end.askedNanos() < end.nanos();
  }

  private static boolean mayHaveReturned(Facts facts, Course it) {
    if (!it.back()) return false;
    var next = it.next.orElseThrow();
    return next.askedNanos() < it.end.nanos() + it.delay() + clocksApart(facts, it) + LATE_MOST || facts.disturbedBetween(it.end.nanos(), next.nanos());
  }

  /**
   * A CONNECT without an answer may have been in time, while the will was or may have been still to be sent; so may one before that was sent just before a fault broke its link, and is made when
   * that goes on (D6).
   */
  private static boolean triedInTime(Facts facts, Course it, long late) {
    long until = facts.quietAfter(it.end.nanos() + it.delay() + late, LATE_MOST) + LATE_MOST;
    int next = it.next.map(Connected::connection).orElse(Integer.MAX_VALUE);
    for (var each : facts.lives.getOrDefault(it.id.publisher(), List.of())) {
      if (!(each instanceof ConnectFailed failed)) continue;
      int connection = failed.connection();
      if (connection > it.will.connection() && connection < next && failed.askedNanos() < until) return true;
      if (connection < it.will.connection() && it.end.nanos() - failed.nanos() < AWAY_MOST && facts.disturbedBetween(failed.askedNanos(), failed.nanos())) return true;
    }
    return false;
  }

  private void early(Course it, List<Long> came) {
    var end = it.end;
    if (came.isEmpty() || end.how() == End.BY_BROKER) return;
    long begin = end.how() == End.TAKEN_OVER ? it.next.map(Connected::askedNanos).orElse(end.nanos()) : end.nanos();
    if (came.getFirst() < begin + Math.max(0, it.delay() - facts.clocksApartNanos(came.getFirst()))) add("will sent early", it);
  }

  private void add(String kind, Course it) {
    add(kind, it.id, it.will, Optional.of(it.end));
  }

  private void add(String kind, MessageId id, WillSet will, Optional<Ended> end) {
    violations.add(new Violation("D7", kind, "%s, delay %d s, %s".formatted(id, will.delaySeconds(), end)));
  }
}

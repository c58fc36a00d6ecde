package dunlin.chaos.mqtt.check;

import dunlin.chaos.mqtt.check.Event.Connected;
import dunlin.chaos.mqtt.check.Event.End;
import dunlin.chaos.mqtt.check.Event.Ended;
import dunlin.chaos.mqtt.check.Event.WillSet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** D7, as observed by a durable QoS 2 subscriber to the wills' topics. */
public final class WillRules {
  /*
   * A will is owed when the connection ended without DISCONNECT 0x00 and the client did not return before the delay had
   * passed. It is forbidden when one of these did certainly happen. In between nothing is required: a client that
   * returns at about the end of the delay, a broker that was killed at about the time of a DISCONNECT, the will of a
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

  private void check(MessageId id, WillSet will, List<Long> came) {
    var life = facts.lives.getOrDefault(id.publisher(), List.of());
    var connected = find(life, Connected.class, will.connection(), 0);
    var end = life.stream().filter(Ended.class::isInstance).map(Ended.class::cast).filter(each -> each.connection() == will.connection()).findFirst();
    if (connected.isEmpty()) return;
    if (end.isEmpty() || end.get().nanos() > facts.drainedNanos) {
      if (came.stream().anyMatch(nanos -> nanos < facts.drainedNanos)) add("will sent while connected", id, will, end);
      return;
    }
    var next = next(life, will.connection());
    judge(id, will, connected.get(), end.get(), next, came);
  }

  private static Optional<Connected> find(List<Event> life, Class<Connected> type, int connection, int from) {
    return life.stream().skip(from).filter(type::isInstance).map(type::cast).filter(each -> each.connection() == connection).findFirst();
  }

  private static Optional<Connected> next(List<Event> life, int connection) {
    return life.stream().filter(Connected.class::isInstance).map(Connected.class::cast).filter(each -> each.connection() > connection).findFirst();
  }

  private void judge(MessageId id, WillSet will, Connected connected, Ended end, Optional<Connected> next, List<Long> came) {
    boolean stored = connected.expirySeconds() > 0;
    // The will of a session that ends with its connection is not delayed.
    long delay = stored && connected.level() == 5 ? will.delaySeconds() * SECOND : 0;
    boolean killed = facts.killedBetween(end.nanos() - SECOND, end.nanos() + SECOND);
    // A CONNECT without an answer may have been in time; so may one before that was sent just before a fault broke its link, and is made when that goes on (D6).
    boolean tried = facts.lives.getOrDefault(id.publisher(), List.of()).stream()
            .anyMatch(each -> each instanceof Event.ConnectFailed it && (it.connection() > will.connection() || mayBeLate(it, will)));
    if (end.how() == End.DISCONNECTED) {
      if (!came.isEmpty() && !killed) add("will sent after DISCONNECT", id, will, Optional.of(end));
      return;
    }
    boolean back = next.isPresent() && next.get().sessionPresent() && delay > 0;
    long clocksApart = back ? facts.clocksApartNanos(next.get().nanos()) : 0;
    if (back && next.get().nanos() < facts.earliestEnd(connected, end) + delay - clocksApart) {
      if (!came.isEmpty()) add("will sent though the client was back", id, will, Optional.of(end));
      return;
    }
    if (!facts.disturbedBetween(connected.nanos(), end.nanos())) early(id, will, end, next, delay, came);
    if (came.size() > 1 && !facts.leadersDisturbedBetween(will.nanos(), came.getLast())) add("will sent twice", id, will, Optional.of(end));
    if (!came.isEmpty()) return;
    boolean inTime = back && (next.get().askedNanos() < end.nanos() + delay + clocksApart + LATE_MOST || facts.disturbedBetween(end.nanos(), next.get().nanos()));
    boolean doubtful = delay > 0 && (tried || inTime);
    boolean gone = !stored && (killed || end.how() == End.BY_BROKER);
    // The harness records the drain only after waiting for pending wills.
    long late = delay > 0 ? facts.clocksApartNanos(end.nanos() + delay + LATE_MOST) : 0;
    boolean due = end.nanos() + delay + late < facts.drainedNanos;
    if (due && !doubtful && !gone) add(LOST, id, will, Optional.of(end));
  }

  private boolean mayBeLate(Event.ConnectFailed refused, WillSet will) {
    return refused.connection() < will.connection() && will.nanos() - refused.nanos() < AWAY_MOST && facts.disturbedBetween(refused.askedNanos(), refused.nanos());
  }

  private void early(MessageId id, WillSet will, Ended end, Optional<Connected> next, long delay, List<Long> came) {
    if (came.isEmpty() || end.how() == End.BY_BROKER) return;
    long begin = end.how() == End.TAKEN_OVER ? next.map(Connected::askedNanos).orElse(end.nanos()) : end.nanos();
    if (came.getFirst() < begin + Math.max(0, delay - facts.clocksApartNanos(came.getFirst()))) add("will sent early", id, will, Optional.of(end));
  }

  private void add(String kind, MessageId id, WillSet will, Optional<Ended> end) {
    violations.add(new Violation("D7", kind, "%s, delay %d s, %s".formatted(id, will.delaySeconds(), end)));
  }
}

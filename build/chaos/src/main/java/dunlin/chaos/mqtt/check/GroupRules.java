package dunlin.chaos.mqtt.check;

import dunlin.chaos.mqtt.check.Event.Answered;
import dunlin.chaos.mqtt.check.Event.Received;
import dunlin.chaos.mqtt.check.Facts.Sent;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** D9: each message for a group is with one member at a time, and one member acknowledges it. */
public final class GroupRules {
  /*
   * A second delivery is allowed when the first member's connection has ended in between, when it was written to a connection from which a cut kept it, when a broker was killed in
   * between, or when the publisher, or a cluster after a fault, has resent a QoS 1 message. Messages given to members that are not durable may be
   * lost with the broker.
   */
  private record Delivery(Session session, Received received) {}

  /** How long after a member's end a fault may come between what it has left behind and another member. */
  private static final long REDEALT_MOST = 5_000_000_000L;

  /** How long after what a broker wrote before it ended a connection the end may come, when TCP sends both again. */
  private static final long WITH_THE_END_MOST = 1_000_000_000L;

  private final Facts facts;
  private final List<Violation> violations = new ArrayList<>();

  GroupRules(Facts facts) {
    this.facts = facts;
  }

  List<Violation> check() {
    check(true);
    return violations;
  }

  /** Messages that a member must have taken and none has. */
  static List<Violation> missing(Facts facts) {
    var rules = new GroupRules(facts);
    rules.check(false);
    return rules.violations;
  }

  private void check(boolean all) {
    Map<String, List<Session>> groups = new LinkedHashMap<>();
    for (var session : facts.sessions) session.group().ifPresent(name -> groups.computeIfAbsent(name, _ -> new ArrayList<>()).add(session));
    groups.forEach(
        (filter, members) -> {
          missing(filter, members);
          if (!all) return;
          doubles(members);
          if (Filters.ordered(filter)) members.forEach(this::order);
        });
  }

  private void missing(String filter, List<Session> members) {
    Set<MessageId> answered = new HashSet<>();
    for (var member : members) for (Answered each : member.answered) answered.add(each.id());
    var staying = members.stream().filter(each -> each.aliveAt(facts.drainedNanos) && !each.subscriptions.isEmpty()).toList();
    long fromNanos = staying.stream().mapToLong(each -> each.subscriptions.getFirst().fromNanos()).min().orElse(Long.MAX_VALUE);
    boolean allDurable = members.stream().allMatch(Session::durable);
    for (var entry : facts.sent.entrySet()) {
      var message = entry.getValue();
      boolean owed =
          message.safe() && message.first.expirySeconds() < 0 && message.first.nanos() > fromNanos && Filters.matches(filter, message.first.topic());
      if (!owed || answered.contains(entry.getKey())) continue;
      if (!allDurable && facts.killedBetween(message.first.nanos(), facts.drainedNanos)) continue;
      // What a member has left behind looks for another one, with QoS 2 only once: not again when a link is lost on the way.
      if (message.first.qos() == 2 && leftInAFault(members, message.first.nanos())) continue;
      violations.add(new Violation("D9", "taken by no member", entry.getKey() + " of " + filter));
    }
  }

  /** Whether a member whose messages are in no inbox has ended from a time on, in a fault or just before one. */
  private boolean leftInAFault(List<Session> members, long fromNanos) {
    return members.stream()
        .filter(each -> !each.durable() && each.endNanos != Session.OPEN && each.endNanos >= fromNanos)
        .anyMatch(each -> facts.resendsBetween(each.endNanos, each.endNanos + REDEALT_MOST) > 0);
  }

  private void doubles(List<Session> members) {
    Map<MessageId, List<Delivery>> deliveries = new HashMap<>();
    for (var member : members) {
      for (var each : member.received)
        if (!each.repeated() && !each.retain()) deliveries.computeIfAbsent(each.id(), _ -> new ArrayList<>()).add(new Delivery(member, each));
    }
    deliveries.forEach(
        (id, all) -> {
          var message = facts.sent.get(id);
          if (message == null || all.size() == 1 || (message.first.qos() == 1 && message.sends > 1)) return;
          all.sort(Comparator.comparingLong(each -> each.received.nanos()));
          for (int i = 1; i < all.size(); i++) pair(message, all.get(i - 1), all.get(i));
        });
  }

  private void pair(Sent message, Delivery first, Delivery second) {
    boolean sameSession = first.session == second.session;
    var connection = first.received.connection();
    var end = first.session.ends.get(connection);
    boolean ended = end != null && end.askedNanos() < second.received.nanos();
    boolean superseded =
        first.session.connections.stream().anyMatch(each -> each.connection() > connection && each.askedNanos() < second.received.nanos());
    if (sameSession && second.received.dup() && (ended || superseded)) return;
    if (ended || superseded || facts.killedBetween(first.received.nanos(), second.received.nanos())) return;
    if (message.first.qos() == 1 && facts.resendsBetween(message.first.nanos(), second.received.nanos()) > 0) return;
    // The broker may count a connection as ended before its client can notice.
    if (end != null && facts.disturbedBetween(first.received.nanos(), second.received.nanos()) && facts.disturbedBetween(second.received.nanos(), end.nanos()))
      return;
    if (isLeaving(second) || cameLate(message, second)) return;
    violations.add(new Violation("D9", "with two members at a time", "%s, then %s to %s".formatted(message.first.id(), second.received, second.session.client())));
  }

  /** Whether a member had sent DISCONNECT when it found a copy in its socket: another one may have the message by then. */
  private static boolean isLeaving(Delivery copy) {
    var end = copy.session.ends.get(copy.received.connection());
    return end != null && end.askedNanos() < copy.received.nanos();
  }

  /**
   * Whether a broker wrote a copy just before it was cut off, and ended the connection since. TCP sends both again after the cut, up to as long after it as it lasted: another member may
   * have the message by then.
   */
  private boolean cameLate(Sent message, Delivery copy) {
    var end = copy.session.ends.get(copy.received.connection());
    if (end == null || end.how() != Event.End.BY_BROKER || end.nanos() > copy.received.nanos() + WITH_THE_END_MOST) return false;
    return facts.connected(end.client(), end.connection()).filter(at -> facts.unreachableBetween(at.node(), message.first.nanos(), copy.received.nanos())).isPresent();
  }

  /** An ordered group keeps a publisher with one member, in order, while the members do not change. */
  private void order(Session member) {
    Map<String, Received> last = new HashMap<>();
    Set<MessageId> seen = new HashSet<>();
    for (var each : member.received) {
      var message = facts.sent.get(each.id());
      if (message == null || each.retain() || !seen.add(each.id())) continue;
      var before = last.put("%s %s %d %d".formatted(each.id().publisher(), each.topic(), message.first.qos(), facts.orderedWithin(message)), each);
      if (before == null || before.id().number() < each.id().number()) continue;
      boolean stable = facts.sessions.stream().allMatch(session -> unmoved(session, before.nanos(), each.nanos()));
      if (stable) violations.add(new Violation("D9", "out of order in an ordered group", before + " then " + each));
    }
  }

  private static boolean unmoved(Session session, long fromNanos, long untilNanos) {
    if (session.group().isEmpty()) return true;
    return session.ends.values().stream().noneMatch(end -> end.nanos() >= fromNanos - 1_000_000_000L && end.nanos() <= untilNanos)
        && session.connections.stream().noneMatch(each -> each.nanos() >= fromNanos - 1_000_000_000L && each.nanos() <= untilNanos);
  }
}

package dunlin.chaos.mqtt.check;

import dunlin.chaos.mqtt.check.Event.Received;
import dunlin.chaos.mqtt.check.Facts.Sent;
import dunlin.chaos.mqtt.check.Session.Subscription;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** D1 to D5, D10 and D12 for subscriptions that are not shared: which messages arrive, how often, in which order, and until when. */
public final class DeliveryRules {
  /*
   * A delivery is a PUBLISH without DUP that is not part of an exchange in progress. A QoS 1 message may be delivered
   * as often as its publisher has sent it, and with QoS 1 some times more for each fault of a cluster in between, whose nodes
   * send it again; a QoS 2 or QoS 0 message once.
   *
   * The order of QoS 0 is that of a connection of the publisher in a cluster, and else of all its connections. Over a later
   * connection of the subscriber, copies with DUP come in the order in which they came before. That need not be the order
   * of publishing: a message of QoS 1 may have two copies, and the second one comes behind later messages.
   *
   * A message that has expired may be sent with DUP, since it was sent in time before.
   *
   * A message must arrive if it was first sent after SUBACK and before UNSUBSCRIBE, was acknowledged with success and
   * cannot have expired, in each session that lasted until the drain. Sessions that ended earlier are not checked. As
   * many may be missing as the broker has counted drops.
   */
  private static final long SECOND = 1_000_000_000L;
  /** The tolerance between the broker's and the client's clock, on a busy machine. */
  private static final long EXPIRY_SLACK = 2 * SECOND;

  /** @param connection as {@link Facts#orderedWithin} */
  private record Stream(String publisher, String topic, int qos, int connection) {}

  /** @param connection that of the subscriber. What is sent again keeps its order over all connections of the publisher. */
  private record Repetition(int connection, String publisher, String topic, int qos) {}

  /** A message under one packet identifier. */
  private record Copy(MessageId id, int packetId) {}

  private final Facts facts;
  private final Drops drops;
  private final List<Violation> violations = new ArrayList<>();

  DeliveryRules(Facts facts, Drops drops) {
    this.facts = facts;
    this.drops = drops;
  }

  List<Violation> check() {
    var lost = new ArrayList<Violation>();
    for (var session : facts.sessions) {
      for (var each : session.received) known(each);
      if (session.group().isPresent()) continue;
      order(session);
      counts(session);
      unsubscribed(session);
      if (session.aliveAt(facts.drainedNanos)) lost.addAll(lost(session));
    }
    var stored = lost.stream().filter(each -> each.promise().equals("D3")).toList();
    var online = lost.stream().filter(each -> each.promise().equals("D2")).toList();
    if (stored.size() > drops.inboxes()) violations.addAll(stored);
    if (online.size() > drops.connected()) violations.addAll(online);
    return violations;
  }

  /** Messages that must have arrived and have not, without regard to drops. */
  static List<Violation> missing(Facts facts) {
    var rules = new DeliveryRules(facts, Drops.NONE);
    var lost = new ArrayList<Violation>();
    for (var session : facts.sessions) if (session.group().isEmpty() && session.aliveAt(facts.drainedNanos)) lost.addAll(rules.lost(session));
    return lost;
  }

  private List<Violation> lost(Session session) {
    Set<MessageId> there = new HashSet<>();
    for (var each : session.received) there.add(each.id());
    var lost = new ArrayList<Violation>();
    String promise = session.durable() ? "D3" : "D2";
    String kind = session.durable() ? "lost" : "lost while connected";
    for (var subscription : session.subscriptions)
      for (var message : facts.matching(subscription.filter()))
        if (message.safe() && message.first.expirySeconds() < 0 && owed(subscription, message) && there.add(message.first.id()))
          lost.add(new Violation(promise, kind, "%s to %s on %s".formatted(message.first.id(), session.client(), message.first.topic())));
    return lost;
  }

  public static boolean owed(Session session, Sent message) {
    return message.safe() && message.first.expirySeconds() < 0 && session.subscriptions.stream().anyMatch(each -> owed(each, message));
  }

  private static boolean owed(Subscription subscription, Sent message) {
    return subscription.qos() > 0
        && message.first.nanos() > subscription.fromNanos()
        && message.acknowledgedNanos() < subscription.untilNanos()
        && Filters.matches(subscription.filter(), message.first.topic());
  }

  private void known(Received received) {
    var message = facts.sent.get(received.id());
    var will = facts.wills.get(received.id());
    boolean right = (message != null && message.first.topic().equals(received.topic())) || (will != null && will.topic().equals(received.topic()));
    if (!right) violations.add(new Violation("D3", "invented", received.toString()));
    if (message != null) expired(received, message);
  }

  private void expired(Received received, Sent message) {
    long seconds = message.first.expirySeconds();
    if (seconds < 0 || message.acknowledged == null) return;
    long clocksApart = facts.clocksApartNanos(received.nanos());
    long deadline = message.acknowledged.nanos() + seconds * SECOND + clocksApart + EXPIRY_SLACK;
    if (received.nanos() > deadline && !received.dup() && !facts.disturbedBetween(deadline - EXPIRY_SLACK, received.nanos()))
      violations.add(new Violation("D12", "expired", received.toString()));
    if (received.expirySeconds() > seconds + clocksApart / SECOND) violations.add(new Violation("D12", "lives longer", received.toString()));
  }

  private void order(Session session) {
    Map<Stream, Long> last = new HashMap<>();
    Map<Repetition, Long> again = new HashMap<>();
    Map<Copy, Long> copies = new HashMap<>();
    Set<MessageId> seen = new HashSet<>();
    for (var each : session.received) {
      var message = facts.sent.get(each.id());
      if (message == null || each.retain()) continue;
      var stream = new Stream(each.id().publisher(), each.topic(), message.first.qos(), facts.orderedWithin(message));
      long place = copies.computeIfAbsent(new Copy(each.id(), each.packetId()), _ -> (long) copies.size() + 1);
      if (seen.add(each.id())) {
        if (grows(last, stream, each.id().number()) || secondMayComeFirst(session, each, message)) continue;
        violations.add(new Violation("D4", "out of order", "%s after %d to %s".formatted(each, last.get(stream), session.client())));
      } else if (each.dup() && message.sends == 1 && !grows(again, new Repetition(each.connection(), stream.publisher, stream.topic, stream.qos), place)) {
        violations.add(new Violation("D4", "sent again out of order", "%s to %s".formatted(each, session.client())));
      }
    }
  }

  /** Whether a session may see the second sending of a message as its first, after later messages. */
  private boolean secondMayComeFirst(Session session, Received each, Sent message) {
    boolean missedFirst = !coveredSince(session, message);
    if (message.sends > 1 && (each.qos() == 0 || missedFirst || mayHaveExpired(each, message))) return true;
    // The broker, too, sends QoS 1 and recorded QoS 2 again, and matches them anew: the subscription that takes it is later than what overtakes it. To one with QoS 0 it sends no QoS 1 again.
    boolean sentAgain = each.qos() > 0 ? message.first.qos() > 0 : message.first.qos() == 2 && facts.hasSession(message);
    return sentAgain && missedFirst && facts.resendsBetween(message.first.nanos(), each.nanos()) > 0;
  }

  /** Whether the first sending may have expired before this one came: each counts from when the broker has accepted it. */
  private static boolean mayHaveExpired(Received each, Sent message) {
    long seconds = message.first.expirySeconds();
    return seconds >= 0 && each.nanos() >= message.first.nanos() + seconds * SECOND;
  }

  /** Whether the session was subscribed when the message was first sent, and is until its end. */
  public static boolean coveredSince(Session session, Sent message) {
    return session.subscriptions.stream()
        .anyMatch(each -> each.fromNanos() < message.first.nanos() && each.untilNanos() == Session.OPEN && Filters.matches(each.filter(), message.first.topic()));
  }

  private static <K> boolean grows(Map<K, Long> last, K stream, long number) {
    long before = last.getOrDefault(stream, 0L);
    if (number < before) return false;
    last.put(stream, number);
    return true;
  }

  private void counts(Session session) {
    Map<MessageId, Integer> deliveries = new HashMap<>();
    for (var each : session.received) {
      if (each.repeated() || each.retain() || (each.dup() && each.qos() == 1 && deliveries.containsKey(each.id()))) continue;
      int count = deliveries.merge(each.id(), 1, Integer::sum);
      var message = facts.sent.get(each.id());
      if (message == null) continue;
      int most = message.first.qos() == 1 ? message.sends : 1;
      if (message.first.qos() == 1 && each.qos() == 1) most += facts.resendsBetween(message.first.nanos(), each.nanos());
      if (count > most) {
        violations.add(
            new Violation(message.first.qos() == 2 ? "D5" : "D4", "doubled", "%s, sent %d times".formatted(each, message.sends)));
      }
    }
  }

  private void unsubscribed(Session session) {
    if (session.subscriptions.stream().noneMatch(each -> each.goneNanos() != Session.OPEN)) return;
    for (var each : session.received) {
      var message = facts.sent.get(each.id());
      if (message == null || each.retain()) continue;
      boolean covered =
          session.possibleSubscriptions()
              .anyMatch(
                  subscription ->
                      subscription.askedNanos() <= each.nanos()
                          && message.first.nanos() <= subscription.goneNanos()
                          && Filters.matches(subscription.filter(), each.topic()));
      if (!covered) violations.add(new Violation("D2", "after UNSUBACK", each.toString()));
    }
  }
}

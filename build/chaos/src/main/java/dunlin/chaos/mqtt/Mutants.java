package dunlin.chaos.mqtt;

import dunlin.chaos.mqtt.check.DeliveryRules;
import dunlin.chaos.mqtt.check.Event.Acknowledged;
import dunlin.chaos.mqtt.check.Event.Connected;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.check.Event.End;
import dunlin.chaos.mqtt.check.Event.Ended;
import dunlin.chaos.mqtt.check.Event.Published;
import dunlin.chaos.mqtt.check.Event.Received;
import dunlin.chaos.mqtt.check.Event.ReceivedBehind;
import dunlin.chaos.mqtt.check.Event.WillSet;
import dunlin.chaos.mqtt.check.Event;
import dunlin.chaos.mqtt.check.Facts;
import dunlin.chaos.mqtt.check.MessageId;
import dunlin.chaos.mqtt.check.Session.Subscription;
import dunlin.chaos.mqtt.check.Session;
import dunlin.chaos.mqtt.check.WillRules;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.BiPredicate;
import java.util.function.Predicate;

/** Histories in which one promise is broken once, made from a correct history: the checker must find each. */
final class Mutants {
  private static final long SECOND = 1_000_000_000L;

  /** Changes a history; empty when the history has no place for the change. */
  interface Mutation {
    Optional<List<Event>> of(Facts facts, Random random);
  }

  /** @param promise the promise that the checker must report as broken */
  record Mutant(String name, String promise, Mutation mutation) {}

  static final List<Mutant> ALL =
      List.of(
          new Mutant("drop one message", "D3", (facts, random) -> pick(facts, random, each -> owed(facts, each)).map(one -> without(facts, one))),
          new Mutant("double one of QoS 2", "D5", (facts, random) -> pick(facts, random, each -> exact(facts, each)).map(one -> again(facts, one))),
          new Mutant("swap two", "D4", Mutants::swap),
          new Mutant("deliver what nobody has sent", "D3", (facts, random) -> pick(facts, random, _ -> true).map(one -> invented(facts, one))),
          new Mutant("forge an acknowledgement", "D3", Mutants::forge),
          new Mutant("deliver after UNSUBACK", "D2", Mutants::unsubscribed),
          new Mutant("deliver what has expired", "D12", Mutants::expired),
          new Mutant("forget a session", "D11", (facts, random) -> present(facts, random, true)),
          new Mutant("find a session that never was", "D6", (facts, random) -> present(facts, random, false)),
          new Mutant("keep two connections", "D6", Mutants::twoConnections),
          new Mutant("serve two owners of a session", "D6", Mutants::twoOwners),
          new Mutant("deliver to the owner before", "D6", Mutants::ownerBefore),
          new Mutant("lose what a deposed leader acknowledged", "D3", Mutants::deposed),
          new Mutant("overlook a subscription as a deposed leader", "D2", Mutants::overlooked),
          new Mutant("resume a lane one message too late", "D3", Mutants::resumedTooLate),
          new Mutant("resume a lane one message too early", "D5", Mutants::resumedTooEarly),
          new Mutant("acknowledge as a minority", "D14", Mutants::minority),
          new Mutant("lose a will", "D7", (facts, random) -> loseWill(facts, random, false)),
          new Mutant("lose a delayed will", "D7", (facts, random) -> loseWill(facts, random, true)),
          new Mutant("send a will twice", "D7", (facts, random) -> will(facts, random, (will, it) -> once(facts, will, it)).map(one -> again(facts, one))),
          new Mutant("send a will early", "D7", (facts, random) -> will(facts, random, (will, it) -> delayedAndQuiet(facts, will, it)).map(one -> early(facts, one))),
          new Mutant("send a will after DISCONNECT", "D7", Mutants::willAfterDisconnect),
          new Mutant("let a retained value go back", "D8", (facts, random) -> retainedBack(facts, random, _ -> true)),
          new Mutant("read a retained value as a deposed leader", "D8", (facts, random) -> retainedBack(facts, random, each -> facts.disturbedBetween(each.nanos(), each.nanos()))),
          new Mutant("lose a retained value", "D8", Mutants::retainedLost),
          new Mutant("give one to two members", "D9", Mutants::twoMembers),
          new Mutant("lose one of a group", "D9", Mutants::groupLoses));

  private Mutants() {}

  private static <T> Optional<T> any(List<T> all, Random random) {
    return all.isEmpty() ? Optional.empty() : Optional.of(all.get(random.nextInt(all.size())));
  }

  private static Optional<Received> pick(Facts facts, Random random, Predicate<Received> which) {
    var all = new ArrayList<Received>();
    for (var session : facts.sessions)
      for (var each : session.received)
        if (session.group().isEmpty() && facts.sent.containsKey(each.id()) && !each.retain() && !each.repeated() && which.test(each)) all.add(each);
    return any(all, random);
  }

  private static Facts.Sent sent(Facts facts, MessageId id) {
    var sent = facts.sent.get(id);
    if (sent == null) throw new IllegalStateException("nobody has sent " + id);
    return sent;
  }

  private static boolean owed(Facts facts, Received one) {
    var message = sent(facts, one.id());
    return one.qos() > 0 && facts.sessions.stream()
        .anyMatch(session -> session.client().equals(one.client()) && session.durable() && session.aliveAt(facts.drainedNanos)
            && DeliveryRules.owed(session, message));
  }

  private static boolean exact(Facts facts, Received one) {
    return one.qos() == 2 && sent(facts, one.id()).first.qos() == 2;
  }

  private static List<Event> without(Facts facts, Received one) {
    return facts.events.stream()
        .filter(each -> !(each instanceof Received it && it.client().equals(one.client()) && it.id().equals(one.id())))
        .toList();
  }

  private static List<Event> replaced(Facts facts, Event one, Event by) {
    return facts.events.stream().map(each -> each.equals(one) ? by : each).toList();
  }

  private static List<Event> inserted(Facts facts, Event behind, Event... more) {
    var events = new ArrayList<>(facts.events);
    events.addAll(events.indexOf(behind) + 1, List.of(more));
    return events;
  }

  private static Received changed(Received one, MessageId id, long nanos, int packetId) {
    return new Received(
        nanos, one.client(), one.connection(), id, one.topic(), one.qos(), false, one.retain(), one.delete(), packetId, false, one.expirySeconds());
  }

  private static List<Event> again(Facts facts, Received one) {
    return inserted(facts, one, changed(one, one.id(), one.nanos() + 1, one.packetId() % 65_535 + 1));
  }

  private static List<Event> invented(Facts facts, Received one) {
    return inserted(facts, one, changed(one, new MessageId("nobody", 1), one.nanos() + 1, 0));
  }

  private static Optional<List<Event>> swap(Facts facts, Random random) {
    var pairs = new ArrayList<List<Received>>();
    for (var session : facts.sessions) {
      if (session.group().isPresent()) continue;
      var seen = new HashSet<MessageId>();
      boolean isFirst = false;
      for (int i = 0; i < session.received.size(); i++) {
        boolean wasFirst = isFirst;
        isFirst = seen.add(session.received.get(i).id());
        if (!wasFirst || !isFirst) continue; // a lane may send QoS 1 again after a fault, which is no new message here
        var a = session.received.get(i - 1);
        var b = session.received.get(i);
        boolean plain = !a.dup() && !b.dup() && !a.retain() && !b.retain() && a.topic().equals(b.topic()) && a.id().number() < b.id().number();
        if (!plain || !a.id().publisher().equals(b.id().publisher()) || !facts.sent.containsKey(a.id())) continue;
        var first = sent(facts, a.id());
        var second = sent(facts, b.id());
        boolean once = first.sends == 1 && second.sends == 1 && DeliveryRules.coveredSince(session, first);
        if (once && first.first.qos() == second.first.qos() && facts.orderedWithin(first) == facts.orderedWithin(second)) pairs.add(List.of(a, b));
      }
    }
    return any(pairs, random)
        .map(
            pair -> {
              var events = new ArrayList<>(facts.events);
              var a = pair.getFirst();
              var b = pair.getLast();
              events.set(events.indexOf(a), changed(a, b.id(), a.nanos(), a.packetId()));
              events.set(events.lastIndexOf(b), changed(b, a.id(), b.nanos(), b.packetId()));
              return events;
            });
  }

  private static Optional<List<Event>> forge(Facts facts, Random random) {
    return pick(facts, random, each -> owed(facts, each)).map(one -> forged(facts, one));
  }

  /** With another message, which is acknowledged, beside one that has arrived. */
  private static List<Event> forged(Facts facts, Received one) {
    var model = sent(facts, one.id()).first;
    var id = new MessageId("forger", 1);
    return inserted(facts, model, published(model, id, -1), new Acknowledged(model.nanos() + 2, "forger", id, 0));
  }

  private static Published published(Published model, MessageId id, long expirySeconds) {
    return new Published(model.nanos() + 1, id.publisher(), 1, id, model.topic(), 1, false, false, expirySeconds, false);
  }

  /** Only of a message after which there was no fault, since delays are allowed while the broker is down. */
  private static Optional<List<Event>> expired(Facts facts, Random random) {
    return pick(facts, random, each -> owed(facts, each) && !facts.disturbedBetween(sent(facts, each.id()).first.nanos(), facts.drainedNanos))
        .map(
            one -> {
              var model = sent(facts, one.id()).first;
              var id = new MessageId("forger", 1);
              long late = facts.drainedNanos + Facts.CLOCK_STEP_NANOS + 100 * SECOND; // whatever clocks say
              var events = new ArrayList<>(inserted(facts, model, published(model, id, 1), new Acknowledged(model.nanos() + 2, "forger", id, 0)));
              events.add(events.indexOf(one) + 1, changed(one, id, late, 0));
              return events;
            });
  }

  private static Optional<List<Event>> unsubscribed(Facts facts, Random random) {
    var all = new ArrayList<Event.Unsubscribed>();
    for (var event : facts.events) if (event instanceof Event.Unsubscribed it) all.add(it);
    return any(all, random)
        .map(
            gone -> {
              var id = new MessageId("forger", 1);
              long nanos = gone.nanos();
              String topic = gone.filter().replace("#", "x");
              var received =
                  new Received(nanos + 3, gone.client(), gone.connection(), id, topic, 1, false, false, false, 65_000, false, -1);
              return inserted(facts, gone, new Published(nanos + 2, "forger", 1, id, topic, 1, false, false, -1, false), received);
            });
  }

  private static Optional<List<Event>> present(Facts facts, Random random, boolean kept) {
    var all = new ArrayList<Connected>();
    for (var life : facts.lives.values()) {
      boolean first = true;
      for (var event : life) {
        if (!(event instanceof Connected it)) continue;
        if (kept ? it.sessionPresent() && it.expirySeconds() >= 3600 : first && !it.sessionPresent() && it.connection() == 1) all.add(it);
        first = false;
      }
    }
    return any(all, random)
        .map(
            it ->
                replaced(
                    facts, it,
                    new Connected(it.nanos(), it.client(), it.connection(), it.node(), it.level(), it.askedNanos(), it.cleanStart(), it.expirySeconds(), !kept)));
  }

  private static Optional<List<Event>> twoConnections(Facts facts, Random random) {
    var all = new ArrayList<Ended>();
    for (var event : facts.events)
      if (event instanceof Ended it && it.how() == End.TAKEN_OVER && !facts.disturbedBetween(it.nanos() - 5 * SECOND, it.nanos() + 20 * SECOND)) all.add(it);
    return any(all, random)
        .map(it -> replaced(facts, it, new Ended(it.nanos() + 100 * SECOND, it.client(), it.connection(), it.how(), it.reason())));
  }

  /** In a fault, too: a session moves on, and the connection before stays open until long after the fault. */
  private static Optional<List<Event>> twoOwners(Facts facts, Random random) {
    var all = new ArrayList<Ended>();
    for (var event : facts.events) {
      if (!(event instanceof Ended it) || it.how() != End.TAKEN_OVER) continue;
      if (facts.connected(it.client(), it.connection()).filter(of -> facts.latestEnd(of, it.nanos()) < facts.drainedNanos).isPresent()) all.add(it);
    }
    return any(all, random)
        .map(it -> replaced(facts, it, new Ended(facts.drainedNanos - 1, it.client(), it.connection(), it.how(), it.reason())));
  }

  /** A message of a durable session comes over its present connection, and over one before. */
  private static Optional<List<Event>> ownerBefore(Facts facts, Random random) {
    return pick(facts, random, each -> each.qos() > 0 && connectedBefore(facts, each, sent(facts, each.id()).first.nanos()))
        .map(it -> inserted(facts, it, new ReceivedBehind(it.nanos() + 1, it.client(), it.connection() - 1, it.id(), it.qos())));
  }

  private static boolean connectedBefore(Facts facts, Received one, long nanos) {
    return one.connection() > 1
        && facts.lives.getOrDefault(one.client(), List.of()).stream()
            .anyMatch(it -> it instanceof Connected now && now.connection() == one.connection() && now.expirySeconds() > 0 && now.nanos() < nanos);
  }

  /** A message that is published in a fault is acknowledged, and no client receives it. */
  private static Optional<List<Event>> deposed(Facts facts, Random random) {
    return pick(
            facts, random,
            each -> {
              long nanos = sent(facts, each.id()).first.nanos();
              return owed(facts, each) && facts.disturbedBetween(nanos, nanos);
            })
        .map(one -> forged(facts, one));
  }

  /** A message that is published in a fault, by SUBACK of an online client in the same fault, does not come to that client alone. */
  private static Optional<List<Event>> overlooked(Facts facts, Random random) {
    var all = new ArrayList<Received>();
    for (var session : facts.sessions) {
      if (session.durable() || session.group().isPresent() || !session.aliveAt(facts.drainedNanos)) continue;
      long since = session.subscriptions.stream().mapToLong(Subscription::fromNanos).filter(each -> facts.disturbedBetween(each, each)).min().orElse(Long.MAX_VALUE);
      for (var each : session.received) {
        var message = facts.sent.get(each.id());
        if (message == null || each.retain() || message.first.nanos() < since || !DeliveryRules.owed(session, message)) continue;
        if (facts.quietAfter(since, 0) >= message.first.nanos()) all.add(each);
      }
    }
    return any(all, random).map(one -> without(facts, one));
  }

  /** A message at a fault that is acknowledged, and that the lane has skipped: no client receives it. */
  private static Optional<List<Event>> resumedTooLate(Facts facts, Random random) {
    return pick(facts, random, each -> owed(facts, each) && atFault(facts, each))
        .map(one -> facts.events.stream().filter(each -> !(each instanceof Received it && it.id().equals(one.id()))).toList());
  }

  /** A message of QoS 2 at a fault, which the lane has sent once more: it comes to all of its clients again, as another one. */
  private static Optional<List<Event>> resumedTooEarly(Facts facts, Random random) {
    return pick(facts, random, each -> !each.dup() && exact(facts, each) && atFault(facts, each))
        .map(
            one -> {
              var events = new ArrayList<Event>();
              for (var each : facts.events) {
                events.add(each);
                if (each instanceof Received it && it.id().equals(one.id()) && !it.dup()) events.add(changed(it, it.id(), it.nanos() + 1, it.packetId() % 65_535 + 1));
              }
              return events;
            });
  }

  /** Whether a message was published in a fault, or so near to one that it was on its way. */
  private static boolean atFault(Facts facts, Received one) {
    long nanos = sent(facts, one.id()).first.nanos();
    return facts.disturbedBetween(nanos - SECOND, nanos + SECOND);
  }

  /** A message is sent to a broker that is cut off, and acknowledged. */
  private static Optional<List<Event>> minority(Facts facts, Random random) {
    var all = new ArrayList<Event.Broker>();
    for (var event : facts.events) if (event instanceof Event.Broker it && it.deed() == Deed.CUT) all.add(it);
    return any(all, random)
        .map(
            cut -> {
              long nanos = cut.nanos();
              var id = new MessageId("forger", 1);
              var connected = new Connected(nanos - 2, "forger", 1, cut.node(), 5, nanos - 3, true, 0, false);
              var published = new Published(nanos + 1, "forger", 1, id, "forged/1", 1, false, false, -1, false);
              return inserted(facts, cut, connected, published, new Acknowledged(nanos + 2, "forger", id, 0), new Ended(nanos + 3, "forger", 1, End.ABANDONED, -1));
            });
  }

  /** A will that arrived after its client had ended without DISCONNECT. */
  private static Optional<Received> will(Facts facts, Random random, BiPredicate<WillSet, Received> which) {
    var all = new ArrayList<Received>();
    for (var event : facts.events) {
      if (!(event instanceof Received it) || it.repeated()) continue;
      var will = facts.wills.get(it.id());
      if (will == null || !which.test(will, it)) continue;
      boolean watched = facts.sessions.stream().anyMatch(session -> session.received.contains(it) && WillRules.watches(facts, session, will));
      if (!watched) continue;
      boolean ended = facts.lives.getOrDefault(it.id().publisher(), List.of()).stream()
              .anyMatch(each -> each instanceof Ended end && end.connection() == it.id().number() && end.how() == End.ABANDONED);
      if (ended && it.nanos() < facts.drainedNanos) all.add(it);
    }
    return any(all, random);
  }

  private static Optional<List<Event>> loseWill(Facts facts, Random random, boolean delayed) {
    return will(facts, random, (will, it) -> delayed == will.delaySeconds() > 0 && WillRules.owed(facts, it.id(), will)).map(one -> without(facts, one));
  }

  /** Whether it must not come a second time, in a fault, too. */
  private static boolean once(Facts facts, WillSet will, Received it) {
    return !facts.willMayComeTwice(will.nanos(), it.nanos() + SECOND);
  }

  private static boolean delayedAndQuiet(Facts facts, WillSet will, Received it) {
    return will.delaySeconds() > 0 && !facts.disturbedBetween(will.nanos(), it.nanos() + 2 * SECOND);
  }

  private static List<Event> early(Facts facts, Received one) {
    return replaced(facts, one, changed(one, one.id(), one.nanos() - 60 * SECOND, one.packetId()));
  }

  private static Optional<List<Event>> willAfterDisconnect(Facts facts, Random random) {
    var model = facts.events.stream().filter(each -> each instanceof Received it && facts.wills.containsKey(it.id())).map(Received.class::cast).findFirst();
    var all = new ArrayList<Ended>();
    for (var event : facts.events) {
      if (!(event instanceof Ended it) || it.how() != End.DISCONNECTED || facts.killedBetween(it.nanos() - 2 * SECOND, it.nanos() + 2 * SECOND) || facts.mayHaveMissed(it)) continue;
      var will = facts.wills.get(new MessageId(it.client(), it.connection()));
      if (will != null && facts.sessions.stream().anyMatch(each -> WillRules.watches(facts, each, will))) all.add(it);
    }
    return model.flatMap(
        one -> any(all, random).map(it -> inserted(facts, it, changed(one, new MessageId(it.client(), it.connection()), it.nanos() + 1, 60_000))));
  }

  private static Optional<List<Event>> retainedBack(Facts facts, Random random, Predicate<Received> which) {
    // When each topic first had a retained message other than its publisher's first, as far as the publisher knows.
    Map<String, Long> laterSince = new HashMap<>();
    for (var message : facts.sent.values())
      if (message.first.retain() && message.safe() && message.first.id().number() > 1)
        laterSince.merge(message.first.topic(), message.acknowledgedNanos(), Math::min);
    var all = new ArrayList<Received>();
    for (var session : facts.sessions) {
      // Messages may come before SUBACK, and SUBACK may then not come at all.
      if (session.subscriptions.isEmpty()) continue;
      long asked = session.subscriptions.getFirst().askedNanos();
      for (var each : session.received) {
        if (!each.retain() || each.id().number() <= 1 || !facts.sent.containsKey(new MessageId(each.id().publisher(), 1))) continue;
        if (laterSince.getOrDefault(each.topic(), Long.MAX_VALUE) < asked && which.test(each)) all.add(each);
      }
    }
    return any(all, random).map(one -> replaced(facts, one, changed(one, new MessageId(one.id().publisher(), 1), one.nanos(), one.packetId())));
  }

  private static Optional<List<Event>> retainedLost(Facts facts, Random random) {
    for (var session : shuffled(facts.sessions, random)) {
      for (var topic : session.received.stream().filter(Received::retain).map(Received::topic).distinct().toList()) {
        var events = facts.events.stream()
                .filter(each -> !(each instanceof Received it && it.client().equals(session.client()) && it.topic().equals(topic))).toList();
        var end = session.ends.get(session.begin.connection());
        boolean deleted = facts.sent.values().stream().anyMatch(message -> message.first.delete() && message.first.topic().equals(topic));
        if (end != null && end.how() == End.DISCONNECTED && !deleted) return Optional.of(events);
      }
    }
    return Optional.empty();
  }

  private static List<Session> shuffled(List<Session> sessions, Random random) {
    var all = new ArrayList<>(sessions);
    Collections.shuffle(all, random);
    return all;
  }

  private static Optional<List<Event>> twoMembers(Facts facts, Random random) {
    for (var session : shuffled(facts.sessions, random)) {
      for (var other : facts.sessions) {
        if (session == other || session.group().isEmpty() || !session.group().equals(other.group())) continue;
        for (var one : session.received) {
          var message = facts.sent.get(one.id());
          if (message == null || message.sends > 1 || one.repeated() || one.dup()) continue;
          if (connectedAt(session, one.nanos()).isEmpty()) continue; // it is leaving
          var connection = connectedAt(other, one.nanos());
          if (connection.isEmpty() || facts.disturbedBetween(one.nanos(), one.nanos() + SECOND)) continue;
          if (message.first.qos() == 1 && facts.resendsBetween(message.first.nanos(), one.nanos() + 1) > 0) continue; // a cluster may
          var copy = new Received(
                  one.nanos() + 1, other.client(), connection.get().connection(), one.id(), one.topic(), one.qos(), false, false, false,
                  64_000, false, -1);
          return Optional.of(inserted(facts, one, copy));
        }
      }
    }
    return Optional.empty();
  }

  /** The connection of a session that a client holds at a time, and has not begun to end. */
  private static Optional<Connected> connectedAt(Session session, long nanos) {
    return session.connections.stream()
        .filter(each -> each.nanos() <= nanos)
        .reduce((_, later) -> later)
        .filter(each -> session.ends.get(each.connection()) == null || session.ends.get(each.connection()).askedNanos() > nanos + 1);
  }

  private static Optional<List<Event>> groupLoses(Facts facts, Random random) {
    for (var session : shuffled(facts.sessions, random)) {
      if (session.group().isEmpty() || !session.durable() || !session.aliveAt(facts.drainedNanos)) continue;
      var among = facts.sessions.stream().filter(each -> each.group().equals(session.group()) && !each.subscriptions.isEmpty()).toList();
      if (!among.stream().allMatch(Session::durable)) continue;
      long from = among.stream().mapToLong(each -> each.subscriptions.getFirst().fromNanos()).max().orElseThrow();
      var names = among.stream().map(Session::client).toList();
      for (var one : session.answered) {
        var message = facts.sent.get(one.id());
        if (message == null || !message.safe() || message.first.nanos() < from) continue;
        return Optional.of(
            facts.events.stream()
                .filter(each -> !(each instanceof Event.Answered it && it.id().equals(one.id()) && names.contains(it.client())))
                .filter(each -> !(each instanceof Received it && it.id().equals(one.id()) && names.contains(it.client())))
                .toList());
      }
    }
    return Optional.empty();
  }
}

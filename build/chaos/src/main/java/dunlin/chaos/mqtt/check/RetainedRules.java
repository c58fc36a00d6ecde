package dunlin.chaos.mqtt.check;

import dunlin.chaos.mqtt.check.Event.End;
import dunlin.chaos.mqtt.check.Event.Received;
import dunlin.chaos.mqtt.check.Facts.Sent;
import dunlin.chaos.mqtt.check.Session.Subscription;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** D8. Each topic has one writer, which waits for each acknowledgement, so that its numbers are in the order of the log. */
public final class RetainedRules {
  /*
   * A delete has a number like a value. New subscribers read until they have a message for each topic that must have a
   * value, or for half a minute, and then send DISCONNECT; one that ends otherwise may have missed messages.
   */
  private record Reading(Session session, Subscription subscription) {}

  private final Facts facts;
  private final List<Violation> violations = new ArrayList<>();

  RetainedRules(Facts facts) {
    this.facts = facts;
  }

  List<Violation> check() {
    Map<String, List<Sent>> topics = new TreeMap<>();
    for (var message : facts.sent.values())
      if (message.first.retain()) topics.computeIfAbsent(message.first.topic(), _ -> new ArrayList<>()).add(message);
    var readings = new ArrayList<Reading>();
    for (var session : facts.sessions)
      for (var subscription : session.subscriptions)
        if (!Filters.shared(subscription.filter())) readings.add(new Reading(session, subscription));
    topics.forEach((topic, writes) -> check(topic, writes, readings));
    return violations;
  }

  private void check(String topic, List<Sent> writes, List<Reading> readings) {
    var among = new ArrayList<Reading>();
    for (var each : readings) if (Filters.matches(each.subscription.filter(), topic)) among.add(each);
    Map<Reading, List<Received>> came = new HashMap<>();
    for (var each : among) came.put(each, each.session.received.stream().filter(received -> received.topic().equals(topic)).toList());
    for (var each : among) {
      var received = came.getOrDefault(each, List.of());
      long known = known(writes, each.subscription.askedNanos());
      behind(received, known);
      if (received.isEmpty()) missing(topic, writes, each, known);
    }
    between(among, came);
  }

  /** The newest number acknowledged when the subscriber sent SUBSCRIBE; 0 for none. */
  private static long known(List<Sent> writes, long askedNanos) {
    long known = 0;
    for (var write : writes) if (write.safe() && write.acknowledgedNanos() < askedNanos) known = write.first.id().number();
    return known;
  }

  private void behind(List<Received> received, long known) {
    long newest = 0;
    for (var each : received) {
      long number = each.id().number();
      if (each.retain() && number < known) violations.add(new Violation("D8", "retained message older than acknowledged", each + ", known " + known));
      if (each.retain() && number < newest) violations.add(new Violation("D8", "retained message behind a newer one", each + " after " + newest));
      if (each.retain() && each.delete()) violations.add(new Violation("D8", "retained message without a payload", each.toString()));
      newest = Math.max(newest, number);
    }
  }

  private void missing(String topic, List<Sent> writes, Reading reading, long known) {
    int connection = reading.session.connections.getLast().connection();
    var end = reading.session.ends.get(connection);
    if (known == 0 || end == null || end.how() != End.DISCONNECTED) return;
    for (var write : writes) {
      boolean maybe = write.first.id().number() >= known && write.first.nanos() < end.nanos();
      if (maybe && write.first.delete()) return;
    }
    violations.add(new Violation("D8", "retained message missing", "%s has %d on %s".formatted(reading.session.client(), known, topic)));
  }

  /** A later subscriber must not get an older message than an earlier one. */
  private void between(List<Reading> readings, Map<Reading, List<Received>> came) {
    var shown = new ArrayList<Received>();
    came.values().forEach(all -> all.stream().filter(Received::retain).forEach(shown::add));
    shown.sort(Comparator.comparingLong(Received::nanos));
    var later = new ArrayList<>(readings);
    later.sort(Comparator.comparingLong(each -> each.subscription.askedNanos()));
    long newest = 0;
    int next = 0;
    for (var reading : later) {
      while (next < shown.size() && shown.get(next).nanos() < reading.subscription.askedNanos())
        newest = Math.max(newest, shown.get(next++).id().number());
      for (var each : came.getOrDefault(reading, List.of()))
        if (each.retain() && each.id().number() < newest)
          violations.add(new Violation("D8", "retained message went back", each + ", somebody had " + newest));
    }
  }
}

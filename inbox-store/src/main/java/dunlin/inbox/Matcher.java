package dunlin.inbox;

import dunlin.model.FilterIndex;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;

/** Finds the sessions whose plain subscriptions want a message, each once; MQTT 5, section 3.3.4. */
final class Matcher {
  private static final int[] NO_IDENTIFIERS = {};

  private Matcher() {}

  /**
   * A session that wants a message: one copy with the highest QoS of its subscriptions and all their identifiers
   * [MQTT-3.3.4-2..-5].
   *
   * @param retain the RETAIN flag to send with
   */
  record Match(SessionState session, QoS qos, boolean retain, int[] identifiers) {
    private Match and(Match other) {
      var all = Arrays.copyOf(identifiers, identifiers.length + other.identifiers.length);
      System.arraycopy(other.identifiers, 0, all, identifiers.length, other.identifiers.length);
      Arrays.sort(all); // replicas may visit the filters in another order
      var highest = qos.code() >= other.qos.code() ? qos : other.qos;
      return new Match(session, highest, retain || other.retain, all);
    }
  }

  /** Any thread, without a lock. */
  static Collection<Match> match(FilterIndex<FilterSubscribers> index, Publication message) {
    var filters = new ArrayList<FilterSubscribers>(4);
    index.match(message.tenant(), message.body(), 0, message.topicLength(), filters::add);
    if (filters.isEmpty()) return List.of();
    if (filters.size() == 1) {
      var matches = new ArrayList<Match>();
      filters.getFirst().forEach(each -> add(each, message, matches));
      return matches;
    }
    var bySession = new IdentityHashMap<SessionState, Match>();
    var single = new ArrayList<Match>(1);
    for (FilterSubscribers subscribers : filters) {
      subscribers.forEach(
          each -> {
            single.clear();
            add(each, message, single);
            for (Match match : single) bySession.merge(match.session(), match, Match::and);
          });
    }
    return bySession.values();
  }

  private static void add(Subscriber subscriber, Publication message, Collection<Match> matches) {
    var session = subscriber.session;
    SubscriptionOptions options = subscriber.options;
    if (options.noLocal() && session.key.clientId().equals(message.publisher().clientId())) return;
    matches.add(
        new Match(
            session,
            message.qos().min(options.maximumQoS()),
            message.retain() && options.retainAsPublished(),
            identifiers(options)));
  }

  static int[] identifiers(SubscriptionOptions options) {
    return options.subscriptionIdentifier() == 0 ? NO_IDENTIFIERS : new int[] {options.subscriptionIdentifier()};
  }
}

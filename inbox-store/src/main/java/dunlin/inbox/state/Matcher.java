package dunlin.inbox.state;

import dunlin.model.FilterIndex;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;

/** Finds the sessions whose non-shared subscriptions match a message, each once; MQTT 5, section 3.3.4. */
public final class Matcher {
  /*
   * Bounds: one pass over the subscriptions that match, and one sort of the identifiers of each session that has several of
   * them: a session with ten thousand overlapping subscriptions costs ten thousand steps, not their square.
   */
  private static final int[] NO_IDENTIFIERS = {};

  private Matcher() {}

  /**
   * A session that a message matches: it gets one copy with the highest QoS of its subscriptions and all their
   * identifiers [MQTT-3.3.4-2..-5].
   *
   * @param retain the RETAIN flag to send with
   */
  public record Match(SessionState session, QoS qos, boolean retain, int[] identifiers) {}

  /** The QoS, flags and identifiers of a session's subscriptions that were visited so far. */
  private static final class Merging {
    private QoS qos = QoS.AT_MOST_ONCE;
    private boolean retain;
    private int[] identifiers = NO_IDENTIFIERS;
    private int count;

    void add(SubscriptionOptions options, Publication message) {
      var wanted = message.qos().min(options.maximumQoS());
      if (wanted.code() > qos.code()) qos = wanted;
      retain |= message.retain() && options.retainAsPublished();
      if (options.subscriptionIdentifier() == 0) return;
      if (count == identifiers.length) identifiers = Arrays.copyOf(identifiers, Math.max(2, count * 2));
      identifiers[count++] = options.subscriptionIdentifier();
    }

    Match merged(SessionState session) {
      var all = count == 0 ? NO_IDENTIFIERS : Arrays.copyOf(identifiers, count);
      Arrays.sort(all); // replicas may visit the filters in different orders
      return new Match(session, qos, retain, all);
    }
  }

  /** Any thread, without a lock. */
  public static Collection<Match> match(FilterIndex<FilterSubscribers> index, Publication message) {
    var filters = new ArrayList<FilterSubscribers>(4);
    index.match(message.tenant(), message.body(), 0, message.topicLength(), filters::add);
    if (filters.isEmpty()) return List.of();
    var matches = new ArrayList<Match>();
    if (filters.size() == 1) {
      filters.getFirst().forEach(each -> add(each, message, matches));
      return matches;
    }
    var bySession = new IdentityHashMap<SessionState, Merging>();
    for (FilterSubscribers subscribers : filters) {
      subscribers.forEach(
          each -> {
            var options = each.options;
            if (isOwn(each, options, message)) return;
            bySession.computeIfAbsent(each.session, _ -> new Merging()).add(options, message);
          });
    }
    bySession.forEach((session, merging) -> matches.add(merging.merged(session)));
    return matches;
  }

  private static void add(DurableSubscriber subscriber, Publication message, Collection<Match> matches) {
    SubscriptionOptions options = subscriber.options;
    if (isOwn(subscriber, options, message)) return;
    matches.add(
        new Match(
            subscriber.session,
            message.qos().min(options.maximumQoS()),
            message.retain() && options.retainAsPublished(),
            identifiers(options)));
  }

  /**
   * Whether a subscription with No Local excludes a message of its own client. It is skipped entirely, so that its QoS
   * and identifier do not affect the copy for another subscription.
   */
  private static boolean isOwn(DurableSubscriber subscriber, SubscriptionOptions options, Publication message) {
    return options.noLocal() && subscriber.session.key.clientId().equals(message.publisher().clientId());
  }

  public static int[] identifiers(SubscriptionOptions options) {
    return options.subscriptionIdentifier() == 0 ? NO_IDENTIFIERS : new int[] {options.subscriptionIdentifier()};
  }
}

package dunlin.inbox.range;

import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionFields;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.state.DurableSubscriber;
import dunlin.inbox.state.FilterSubscribers;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.model.FilterIndex;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * The subscriptions of durable sessions: their rows, the index that messages are matched with, their groups and routes.
 */
final class DurableSubscriptions {
  /*
   * Owner: the applying thread.
   * Bounds: InboxLimits for each session and for all together; a SUBSCRIBE that would exceed them adds none of its
   * subscriptions.
   */
  private static final int FORMAT = 1;

  private final RangeState state;
  private final Groups groups;

  DurableSubscriptions(RangeState state, Groups groups) {
    this.state = state;
    this.groups = groups;
  }

  Outcome subscribe(Change change, SessionState session, List<Subscription> wanted) {
    int fresh = 0;
    long freshBytes = 0;
    for (Subscription each : wanted) {
      if (session.subscription(each.filter().text()) == null) {
        fresh++;
        freshBytes += RangeState.memoryOf(each.filter());
      }
      if (each.filter().levels() > FilterIndex.LEVELS_MAX) return new Outcome.Full();
    }
    if (session.subscriptionCount() + fresh > state.limits.subscriptionsMax()) return new Outcome.Full();
    if (fresh > 0 && freshBytes > state.limits.sums().memory() - state.memoryEverywhere()) return new Outcome.AllFull();
    var existed = new ArrayList<Boolean>(wanted.size());
    for (Subscription each : wanted) existed.add(subscribe(change, session, each));
    return new Outcome.Existed(existed);
  }

  private boolean subscribe(Change change, SessionState session, Subscription wanted) {
    String text = wanted.filter().text();
    change.out().put(SessionKeys.subscription(session.shard, session.key, text), row(wanted.options()));
    var present = session.subscription(text);
    if (present != null) {
      present.options = wanted.options();
      return true;
    }
    var subscriber = new DurableSubscriber(session, known(session, wanted.filter()), wanted.options());
    session.subscribe(subscriber);
    state.count(session.key.tenant(), wanted.filter(), 1);
    if (wanted.filter().shared()) groups.join(change, subscriber);
    else if (index(subscriber)) change.effects().route(groups.route(subscriber), true);
    return false;
  }

  /**
   * An equal filter, namely the object of its other subscribers if there are any: decoding a command or row creates a
   * new copy each time.
   */
  private TopicFilter known(SessionState session, TopicFilter filter) {
    if (filter.shared()) {
      var group = state.groups.get(new GroupKey(session.key.tenant(), filter));
      return group == null ? filter : group.key.filter();
    }
    var subscribers = state.index.get(session.key.tenant(), filter.filter());
    return subscribers == null ? filter : subscribers.filter;
  }

  /** Adds a plain subscription to the index. Answers whether it is the first one of its filter in its shard. */
  private boolean index(DurableSubscriber subscriber) {
    String tenant = subscriber.session.key.tenant();
    var subscribers = state.index.get(tenant, subscriber.filter.filter());
    boolean isNew = subscribers == null;
    if (subscribers == null) subscribers = new FilterSubscribers(subscriber.filter);
    boolean first = subscribers.add(subscriber, state.interval);
    if (isNew) state.index.put(tenant, subscriber.filter.filter(), subscribers);
    return first;
  }

  Outcome unsubscribe(Change change, SessionState session, List<TopicFilter> filters) {
    var existed = new ArrayList<Boolean>(filters.size());
    for (TopicFilter filter : filters) {
      var subscriber = session.unsubscribe(filter.text());
      existed.add(subscriber != null);
      if (subscriber == null) continue;
      state.count(session.key.tenant(), filter, -1);
      change.out().delete(SessionKeys.subscription(session.shard, session.key, filter.text()));
      if (filter.shared()) groups.leave(change, subscriber);
      else unindex(change, subscriber);
    }
    return new Outcome.Existed(existed);
  }

  /** Removes all subscriptions of a session that has ended. */
  void removeAll(Change change, SessionState session) {
    for (DurableSubscriber subscriber : session.subscriptions()) {
      change.out().delete(SessionKeys.subscription(session.shard, session.key, subscriber.filter.text()));
      state.count(session.key.tenant(), subscriber.filter, -1);
      if (subscriber.filter.shared()) groups.end(change, subscriber);
      else unindex(change, subscriber);
    }
    session.unsubscribeAll();
  }

  private void unindex(Change change, DurableSubscriber subscriber) {
    String tenant = subscriber.session.key.tenant();
    var subscribers = state.index.get(tenant, subscriber.filter.filter());
    if (subscribers == null) throw new IllegalStateException("not in the index: " + subscriber.filter);
    if (subscribers.remove(subscriber, state.interval)) change.effects().route(groups.route(subscriber), false);
    if (subscribers.isEmpty()) state.index.remove(tenant, subscriber.filter.filter());
  }

  /** Notes that the session has got a connection. */
  void online(Change change, SessionState session) {
    for (DurableSubscriber each : session.subscriptions()) if (each.filter.shared()) groups.online(change, each);
  }

  /** Notes that the session's connection has ended. */
  void offline(Change change, SessionState session) {
    for (DurableSubscriber each : session.subscriptions()) if (each.filter.shared()) groups.offline(change, each);
  }

  private static byte[] row(SubscriptionOptions options) {
    return FieldWriter.bytesOf(
        fields -> {
          fields.octet(FORMAT);
          SessionFields.writeOptions(fields, options);
        });
  }

  /** Restores a subscription from its row. */
  void restore(SessionState session, TopicFilter filter, byte[] value) {
    var options =
        FieldReader.read(
            value,
            in -> {
              RangeState.expectFormat(in.octet());
              return SessionFields.readOptions(in);
            });
    var subscriber = new DurableSubscriber(session, known(session, filter), options);
    session.subscribe(subscriber);
    state.count(session.key.tenant(), filter, 1);
    if (!filter.shared()) {
      var _ = index(subscriber);
      return;
    }
    var group = state.groups.get(new GroupKey(session.key.tenant(), filter));
    if (group == null) throw new IllegalStateException("not a member of any group: " + filter);
    var _ = group.join(subscriber);
  }
}

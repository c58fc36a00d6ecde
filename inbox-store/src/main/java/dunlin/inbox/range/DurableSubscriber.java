package dunlin.inbox.range;

import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;

/** One subscription of one session. */
public final class DurableSubscriber {
  final SessionState session;
  final TopicFilter filter;

  /** Written by the applying thread alone, in place, so that replacing a subscription leaves no gap [MQTT-3.8.4-3]. */
  volatile SubscriptionOptions options;

  /** Where {@link FilterSubscribers} keeps it; the applying thread's. */
  int slot;

  DurableSubscriber(SessionState session, TopicFilter filter, SubscriptionOptions options) {
    this.session = session;
    this.filter = filter;
    this.options = options;
  }

  public SubscriptionOptions options() {
    return options;
  }
}

package dunlin.inbox.state;

import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;

/** One subscription of one session. */
public final class DurableSubscriber {
  public final SessionState session;
  public final TopicFilter filter;

  /**
   * Written in place, by the applying thread only, so that no message is missed while a subscription is replaced
   * [MQTT-3.8.4-3].
   */
  public volatile SubscriptionOptions options;

  /** Its index in {@link FilterSubscribers}; used by the applying thread only. */
  int slot;

  public DurableSubscriber(SessionState session, TopicFilter filter, SubscriptionOptions options) {
    this.session = session;
    this.filter = filter;
    this.options = options;
  }

  public SubscriptionOptions options() {
    return options;
  }
}

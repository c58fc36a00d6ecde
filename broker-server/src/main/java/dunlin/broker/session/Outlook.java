package dunlin.broker.session;

import dunlin.broker.access.AccessRule;
import dunlin.broker.access.Decision;
import dunlin.broker.client.ClientsMXBean.ClientOutlook;
import dunlin.broker.client.ClientsMXBean.Permission;
import dunlin.inbox.MatchingFilters;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import org.jspecify.annotations.Nullable;

/** What a message would meet at a live session, for an operator. Nothing is sent, counted or changed. */
public final class Outlook {
  /*
   * Owner: the connection's event loop, to which each call belongs.
   * Bounds: looks at all subscriptions of one session; MatchingFilters bounds what is kept of them.
   */
  private Outlook() {}

  /**
   * @param publisher client identifier of its publisher; empty for none
   * @param waitingBytes that wait for the client's socket
   */
  public static ClientOutlook of(LiveSession session, String publisher, String topic, QoS qos, boolean retain, long waitingBytes) {
    MatchingFilters filters = new MatchingFilters(topic);
    Copy plain = new Copy();
    Copy shared = new Copy();
    boolean own = publisher.equals(session.clientId());
    session.visitSubscriptions(
        (filter, options) -> {
          if (filters.offer(filter, options) && !(own && options.noLocal())) (filter.shared() ? shared : plain).add(options);
        });
    Copy sent = plain.exists ? plain : shared;
    SessionFigures figures = session.figures();
    var limits = session.settings().sessions();
    return new ClientOutlook(
        session.durable(), figures.subscriptions(), filters.matching(), filters.others(),
        receives(session.access(), topic, qos.min(sent.qos), retain && sent.retain), figures.inFlight(), figures.receiveMaximum(), figures.queued(),
        figures.queuedBytes(), limits.queueMessagesMax(), limits.queueBytesMax(), session.queueTakes(), session.sendsAtOnce(), session.connection().writable(),
        waitingBytes);
  }

  /** What one copy of a message for several subscriptions is sent with; see {@link MergedCopy}. */
  private static final class Copy {
    private boolean exists;
    private QoS qos = QoS.AT_MOST_ONCE;
    private boolean retain;

    void add(SubscriptionOptions options) {
      exists = true;
      if (options.maximumQoS().code() > qos.code()) qos = options.maximumQoS();
      retain |= options.retainAsPublished();
    }
  }

  private static Permission receives(@Nullable SessionAccess access, String topic, QoS qos, boolean retain) {
    return access == null ? Permission.WITHOUT_RULES : permission(access.receives(topic, qos, retain));
  }

  /** Whether the session's client may publish such a message. */
  public static Permission publishes(LiveSession session, String topic, QoS qos, boolean retain) {
    SessionAccess access = session.access();
    return access == null ? Permission.WITHOUT_RULES : permission(access.publishes(topic, qos, retain));
  }

  private static Permission permission(Decision decision) {
    AccessRule rule = decision.rule();
    return new Permission(true, decision.allowed(), rule == null ? "" : rule.source());
  }
}

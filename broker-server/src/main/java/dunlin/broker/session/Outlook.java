package dunlin.broker.session;

import dunlin.broker.access.AccessRule;
import dunlin.broker.access.Decision;
import dunlin.broker.client.ClientsMXBean.ClientOutlook;
import dunlin.broker.client.ClientsMXBean.Permission;
import dunlin.broker.client.ClientsMXBean.PublisherOutlook;
import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.codec.PacketEncoder;
import dunlin.inbox.MatchingFilters;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a message would meet at a live session, for an operator. Nothing is sent, counted or changed. */
public final class Outlook {
  /*
   * Owner: the connection's event loop, to which each call belongs.
   * Bounds: looks at all subscriptions of one session; MatchingFilters bounds what is kept of them.
   */
  private static final int[] NO_IDENTIFIERS = {};

  private Outlook() {}

  /** @param waitingBytes that wait for the client's socket */
  public static ClientOutlook of(LiveSession session, Publication message, long waitingBytes) {
    String topic = message.topic();
    MatchingFilters filters = new MatchingFilters(topic);
    Copy plain = new Copy();
    Copy shared = new Copy();
    boolean own = message.publisher().clientId().equals(session.clientId());
    session.visitSubscriptions(
        (filter, options) -> {
          if (filters.offer(filter, options) && !(own && options.noLocal())) (filter.shared() ? shared : plain).add(options);
        });
    Copy sent = plain.exists ? plain : shared;
    SessionFigures figures = session.figures();
    var limits = session.settings().sessions();
    ClientConnection connection = session.connection();
    QoS qos = message.qos().min(sent.qos);
    return new ClientOutlook(
        session.durable(), figures.subscriptions(), filters.matching(), filters.others(), receives(session.access(), topic, qos, message.retain() && sent.retain),
        figures.inFlight(), figures.receiveMaximum(), figures.queued(), figures.queuedBytes(), limits.queueMessagesMax(), limits.queueBytesMax(),
        connection.writer().lengthOf(message, qos, sent.identifiers.stream().mapToInt(Integer::intValue).toArray()), connection.writer().maximumPacketSize(),
        connection.writer().usesAliases(), session.queueTakes(message.body().length), session.sendsAtOnce(), connection.maySend(), connection.writable(),
        waitingBytes);
  }

  /** What one copy of a message for several subscriptions is sent with; see {@link MergedCopy}. */
  private static final class Copy {
    private boolean exists;
    private QoS qos = QoS.AT_MOST_ONCE;
    private boolean retain;
    private final List<Integer> identifiers = new ArrayList<>();

    void add(SubscriptionOptions options) {
      exists = true;
      if (options.maximumQoS().code() > qos.code()) qos = options.maximumQoS();
      retain |= options.retainAsPublished();
      if (options.subscriptionIdentifier() > 0) identifiers.add(options.subscriptionIdentifier());
    }
  }

  private static Permission receives(@Nullable SessionAccess access, String topic, QoS qos, boolean retain) {
    return access == null ? Permission.WITHOUT_RULES : permission(access.receives(topic, qos, retain));
  }

  /** What the message would meet if the session's client published it. */
  public static PublisherOutlook ofPublisher(LiveSession session, Publication message, DecoderLimits limits) {
    SessionAccess access = session.access();
    return new PublisherOutlook(
        access == null ? Permission.WITHOUT_RULES : permission(access.publishes(message.topic(), message.qos(), message.retain())),
        PacketEncoder.publishLength(session.version(), message, message.qos(), NO_IDENTIFIERS, 0), limits.packets().packetMax(),
        session.version().hasProperties() && limits.topicAliasMaximum() > 0, limits.features().maximumQoS().code());
  }

  private static Permission permission(Decision decision) {
    AccessRule rule = decision.rule();
    return new Permission(true, decision.allowed(), rule == null ? "" : rule.source());
  }
}

package dunlin.broker.connect;

import dunlin.broker.access.Access;
import dunlin.broker.auth.Authorization;
import dunlin.broker.auth.Claims;
import dunlin.broker.auth.Identity;
import dunlin.broker.codec.Limit;
import dunlin.broker.codec.Packet;
import dunlin.broker.codec.TopicAliases;
import dunlin.broker.codec.Will;
import dunlin.broker.guard.Arrival;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.SessionAccess;
import dunlin.broker.tenant.TenantLimit;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.OtherUserException;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.WithdrawnException;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.ReasonCode;
import dunlin.runtime.LogText;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens the session of an accepted CONNECT, by one call of the session tier, and sends CONNACK; MQTT 5, section 3.1.4.
 */
final class Opening {
  /*
   * Owner: the connection's event loop.
   * Bounds: one for each connection; the connection's timer ends it if no answer arrives.
   * Failure: the client gets CONNACK 0x88 and tries again, 0x97 if the maximum number of durable sessions is reached,
   * or 0x87 if the session belongs to another user, who notices nothing. If the client has disconnected, or was refused, before the
   * answer arrives, the call is not made if it still waits; else the opened session is left at once.
   */
  private static final Logger LOG = LoggerFactory.getLogger(Opening.class);

  private final Connection connection;
  private final FrontendSettings settings;
  private final Packet.Connect packet;
  private final Identity identity;
  private final Claims claims;
  private final Publisher publisher;
  private final boolean assigned;
  private final long sessionExpirySeconds;
  private final int keepAliveSeconds;
  private final byte @Nullable [] authenticationData;
  private final @Nullable SessionAccess access;

  /** Completes when the client does not wait any more. */
  private final CompletableFuture<Void> over = new CompletableFuture<>();

  private boolean sessionPresent;
  private @Nullable ConnectionId displaced;

  Opening(Connection connection, Packet.Connect packet, Admitted client) {
    this.connection = connection;
    this.settings = connection.loop().settings();
    this.packet = packet;
    this.identity = client.identity();
    this.claims = client.claims();
    this.authenticationData = client.authenticationData();
    this.access = client.access();
    this.assigned = packet.clientId().isEmpty();
    this.publisher = new Publisher(identity.tenant(), client.clientId());
    this.sessionExpirySeconds = Math.min(askedExpiry(), settings.sessions().expiryMax());
    this.keepAliveSeconds = grantedKeepAlive(packet.keepAliveSeconds());
  }

  /**
   * The requested expiry. MQTT 3 has none, so a setting determines how long a session without Clean Session is kept.
   */
  private long askedExpiry() {
    if (packet.version().hasProperties()) return Math.max(0, packet.sessionExpirySeconds());
    return packet.cleanStart() ? 0 : settings.sessions().expiryOfMqtt3();
  }

  /** The granted keep alive. MQTT 3 cannot transmit another one, so its clients keep the requested value. */
  private int grantedKeepAlive(int asked) {
    long longest = settings.connections().keepAliveMax().toSeconds();
    if (longest == 0 || !packet.version().hasProperties()) return asked;
    return asked == 0 || asked > longest ? (int) longest : asked;
  }

  /** The client's identity. */
  Identity identity() {
    return identity;
  }

  boolean hasWill() {
    return packet.will() != null;
  }

  boolean sessionPresent() {
    return sessionPresent;
  }

  long sessionExpirySeconds() {
    return sessionExpirySeconds;
  }

  /** The connection that had the session until now, or null. */
  @Nullable ConnectionId displaced() {
    return displaced;
  }

  int keepAliveSeconds() {
    return keepAliveSeconds;
  }

  /** The topic aliases for messages to the client, or null if it accepts none. */
  @Nullable TopicAliases aliases() {
    int maximum = Math.min(packet.topicAliasMaximum(), settings.connections().topicAliasMaximumOut()); // [MQTT-3.1.2-26, -27]
    return maximum == 0 ? null : new TopicAliases(maximum);
  }

  void start() {
    Will will = packet.will();
    InboxClient.Will kept = will == null ? null : new InboxClient.Will(left(will), will.delaySeconds());
    connection
        .loop()
        .tiers()
        .inbox()
        .connect(
            new InboxClient.Connect(
                publisher.tenant(),
                publisher.clientId(),
                identity.user(),
                connection.id(),
                packet.cleanStart(),
                sessionExpirySeconds > 0,
                sessionExpirySeconds,
                kept),
            over)
        // Run at once rather than posted: the answer must be handled before pushes that follow it.
        .whenComplete((connected, failure) -> connection.loop().run(() -> answered(connected, failure)));
  }

  /** The connection ends, whether the session tier has answered or not. */
  void giveUp() {
    over.complete(null);
  }

  /** The will with what only this moment knows of it: whether the client's own claims allow it. */
  private Publication left(Will will) {
    Publication message = will.toPublication(publisher, connection.loop().nowMillis());
    Access asked = Access.publish(will.topic(), will.qos(), will.retain());
    return Authorization.claimsAllow(identity, publisher.clientId(), connection.peer(), claims, asked) ? message : message.underRules();
  }

  private void answered(InboxClient.@Nullable Connected connected, @Nullable Throwable failure) {
    over.complete(null);
    if (causeOf(failure) instanceof QuotaExceededException full && full.kind() == QuotaExceededException.Kind.TENANT_SESSIONS) {
      connection.hitTenant(TenantLimit.SESSIONS);
      connection.refuse(ReasonCode.QUOTA_EXCEEDED, "too many durable sessions of the tenant, limit " + full.limit());
      return;
    }
    if (causeOf(failure) instanceof QuotaExceededException full) {
      boolean memory = full.kind() == QuotaExceededException.Kind.MEMORY;
      Limit limit = memory ? Limit.SESSION_MEMORY : Limit.SESSIONS;
      String what = memory ? "the memory for durable sessions and their subscriptions is used up" : "too many durable sessions";
      String explanation = limit.exceededBy(what, full.limit());
      connection.note(ReasonCode.QUOTA_EXCEEDED, limit, explanation);
      connection.refuse(ReasonCode.QUOTA_EXCEEDED, explanation);
      return;
    }
    if (causeOf(failure) instanceof OtherUserException) {
      String explanation = "the session of this client identifier belongs to another user";
      connection.loop().meters().violations().violated(
          ReasonCode.NOT_AUTHORIZED, null, publisher.clientId(), connection.peer().address(), explanation);
      connection.refuse(ReasonCode.NOT_AUTHORIZED, explanation);
      return;
    }
    if (failure != null || connected == null) {
      LOG.debug("The session of {} could not be opened", LogText.quoted(publisher.clientId()), failure);
      if (causeOf(failure) instanceof WithdrawnException) return; // its client has left, or was refused
      connection.loop().meters().storeFailed();
      connection.refuse(ReasonCode.SERVER_UNAVAILABLE, "the session could not be opened");
      return;
    }
    sessionPresent = connected.sessionPresent();
    displaced = connected.displaced();
    connection.home().reception().authentication().guard().connected(arrival());
    connection.opened(
        this,
        new LiveSession(
            connection,
            connection.home().sessions(),
            // A stored session that is resumed without expiry stays stored until this connection ends.
            sessionExpirySeconds > 0 || sessionPresent,
            Math.min(packet.receiveMaximum(), settings.sessions().inFlightMax()),
            connected,
            access));
  }

  private Arrival arrival() {
    ConnectionId other = displaced;
    String node = other == null || other.frontend().equals(connection.id().frontend()) ? "" : other.frontend();
    return new Arrival(publisher.tenant(), publisher.clientId(), connection.peer().address(), other != null, node);
  }

  private static @Nullable Throwable causeOf(@Nullable Throwable failure) {
    return failure instanceof CompletionException ? failure.getCause() : failure;
  }

  Packet.Connack connack() {
    FrontendSettings.Features features = connection.subscribeRules().features();
    boolean expiryChanged = packet.version().hasProperties() && askedExpiry() != sessionExpirySeconds;
    return new Packet.Connack(
        sessionPresent,
        ReasonCode.SUCCESS,
        expiryChanged ? sessionExpirySeconds : -1,
        settings.connections().receiveMaximum(),
        features.maximumQoS(),
        features.retain(),
        connection.packetMax(),
        assigned ? publisher.clientId() : null,
        settings.connections().topicAliasMaximum(),
        null,
        List.of(),
        features.wildcardSubscriptions(),
        features.subscriptionIdentifiers(),
        features.sharedSubscriptions(),
        keepAliveSeconds != packet.keepAliveSeconds() ? keepAliveSeconds : -1,
        responseInformation(),
        null,
        packet.authenticationMethod(), // [MQTT-4.12.0-5, -6]
        authenticationData);
  }

  /** The prefix of the topics for responses to the client; section 3.2.2.3.15. */
  private @Nullable String responseInformation() {
    String prefix = settings.features().responseInformation();
    if (prefix.isEmpty() || !packet.requestResponseInformation()) return null;
    return prefix + asLevel(publisher.clientId());
  }

  /** A client identifier as one level of a topic name; different ones stay different. */
  private static String asLevel(String clientId) {
    var level = new StringBuilder(clientId.length());
    for (int i = 0; i < clientId.length(); i++) {
      switch (clientId.charAt(i)) {
        case '%' -> level.append("%25");
        case '/' -> level.append("%2F");
        case '+' -> level.append("%2B");
        case '#' -> level.append("%23");
        default -> level.append(clientId.charAt(i));
      }
    }
    return level.toString();
  }
}

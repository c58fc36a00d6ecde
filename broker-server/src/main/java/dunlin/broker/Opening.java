package dunlin.broker;

import dunlin.broker.codec.Packet;
import dunlin.broker.codec.Will;
import dunlin.inbox.InboxClient;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** From a CONNECT that may be served to its CONNACK: one command of the session tier; MQTT 5, section 3.1.4. */
final class Opening {
  /*
   * Owner: the connection's event loop.
   * Bounds: one for each connection; the connection's silence timer ends one that is never answered.
   * Failure: the client gets CONNACK 0x88 and tries again. A session that is opened after the client has gone is left again at
   *   once, by whoever gets the answer.
   */
  private final Connection connection;
  private final Frontend frontend;
  private final Packet.Connect packet;
  private final Publisher publisher;
  private final boolean assigned;
  private final long sessionExpirySeconds;
  private final int keepAliveSeconds;
  private final byte @Nullable [] authenticationData;
  private boolean sessionPresent;

  /**
   * @param authenticationData what the last step of an enhanced authentication has to tell the client, or null
   */
  Opening(Connection connection, Packet.Connect packet, Identity identity, byte @Nullable [] authenticationData) {
    this.connection = connection;
    this.frontend = connection.loop().frontend();
    this.packet = packet;
    this.authenticationData = authenticationData;
    this.assigned = packet.clientId().isEmpty();
    this.publisher = new Publisher(identity.tenant(), assigned ? assign(connection.peer()) : packet.clientId());
    this.sessionExpirySeconds = Math.min(askedExpiry(packet), frontend.settings().sessionExpiryMax());
    this.keepAliveSeconds = grantedKeepAlive(packet.keepAliveSeconds());
  }

  /** The certificate's, when it stands for one. */
  private static String assign(Peer peer) {
    return peer.clientId().orElseGet(() -> "dunlin-" + UUID.randomUUID());
  }

  /** MQTT 3 has no expiry: without clean session the session lasts. */
  private static long askedExpiry(Packet.Connect packet) {
    if (packet.version().hasProperties()) return Math.max(0, packet.sessionExpirySeconds());
    return packet.cleanStart() ? 0 : FrontendSettings.NEVER;
  }

  /** A client of MQTT 3 cannot be told of another keep alive, so it keeps what it asked for. */
  private int grantedKeepAlive(int asked) {
    long longest = frontend.settings().keepAliveMax().toSeconds();
    if (longest == 0 || !packet.version().hasProperties()) return asked;
    return asked == 0 || asked > longest ? (int) longest : asked;
  }

  long sessionExpirySeconds() {
    return sessionExpirySeconds;
  }

  int keepAliveSeconds() {
    return keepAliveSeconds;
  }

  void start() {
    Will will = packet.will();
    InboxClient.Will kept =
        will == null
            ? null
            : new InboxClient.Will(
                will.toPublication(publisher, connection.loop().nowMillis()), will.delaySeconds());
    frontend
        .inbox()
        .connect(
            new InboxClient.Connect(
                publisher.tenant(),
                publisher.clientId(),
                connection.id(),
                packet.cleanStart(),
                sessionExpirySeconds > 0,
                sessionExpirySeconds,
                kept))
        // Not posted: an answer that is there already must come before what the session tier has pushed behind it meanwhile.
        .whenComplete((connected, failure) -> connection.loop().run(() -> answered(connected, failure)));
  }

  private void answered(InboxClient.@Nullable Connected connected, @Nullable Throwable failure) {
    if (failure != null || connected == null) {
      frontend.storeFailures().increment();
      connection.refuse(ReasonCode.SERVER_UNAVAILABLE, "the session could not be opened");
      return;
    }
    sessionPresent = connected.sessionPresent();
    connection.opened(
        this,
        new LiveSession(
            connection,
            packet.version(),
            publisher,
            // A stored session that is resumed without expiry stays stored until this connection ends.
            sessionExpirySeconds > 0 || sessionPresent,
            packet.receiveMaximum(),
            connected));
  }

  Packet.Connack connack() {
    FrontendSettings settings = frontend.settings();
    boolean expiryChanged = packet.version().hasProperties() && askedExpiry(packet) != sessionExpirySeconds;
    return new Packet.Connack(
        sessionPresent,
        ReasonCode.SUCCESS,
        expiryChanged ? sessionExpirySeconds : -1,
        settings.receiveMaximum(),
        QoS.EXACTLY_ONCE,
        true,
        settings.packetMax(),
        assigned ? publisher.clientId() : null,
        settings.topicAliasMaximum(),
        null,
        List.of(),
        true,
        true,
        true,
        keepAliveSeconds != packet.keepAliveSeconds() ? keepAliveSeconds : -1,
        null,
        null,
        packet.authenticationMethod(), // [MQTT-4.12.0-5, -6]
        authenticationData);
  }
}

package dunlin.broker;

import dunlin.model.QoS;
import java.time.Duration;
import java.util.List;

/**
 * How a frontend serves its clients.
 *
 * @param listeners where clients connect to
 * @param transport how event loops wait for sockets
 * @param lanes event loops, each with a lane of its own, 1 to 64
 * @param connectTimeout how long a connection may take to send CONNECT
 * @param packets what one packet may hold
 * @param features what clients may use
 * @param receiveMaximum publishes of QoS 1 and 2 that a client may have unacknowledged, 1 to 65,535
 * @param inFlightMax messages of QoS 1 and 2 that may be on their way to a client, 1 to 65,535
 * @param topicAliasMaximum topic aliases that a client may set, 0 to 65,535
 * @param topicAliasMaximumOut topic aliases that are used towards a client, 0 to 65,535
 * @param keepAliveMax longest keep alive that is granted; a client that asks for more, or for none, gets this one
 * @param sessionExpiryMax longest session expiry that is granted, in seconds; 0xFFFFFFFF for never
 * @param sessionExpiryOfMqtt3 how long a session of an MQTT 3 client without Clean Session stays behind its connection, in seconds, 1 to 0xFFFFFFFF for
 *     ever; at most sessionExpiryMax
 * @param subscriptionsMax subscriptions that one session may hold
 * @param outboundMax bytes that may wait for a socket before QoS 0 messages to it are dropped
 * @param queueMessagesMax messages of QoS 1 and 2 that may wait for a connected session without expiry
 * @param queueBytesMax their bytes
 * @param laneMessagesMax messages of one lane that may be on their way before its publishers are not read any more
 * @param laneBytesMax their bytes
 * @param groupWaits how long messages wait for a member of a shared subscription
 * @param serverReference where clients are sent when this server stops or is drained; empty when that is not known
 * @param inlineFanoutThreshold subscribers of one message on one event loop that are served in one go
 */
public record FrontendSettings(
    List<ListenerSettings> listeners,
    IoTransport transport,
    int lanes,
    Duration connectTimeout,
    PacketLimits packets,
    Features features,
    int receiveMaximum,
    int inFlightMax,
    int topicAliasMaximum,
    int topicAliasMaximumOut,
    Duration keepAliveMax,
    long sessionExpiryMax,
    long sessionExpiryOfMqtt3,
    int subscriptionsMax,
    int outboundMax,
    int queueMessagesMax,
    int queueBytesMax,
    int laneMessagesMax,
    int laneBytesMax,
    GroupWaits groupWaits,
    String serverReference,
    int inlineFanoutThreshold) {

  /** A Session Expiry Interval of this many seconds means that the session does not expire. */
  public static final long NEVER = 0xFFFF_FFFFL;

  /** Characters of a Server Reference. */
  public static final int SERVER_REFERENCE_MAX = 1_024;

  public FrontendSettings {
    listeners = List.copyOf(listeners);
    if (lanes < 1 || lanes > 64) throw new IllegalArgumentException("lanes " + lanes);
    checkWindow("receive maximum", receiveMaximum);
    checkWindow("in-flight maximum", inFlightMax);
    if (sessionExpiryMax < 0 || sessionExpiryMax > NEVER) {
      throw new IllegalArgumentException("session expiry maximum " + sessionExpiryMax);
    }
    if (sessionExpiryOfMqtt3 < 1 || sessionExpiryOfMqtt3 > NEVER) {
      throw new IllegalArgumentException("session expiry of MQTT 3 " + sessionExpiryOfMqtt3);
    }
  }

  private static void checkWindow(String name, int messages) {
    if (messages < 1 || messages > 65_535) throw new IllegalArgumentException(name + ' ' + messages);
  }

  /**
   * How long a message waits for a member of a shared subscription's group to take it.
   *
   * @param acknowledged with QoS 1 or 2, and the publisher's acknowledgement with it
   * @param unacknowledged with QoS 0, in which its publisher is not read from
   * @param unacknowledgedBytesMax bytes of QoS 0 that may wait so on one event loop
   */
  public record GroupWaits(Duration acknowledged, Duration unacknowledged, int unacknowledgedBytesMax) {}

  /**
   * What one packet of a client may hold.
   *
   * @param packetMax largest packet in bytes
   * @param connectPacketMax largest CONNECT in bytes
   * @param topicLengthMax bytes of a topic name or filter
   * @param topicLevelsMax levels of a topic name or filter
   * @param userPropertiesMax user properties of a packet; the will's are counted by themselves
   * @param filtersMax topic filters of a SUBSCRIBE or UNSUBSCRIBE packet
   * @param clientIdMax bytes of a client identifier
   * @param willPayloadMax bytes of a will's payload
   */
  public record PacketLimits(
      int packetMax,
      int connectPacketMax,
      int topicLengthMax,
      int topicLevelsMax,
      int userPropertiesMax,
      int filtersMax,
      int clientIdMax,
      int willPayloadMax) {}

  /**
   * What a server need not have, and what it may do beside its duty; MQTT 5, section 3.2.2.3.
   *
   * @param maximumQoS the highest QoS that clients may publish with and subscriptions are granted
   * @param retain whether messages may be retained
   * @param wildcardSubscriptions whether topic filters may have wildcards
   * @param subscriptionIdentifiers whether subscriptions may have identifiers
   * @param sharedSubscriptions whether there are shared subscriptions
   * @param payloadFormatCheck whether a payload that claims to be UTF-8 text is checked
   * @param responseInformation the beginning of the topics that a client is told to use for responses; empty for none
   */
  public record Features(
      QoS maximumQoS,
      boolean retain,
      boolean wildcardSubscriptions,
      boolean subscriptionIdentifiers,
      boolean sharedSubscriptions,
      boolean payloadFormatCheck,
      String responseInformation) {

    /** Everything that MQTT has, and nothing beside it. */
    public static Features all() {
      return new Features(QoS.EXACTLY_ONCE, true, true, true, true, false, "");
    }
  }
}

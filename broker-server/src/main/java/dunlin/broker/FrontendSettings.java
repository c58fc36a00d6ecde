package dunlin.broker;

import dunlin.broker.listen.ListeningSettings;
import dunlin.model.QoS;
import java.time.Duration;

/**
 * How a frontend serves its clients.
 *
 * @param listeners where clients connect to
 * @param packets what one packet may hold
 * @param features what clients may use
 * @param connections what a connection may use
 * @param sessions what a session may hold, and for how long
 * @param lanes the event loops, each with a lane of its own
 * @param groupWaits how long messages wait for a member of a shared subscription
 */
public record FrontendSettings(
    ListeningSettings listeners,
    PacketLimits packets,
    Features features,
    Connections connections,
    Sessions sessions,
    Lanes lanes,
    GroupWaits groupWaits) {

  /** A Session Expiry Interval of this many seconds means that the session does not expire. */
  public static final long NEVER = 0xFFFF_FFFFL;

  /** Characters of a Server Reference. */
  public static final int SERVER_REFERENCE_MAX = 1_024;

  /**
   * What a connection may use.
   *
   * @param connectTimeout how long it may take to send CONNECT
   * @param keepAliveMax longest keep alive that is granted; a client that asks for more, or for none, gets this one
   * @param receiveMaximum publishes of QoS 1 and 2 that a client may have unacknowledged, 1 to 65,535
   * @param topicAliasMaximum topic aliases that a client may set, 0 to 65,535
   * @param topicAliasMaximumOut topic aliases that are used towards a client, 0 to 65,535
   * @param serverReference where clients are sent when this server stops or is drained; empty when that is not known
   */
  public record Connections(
      Duration connectTimeout,
      Duration keepAliveMax,
      int receiveMaximum,
      int topicAliasMaximum,
      int topicAliasMaximumOut,
      String serverReference) {

    public Connections {
      checkWindow("receive maximum", receiveMaximum);
    }
  }

  /**
   * What a session may hold, and for how long.
   *
   * @param expiryMax longest session expiry that is granted, in seconds; 0xFFFFFFFF for never
   * @param expiryOfMqtt3 how long a session of an MQTT 3 client without Clean Session stays behind its connection, in seconds,
   *     1 to 0xFFFFFFFF for ever; at most expiryMax
   * @param subscriptionsMax subscriptions that it may hold
   * @param inFlightMax messages of QoS 1 and 2 that may be on their way to its client, 1 to 65,535
   * @param queueMessagesMax messages of QoS 1 and 2 that may wait for it while it is connected and has no expiry
   * @param queueBytesMax their bytes
   */
  public record Sessions(
      long expiryMax, long expiryOfMqtt3, int subscriptionsMax, int inFlightMax, int queueMessagesMax, int queueBytesMax) {

    public Sessions {
      checkWindow("in-flight maximum", inFlightMax);
      if (expiryMax < 0 || expiryMax > NEVER) throw new IllegalArgumentException("session expiry maximum " + expiryMax);
      if (expiryOfMqtt3 < 1 || expiryOfMqtt3 > NEVER) throw new IllegalArgumentException("session expiry of MQTT 3 " + expiryOfMqtt3);
    }
  }

  /**
   * The event loops, each with a lane of its own.
   *
   * @param count how many, 1 to 64
   * @param messagesMax messages of one lane that may be on their way before its publishers are not read any more
   * @param bytesMax their bytes
   * @param inlineFanoutThreshold subscribers of one message on one event loop that are served in one go
   */
  public record Lanes(int count, int messagesMax, int bytesMax, int inlineFanoutThreshold) {
    public Lanes {
      if (count < 1 || count > 64) throw new IllegalArgumentException("lanes " + count);
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

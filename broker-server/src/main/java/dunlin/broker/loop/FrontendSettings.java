package dunlin.broker.loop;

import dunlin.broker.codec.PacketLimits;
import dunlin.broker.listen.ListeningSettings;
import dunlin.model.QoS;
import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * How a frontend serves its clients.
 *
 * @param listeners the listeners and their sockets
 * @param packets limits on one packet
 * @param features the features that clients may use
 * @param connections limits on a connection
 * @param sessions limits on a session
 * @param lanes the event loops, each with its own lane
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

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL =
      Stream.of(Connections.ALL, Sessions.ALL, Lanes.ALL, GroupWaits.ALL, PacketLimits.ALL, Features.ALL).<Setting<?>>flatMap(List::stream).toList();

  private static final long KIB = 1_024;
  private static final long MIB = 1_024 * KIB;

  /** A Session Expiry Interval of this many seconds means that the session does not expire. */
  public static final long NEVER = 0xFFFF_FFFFL;

  /** Maximum number of characters of a Server Reference. */
  public static final int SERVER_REFERENCE_MAX = 1_024;

  private static final int RESPONSE_INFORMATION_MAX = 16_384;

  public static FrontendSettings from(Settings settings, ListeningSettings listeners) {
    return new FrontendSettings(
        listeners,
        PacketLimits.from(settings),
        Features.from(settings),
        Connections.from(settings),
        Sessions.from(settings),
        Lanes.from(settings),
        GroupWaits.from(settings));
  }

  /** Problems of values that the settings accept but MQTT does not allow, one sentence each. */
  public static List<String> problems(Settings settings) {
    var problems = new ArrayList<String>();
    if (isUnfit(settings.get(Features.RESPONSE_INFORMATION), RESPONSE_INFORMATION_MAX, "+#")) {
      problems.add("dunlin.mqtt.response-information: no wildcards, no control characters, at most 16384 characters");
    }
    if (isUnfit(settings.get(Connections.SERVER_REFERENCE), SERVER_REFERENCE_MAX, "")) {
      problems.add("dunlin.drain.server-reference: no control characters, at most 1024 characters");
    }
    return problems;
  }

  private static boolean isUnfit(String text, int lengthMax, String forbidden) {
    return text.length() > lengthMax || text.chars().anyMatch(c -> Character.isISOControl(c) || forbidden.indexOf(c) >= 0);
  }

  /**
   * Limits on a connection.
   *
   * @param connectTimeout how long a client may take to send CONNECT
   * @param keepAliveMax longest keep alive that is granted; a client that asks for more, or for none, gets this one
   * @param receiveMaximum publishes of QoS 1 and 2 that a client may have unacknowledged, 1 to 65,535
   * @param topicAliasMaximum topic aliases that a client may set, 0 to 65,535
   * @param topicAliasMaximumOut topic aliases that are used towards a client, 0 to 65,535
   * @param serverReference the server that clients are referred to when this one stops or is drained; empty for none
   */
  public record Connections(
      Duration connectTimeout,
      Duration keepAliveMax,
      int receiveMaximum,
      int topicAliasMaximum,
      int topicAliasMaximumOut,
      String serverReference) {
    private static final Setting<Duration> CONNECT_TIMEOUT =
        Setting.duration(
            "dunlin.mqtt.connect-timeout", Duration.ofSeconds(10), Duration.ofMillis(100), Duration.ofMinutes(5),
            "Maximum time between the opening of a connection and its CONNECT packet.");
    private static final Setting<Duration> KEEP_ALIVE_MAX =
        Setting.duration(
            "dunlin.mqtt.keep-alive-max", Duration.ofHours(18), Duration.ZERO, Duration.ofSeconds(65_535),
            "Maximum Keep Alive that MQTT 5 clients are granted. 0 means no limit.");
    private static final Setting<Integer> RECEIVE_MAXIMUM =
        Setting.integer(
            "dunlin.mqtt.receive-maximum", 1_024, 1, 65_535, "Maximum number of unacknowledged QoS 1 and 2 publishes that a client may send (Receive"
                + " Maximum of the server).");
    private static final Setting<Integer> TOPIC_ALIAS_MAXIMUM =
        Setting.integer("dunlin.mqtt.topic-alias-maximum", 10, 0, 65_535, "Maximum number of topic aliases that an MQTT 5 client may set.");
    private static final Setting<Integer> TOPIC_ALIAS_MAXIMUM_OUT =
        Setting.integer(
            "dunlin.mqtt.topic-alias-maximum-out", 10, 0, 1_024,
            "Maximum number of topic aliases that the broker uses towards an MQTT 5 client. The client's own Topic Alias Maximum applies as well. 0"
                + " means none.");
    private static final Setting<String> SERVER_REFERENCE =
        Setting.text(
            "dunlin.drain.server-reference", "",
            "Server Reference that MQTT 5 clients receive when the node stops or is drained, such as other.example.com:1883.");

    private static final List<Setting<?>> ALL =
        List.of(
            CONNECT_TIMEOUT, KEEP_ALIVE_MAX, RECEIVE_MAXIMUM, TOPIC_ALIAS_MAXIMUM, TOPIC_ALIAS_MAXIMUM_OUT, SERVER_REFERENCE);

    public Connections {
      checkWindow("receive maximum", receiveMaximum);
    }

    private static Connections from(Settings settings) {
      return new Connections(
          settings.get(CONNECT_TIMEOUT),
          settings.get(KEEP_ALIVE_MAX),
          settings.get(RECEIVE_MAXIMUM),
          settings.get(TOPIC_ALIAS_MAXIMUM),
          settings.get(TOPIC_ALIAS_MAXIMUM_OUT),
          settings.get(SERVER_REFERENCE));
    }
  }

  /**
   * Limits on a session.
   *
   * @param expiryMax longest session expiry that is granted, in seconds; 0xFFFFFFFF for never
   * @param expiryOfMqtt3 how long a session of an MQTT 3 client without Clean Session is kept after its connection has
   *     ended, in seconds, 1 to 0xFFFFFFFF for ever; at most expiryMax
   * @param subscriptionsMax subscriptions of a session
   * @param inFlightMax messages of QoS 1 and 2 that may be in flight to its client, 1 to 65,535
   * @param queueMessagesMax messages of QoS 1 and 2 that may wait for it while it is connected and has no expiry
   * @param queueBytesMax bytes of these messages
   */
  public record Sessions(
      long expiryMax, long expiryOfMqtt3, int subscriptionsMax, int inFlightMax, int queueMessagesMax, int queueBytesMax) {
    private static final Setting<Long> SESSION_EXPIRY_MAX =
        Setting.longInteger(
            "dunlin.session.expiry-max", FrontendSettings.NEVER, 0, FrontendSettings.NEVER,
            "Maximum Session Expiry Interval that clients are granted, in seconds. 4294967295 means that sessions never expire.");
    private static final Setting<Long> SESSION_EXPIRY_OF_MQTT3 =
        Setting.longInteger(
            "dunlin.session.mqtt3-expiry", TimeUnit.DAYS.toSeconds(7), 1, FrontendSettings.NEVER,
            "How long the session of an MQTT 3 client that connects without Clean Session is kept after its connection has ended, in seconds, at most"
                + " `dunlin.session.expiry-max`. MQTT 3 clients cannot request an expiry. 4294967295 means that these sessions never expire.");
    public static final Setting<Integer> SUBSCRIPTIONS_MAX =
        Setting.integer(
            "dunlin.session.subscriptions-max", 10_000, 1, 10_000_000, "Maximum number of subscriptions of one session.");
    private static final Setting<Integer> IN_FLIGHT_MAX =
        Setting.integer(
            "dunlin.mqtt.in-flight-max", 1_024, 1, 65_535,
            "Maximum number of unacknowledged QoS 1 and 2 messages that the broker sends to a client. The client's Receive Maximum applies as well.");
    private static final Setting<Integer> QUEUE_MESSAGES_MAX =
        Setting.integer(
            "dunlin.session.queue-messages-max", 10_000, 1, 10_000_000,
            "Maximum number of QoS 1 and 2 messages that wait for a connected session that is not durable. Further messages are dropped.");
    private static final Setting<Long> QUEUE_BYTES_MAX =
        Setting.bytes(
            "dunlin.session.queue-bytes-max", 16 * MIB, 16 * KIB, 1_024 * MIB, "Maximum number of bytes of QoS 1 and 2 messages that wait for a"
                + " connected session that is not durable. Further messages are dropped.");

    private static final List<Setting<?>> ALL =
        List.of(
            SESSION_EXPIRY_MAX, SESSION_EXPIRY_OF_MQTT3, SUBSCRIPTIONS_MAX, IN_FLIGHT_MAX, QUEUE_MESSAGES_MAX, QUEUE_BYTES_MAX);

    public Sessions {
      checkWindow("in-flight maximum", inFlightMax);
      if (expiryMax < 0 || expiryMax > NEVER) throw new IllegalArgumentException("session expiry maximum " + expiryMax);
      if (expiryOfMqtt3 < 1 || expiryOfMqtt3 > NEVER) throw new IllegalArgumentException("session expiry of MQTT 3 " + expiryOfMqtt3);
    }

    private static Sessions from(Settings settings) {
      return new Sessions(
          settings.get(SESSION_EXPIRY_MAX),
          settings.get(SESSION_EXPIRY_OF_MQTT3),
          settings.get(SUBSCRIPTIONS_MAX),
          settings.get(IN_FLIGHT_MAX),
          settings.get(QUEUE_MESSAGES_MAX),
          Math.toIntExact(settings.get(QUEUE_BYTES_MAX)));
    }
  }

  /**
   * The event loops, each with its own lane.
   *
   * @param count number of event loops, 1 to 64
   * @param messagesMax messages of one lane that may be in flight before its publishers are not read from any more
   * @param bytesMax bytes of these messages
   * @param fanoutSlice subscribers of one message on one event loop that are served without a break
   */
  public record Lanes(int count, int messagesMax, int bytesMax, int fanoutSlice) {
    private static final Setting<Integer> LANES =
        Setting.integer(
                "dunlin.lanes", Math.clamp(Runtime.getRuntime().availableProcessors(), 1, 64), 1, 64, "Number of lanes. Each lane is an event loop with its own thread. It may differ between the nodes of a cluster.")
            .defaultMeans("the number of cores");
    private static final Setting<Integer> LANE_MESSAGES_MAX =
        Setting.integer(
            "dunlin.lane.messages-max", 16_384, 16, 1_000_000,
            "Maximum number of messages of one lane that are being delivered. Beyond it, the lane's publishers are not read from.");
    private static final Setting<Long> LANE_BYTES_MAX =
        Setting.bytes("dunlin.lane.bytes-max", 32 * MIB, MIB, 1_024 * MIB, "Maximum number of bytes of messages of one lane that are being delivered."
            + " Beyond it, the lane's publishers are not read from.");
    private static final Setting<Integer> FANOUT_SLICE =
        Setting.integer(
            "dunlin.lane.fanout-slice", 1_024, 16, 1_000_000,
            "Maximum number of subscribers on one event loop that receive a message in one go. More subscribers are served in slices of this size,"
                + " and other"
                + " work is done between the slices.");

    private static final List<Setting<?>> ALL =
        List.of(
            LANES, LANE_MESSAGES_MAX, LANE_BYTES_MAX, FANOUT_SLICE);

    public Lanes {
      if (count < 1 || count > 64) throw new IllegalArgumentException("lanes " + count);
    }

    private static Lanes from(Settings settings) {
      return new Lanes(
          settings.get(LANES),
          settings.get(LANE_MESSAGES_MAX),
          Math.toIntExact(settings.get(LANE_BYTES_MAX)),
          settings.get(FANOUT_SLICE));
    }
  }

  private static void checkWindow(String name, int messages) {
    if (messages < 1 || messages > 65_535) throw new IllegalArgumentException(name + ' ' + messages);
  }

  /**
   * How long a message waits for a member of a shared subscription's group to take it.
   *
   * @param acknowledged the time for QoS 1 and 2, for which the publisher's acknowledgement waits as well
   * @param unacknowledged the time for QoS 0, during which its publisher is not read from
   * @param unacknowledgedBytesMax bytes of QoS 0 messages that may wait on one event loop
   */
  public record GroupWaits(Duration acknowledged, Duration unacknowledged, int unacknowledgedBytesMax) {
    private static final Setting<Duration> SHARED_WAIT =
        Setting.duration(
            "dunlin.shared.wait", Duration.ofSeconds(5), Duration.ZERO, Duration.ofMinutes(5),
            "Maximum time that a QoS 1 or 2 message waits for a member of a shared subscription that can take it.");
    private static final Setting<Duration> SHARED_WAIT_QOS0 =
        Setting.duration(
            "dunlin.shared.wait-qos0", Duration.ofSeconds(1), Duration.ZERO, Duration.ofMinutes(1),
            "Maximum time that a QoS 0 message waits for a member of a shared subscription that can take it. Until then its publisher is"
                + " not read from. 0 drops the message at once.");
    private static final Setting<Long> SHARED_WAITING_MAX =
        Setting.bytes(
            "dunlin.shared.waiting-bytes-max", 16 * MIB, 16 * KIB, 1_024 * MIB,
            "Maximum number of bytes of QoS 0 messages that wait for members of shared subscriptions on one event loop. Further messages are dropped.");

    private static final List<Setting<?>> ALL =
        List.of(
            SHARED_WAIT, SHARED_WAIT_QOS0, SHARED_WAITING_MAX);

    private static GroupWaits from(Settings settings) {
      return new GroupWaits(
          settings.get(SHARED_WAIT),
          settings.get(SHARED_WAIT_QOS0),
          Math.toIntExact(settings.get(SHARED_WAITING_MAX)));
    }
  }

  /**
   * Optional features of a server, and additional checks; MQTT 5, section 3.2.2.3.
   *
   * @param maximumQoS the highest QoS that clients may publish with and subscriptions are granted
   * @param retain whether messages may be retained
   * @param wildcardSubscriptions whether topic filters may have wildcards
   * @param subscriptionIdentifiers whether subscriptions may have identifiers
   * @param sharedSubscriptions whether shared subscriptions are available
   * @param payloadFormatCheck whether a payload that is declared as UTF-8 text is checked
   * @param responseInformation the Response Information sent to clients: the prefix of their response topics; empty for
   *     none
   */
  public record Features(
      QoS maximumQoS,
      boolean retain,
      boolean wildcardSubscriptions,
      boolean subscriptionIdentifiers,
      boolean sharedSubscriptions,
      boolean payloadFormatCheck,
      String responseInformation) {
    private static final Setting<Integer> MAXIMUM_QOS =
        Setting.integer(
            "dunlin.mqtt.maximum-qos", 2, 0, 2, "Highest QoS that clients may publish with and that subscriptions are granted.");
    private static final Setting<Boolean> RETAIN_AVAILABLE =
        Setting.flag("dunlin.mqtt.retain-available", true, "Whether clients may publish retained messages and receive them.");
    private static final Setting<Boolean> WILDCARD_SUBSCRIPTION_AVAILABLE =
        Setting.flag("dunlin.mqtt.wildcard-subscription-available", true, "Whether topic filters may have wildcards.");
    private static final Setting<Boolean> SUBSCRIPTION_IDENTIFIERS_AVAILABLE =
        Setting.flag("dunlin.mqtt.subscription-identifiers-available", true, "Whether subscriptions may have identifiers.");
    private static final Setting<Boolean> SHARED_SUBSCRIPTION_AVAILABLE =
        Setting.flag("dunlin.mqtt.shared-subscription-available", true, "Whether there are shared subscriptions.");
    private static final Setting<Boolean> PAYLOAD_FORMAT_CHECK =
        Setting.flag(
            "dunlin.mqtt.payload-format-check", false,
            "Whether a message is refused if its Payload Format Indicator says UTF-8 and its payload is not valid UTF-8.");
    private static final Setting<String> RESPONSE_INFORMATION =
        Setting.text(
            "dunlin.mqtt.response-information", "",
            "Prefix of the Response Information for MQTT 5 clients that request it. The client identifier is appended.");

    private static final List<Setting<?>> ALL =
        List.of(
            MAXIMUM_QOS, RETAIN_AVAILABLE, WILDCARD_SUBSCRIPTION_AVAILABLE, SUBSCRIPTION_IDENTIFIERS_AVAILABLE, SHARED_SUBSCRIPTION_AVAILABLE, PAYLOAD_FORMAT_CHECK, RESPONSE_INFORMATION);

    /** All features of MQTT, without additional checks. */
    public static Features all() {
      return new Features(QoS.EXACTLY_ONCE, true, true, true, true, false, "");
    }

    private static Features from(Settings settings) {
      return new Features(
          QoS.of(settings.get(MAXIMUM_QOS)),
          settings.get(RETAIN_AVAILABLE),
          settings.get(WILDCARD_SUBSCRIPTION_AVAILABLE),
          settings.get(SUBSCRIPTION_IDENTIFIERS_AVAILABLE),
          settings.get(SHARED_SUBSCRIPTION_AVAILABLE),
          settings.get(PAYLOAD_FORMAT_CHECK),
          settings.get(RESPONSE_INFORMATION));
    }
  }
}

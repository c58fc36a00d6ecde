package dunlin.broker.codec;

import dunlin.model.FilterIndex;
import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.util.List;

/**
 * Limits on one packet of a client.
 *
 * @param packetMax maximum size of a packet in bytes
 * @param connectPacketMax maximum size of a CONNECT in bytes
 * @param topicLengthMax bytes of a topic name or filter
 * @param topicLevelsMax levels of a topic name or filter
 * @param userPropertiesMax user properties of a packet; those of the will are counted separately
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
    int willPayloadMax) {
  /** The largest packet that MQTT allows: one type byte, four bytes of remaining length, and 268,435,455 bytes. */
  private static final int PACKET_MAX_MOST = 1 + 4 + 268_435_455;

  private static final long KIB = 1_024;
  private static final long MIB = 1_024 * KIB;

  private static final Setting<Long> PACKET_MAX =
      Setting.bytes("dunlin.mqtt.packet-max", MIB, KIB, 2 * MIB, "Maximum size of a packet that a client may send.");
  private static final Setting<Long> CONNECT_PACKET_MAX =
      Setting.bytes(
          "dunlin.mqtt.connect-packet-max", 128 * KIB, KIB, 2 * MIB, "Maximum size of a CONNECT packet, which is buffered before the client is"
              + " authenticated.");
  private static final Setting<Integer> TOPIC_LENGTH_MAX =
      Setting.integer("dunlin.mqtt.topic-length-max", 65_535, 1, 65_535, "Maximum length of a topic name or topic filter, in bytes.");
  private static final Setting<Integer> TOPIC_LEVELS_MAX =
      Setting.integer(
          "dunlin.mqtt.topic-levels-max", 128, 1, FilterIndex.LEVELS_MAX, "Maximum number of levels of a topic name or topic filter.");
  private static final Setting<Integer> USER_PROPERTIES_MAX =
      Setting.integer(
          "dunlin.mqtt.user-properties-max", 64, 0, 1_000_000,
          "Maximum number of user properties in an MQTT 5 packet. The user properties of a will are counted separately.");
  private static final Setting<Integer> FILTERS_MAX =
      Setting.integer("dunlin.mqtt.filters-max", 10_000, 1, 1_000_000, "Maximum number of topic filters in one SUBSCRIBE or UNSUBSCRIBE packet.");
  private static final Setting<Integer> CLIENT_ID_MAX =
      Setting.integer("dunlin.mqtt.client-id-max", 1_024, 23, 65_535, "Maximum length of a client identifier, in bytes.");
  private static final Setting<Integer> WILL_PAYLOAD_MAX =
      Setting.integer(
          "dunlin.mqtt.will-payload-max", 65_535, 0, 65_535, "Maximum size of a will's payload, in bytes. The maximum size of a CONNECT packet"
              + " applies as well.");

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL =
      List.of(
          PACKET_MAX, CONNECT_PACKET_MAX, TOPIC_LENGTH_MAX, TOPIC_LEVELS_MAX, USER_PROPERTIES_MAX, FILTERS_MAX, CLIENT_ID_MAX, WILL_PAYLOAD_MAX);

  public PacketLimits {
    check("packetMax", packetMax, 16, PACKET_MAX_MOST);
    check("connectPacketMax", connectPacketMax, 16, PACKET_MAX_MOST);
    check("topicLengthMax", topicLengthMax, 1, 65_535);
    check("topicLevelsMax", topicLevelsMax, 1, 65_536);
    check("userPropertiesMax", userPropertiesMax, 0, Integer.MAX_VALUE);
    check("filtersMax", filtersMax, 1, Integer.MAX_VALUE);
    check("clientIdMax", clientIdMax, 23, 65_535); // [MQTT-3.1.3-5]
    check("willPayloadMax", willPayloadMax, 0, 65_535);
  }

  public static PacketLimits from(Settings settings) {
    return new PacketLimits(
        Math.toIntExact(settings.get(PACKET_MAX)),
        Math.toIntExact(settings.get(CONNECT_PACKET_MAX)),
        settings.get(TOPIC_LENGTH_MAX),
        settings.get(TOPIC_LEVELS_MAX),
        settings.get(USER_PROPERTIES_MAX),
        settings.get(FILTERS_MAX),
        settings.get(CLIENT_ID_MAX),
        settings.get(WILL_PAYLOAD_MAX));
  }

  /** A copy with another maximum packet size, also for CONNECT. */
  PacketLimits withPacketMax(int max) {
    return new PacketLimits(
        max, Math.min(connectPacketMax, max), topicLengthMax, topicLevelsMax, userPropertiesMax, filtersMax, clientIdMax, willPayloadMax);
  }

  static void check(String name, int value, int min, int max) {
    if (value < min || value > max) throw new IllegalArgumentException(name + " must be " + min + " to " + max + ", not " + value);
  }
}

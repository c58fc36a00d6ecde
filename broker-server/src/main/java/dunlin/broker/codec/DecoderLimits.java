package dunlin.broker.codec;

import dunlin.model.QoS;

/**
 * What one packet of a client may hold: how much at most, and which of the features that a server need not have.
 *
 * @param packetMax bytes of a packet, fixed header included: what CONNACK announces as Maximum Packet Size
 * @param connectPacketMax bytes of a CONNECT packet, which is buffered before anybody is known
 * @param topicLengthMax bytes of a topic name, also of the will's
 * @param topicLevelsMax levels of a topic name
 * @param userPropertiesMax user properties of a packet; the will's are counted by themselves
 * @param topicAliasMaximum the highest topic alias, 0 for none: what CONNACK announces as Topic Alias Maximum
 * @param refuseControlCharacters whether text with U+0001 to U+001F, U+007F to U+009F or a non-character is malformed; the
 *     specification leaves it to the server (MQTT 5, section 1.5.4)
 * @param filtersMax topic filters of a SUBSCRIBE or UNSUBSCRIBE packet
 * @param clientIdMax bytes of a client identifier
 * @param willPayloadMax bytes of a will's payload
 * @param maximumQoS the highest QoS of a PUBLISH packet and of a will
 * @param retainAvailable whether a PUBLISH packet and a will may be retained
 * @param subscriptionIdentifiersAvailable whether a SUBSCRIBE packet may have a subscription identifier
 * @param checkPayloadFormat whether a will that claims to be text must be UTF-8
 */
public record DecoderLimits(
    int packetMax,
    int connectPacketMax,
    int topicLengthMax,
    int topicLevelsMax,
    int userPropertiesMax,
    int topicAliasMaximum,
    boolean refuseControlCharacters,
    int filtersMax,
    int clientIdMax,
    int willPayloadMax,
    QoS maximumQoS,
    boolean retainAvailable,
    boolean subscriptionIdentifiersAvailable,
    boolean checkPayloadFormat) {

  /** The largest packet there can be: one type byte, four bytes of remaining length, and 268,435,455 bytes. */
  public static final int PACKET_MAX = 1 + 4 + 268_435_455;

  public DecoderLimits {
    check("packetMax", packetMax, 16, PACKET_MAX);
    check("connectPacketMax", connectPacketMax, 16, PACKET_MAX);
    check("topicLengthMax", topicLengthMax, 1, 65_535);
    check("topicLevelsMax", topicLevelsMax, 1, 65_536);
    check("userPropertiesMax", userPropertiesMax, 0, Integer.MAX_VALUE);
    check("topicAliasMaximum", topicAliasMaximum, 0, 65_535);
    check("filtersMax", filtersMax, 1, Integer.MAX_VALUE);
    check("clientIdMax", clientIdMax, 23, 65_535); // [MQTT-3.1.3-5]
    check("willPayloadMax", willPayloadMax, 0, 65_535);
  }

  /** Limits of a server that has every feature. */
  public DecoderLimits(
      int packetMax,
      int connectPacketMax,
      int topicLengthMax,
      int topicLevelsMax,
      int userPropertiesMax,
      int topicAliasMaximum,
      boolean refuseControlCharacters,
      int filtersMax) {
    this(
        packetMax, connectPacketMax, topicLengthMax, topicLevelsMax, userPropertiesMax, topicAliasMaximum,
        refuseControlCharacters, filtersMax, 65_535, 65_535, QoS.EXACTLY_ONCE, true, true, false);
  }

  public static DecoderLimits defaults() {
    return new DecoderLimits(1 << 20, 16 << 10, 1_024, 32, 32, 16, true, 10_000);
  }

  private static void check(String name, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(name + " must be " + min + " to " + max + ", not " + value);
    }
  }
}

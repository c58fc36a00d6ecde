package dunlin.broker.codec;

import dunlin.model.QoS;

/**
 * Limits on clients' packets, and the optional features of the server.
 *
 * @param packets limits on one packet
 * @param features the optional features that are available
 * @param topicAliasMaximum the highest topic alias, 0 for none: what CONNACK announces as Topic Alias Maximum
 * @param refuseControlCharacters whether text with U+0001 to U+001F, U+007F to U+009F or a non-character is malformed;
 *     the specification leaves it to the server (MQTT 5, section 1.5.4)
 */
public record DecoderLimits(PacketLimits packets, Features features, int topicAliasMaximum, boolean refuseControlCharacters) {
  /**
   * Optional features of a server; MQTT 5, section 3.2.2.3.
   *
   * @param maximumQoS the highest QoS of a PUBLISH packet and of a will
   * @param retain whether a PUBLISH packet and a will may be retained
   * @param subscriptionIdentifiers whether a SUBSCRIBE packet may have a subscription identifier
   * @param payloadFormatCheck whether a will that is declared as text must be UTF-8
   */
  public record Features(QoS maximumQoS, boolean retain, boolean subscriptionIdentifiers, boolean payloadFormatCheck) {
    static final Features ALL = new Features(QoS.EXACTLY_ONCE, true, true, false);
  }

  public DecoderLimits {
    PacketLimits.check("topicAliasMaximum", topicAliasMaximum, 0, 65_535);
  }

  /** Limits of a server with all optional features. */
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
        new PacketLimits(packetMax, connectPacketMax, topicLengthMax, topicLevelsMax, userPropertiesMax, filtersMax, 65_535, 65_535),
        Features.ALL, topicAliasMaximum, refuseControlCharacters);
  }

  public static DecoderLimits defaults() {
    return new DecoderLimits(1 << 20, 16 << 10, 1_024, 32, 32, 16, true, 10_000);
  }

  /** The same with lower limits, if these are lower, for what comes behind CONNECT. */
  public DecoderLimits narrowed(int packetMax, QoS maximumQoS) {
    if (packetMax >= packets.packetMax() && maximumQoS.code() >= features.maximumQoS().code()) return this;
    Features fewer = new Features(maximumQoS.min(features.maximumQoS()), features.retain(), features.subscriptionIdentifiers(), features.payloadFormatCheck());
    return new DecoderLimits(packets.withPacketMax(Math.min(packetMax, packets.packetMax())), fewer, topicAliasMaximum, refuseControlCharacters);
  }

  /** A copy with another maximum packet size, also for CONNECT. */
  public DecoderLimits withPacketMax(int max) {
    return new DecoderLimits(packets.withPacketMax(max), features, topicAliasMaximum, refuseControlCharacters);
  }
}

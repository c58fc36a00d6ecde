package dunlin.broker.codec;

/** The version of MQTT that a connection speaks; MQTT 5, section 3.1.2.2. */
public enum ProtocolVersion {
  MQTT_3_1(3),
  MQTT_3_1_1(4),
  MQTT_5(5);

  private final int level;

  ProtocolVersion(int level) {
    this.level = level;
  }

  /** The protocol level, which MQTT 5 calls protocol version, as CONNECT carries it. */
  public int level() {
    return level;
  }

  /** Whether packets of this version have properties and reason codes. */
  public boolean hasProperties() {
    return this == MQTT_5;
  }
}

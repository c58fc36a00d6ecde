package dunlin.broker.codec;

/** The version of MQTT that a connection uses; MQTT 5, section 3.1.2.2. */
public enum ProtocolVersion {
  MQTT_3_1(3, "3.1"),
  MQTT_3_1_1(4, "3.1.1"),
  MQTT_5(5, "5.0");

  private final int level;
  private final String number;

  ProtocolVersion(int level, String number) {
    this.level = level;
    this.number = number;
  }

  /** The protocol level in CONNECT, which MQTT 5 calls protocol version. */
  public int level() {
    return level;
  }

  /** Whether packets of this version have properties and reason codes. */
  public boolean hasProperties() {
    return this == MQTT_5;
  }

  @Override
  public String toString() {
    return number;
  }
}

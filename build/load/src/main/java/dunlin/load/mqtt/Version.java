package dunlin.load.mqtt;

/** A version of MQTT. */
public enum Version {
  V3_1_1(4),
  V5(5);

  private final int protocolLevel;

  Version(int protocolLevel) {
    this.protocolLevel = protocolLevel;
  }

  /** The Protocol Level in CONNECT, which users also write in options. */
  public int protocolLevel() {
    return protocolLevel;
  }

  boolean hasProperties() {
    return this == V5;
  }
}

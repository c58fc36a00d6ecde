package dunlin.load.mqtt;

/** A version of MQTT that clients of a run speak. */
public enum Version {
  V3_1_1(4),
  V5(5);

  private final int protocolLevel;

  Version(int protocolLevel) {
    this.protocolLevel = protocolLevel;
  }

  /** What CONNECT says; also what users write. */
  public int protocolLevel() {
    return protocolLevel;
  }

  boolean hasProperties() {
    return this == V5;
  }
}

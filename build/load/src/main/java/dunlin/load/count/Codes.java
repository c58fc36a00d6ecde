package dunlin.load.count;

import dunlin.load.mqtt.ReasonNames;

/** The packets in which a broker gives reason codes. */
public enum Codes {
  CONNACK_3("refused connects (3.1.1)"),
  CONNACK_5("refused connects (5.0)"),
  SUBACK("refused subscriptions"),
  PUBLISH("refused publishes"),
  DISCONNECT("disconnects by the broker");

  private final String label;

  Codes(String label) {
    this.label = label;
  }

  public String label() {
    return label;
  }

  public String name(int code) {
    return this == CONNACK_3 ? ReasonNames.ofReturnCode(code) : ReasonNames.ofReasonCode(code);
  }
}

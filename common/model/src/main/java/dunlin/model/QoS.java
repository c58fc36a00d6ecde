package dunlin.model;

/** Quality of service of a delivery; MQTT 5, section 4.3. */
public enum QoS {
  AT_MOST_ONCE(0),
  AT_LEAST_ONCE(1),
  EXACTLY_ONCE(2);

  private final int code;

  QoS(int code) {
    this.code = code;
  }

  /** The two-bit value on the wire, 0 to 2. */
  public int code() {
    return code;
  }

  /**
   * The quality of service with this wire value.
   *
   * @throws IllegalArgumentException for anything but 0, 1 and 2
   */
  public static QoS of(int code) {
    return switch (code) {
      case 0 -> AT_MOST_ONCE;
      case 1 -> AT_LEAST_ONCE;
      case 2 -> EXACTLY_ONCE;
      default -> throw new IllegalArgumentException("QoS " + code);
    };
  }

  /** The lower of two: what a message of one QoS gets on a subscription of another [MQTT-3.8.4-8]. */
  public QoS min(QoS other) {
    return code <= other.code ? this : other;
  }
}

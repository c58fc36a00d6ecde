package dunlin.load.mqtt;

/**
 * The limits in a broker's CONNACK.
 *
 * @param receiveMaximum the number of unacknowledged messages of QoS 1 and 2 that the broker accepts
 * @param keepAliveSeconds the Server Keep Alive, or -1
 * @param maximumQos the highest QoS that the broker accepts
 * @param maximumPacketSize in bytes
 */
public record Limits(int receiveMaximum, int keepAliveSeconds, int maximumQos, long maximumPacketSize) {
  /** The specification's defaults, which always apply to 3.1.1. */
  public static final Limits NONE = new Limits(65_535, -1, 2, Long.MAX_VALUE);
}

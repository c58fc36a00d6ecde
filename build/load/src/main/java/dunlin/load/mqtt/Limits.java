package dunlin.load.mqtt;

/**
 * What a broker allows in CONNACK.
 *
 * @param receiveMaximum how many messages of QoS 1 and 2 it takes without an acknowledgement
 * @param keepAliveSeconds what it puts in place of the client's Keep Alive, or -1
 * @param maximumQos the highest QoS that it takes
 * @param maximumPacketSize in bytes
 */
public record Limits(int receiveMaximum, int keepAliveSeconds, int maximumQos, long maximumPacketSize) {
  /** Nothing said: what the specification puts in place, and 3.1.1 always has. */
  public static final Limits NONE = new Limits(65_535, -1, 2, Long.MAX_VALUE);
}

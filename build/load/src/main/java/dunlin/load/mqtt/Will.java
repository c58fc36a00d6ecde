package dunlin.load.mqtt;

/** A will: the message that the broker publishes when a connection ends without DISCONNECT. */
public record Will(byte[] topic, byte[] payload, int qos, boolean retain) {
  public Will {
    if (qos < 0 || qos > 2) throw new IllegalArgumentException("a will's QoS is 0, 1 or 2, and not " + qos);
  }
}

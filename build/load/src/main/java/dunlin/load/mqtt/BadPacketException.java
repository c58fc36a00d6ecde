package dunlin.load.mqtt;

/** The broker has sent bytes that are not an MQTT packet, or a packet that a client may not receive. */
public final class BadPacketException extends RuntimeException {
  private static final long serialVersionUID = 1;

  BadPacketException(String message) {
    super(message);
  }
}

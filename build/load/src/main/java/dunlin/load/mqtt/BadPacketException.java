package dunlin.load.mqtt;

/** The broker has sent bytes that are no MQTT packet, or none that a client may get. */
public final class BadPacketException extends RuntimeException {
  private static final long serialVersionUID = 1;

  BadPacketException(String message) {
    super(message);
  }
}

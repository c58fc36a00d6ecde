package dunlin;

import dunlin.model.ReasonCode;

/** A message that the application published was refused, or did not reach all of its subscribers. */
public final class PublishException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ReasonCode reason;

  PublishException(String topic, ReasonCode reason) {
    super("not published to %s: %s".formatted(topic, reason.label()));
    this.reason = reason;
  }

  /** The reason code that a client's PUBACK would have; MQTT 5, section 3.4.2.1. */
  public int reasonCode() {
    return reason.code();
  }
}

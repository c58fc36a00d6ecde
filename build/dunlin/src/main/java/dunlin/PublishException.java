package dunlin;

import dunlin.model.ReasonCode;

/** A message that the application published was not taken, or not by all who were to have it. */
public final class PublishException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final ReasonCode reason;

  PublishException(String topic, ReasonCode reason) {
    super("not published to %s: %s".formatted(topic, reason.label()));
    this.reason = reason;
  }

  /** What PUBACK would have said to a client; MQTT 5, section 3.4.2.1. */
  public int reasonCode() {
    return reason.code();
  }
}

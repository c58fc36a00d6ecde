package dunlin.broker.access;

import java.util.Locale;

/** What a client wants to do with a topic. */
public enum AccessAction {
  /** To publish a message, or to leave a will. */
  PUBLISH,
  /** To subscribe to a topic filter. */
  SUBSCRIBE,
  /** To be sent a message. */
  RECEIVE;

  /** The action as rule files and metrics spell it. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}

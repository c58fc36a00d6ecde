package dunlin.broker.access;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** What a client wants to do with a topic. */
public enum AccessAction {
  /** To publish a message, or to leave a will. */
  PUBLISH,
  /** To subscribe to a topic filter. */
  SUBSCRIBE,
  /** To be sent a message. */
  RECEIVE;

  /** The names of all, as rule files spell them. */
  public static final List<String> LABELS = Arrays.stream(values()).map(AccessAction::label).toList();

  /** @throws IllegalArgumentException if it is none of {@link #LABELS} */
  public static AccessAction of(String label) {
    return valueOf(label.toUpperCase(Locale.ROOT));
  }

  /** The action as rule files and metrics spell it. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}

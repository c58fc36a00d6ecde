package dunlin.inbox;

import dunlin.inbox.SessionsMXBean.SessionRow;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** What sessions are compared by, to find those with most of it. */
public enum SessionFigure {
  /** Messages in the inbox that wait or are not acknowledged. */
  MESSAGES,
  /** Bytes of these messages. */
  BYTES,
  SUBSCRIPTIONS,
  /** Time since the first message in the inbox was accepted. */
  OLDEST;

  /** The names of all, as the admin API spells them. */
  public static final List<String> LABELS = Arrays.stream(values()).map(SessionFigure::label).toList();

  /** How much a session has of it. */
  public long of(SessionRow session) {
    return switch (this) {
      case MESSAGES -> session.messages();
      case BYTES -> session.bytes();
      case SUBSCRIPTIONS -> session.subscriptions();
      case OLDEST -> session.oldestMillis();
    };
  }

  /** The order of those with most of it. */
  public Comparator<SessionRow> mostFirst() {
    return Comparator.<SessionRow>comparingLong(this::of).reversed().thenComparing(SessionRow::clientId);
  }

  /** As the admin API spells it: {@code messages}. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** @throws IllegalArgumentException when there is none of this label */
  public static SessionFigure of(String label) {
    return Arrays.stream(values())
        .filter(figure -> figure.label().equals(label))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("sessions are compared by one of " + LABELS));
  }
}

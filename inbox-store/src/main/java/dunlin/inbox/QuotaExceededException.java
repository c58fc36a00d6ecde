package dunlin.inbox;

import java.util.Arrays;
import java.util.Optional;

/** There are as many of something as may be, and nothing of what was asked for was done. */
public final class QuotaExceededException extends RuntimeException {
  /** What there is too much of. */
  public enum Kind {
    /** Durable sessions. */
    SESSIONS(1),
    /** Subscriptions of one session. */
    SUBSCRIPTIONS(2),
    /** Memory that all durable sessions and their subscriptions take, in bytes. */
    MEMORY(3),
    /** Memory that the routes of all topic filters take, in bytes. */
    ROUTES(4),
    /** Groups of shared subscriptions with the same topic filter. */
    GROUPS(5);

    private final int code;

    Kind(int code) {
      this.code = code;
    }

    /** The byte that stands for it between processes. */
    public int code() {
      return code;
    }

    public static Optional<Kind> of(int code) {
      return Arrays.stream(values()).filter(each -> each.code == code).findFirst();
    }
  }

  private final Kind kind;
  private final String what;
  private final long limit;

  public QuotaExceededException(Kind kind, String what, long limit) {
    super("too many " + what + ", limit " + limit);
    this.kind = kind;
    this.what = what;
    this.limit = limit;
  }

  public Kind kind() {
    return kind;
  }

  /** What there is too much of, in words. */
  public String what() {
    return what;
  }

  /** How many there may be. */
  public long limit() {
    return limit;
  }
}

package dunlin.inbox;

import java.util.Arrays;
import java.util.Optional;

/** A limit is reached. The call changed nothing. */
public final class QuotaExceededException extends RuntimeException {
  /** What is limited. */
  public enum Kind {
    /** Durable sessions. */
    SESSIONS(1),
    /** Subscriptions of one session. */
    SUBSCRIPTIONS(2),
    /** Memory of all durable sessions and their subscriptions, in bytes. */
    MEMORY(3),
    /** Memory of the routes of all topic filters, in bytes. */
    ROUTES(4),
    /** Groups of shared subscriptions with the same topic filter. */
    GROUPS(5),
    /** Durable sessions of one tenant. */
    TENANT_SESSIONS(6),
    /** Subscriptions of all durable sessions of one tenant. */
    TENANT_SUBSCRIPTIONS(7),
    /** Routes of one tenant. */
    TENANT_ROUTES(8),
    /** Patterns of single-level wildcards in the topic filters of one tenant. */
    PATTERNS(9);

    private final int code;

    Kind(int code) {
      this.code = code;
    }

    /** The code of this kind between processes. */
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

  /** What is limited, in words. */
  public String what() {
    return what;
  }

  /** The limit. */
  public long limit() {
    return limit;
  }
}

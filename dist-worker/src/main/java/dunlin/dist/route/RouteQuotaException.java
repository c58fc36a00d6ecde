package dunlin.dist.route;

import java.util.Arrays;
import java.util.Optional;

/** A limit of routes is reached. The requested one was not set. */
public final class RouteQuotaException extends RuntimeException {
  /** The limit that is reached. */
  public enum Kind {
    /** Memory that all routes take, in bytes. */
    MEMORY(1),
    /** Groups of shared subscriptions with the same topic filter. */
    GROUPS(2),
    /** Routes of one tenant. */
    TENANT(3),
    /** Patterns of single-level wildcards in the topic filters of one tenant. */
    PATTERNS(4);

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
  private final long limit;

  public RouteQuotaException(Kind kind, long limit) {
    super("too many " + what(kind) + ", limit " + limit);
    this.kind = kind;
    this.limit = limit;
  }

  private static String what(Kind kind) {
    return switch (kind) {
      case MEMORY -> "bytes of routes";
      case GROUPS -> "groups of shared subscriptions with the same topic filter";
      case TENANT -> "routes of the tenant";
      case PATTERNS -> "patterns of wildcards in topic filters of the tenant";
    };
  }

  public Kind kind() {
    return kind;
  }

  /** The value of the limit. */
  public long limit() {
    return limit;
  }
}

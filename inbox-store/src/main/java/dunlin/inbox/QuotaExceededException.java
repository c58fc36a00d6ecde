package dunlin.inbox;

/** There are as many of something as may be, and nothing of what was asked for was done. */
public final class QuotaExceededException extends RuntimeException {
  /** What there is too much of. */
  public enum Kind {
    /** Durable sessions. */
    SESSIONS,
    /** Subscriptions of one session. */
    SUBSCRIPTIONS,
    /** Memory that all durable sessions and their subscriptions take, in bytes. */
    MEMORY
  }

  private final Kind kind;
  private final long limit;

  public QuotaExceededException(Kind kind, String what, long limit) {
    super("too many " + what + ", limit " + limit);
    this.kind = kind;
    this.limit = limit;
  }

  public Kind kind() {
    return kind;
  }

  /** How many there may be. */
  public long limit() {
    return limit;
  }
}

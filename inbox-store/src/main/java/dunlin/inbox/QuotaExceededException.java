package dunlin.inbox;

/** There are as many of something as may be, and nothing of what was asked for was done. */
public final class QuotaExceededException extends RuntimeException {
  private final long limit;

  QuotaExceededException(String what, long limit) {
    super("too many " + what + ", limit " + limit);
    this.limit = limit;
  }

  /** How many there may be. */
  public long limit() {
    return limit;
  }
}

package dunlin.dist;

/** There are as many routes as there may be. The one that was asked for was not set. */
public final class RouteQuotaException extends RuntimeException {
  /** What there is too much of. */
  public enum Kind {
    /** Memory that all routes take, in bytes. */
    MEMORY,
    /** Groups of shared subscriptions with the same topic filter. */
    GROUPS
  }

  private final Kind kind;
  private final long limit;

  RouteQuotaException(Kind kind, long limit) {
    super((kind == Kind.MEMORY ? "too many bytes of routes" : "too many groups of shared subscriptions with the same topic filter") + ", limit " + limit);
    this.kind = kind;
    this.limit = limit;
  }

  public Kind kind() {
    return kind;
  }

  /** How much there may be. */
  public long limit() {
    return limit;
  }
}

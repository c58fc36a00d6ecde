package dunlin.inbox;

/** The session has as many subscriptions as it may; none of those asked for was made. */
public final class QuotaExceededException extends RuntimeException {
  public QuotaExceededException(SessionRef session) {
    super("session of " + session.clientId() + " has as many subscriptions as it may");
  }
}

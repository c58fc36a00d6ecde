package dunlin.inbox;

/** The session now belongs to a later connection, or has ended. */
public final class StaleSessionException extends RuntimeException {
  private final SessionRef session;

  public StaleSessionException(SessionRef session) {
    super("session of " + session.clientId() + " is no longer owned with epoch " + session.epoch());
    this.session = session;
  }

  public SessionRef session() {
    return session;
  }
}

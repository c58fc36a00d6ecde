package dunlin.inbox;

/** The session belongs to a later connection by now, or has ended. */
public final class StaleSessionException extends RuntimeException {
  public StaleSessionException(SessionRef session) {
    super("session of " + session.clientId() + " is no longer owned with epoch " + session.epoch());
  }
}

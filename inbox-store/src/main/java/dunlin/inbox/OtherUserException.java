package dunlin.inbox;

/** The session of the client identifier belongs to another user, and nothing of what was asked for was done. */
public final class OtherUserException extends RuntimeException {
  private final String clientId;

  public OtherUserException(String clientId) {
    super("the session of " + clientId + " is another user's");
    this.clientId = clientId;
  }

  public String clientId() {
    return clientId;
  }
}

package dunlin.inbox;

/** The session of the client identifier belongs to another user. The call changed nothing. */
public final class OtherUserException extends RuntimeException {
  private final String clientId;

  public OtherUserException(String clientId) {
    super("the session of " + clientId + " belongs to another user");
    this.clientId = clientId;
  }

  public String clientId() {
    return clientId;
  }
}

package dunlin.transport.lane;

/** A frame that no correct sender makes: truncated, or with a value that is out of bounds. */
public final class MalformedFrameException extends Exception {
  private static final long serialVersionUID = 1;

  public MalformedFrameException(String message) {
    super(message);
  }
}

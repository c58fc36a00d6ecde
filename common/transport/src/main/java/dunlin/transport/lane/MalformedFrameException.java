package dunlin.transport.lane;

/** A frame that no correct sender writes: truncated, or with a value out of bounds. */
public final class MalformedFrameException extends Exception {
  private static final long serialVersionUID = 1;

  public MalformedFrameException(String message) {
    super(message);
  }
}

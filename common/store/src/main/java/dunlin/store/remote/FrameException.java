package dunlin.store.remote;

/** A frame that no correct node sends; it ends its stream. */
final class FrameException extends RuntimeException {
  FrameException(String message) {
    super(message);
  }

  FrameException(String message, Throwable cause) {
    super(message, cause);
  }
}

package dunlin.store.remote;

/** A frame that no correct node sends; ends the stream that it came by. */
final class FrameException extends RuntimeException {
  FrameException(String message) {
    super(message);
  }

  FrameException(String message, Throwable cause) {
    super(message, cause);
  }
}

package dunlin.transport.link;

/** Bytes that no correct side sends. The pipe is abandoned, the link continues. */
final class MalformedLinkFrameException extends Exception {
  MalformedLinkFrameException(String message) {
    super(message);
  }
}

package dunlin.transport.link;

/** Bytes that a correct other side does not send. The pipe that brought them is given up, the link is not. */
final class MalformedLinkFrameException extends Exception {
  MalformedLinkFrameException(String message) {
    super(message);
  }
}

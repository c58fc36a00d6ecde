package dunlin.broker.listen;

/** A listener cannot be opened; the message names its address, its setting and the cause. */
public final class ListenerException extends RuntimeException {
  ListenerException(String message) {
    super(message);
  }

  ListenerException(String message, Throwable cause) {
    super(message, cause);
  }
}

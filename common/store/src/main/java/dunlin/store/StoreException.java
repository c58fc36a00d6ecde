package dunlin.store;

/** A store cannot do what it was asked, now or at all; the message names the range, the path and the cause. */
public final class StoreException extends RuntimeException {
  public StoreException(String message) {
    super(message);
  }

  public StoreException(String message, Throwable cause) {
    super(message, cause);
  }
}

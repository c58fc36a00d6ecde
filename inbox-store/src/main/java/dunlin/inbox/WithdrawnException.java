package dunlin.inbox;

/** A call was not made, since its caller did not want it any more before its turn came. Nothing has failed. */
public final class WithdrawnException extends RuntimeException {
  public WithdrawnException(String message) {
    super(message);
  }
}

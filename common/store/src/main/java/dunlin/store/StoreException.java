package dunlin.store;

/**
 * A store cannot do what it was asked, now or at all; the message names the range, the path and the cause.
 *
 * <p>A command that failed with it was surely not applied and never will be, unless it is an {@link OutcomeUnknownException}.
 */
public sealed class StoreException extends RuntimeException
    permits NotLeaderException, OutcomeUnknownException, LowDiskException, DamagedException, OutdatedException,
        WrongEpochException {
  public StoreException(String message) {
    super(message);
  }

  public StoreException(String message, Throwable cause) {
    super(message, cause);
  }
}

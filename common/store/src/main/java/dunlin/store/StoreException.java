package dunlin.store;

/**
 * The store cannot do what it was asked to do, now or ever. The message names the range, the path and the cause.
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

  /**
   * Whether the next leader of the range may be asked: this replica does not lead it, or does not know the outcome. What
   * was asked may then be done twice.
   */
  public static boolean isForNextLeader(Throwable failure) {
    return failure instanceof NotLeaderException || failure instanceof OutcomeUnknownException;
  }
}

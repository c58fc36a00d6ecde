package dunlin.store;

/**
 * A command came into the log and this replica did not learn what became of it: it may have been applied, may still be,
 * or may never be. A caller that repeats it must tolerate that it is applied twice.
 */
public final class OutcomeUnknownException extends StoreException {
  public OutcomeUnknownException(String message, Throwable cause) {
    super(message, cause);
  }
}

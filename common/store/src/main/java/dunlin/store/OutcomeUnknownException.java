package dunlin.store;

/**
 * A command was appended to the log and this replica did not learn its outcome: it may have been applied, may still be,
 * or may never be. A caller that repeats it must tolerate that it is applied twice.
 */
public final class OutcomeUnknownException extends StoreException {
  public OutcomeUnknownException(String message, Throwable cause) {
    super(message, cause);
  }
}

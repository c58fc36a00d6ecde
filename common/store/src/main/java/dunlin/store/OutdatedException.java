package dunlin.store;

/** What was asked was decided on a state that is not the present one; nothing was done. */
public final class OutdatedException extends StoreException {
  public OutdatedException(String message) {
    super(message);
  }
}

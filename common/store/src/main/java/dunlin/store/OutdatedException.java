package dunlin.store;

/** The request was based on a state that is not the current one; nothing was done. */
public final class OutdatedException extends StoreException {
  public OutdatedException(String message) {
    super(message);
  }
}

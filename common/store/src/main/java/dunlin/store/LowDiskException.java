package dunlin.store;

/** The node's disk is too full for a command of this {@link CommandKind}. Nothing has been done. */
public final class LowDiskException extends StoreException {
  public LowDiskException(String message) {
    super(message);
  }
}

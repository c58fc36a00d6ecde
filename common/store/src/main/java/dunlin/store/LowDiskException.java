package dunlin.store;

/** The node's disk is nearly full: it takes no commands before there is room again. Nothing has been done. */
public final class LowDiskException extends StoreException {
  public LowDiskException(String message) {
    super(message);
  }
}

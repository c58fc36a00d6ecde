package dunlin.store;

/** The files of a replica do not hold what was written to them. */
public final class DamagedException extends StoreException {
  public DamagedException(String message) {
    super(message);
  }

  public DamagedException(String message, Throwable cause) {
    super(message, cause);
  }
}

package dunlin.store;

/** The files of a replica do not hold what was written to them. */
final class DamagedException extends StoreException {
  DamagedException(String message) {
    super(message);
  }

  DamagedException(String message, Throwable cause) {
    super(message, cause);
  }
}

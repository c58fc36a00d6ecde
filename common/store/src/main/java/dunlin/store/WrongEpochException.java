package dunlin.store;

/** The range has another epoch than the caller expects: its keys have changed. Nothing has been done. */
public final class WrongEpochException extends StoreException {
  private final transient RangeDescriptor now;

  public WrongEpochException(RangeDescriptor now, long epoch) {
    super("range " + now.id() + " has " + now.keys() + " and epoch " + now.epoch() + ", not " + epoch);
    this.now = now;
  }

  /** The range's current descriptor. */
  public RangeDescriptor now() {
    return now;
  }
}

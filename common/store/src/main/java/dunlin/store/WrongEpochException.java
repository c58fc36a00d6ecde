package dunlin.store;

/** The range has another epoch than the caller expects: its keys have changed. Nothing has been done. */
public final class WrongEpochException extends StoreException {
  private final transient RangeDescriptor now;
  private final long asked;

  public WrongEpochException(RangeDescriptor now, long epoch) {
    super("range " + now.id() + " has " + now.keys() + " and epoch " + now.epoch() + ", not " + epoch);
    this.now = now;
    this.asked = epoch;
  }

  /** The epoch that the caller expected. */
  public long asked() {
    return asked;
  }

  /** The range's current descriptor. */
  public RangeDescriptor now() {
    return now;
  }
}

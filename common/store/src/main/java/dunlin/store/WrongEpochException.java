package dunlin.store;

/** The range is not, or no longer, what the caller takes it for: its keys have changed. Nothing has been done. */
public final class WrongEpochException extends StoreException {
  private final transient RangeDescriptor now;

  public WrongEpochException(RangeDescriptor now, long epoch) {
    super("range " + now.id() + " has " + now.keys() + " and epoch " + now.epoch() + ", not " + epoch);
    this.now = now;
  }

  /** What the range is. */
  public RangeDescriptor now() {
    return now;
  }
}

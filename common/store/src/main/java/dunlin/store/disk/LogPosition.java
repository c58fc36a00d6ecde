package dunlin.store.disk;

/** The last entry of the log that a range's rows include. */
public record LogPosition(long term, long index) {
  /** The position of a range without an applied entry. */
  static final LogPosition NONE = new LogPosition(0, -1);
}

package dunlin.store.disk;

/** Up to which entry of its log a range's rows have come. */
public record LogPosition(long term, long index) {
  /** Of a range to which nothing has been applied. */
  static final LogPosition NONE = new LogPosition(0, -1);
}

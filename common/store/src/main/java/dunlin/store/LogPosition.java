package dunlin.store;

/** Up to which entry of its log a range's rows have come. */
record LogPosition(long term, long index) {
  /** Of a range to which nothing has been applied. */
  static final LogPosition NONE = new LogPosition(0, -1);
}

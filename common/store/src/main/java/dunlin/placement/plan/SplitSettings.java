package dunlin.placement.plan;

/**
 * When ranges are split automatically, and how many.
 *
 * @param bytes a larger range is split; 0 for never
 * @param operationsPerSecond a busier range is split; 0 for never
 * @param bytesMin a smaller range is not split, however busy it is
 * @param atOnceMax splits at a time, including those that an operator asked for
 * @param replicasMax a range is not split when that would leave a node with more replicas than this
 */
public record SplitSettings(long bytes, long operationsPerSecond, long bytesMin, int atOnceMax, int replicasMax) {
  public SplitSettings {
    if (bytes < 0 || operationsPerSecond < 0 || bytesMin < 0 || atOnceMax < 0 || replicasMax < 0)
      throw new IllegalArgumentException("a bound of splits is negative");
    if (bytes > 0 && bytesMin > bytes)
      throw new IllegalArgumentException("ranges of " + bytes + " bytes are split, and not below " + bytesMin);
  }

  public static SplitSettings defaults() {
    return new SplitSettings(1L << 30, 0, 16L << 20, 2, 64);
  }

  public static SplitSettings never() {
    return new SplitSettings(0, 0, 0, 0, 0);
  }

  public boolean large(long held) {
    return bytes > 0 && held > bytes;
  }

  public boolean busy(long held, long operations) {
    return operationsPerSecond > 0 && operations > operationsPerSecond && held >= bytesMin;
  }

  /** Whether a range is so large that its leader should look for a cut. */
  public boolean nearlyLarge(long held) {
    return bytes > 0 && held > bytes / 2;
  }

  /** Whether a range is so busy that its leader should look for a cut. */
  public boolean nearlyBusy(long held, long operations) {
    return operationsPerSecond > 0 && operations > operationsPerSecond / 2 && held >= bytesMin / 2;
  }
}

package dunlin.retain.index;

/**
 * The size of a message in one byte: exact up to 16 bytes, and rounded up by less than an eighth above that. So the sum
 * of all messages is maintained without reading replaced rows, and exactly what was added for a message is subtracted
 * again.
 */
public final class SizeClass {
  /** The class of a topic without a message. */
  public static final int NONE = -1;

  private static final int STEPS = 8;
  private static final int STEP_BITS = 3;

  private SizeClass() {}

  /** The class of a size. */
  public static byte of(int bytes) {
    if (bytes < STEPS) return (byte) bytes;
    int exponent = 31 - Integer.numberOfLeadingZeros(bytes) - STEP_BITS;
    int steps = (int) (((long) bytes + (1L << exponent) - 1) >> exponent);
    // 16 steps of one size are 8 steps of the next, so the numbers continue without a gap.
    return (byte) (exponent * STEPS + steps);
  }

  /** The largest size of a class; 0 for NONE. */
  public static long bytes(int sizeClass) {
    if (sizeClass < STEPS) return Math.max(0, sizeClass);
    int exponent = sizeClass / STEPS - 1;
    return (long) (sizeClass % STEPS + STEPS) << exponent;
  }
}

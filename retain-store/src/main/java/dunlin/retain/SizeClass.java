package dunlin.retain;

/**
 * How many bytes a message has, in one byte: exact up to 16, and rounded up by less than an eighth from there on. So the sum of all
 * messages is kept without reading a row that is replaced, and what is added for a message is what is taken off again.
 */
final class SizeClass {
  /** The class of a topic without a message. */
  static final int NONE = -1;

  private static final int STEPS = 8;
  private static final int STEP_BITS = 3;

  private SizeClass() {}

  /** The class of that many bytes. */
  static byte of(int bytes) {
    if (bytes < STEPS) return (byte) bytes;
    int exponent = 31 - Integer.numberOfLeadingZeros(bytes) - STEP_BITS;
    int steps = (int) (((long) bytes + (1L << exponent) - 1) >> exponent);
    // 16 steps of one size are 8 of the next one, and their numbers are the same.
    return (byte) (exponent * STEPS + steps);
  }

  /** The most bytes that a message of a class has; 0 for none. */
  static long bytes(int sizeClass) {
    if (sizeClass < STEPS) return Math.max(0, sizeClass);
    int exponent = sizeClass / STEPS - 1;
    return (long) (sizeClass % STEPS + STEPS) << exponent;
  }
}

package dunlin.load.count;

import java.util.Arrays;

/** The missing numbers of a sequence, as ascending ranges. */
public final class Gaps {
  /*
   * Owner: the owner of its book or stream; no lock.
   * Bounds: RANGES_MAX. Full: the lowest range is dropped. Its numbers stay missing, even if they arrive later.
   */
  static final int RANGES_MAX = 4_096;

  private long[] bounds = new long[4]; // from, to (exclusive), from, to
  private int length; // of the bounds in use
  private long givenUp;

  /** Appends a range after all others. */
  public void add(long from, long to) {
    assert from < to : from + " to " + to;
    if (length > 0 && bounds[length - 1] == from) {
      bounds[length - 1] = to;
      return;
    }
    assert length == 0 || bounds[length - 1] < from : "out of order";
    if (length == 2 * RANGES_MAX) remove(0, true);
    if (length == bounds.length) bounds = Arrays.copyOf(bounds, 2 * length);
    bounds[length++] = from;
    bounds[length++] = to;
  }

  /** Inserts a range before all others, when a sequence turns out to have begun earlier. */
  void addFirst(long from, long to) {
    assert from < to && (length == 0 || to <= bounds[0]) : from + " to " + to;
    if (length == 2 * RANGES_MAX) {
      givenUp += to - from;
      return;
    }
    if (length == bounds.length) bounds = Arrays.copyOf(bounds, 2 * length);
    System.arraycopy(bounds, 0, bounds, 2, length);
    bounds[0] = from;
    bounds[1] = to;
    length += 2;
  }

  /** Removes a missing number that has arrived; false when it was not missing. */
  public boolean fill(long number) {
    int at = rangeOf(number);
    if (at < 0) return false;
    long from = bounds[at];
    long to = bounds[at + 1];
    if (from + 1 == to) {
      remove(at, false);
    } else if (number == from) {
      bounds[at] = from + 1;
    } else if (number == to - 1) {
      bounds[at + 1] = number;
    } else {
      split(at, number);
    }
    return true;
  }

  private void split(int at, long number) {
    if (length == 2 * RANGES_MAX) {
      if (at == 0) {
        givenUp += number - bounds[0];
        bounds[0] = number + 1;
        return;
      }
      remove(0, true);
      at -= 2;
    }
    if (length == bounds.length) bounds = Arrays.copyOf(bounds, 2 * length);
    System.arraycopy(bounds, at, bounds, at + 2, length - at);
    length += 2;
    bounds[at + 1] = number;
    bounds[at + 2] = number + 1;
  }

  private void remove(int at, boolean giveUp) {
    if (giveUp) givenUp += bounds[at + 1] - bounds[at];
    System.arraycopy(bounds, at + 2, bounds, at, length - at - 2);
    length -= 2;
  }

  /** The index of the range that contains a number, or -1. */
  private int rangeOf(long number) {
    int low = 0;
    int high = length / 2 - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      if (number < bounds[2 * middle]) high = middle - 1;
      else if (number >= bounds[2 * middle + 1]) low = middle + 1;
      else return 2 * middle;
    }
    return -1;
  }

  public boolean isEmpty() {
    return length == 0 && givenUp == 0;
  }

  /** The number of missing numbers. */
  public long total() {
    long total = givenUp;
    for (int i = 0; i < length; i += 2) total += bounds[i + 1] - bounds[i];
    return total;
  }

  public boolean contains(long number) {
    return rangeOf(number) >= 0;
  }
}

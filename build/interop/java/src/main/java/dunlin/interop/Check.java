package dunlin.interop;

import java.util.Arrays;
import java.util.Objects;

/** What the scenario expects. */
final class Check {
  private Check() {}

  static void that(boolean condition, String otherwise) {
    if (!condition) throw new IllegalStateException(otherwise);
  }

  static void same(Object actual, Object expected, String what) {
    that(Objects.equals(actual, expected), what + ": " + actual + " instead of " + expected);
  }

  static void same(int[] actual, int[] expected, String what) {
    same(Arrays.toString(actual), Arrays.toString(expected), what);
  }
}

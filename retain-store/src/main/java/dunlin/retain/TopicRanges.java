package dunlin.retain;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The division of retained topics' keys into ranges; a cut may be between any two keys, also inside a branch of the topic tree. */
final class TopicRanges {
  private final byte[][] cuts;

  /**
   * @param cuts the first keys of all ranges but the first, ascending
   */
  TopicRanges(List<byte[]> cuts) {
    this.cuts = cuts.toArray(byte[][]::new);
    for (int i = 1; i < this.cuts.length; i++) {
      if (Arrays.compareUnsigned(this.cuts[i - 1], this.cuts[i]) >= 0)
        throw new IllegalArgumentException("cut " + i + " is not behind the one before");
    }
  }

  int count() {
    return cuts.length + 1;
  }

  /** The range of a key. */
  int of(byte[] key, int length) {
    int range = 0;
    while (range < cuts.length && Arrays.compareUnsigned(cuts[range], 0, cuts[range].length, key, 0, length) <= 0) range++;
    return range;
  }

  /** The first key of the next range; null for the last one. */
  byte @Nullable [] end(int range) {
    return range == cuts.length ? null : cuts[range];
  }
}

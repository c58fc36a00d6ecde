package dunlin.placement.plan;

import dunlin.store.KeyInterval;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** Chooses the key to split a range at: one that its kind allows, with enough left on both sides. */
public final class CutChoice {
  /** A split is not worth it when either side gets less than this fraction (one in SHARE). */
  private static final int SHARE = 8;

  /** With fewer keys, a sample does not show where the load is. */
  private static final int SAMPLE_MIN = 32;

  private final KeyInterval keys;
  private final ToIntFunction<byte[]> together;

  /**
   * @param together how many of a key's first bytes must be kept together: a split never separates rows that share
   *     them. The whole length where each row is independent, 0 where the range cannot be split at all
   */
  public CutChoice(KeyInterval keys, ToIntFunction<byte[]> together) {
    this.keys = keys;
    this.together = together;
  }

  /**
   * The cut for a range that is too large.
   *
   * @param middle the key of a row near the middle
   * @param below how many bytes are below a key
   * @param all bytes of the range
   */
  public Optional<byte[]> byBytes(byte[] middle, ToLongFunction<byte[]> below, long all) {
    return best(candidates(middle), below, all);
  }

  /**
   * The cut for a range that is too busy.
   *
   * @param sample keys of operations; keys outside of this range are ignored
   * @return empty when the sample is too small, or when too many of its keys must be kept together
   */
  public Optional<byte[]> byLoad(List<byte[]> sample) {
    var sorted = inside(sample);
    if (sorted.size() < SAMPLE_MIN) return Optional.empty();
    return best(candidates(sorted.get(sorted.size() / 2)), cut -> below(sorted, cut), sorted.size());
  }

  /** Whether a sample is large enough to show where the load is. */
  public boolean tells(List<byte[]> sample) {
    return inside(sample).size() >= SAMPLE_MIN;
  }

  private List<byte[]> inside(List<byte[]> sample) {
    return sample.stream().filter(keys::contains).sorted(Arrays::compareUnsigned).toList();
  }

  private static long below(List<byte[]> sorted, byte[] cut) {
    return sorted.stream().takeWhile(key -> Arrays.compareUnsigned(key, cut) < 0).count();
  }

  /** The boundaries just before and just behind the key's group. */
  private List<byte[]> candidates(byte[] key) {
    var candidates = new ArrayList<byte[]>();
    int length = Math.min(together.applyAsInt(key), KeyInterval.BOUNDARY_BYTES_MAX);
    if (length <= 0) return candidates;
    byte[] group = Arrays.copyOf(key, Math.min(length, key.length));
    candidates.add(group);
    byte[] behind = behind(group);
    if (behind != null) candidates.add(behind);
    return candidates;
  }

  /** The lowest key above all keys that begin with this prefix; null when there is none. */
  private static byte @Nullable [] behind(byte[] group) {
    int last = group.length - 1;
    while (last >= 0 && group[last] == (byte) 0xFF) last--;
    if (last < 0) return null;
    byte[] behind = Arrays.copyOf(group, last + 1);
    behind[last]++;
    return behind;
  }

  private Optional<byte[]> best(List<byte[]> candidates, ToLongFunction<byte[]> below, long all) {
    byte[] best = null;
    long most = 0;
    for (byte[] cut : candidates) {
      if (!keys.splitsAt(cut)) continue;
      long lower = below.applyAsLong(cut);
      long smaller = Math.min(lower, all - lower);
      if (smaller < Math.max(1, all / SHARE) || smaller <= most) continue;
      best = cut;
      most = smaller;
    }
    return Optional.ofNullable(best);
  }
}

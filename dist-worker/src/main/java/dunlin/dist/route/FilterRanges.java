package dunlin.dist.route;

import java.util.Arrays;
import java.util.List;

/**
 * Finds the ranges of routes that may hold filters matching a topic; MQTT 5, section 4.7.
 *
 * <p>A topic {@code a/b} matches filters that begin with {@code a/}, {@code +/} or {@code #}, which are far apart in
 * the order of keys. So the levels of the topic are walked: a prefix that lies in one range as a whole gives that
 * range; otherwise the next level is looked at.
 */
public final class FilterRanges {
  /*
   * Owner: immutable; any thread. A search has a Search of its own.
   * Costs: nothing with one range. Otherwise a comparison of keys for each prefix that lies in several ranges: at most
   * three for each level and cut.
   */
  private static final byte END = 0;
  private static final byte[] ONE_LEVEL = {'+'};

  private final byte[][] cuts;

  /**
   * @param cuts the first keys of all ranges but the first, ascending; each between two filters, see {@link RouteRows#together}
   */
  public FilterRanges(List<byte[]> cuts) {
    this.cuts = cuts.toArray(byte[][]::new);
    for (int i = 1; i < this.cuts.length; i++) {
      if (Arrays.compareUnsigned(this.cuts[i - 1], this.cuts[i]) >= 0) throw new IllegalArgumentException("cut " + i + " is not behind the one before");
    }
  }

  int count() {
    return cuts.length + 1;
  }

  /** The range of a key. */
  public int of(byte[] key) {
    int range = 0;
    while (range < cuts.length && Arrays.compareUnsigned(cuts[range], key) <= 0) range++;
    return range;
  }

  /** A reusable search; belongs to one thread. */
  public final class Search {
    private final boolean[] found = new boolean[count()];
    private byte[] topic = {};
    private int topicEnd;
    private byte[] prefix = {};

    /**
     * Marks the ranges that may have filters matching a topic. The result is valid until the next search.
     *
     * @param name a buffer that begins with the topic name
     */
    public boolean[] in(String tenant, byte[] name, int length) {
      Arrays.fill(found, cuts.length == 0);
      if (cuts.length == 0) return found;
      topic = name;
      topicEnd = length;
      byte[] none = RouteRows.prefix(tenant, name, 0);
      if (prefix.length < none.length + 2 * length + 4) prefix = new byte[none.length + 2 * length + 64];
      System.arraycopy(none, 0, prefix, 0, none.length);
      walk(none.length, 0, length > 0 && name[0] == '$');
      return found;
    }

    /**
     * @param written bytes of the prefix: the tenant and the previous levels
     * @param at where the next level of the topic begins
     * @param literal whether that level matches no wildcard [MQTT-4.7.2-1]
     */
    private void walk(int written, int at, boolean literal) {
      int first = first(written);
      if (first == last(written)) {
        found[first] = true;
        return;
      }
      int end = at;
      while (end < topicEnd && topic[end] != '/') end++;
      level(written, topic, at, end, end);
      if (literal) return;
      level(written, ONE_LEVEL, 0, 1, end);
      whole(written, (byte) '#');
    }

    /** Marks the ranges of filters whose next level is this one. */
    private void level(int written, byte[] from, int begin, int end, int topicLevelEnd) {
      int longer = written + end - begin;
      System.arraycopy(from, begin, prefix, written, end - begin);
      if (topicLevelEnd < topicEnd) {
        prefix[longer] = '/';
        walk(longer + 1, topicLevelEnd + 1, false);
        return;
      }
      prefix[longer] = END;
      found[first(longer + 1)] = true;
      prefix[longer] = '/';
      whole(longer + 1, (byte) '#'); // the parent level, too
    }

    /** Marks the range of the filter that ends with one more character. */
    private void whole(int written, byte last) {
      prefix[written] = last;
      prefix[written + 1] = END;
      found[first(written + 2)] = true;
    }

    /** The range of the lowest key that begins with this part of the prefix. */
    private int first(int written) {
      int range = 0;
      while (range < cuts.length && Arrays.compareUnsigned(cuts[range], 0, cuts[range].length, prefix, 0, written) <= 0) range++;
      return range;
    }

    /** The range of the highest key that begins with this part of the prefix. */
    private int last(int written) {
      int range = first(written);
      while (range < cuts.length && startsWith(cuts[range], written)) range++;
      return range;
    }

    private boolean startsWith(byte[] cut, int written) {
      return cut.length >= written && Arrays.equals(cut, 0, written, prefix, 0, written);
    }
  }
}

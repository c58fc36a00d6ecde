package dunlin.runtime.metrics;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;

/** A histogram of durations in milliseconds; each thread counts in a part of its own. */
public final class LatencyHistogram implements LatencyHistogramMXBean {
  /*
   * Owner: each part belongs to the thread that requested it; any thread may read the sums.
   * Bounds: an array of BOUNDS_MILLIS.length + 2 numbers and the padding for each part. A count costs a few comparisons
   * and two plain writes: no allocation, no fence, no clock.
   */
  private static final long[] BOUNDS_MILLIS = {1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000};
  private static final int BUCKETS = BOUNDS_MILLIS.length + 1;
  private static final int SUM = BUCKETS;

  /** Longs on either side of the counts, so that two threads' counts never share a pair of cache lines. */
  private static final int PADDING = 16;

  private static final VarHandle COUNT = MethodHandles.arrayElementVarHandle(long[].class);

  private final String name;
  private final String help;
  private final List<Local> locals = new CopyOnWriteArrayList<>();

  /**
   * @param name the name as for a meter, such as {@code dunlin.publish.acknowledge}
   * @param help what is measured, with its start and end
   */
  public LatencyHistogram(String name, String help) {
    this.name = name;
    this.help = help;
  }

  String name() {
    return name;
  }

  String help() {
    return help;
  }

  /** A part for one thread, the only one that may write to it. */
  public Local local() {
    Local local = new Local();
    locals.add(local);
    return local;
  }

  /** The upper bounds of the buckets in seconds, infinity last. */
  static double[] boundsSeconds() {
    double[] bounds = new double[BUCKETS];
    for (int i = 0; i < BOUNDS_MILLIS.length; i++) bounds[i] = BOUNDS_MILLIS[i] / 1_000.0;
    bounds[BUCKETS - 1] = Double.POSITIVE_INFINITY;
    return bounds;
  }

  /** The counts of the single buckets, not cumulative. */
  long[] counts() {
    long[] counts = new long[BUCKETS];
    for (Local local : locals) {
      for (int i = 0; i < BUCKETS; i++) counts[i] += local.read(i);
    }
    return counts;
  }

  long sumMillis() {
    long sum = 0;
    for (Local local : locals) sum += local.read(SUM);
    return sum;
  }

  @Override
  public long getCount() {
    long sum = 0;
    for (long count : counts()) sum += count;
    return sum;
  }

  @Override
  public double getMeanMillis() {
    long count = getCount();
    return count == 0 ? 0 : sumMillis() / (double) count;
  }

  @Override
  public Map<Long, Long> getAtMostMillis() {
    Map<Long, Long> atMost = new TreeMap<>();
    long[] counts = counts();
    long sum = 0;
    for (int i = 0; i < BOUNDS_MILLIS.length; i++) {
      sum += counts[i];
      atMost.put(BOUNDS_MILLIS[i], sum);
    }
    return atMost;
  }

  /** The counts of one thread. */
  public static final class Local {
    /** Padding, the buckets, the sum of the milliseconds, padding. */
    private final long[] counts = new long[PADDING + BUCKETS + 1 + PADDING];

    private Local() {}

    /** @param millis a negative value, which a step of a clock can cause, counts as 0 */
    public void add(long millis) {
      int bucket = 0;
      while (bucket < BOUNDS_MILLIS.length && millis > BOUNDS_MILLIS[bucket]) bucket++;
      // One writer, so a plain read and an opaque write, as in HopLedger.
      add(PADDING + bucket, 1);
      if (millis > 0) add(PADDING + SUM, millis);
    }

    private void add(int index, long amount) {
      COUNT.setOpaque(counts, index, counts[index] + amount);
    }

    private long read(int index) {
      return (long) COUNT.getOpaque(counts, PADDING + index);
    }
  }
}

package dunlin.broker.meter;

import java.util.function.LongSupplier;

/**
 * How fast a count grows, per minute: exponentially weighted means over 1, 5 and 15 minutes, like mosquitto's
 * {@code load} topics.
 */
public final class LoadAverage {
  /*
   * Owner: the thread that calls update; the same thread reads.
   */
  private static final double MINUTE_MILLIS = 60_000;
  private static final int[] MINUTES = {1, 5, 15};

  private final LongSupplier count;

  private final double[] means = new double[MINUTES.length];
  private long last;

  public LoadAverage(LongSupplier count) {
    this.count = count;
  }

  /** Adds the count of the time since the previous update. */
  public void update(long elapsedMillis) {
    if (elapsedMillis <= 0) return;
    long now = count.getAsLong();
    double perMinute = (now - last) * MINUTE_MILLIS / elapsedMillis;
    last = now;
    for (int i = 0; i < MINUTES.length; i++) {
      means[i] = perMinute + Math.exp(-elapsedMillis / (MINUTES[i] * MINUTE_MILLIS)) * (means[i] - perMinute);
    }
  }

  public double oneMinute() {
    return means[0];
  }

  public double fiveMinutes() {
    return means[1];
  }

  public double fifteenMinutes() {
    return means[2];
  }
}

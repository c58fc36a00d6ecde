package dunlin.load.client;

import dunlin.load.plan.Rate;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The times of evenly spread events, with a constant rate or with one that changes linearly to another. */
final class Pace {
  private static final double NANOS = 1e9;

  private final double rate;
  private final double growth; // of the rate, per second

  Pace(Rate rate, int clients, @Nullable Rate rateAtEnd, Duration lasting) {
    this.rate = rate.perSecond() * clients;
    growth = rateAtEnd == null ? 0 : (rateAtEnd.perSecond() - rate.perSecond()) * clients / Math.max(1e-3, lasting.toNanos() / NANOS);
  }

  /** Nanoseconds after the start, or Long.MAX_VALUE for never. */
  long nanos(long n) {
    if (Math.abs(growth) < 1e-12) return (long) (n / rate * NANOS);
    double root = rate * rate + 2 * growth * n;
    if (root < 0) return Long.MAX_VALUE;
    return (long) ((Math.sqrt(root) - rate) / growth * NANOS);
  }
}

package dunlin.load.count;

import java.util.concurrent.atomic.AtomicLong;

/** The number of pairs of a stream and a receiver that one process can track; each takes about 50 bytes. */
public final class Budget {
  public static final long PAIRS_MAX = 16_000_000;

  private final AtomicLong left;

  public Budget(long pairsMax) {
    left = new AtomicLong(pairsMax);
  }

  boolean take() {
    if (left.get() > 0 && left.decrementAndGet() >= 0) return true;
    left.set(0);
    return false;
  }

  void give(long pairs) {
    left.addAndGet(pairs);
  }
}

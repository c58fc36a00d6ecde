package dunlin.transport.trace;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Admits a number of events in each second, the first ones. Any thread. */
final class SecondLimit {
  private final int most;
  private final AtomicLong second = new AtomicLong();
  private final AtomicInteger inSecond = new AtomicInteger();

  SecondLimit(int most) {
    if (most < 1) throw new IllegalArgumentException("at most " + most + " events in a second");
    this.most = most;
  }

  /** @param present the second, since any moment */
  boolean admits(long present) {
    long before = second.get();
    if (before != present && second.compareAndSet(before, present)) inSecond.set(0);
    // Once it is full it is only read, so that loops do not write to the same place for each event.
    return inSecond.get() < most && inSecond.incrementAndGet() <= most;
  }
}

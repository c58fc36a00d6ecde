package dunlin.testkit;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicLong;

/** The clock of the machine, and how far a test has moved it. */
final class SteppedClock implements InstantSource {
  private final AtomicLong aheadNanos = new AtomicLong();

  void step(Duration by) {
    aheadNanos.addAndGet(by.toNanos());
  }

  @Override
  public Instant instant() {
    return Instant.now().plusNanos(aheadNanos.get());
  }
}

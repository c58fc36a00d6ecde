package dunlin.broker.http;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Says whether a service is asked: not for a while once it has failed some times in a row, and then once, to see whether it has recovered.
 *
 * <p>Failures for clients of one address count as one, so that a client whose requests the service cannot answer does not shut out others.
 */
final class Breaker {
  /*
   * Owner: any thread; guarded by its monitor, under which nothing is called but the clock.
   * Bounds: a few numbers.
   * Failure: each admission must be followed by succeeded() or failed(); a probe that is not would leave the service unasked.
   */
  /** Whether the service may be asked. */
  enum Admission {
    NO,
    YES,
    /** To see whether it has recovered. */
    PROBE
  }

  /** What a result has changed. */
  enum Change {
    NONE,
    OPENED,
    CLOSED
  }

  private final int failuresMax;
  private final long pauseNanos;
  private final LongSupplier nanoTime;

  @GuardedBy("this")
  private int failures;

  @GuardedBy("this")
  private long lastSource;

  @GuardedBy("this")
  private boolean open;

  @GuardedBy("this")
  private long openedNanos;

  @GuardedBy("this")
  private boolean probing;

  /** @param failuresMax failures in a row after which the service is not asked */
  Breaker(int failuresMax, Duration pause, LongSupplier nanoTime) {
    this.failuresMax = failuresMax;
    this.pauseNanos = pause.toNanos();
    this.nanoTime = nanoTime;
  }

  /** Whether the service may be asked now. */
  synchronized Admission admits() {
    if (!open) return Admission.YES;
    if (probing || nanoTime.getAsLong() - openedNanos < pauseNanos) return Admission.NO;
    probing = true;
    return Admission.PROBE;
  }

  /** Whether the service is not asked, but for probes. */
  synchronized boolean isOpen() {
    return open;
  }

  synchronized Change succeeded() {
    failures = 0;
    probing = false;
    if (!open) return Change.NONE;
    open = false;
    return Change.CLOSED;
  }

  /**
   * @param source the address of the client that the service was asked about
   * @param admission with which it was asked
   */
  synchronized Change failed(long source, Admission admission) {
    if (open) {
      if (admission != Admission.PROBE) return Change.NONE; // it began before
      probing = false;
      openedNanos = nanoTime.getAsLong();
      return Change.NONE;
    }
    if (failures > 0 && source == lastSource) return Change.NONE;
    lastSource = source;
    if (++failures < failuresMax) return Change.NONE;
    open = true;
    openedNanos = nanoTime.getAsLong();
    return Change.OPENED;
  }
}

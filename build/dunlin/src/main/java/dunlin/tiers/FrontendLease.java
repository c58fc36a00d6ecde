package dunlin.tiers;

import dunlin.runtime.Failures;
import dunlin.runtime.LineLimit;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends this node's connections when it loses its lease. Other nodes deliver no messages to a frontend that is counted as
 * dead, and remove its routes later; one that was only cut off must not have clients by then that still believe to be subscribed. Before it has clients again,
 * it sets its routes anew, with a larger incarnation: what is removed of the earlier ones does not concern them ({@link DeadRoutes}).
 */
final class FrontendLease {
  /*
   * By its clock it may not notice that it was away, for instance when its whole machine stood still. A process that goes on after a pause may even hold a new lease before it looks. So it goes by
   * the count of lost leases as well (Cluster.lostLeases).
   *
   * Owner: the timer's thread; any thread reads.
   * Failure: a timer that is late by more than the time between lease and down-after lets clients wait for messages that do not come. Connections end
   *   once it runs. Routes that cannot be set anew, or an incarnation that cannot be written to the disk, are tried again with the next check, without clients until then.
   */
  private static final Logger LOG = LoggerFactory.getLogger(FrontendLease.class);

  private final BooleanSupplier leased;
  private final LongSupplier losses;
  private final Runnable ended;
  private final Supplier<CompletableFuture<Void>> renewing;
  private volatile boolean held = true;
  private @Nullable CompletableFuture<Void> renewal;

  /** Written by the timer's thread only. */
  private volatile long seenLosses;

  private final LineLimit lines = new LineLimit(1, Duration.ofSeconds(10), System::nanoTime);

  /**
   * @param leased whether heartbeats are answered, and this node does not count as dead and has not left
   * @param losses how many leases this process has lost; only a change means something
   * @param every the time between two checks
   * @param ended ends all connections; called once for each loss of the lease
   * @param renewing sets the routes of this node anew; called on the timer's thread, and must not wait
   */
  FrontendLease(BooleanSupplier leased, LongSupplier losses, ScheduledExecutorService timer, Duration every, Runnable ended, Supplier<CompletableFuture<Void>> renewing) {
    this.leased = leased;
    this.losses = losses;
    seenLosses = losses.getAsLong();
    this.ended = ended;
    this.renewing = renewing;
    var _ = timer.scheduleWithFixedDelay(this::check, every.toNanos(), every.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Whether the frontend may have clients. */
  boolean held() {
    return held && losses.getAsLong() == seenLosses;
  }

  private void check() {
    long counted = losses.getAsLong();
    boolean lost = counted != seenLosses || !leased.getAsBoolean();
    if (lost && held) {
      held = false;
      LOG.warn("This node has lost its lease in the cluster: no leader of the meta group answers its heartbeats, or it has counted as dead or has left. It disconnects its clients and accepts none");
      ended.run();
    }
    seenLosses = counted;
    if (lost) renewal = null;
    else if (!held) renew();
  }

  private void renew() {
    var begun = renewal;
    try {
      if (begun == null) {
        renewal = renewing.get();
      } else if (begun.isDone()) {
        begun.join();
        held = true;
        renewal = null;
        LOG.info("This node holds its lease in the cluster again, and accepts clients");
      }
    } catch (RuntimeException failure) {
      renewal = null;
      if (lines.admits()) LOG.warn("This node holds its lease in the cluster again, and cannot set its routes anew yet, so it accepts no clients: {}", Failures.unwrapped(failure).getMessage());
    }
  }
}

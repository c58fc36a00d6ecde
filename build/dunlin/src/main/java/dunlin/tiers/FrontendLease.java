package dunlin.tiers;

import dunlin.cluster.Cluster;
import java.time.Duration;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends this node's connections when it loses its lease. Other nodes deliver no messages to a frontend that is counted as
 * dead; one that was only cut off must not have clients by then that still believe to be subscribed.
 */
final class FrontendLease {
  /*
   * Owner: the timer's thread; any thread reads.
   * Failure: a timer that is late by more than the time between lease and down-after lets clients wait for messages that do not come. Connections end
   *   once it runs.
   */
  private static final Logger LOG = LoggerFactory.getLogger(FrontendLease.class);

  private final Cluster cluster;
  private final Runnable ended;
  private volatile boolean held = true;

  /**
   * @param every the time between two checks
   * @param ended ends all connections; called once for each loss of the lease
   */
  FrontendLease(Cluster cluster, ScheduledExecutorService timer, Duration every, Runnable ended) {
    this.cluster = cluster;
    this.ended = ended;
    var _ = timer.scheduleWithFixedDelay(this::check, every.toNanos(), every.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Whether the frontend may have clients. */
  boolean held() {
    return held;
  }

  private void check() {
    boolean leased = cluster.leased();
    if (leased == held) return;
    held = leased;
    if (leased) {
      LOG.info("This node holds its lease in the cluster again, and accepts clients");
    } else {
      LOG.warn("This node has lost its lease in the cluster: no leader of the meta group answers its heartbeats. It disconnects its clients and accepts none");
      ended.run();
    }
  }
}

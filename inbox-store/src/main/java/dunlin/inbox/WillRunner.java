package dunlin.inbox;

import dunlin.inbox.Effects.DueWill;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Publishes wills that are due, again and again until it has worked, and then logs that it has. */
final class WillRunner {
  /*
   * Owner: the server's timer thread; the applying thread hands over by its queue.
   * Bounds: WILLS_MAX at once; the others stay in the range until room() says that there is some.
   * Failure: tried again after 200 ms, then twice as long each time up to 10 s. After a crash the range reports them anew, so
   * a will is published at least once.
   */
  private static final Logger LOG = LoggerFactory.getLogger(WillRunner.class);
  private static final int WILLS_MAX = 64;
  private static final long RETRY_MILLIS = 200;
  private static final long RETRY_MAX_MILLIS = 10_000;

  private final WillPublisher publisher;
  private final ScheduledExecutorService timer;
  private final InboxMeters meters;

  /** Logs that a will was published; false when the range's queue is full. */
  private final Predicate<DueWill> done;

  /** By epoch; written where the timer thread or the applying thread says so. */
  private final ConcurrentHashMap<Long, DueWill> running = new ConcurrentHashMap<>();

  WillRunner(
      WillPublisher publisher, ScheduledExecutorService timer, InboxMeters meters, Predicate<DueWill> done) {
    this.publisher = publisher;
    this.timer = timer;
    this.meters = meters;
    this.done = done;
  }

  int running() {
    return running.size();
  }

  /** How many more may be reported. */
  int room() {
    return Math.max(0, WILLS_MAX - running.size());
  }

  void start(List<DueWill> wills) {
    for (DueWill will : wills) {
      if (running.putIfAbsent(will.epoch(), will) == null) hand(() -> publish(will, RETRY_MILLIS));
    }
  }

  /** The range knows that it was published. */
  void settled(long epoch) {
    running.remove(epoch);
  }

  private void publish(DueWill will, long retryMillis) {
    try {
      var _ =
          publisher
              .publish(will.message())
              .whenComplete((_, failure) -> hand(() -> ended(will, failure, retryMillis)));
    } catch (RuntimeException e) {
      ended(will, e, retryMillis);
    }
  }

  private void ended(DueWill will, @Nullable Throwable failure, long retryMillis) {
    long next = Math.min(RETRY_MAX_MILLIS, retryMillis * 2);
    if (failure == null) {
      logDone(will);
      return;
    }
    meters.willFailed();
    LOG.debug("Will of {} was not published, trying again", will.session().clientId(), failure);
    var _ = timer.schedule(() -> publish(will, next), retryMillis, TimeUnit.MILLISECONDS);
  }

  private void logDone(DueWill will) {
    if (done.test(will)) return;
    var _ = timer.schedule(() -> logDone(will), RETRY_MILLIS, TimeUnit.MILLISECONDS);
  }

  private void hand(Runnable work) {
    try {
      timer.execute(work);
    } catch (RejectedExecutionException closed) {
      LOG.debug("Closed before a will was published; it is when the range is opened again");
    }
  }
}

package dunlin.dist.deliver;

import dunlin.dist.DeliveryThreads;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves the destinations of messages on worker threads when there are many, so that a wide message does not hold up
 * its lane: to encode it for each destination is most of the work.
 */
public final class DeliverExecutor implements DeliveryThreads {
  /*
   * A lane and a destination have one worker, always the same. A message with more destinations than the threshold is
   * passed to the workers of all its destinations; one with fewer is served on the lane's thread, except by destinations
   * whose worker still has a copy of this lane. So all copies of a lane for a destination are served in their order.
   *
   * What passes to a worker is immutable: the message, a copy of its matched routes, and a CopyAnswer. Answers and
   * feedback come back to the lane's thread. What gathers in a round of the lane is one batch for each worker; while a
   * worker is busy its batches wait, so there is no timer.
   *
   * Owner: a delivery and its link belong to the thread that serves it at the moment, see ServingThread.
   * Bounds: what waits for one destination, in number and bytes; a message counts for each destination, although copies share it,
   * and once if a destination gets it for several groups. These are as many messages as a stream keeps unanswered, and as many bytes as a link keeps unconfirmed.
   * Beyond them, a copy is refused with SERVER_BUSY, or dropped if no answer is wanted, and counted. The messages
   * themselves hold the credit of their lanes until all copies are answered; dunlin.dist.in-flight-max bounds these.
   * Failure: a delivery that throws answers SERVER_UNAVAILABLE for that copy. Workers never wait for a destination: one
   * that is slow or dead fills its own link, and the worker goes on. The workers end after the last lane, so that they
   * refuse no lane's copies; closing does not wait for ever for a lane that does not end.
   *
   * Considered: to serve links by workers always. Then a message for one destination would pay for a queue and a wake-up,
   * while the lanes already use all cores.
   */
  private static final Logger LOG = LoggerFactory.getLogger(DeliverExecutor.class);
  private static final long CLOSE_SECONDS = 2;

  /**
   * Bounds of what waits for one destination.
   *
   * @param copies messages
   * @param bytes their bytes
   */
  record Bounds(int copies, long bytes) {
    static Bounds defaults() {
      return new Bounds(1 << 20, 64L << 20);
    }
  }

  private final int threshold;
  private final Bounds bounds;
  private final DeliverMeters meters;
  private final ExecutorService[] workers;

  /** One party for each lane that is not closed, and one for this. */
  private final Phaser lanes =
      new Phaser(1) {
        @Override
        protected boolean onAdvance(int phase, int registered) {
          for (ExecutorService worker : workers) worker.shutdown();
          return true;
        }
      };

  DeliverExecutor(DeliverSettings settings, Bounds bounds, MeterRegistry registry) {
    threshold = settings.inlineThreshold();
    this.bounds = bounds;
    meters = new DeliverMeters(registry);
    workers = new ExecutorService[settings.workers()];
    for (int i = 0; i < workers.length; i++) {
      workers[i] = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("dunlin-deliver-" + i).factory());
    }
  }

  /** Starts the workers that the settings ask for; without any, the lanes serve all destinations. */
  public static DeliveryThreads start(DeliverSettings settings, MeterRegistry registry) {
    return settings.workers() < 2 ? DeliveryThreads.inline() : new DeliverExecutor(settings, Bounds.defaults(), registry);
  }

  @Override
  public OfLane open(int number, Executor thread) {
    lanes.register();
    return new LaneDeliveries(this, number, thread);
  }

  /** Called once by each lane, after its last batch. */
  void closedLane() {
    lanes.arriveAndDeregister();
  }

  int threshold() {
    return threshold;
  }

  Bounds bounds() {
    return bounds;
  }

  DeliverMeters meters() {
    return meters;
  }

  int workers() {
    return workers.length;
  }

  ExecutorService worker(int index) {
    return workers[index];
  }

  /** Waits up to CLOSE_SECONDS for the lanes, and as long for what each worker still does. */
  @Override
  public void close() {
    try {
      lanes.awaitAdvanceInterruptibly(lanes.arriveAndDeregister(), CLOSE_SECONDS, TimeUnit.SECONDS);
      for (ExecutorService worker : workers) {
        if (!worker.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) LOG.warn("A deliver worker has not ended in time");
      }
    } catch (TimeoutException e) {
      LOG.warn("{} lanes have not been closed in time; the deliver workers end after them", lanes.getUnarrivedParties());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    meters.close();
  }
}

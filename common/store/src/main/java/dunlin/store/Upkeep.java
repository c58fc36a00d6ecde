package dunlin.store;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks after the ranges of a store once a second: are they served, must they be flushed and their logs cut. */
final class Upkeep {
  /*
   * Owner: its own thread; it may block on the disk for as long as a flush takes.
   * Failure: a range that fails here is fenced by its own code; the others go on.
   */
  private static final Logger log = LoggerFactory.getLogger(Upkeep.class);
  private static final long PERIOD_MILLIS = 1000;

  private final Collection<ReplicatedRange<?, ?>> ranges; // changes while this looks
  private final RaftNode node;
  private final DiskSpace disk;
  private final Checkpoints checkpoints;
  private final CountDownLatch closing = new CountDownLatch(1);
  private final Thread thread;

  Upkeep(Collection<ReplicatedRange<?, ?>> ranges, RaftNode node, DiskSpace disk, Checkpoints checkpoints, String threadName) {
    this.ranges = ranges;
    this.node = node;
    this.disk = disk;
    this.checkpoints = checkpoints;
    thread = Thread.ofPlatform().daemon().name(threadName).start(this::run);
  }

  /** Ends the thread; a flush under way may hold it for longer than this. */
  void close(long untilNanos) throws InterruptedException {
    closing.countDown();
    thread.join(Duration.ofNanos(Math.max(1, untilNanos - System.nanoTime())));
  }

  private void run() {
    try {
      while (!closing.await(PERIOD_MILLIS, TimeUnit.MILLISECONDS)) {
        disk.measure();
        checkpoints.expire();
        node.refreshTls(System.nanoTime());
        node.reconnect();
        ranges.forEach(this::look);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void look(ReplicatedRange<?, ?> range) {
    try {
      range.upkeep(node.server(), checkpoints.inUse(range.id()), System.nanoTime());
    } catch (StoreException e) {
      range.failed(e); // known to it already, unless it came from elsewhere
    } catch (IOException e) {
      range.failed(new StoreException("range '" + range.id() + "': Ratis has lost it: " + e.getMessage(), e));
    } catch (RuntimeException e) {
      log.error("Range {}: upkeep failed", range.id(), e);
    }
  }
}

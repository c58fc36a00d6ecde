package dunlin.store.raft;

import dunlin.store.StoreException;
import dunlin.store.disk.DiskSpace;
import dunlin.store.disk.SpaceCompaction;
import dunlin.store.node.RaftNode;
import dunlin.store.snapshot.Checkpoints;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks after the ranges of a store once a second: are they served, must they be flushed, their logs cut, their rows compacted. */
final class RangeMaintenance {
  /*
   * Owner: its own thread; it may block on the disk for as long as a flush takes. A test has it come by step() instead, on a thread
   * of its own.
   * Failure: a range that fails here is fenced by its own code; the others go on.
   */
  private static final Logger log = LoggerFactory.getLogger(RangeMaintenance.class);
  private static final long PERIOD_MILLIS = 1000;

  private final Collection<ReplicatedRange<?, ?>> ranges; // changes while this looks
  private final RaftNode node;
  private final DiskSpace disk;
  private final Checkpoints checkpoints;
  private final SpaceCompaction space;
  private final CountDownLatch closing = new CountDownLatch(1);

  private @Nullable Thread thread; // set once, at the start

  /** @param compacting where rows are compacted */
  RangeMaintenance(Collection<ReplicatedRange<?, ?>> ranges, RaftNode node, DiskSpace disk, Checkpoints checkpoints, Executor compacting) {
    this.ranges = ranges;
    this.node = node;
    this.disk = disk;
    this.checkpoints = checkpoints;
    space = new SpaceCompaction(compacting);
  }

  /** Has it come by itself from now on. */
  void start(String threadName) {
    thread = Thread.ofPlatform().daemon().name(threadName).start(this::run);
  }

  /** Ends the thread; a flush under way may hold it for longer than this. */
  void close(long untilNanos) throws InterruptedException {
    closing.countDown();
    var running = thread;
    if (running != null) running.join(Duration.ofNanos(Math.max(1, untilNanos - System.nanoTime())));
  }

  private void run() {
    try {
      while (!closing.await(PERIOD_MILLIS, TimeUnit.MILLISECONDS)) step(System.nanoTime());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Comes by once. */
  void step(long nowNanos) {
    disk.measure();
    checkpoints.expire();
    node.refreshTls(nowNanos);
    node.reconnect();
    for (var range : ranges) look(range, nowNanos);
    space.look(ranges, disk, nowNanos);
  }

  private void look(ReplicatedRange<?, ?> range, long nowNanos) {
    try {
      range.upkeep(node.server(), checkpoints.inUse(range.id()), nowNanos);
    } catch (StoreException e) {
      range.failed(e); // known to it already, unless it came from elsewhere
    } catch (IOException e) {
      range.failed(new StoreException("range '" + range.id() + "': Ratis has lost it: " + e.getMessage(), e));
    } catch (RuntimeException e) {
      log.error("Range {}: upkeep failed", range.id(), e);
    }
  }
}

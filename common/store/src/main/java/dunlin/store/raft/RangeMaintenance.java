package dunlin.store.raft;

import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import dunlin.store.disk.DiskSpace;
import dunlin.store.disk.SpaceCompaction;
import dunlin.store.node.RaftNode;
import dunlin.store.snapshot.OpenSnapshots;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.protocol.RaftGroupId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The maintenance of a store's ranges, once a second: checks that they are served, flushes and compacts their rows, truncates their logs. */
final class RangeMaintenance {
  /*
   * Owner: its own thread; it may block on the disk for as long as a flush takes. A test calls step() instead, on its
   * own thread.
   * Failure: a range that fails here is fenced by its own code; the others continue.
   */
  private static final Logger log = LoggerFactory.getLogger(RangeMaintenance.class);
  private static final long PERIOD_MILLIS = 1000;

  private final Collection<ReplicatedRange<?, ?>> ranges; // may change during an iteration
  private final RaftNode node;
  private final DiskSpace disk;
  private final OpenSnapshots snapshots;
  private final SpaceCompaction space;
  private final CountDownLatch closing = new CountDownLatch(1);
  private final Set<RaftGroupId> muted = new HashSet<>();

  private @Nullable Thread thread; // set once, at the start

  /** @param compacting runs compactions */
  RangeMaintenance(Collection<ReplicatedRange<?, ?>> ranges, RaftNode node, DiskSpace disk, OpenSnapshots snapshots, Executor compacting) {
    this.ranges = ranges;
    this.node = node;
    this.disk = disk;
    this.snapshots = snapshots;
    space = new SpaceCompaction(compacting);
  }

  /** Starts the thread. */
  void start(String threadName) {
    thread = Thread.ofPlatform().daemon().name(threadName).start(this::run);
  }

  /** Ends the thread, and answers whether it has ended; a flush in progress may take longer than this. */
  boolean close(long untilNanos) throws InterruptedException {
    closing.countDown();
    var running = thread;
    return running == null || running.join(Duration.ofNanos(Math.max(1, untilNanos - System.nanoTime())));
  }

  private void run() {
    try {
      while (!closing.await(PERIOD_MILLIS, TimeUnit.MILLISECONDS)) step(System.nanoTime());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** One round of maintenance. */
  void step(long nowNanos) {
    disk.measure();
    snapshots.expire();
    node.refreshTls(nowNanos);
    node.reconnect(nowNanos);
    for (var range : ranges) look(range, nowNanos);
    mute();
    space.look(ranges, disk, nowNanos);
  }

  /**
   * A replica without a vote, on a disk that had no room for the rows of one, does not answer. Else the leader that is to add it would wait for it for as long as there is no
   * room, and could neither give that up nor change its peers otherwise.
   */
  private void mute() {
    var now = new HashSet<RaftGroupId>();
    if (disk.lacksRoom()) for (var range : ranges) if (range.status().role() == ReplicaRole.OUTSIDE) now.add(range.group());
    for (var group : muted) if (!now.contains(group)) node.mute(group, false);
    for (var group : now) if (muted.add(group)) node.mute(group, true);
    muted.retainAll(now);
  }

  private void look(ReplicatedRange<?, ?> range, long nowNanos) {
    try {
      range.maintain(node.server(), snapshots.inUse(range.id()), nowNanos);
    } catch (StoreException e) {
      range.failed(e); // the range knows already, unless the exception came from elsewhere
    } catch (IOException e) {
      range.failed(new StoreException("range '" + range.id() + "': Ratis has lost it: " + e.getMessage(), e));
    } catch (RuntimeException e) {
      log.error("Range {}: maintenance failed", range.id(), e);
    }
  }
}

package dunlin.store.node;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.util.AwaitToRun;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets the threads of Ratis' logs end when their logs are closed: in any case, and at once.
 *
 * <p>In Ratis 3.3.0 the close of a log holds the log's write lock while it waits for the thread that evicts from the log's cache. That thread may be waiting for the same lock: the close,
 * and with it the stop of a node or the removal of a replica, would never end. So that thread is ended before.
 *
 * <p>The thread that writes a log waits for something to write, and looks only once a second whether its log has been closed. The close waits for the thread. So each stop of a node and
 * each removal of a replica would take up to a second longer.
 */
final class LogWorkers {
  /*
   * A thread that evicts is ended by Ratis' own means, which do nothing when Ratis uses them again to close the log. From then on nothing is evicted: what is read until the close stays in memory until then.
   * A thread that writes gets something to do when its log is being closed, the removal of no files. It ends after that.
   *
   * Owner: each close has a thread that wakes, which shares nothing with the one that closes but the latch. Threads that evict are ended by the one that closes.
   * Bounds: one task for each log that is closed; the thread that wakes ends with the close.
   * Failure: with a Ratis that lacks what is used here, the store does not start. A log that cannot be woken closes within a second, as it would without. A log that Ratis closes by
   * itself, after a failure, is not met here.
   */
  private static final Logger LOG = LoggerFactory.getLogger(LogWorkers.class);
  private static final long LOOK_MILLIS = 5;

  /** Closed when the logs are. */
  interface Waking extends AutoCloseable {
    @Override
    void close();
  }

  private final Class<?> segmented;
  private final Field eviction;
  private final Field worker;
  private final Field running;
  private final Method purge;
  private final Constructor<?> files;

  LogWorkers() {
    try {
      var folder = RaftLog.class.getPackageName() + ".segmented.";
      segmented = Class.forName(folder + "SegmentedRaftLog");
      eviction = segmented.getDeclaredField("cacheEviction");
      eviction.setAccessible(true);
      if (!AwaitToRun.class.equals(eviction.getType())) throw new NoSuchFieldException(eviction.toString());
      worker = segmented.getDeclaredField("fileLogWorker");
      worker.setAccessible(true);
      running = worker.getType().getDeclaredField("running");
      running.setAccessible(true);
      var cache = folder + "SegmentedRaftLogCache";
      var files = Class.forName(cache + "$TruncationSegments");
      this.files = files.getDeclaredConstructor(String.class, Class.forName(cache + "$SegmentFileInfo"), List.class);
      this.files.setAccessible(true);
      purge = worker.getType().getDeclaredMethod("purge", files);
      purge.setAccessible(true);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this version of Ratis is not supported", e);
    }
  }

  /** To be asked before logs are closed: ends the threads that evict, and waits for that. Then wakes the threads that write as their logs are closed. */
  Waking closing(Collection<RaftLog> logs) {
    logs.forEach(this::endEviction);
    var closed = new CountDownLatch(1);
    Thread.ofPlatform().daemon().name("dunlin-wake-logs").start(() -> wakeUntil(closed, new ArrayList<>(logs)));
    return closed::countDown;
  }

  private void wakeUntil(CountDownLatch closed, List<RaftLog> logs) {
    try {
      while (!logs.isEmpty() && !closed.await(LOOK_MILLIS, TimeUnit.MILLISECONDS)) logs.removeIf(this::woken);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void endEviction(RaftLog log) {
    if (!segmented.isInstance(log)) return; // a log in memory has no thread
    try {
      ((AwaitToRun) eviction.get(log)).close();
    } catch (ReflectiveOperationException e) {
      LOG.warn("The cache of {} is still evicted from: its close may not end", log, e);
    }
  }

  /** Wakes the thread of a log, unless the log is still open. Answers whether there is nothing more to do. */
  boolean woken(RaftLog log) {
    if (!segmented.isInstance(log)) return true; // a log in memory has no thread
    try {
      var thread = worker.get(log);
      if (running.getBoolean(thread)) return false;
      purge.invoke(thread, files.newInstance("closed", null, List.of()));
    } catch (ReflectiveOperationException e) {
      LOG.debug("The thread of {} is not woken", log, e);
    }
    return true;
  }
}

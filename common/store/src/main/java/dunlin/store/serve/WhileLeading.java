package dunlin.store.serve;

import dunlin.store.Replica;
import dunlin.store.StoreException;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves a range while this node leads it: opens a server at the start of each leadership and closes it at the end. So
 * a server's memory belongs to one leadership, and the rows of the range have everything that was committed before.
 */
public final class WhileLeading implements AutoCloseable {
  /*
   * Owner: its own thread opens and closes servers, so there is never more than one. The store reports changes on its
   * own threads.
   * Bounds: one server. While the thread is busy, changes are counted: a leadership that has already ended is not
   * served, and each new leadership gets its own server.
   * Failure: opening a server is retried after a pause of up to PAUSE_MAX_MILLIS while the node leads. An error during
   * the closing is logged.
   *
   * A server is closed shortly after its leadership has ended. In between, the range itself refuses the server's
   * proposals.
   */
  private static final Logger LOG = LoggerFactory.getLogger(WhileLeading.class);
  private static final long PAUSE_MILLIS = 50;
  private static final long PAUSE_MAX_MILLIS = 2_000;
  private static final long CLOSE_SECONDS = 5;
  private static final long NONE = 0;

  /** Opens a server. */
  @FunctionalInterface
  public interface Opener {
    /**
     * Starts to serve. Must not wait for the range: the leadership may have ended, and nothing is closed until this
     * returns.
     *
     * @throws StoreException when it cannot be opened now
     */
    AutoCloseable open();
  }

  private final String range;
  private final Opener opener;
  private final ScheduledExecutorService thread;

  /** Counts the changes: odd while this node leads. Written by the store's threads, one at a time. */
  private final AtomicLong changes = new AtomicLong();

  private long served = NONE; // this and the following: used by the thread only. The change for which the server was opened
  private @Nullable AutoCloseable server;
  private int failures;

  private WhileLeading(String range, Opener opener) {
    this.range = range;
    this.opener = opener;
    thread = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("dunlin-serves-" + range).factory());
  }

  /** Starts to serve a replica. */
  public static WhileLeading of(Replica<?, ?> replica, Opener opener) {
    var serving = new WhileLeading(replica.id().toString(), opener);
    replica.onLeadership(serving::changed);
    return serving;
  }

  private void changed(boolean leads) {
    if (leads == isLeading(changes.get())) return; // the first report is the current state, not a change
    changes.incrementAndGet();
    try {
      thread.execute(this::follow);
    } catch (RejectedExecutionException closed) {
      LOG.debug("Range {}: not served any more", range);
    }
  }

  private static boolean isLeading(long change) {
    return (change & 1) == 1;
  }

  private void follow() {
    long now = changes.get();
    if (served != now) closeServer();
    if (!isLeading(now) || served == now) return;
    try {
      server = opener.open();
      served = now;
      failures = 0;
      LOG.info("Range {}: this node leads it and serves it", range);
    } catch (RuntimeException e) {
      LOG.warn("Range {}: its server cannot be opened and is tried again", range, e);
      long pause = Math.min(PAUSE_MAX_MILLIS, PAUSE_MILLIS << Math.min(failures++, 10));
      var _ = thread.schedule(this::follow, pause, TimeUnit.MILLISECONDS);
    }
  }

  private void closeServer() {
    var open = server;
    server = null;
    served = NONE;
    if (open == null) return;
    LOG.info("Range {}: this node does not serve it any more", range);
    try {
      open.close();
    } catch (Exception e) {
      LOG.error("Range {}: its server has failed to close", range, e);
    }
  }

  /** Closes the server and opens no further ones. Waits up to CLOSE_SECONDS. */
  @Override
  public void close() {
    try {
      thread.execute(
          () -> {
            closeServer();
            thread.shutdownNow();
          });
      if (!thread.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) LOG.warn("Range {}: its server has not been closed in time", range);
    } catch (RejectedExecutionException closed) {
      LOG.debug("Range {}: closed before", range);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}

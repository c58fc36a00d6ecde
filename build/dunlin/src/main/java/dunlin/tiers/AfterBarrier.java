package dunlin.tiers;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.store.Replica;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens a leader's server to callers once its rows show all that earlier leaders have confirmed, unless it is closed before. */
final class AfterBarrier implements AutoCloseable {
  /*
   * Owner: any thread, under its lock.
   * Failure: a read barrier that fails is asked for again after AGAIN_MILLIS, until the leadership ends and this is closed.
   * A server that cannot be opened is a fault of the program: it is logged, and callers wait for the next leader.
   */
  private static final Logger LOG = LoggerFactory.getLogger(AfterBarrier.class);
  private static final long AGAIN_MILLIS = 100;

  private final Replica<?, ?> replica;
  private final ScheduledExecutorService timer;
  private final Runnable opens;

  @GuardedBy("this")
  private boolean closed;

  AfterBarrier(Replica<?, ?> replica, ScheduledExecutorService timer, Runnable opens) {
    this.replica = replica;
    this.timer = timer;
    this.opens = opens;
    ask();
  }

  private void ask() {
    var _ =
        replica
            .readBarrier()
            .whenComplete(
                (_, failure) -> {
                  if (failure == null) open();
                  else again();
                });
  }

  private synchronized void open() {
    if (closed) return;
    try {
      opens.run();
    } catch (RuntimeException e) {
      LOG.error("A range that this node leads cannot be opened to callers", e);
    }
  }

  private synchronized void again() {
    if (!closed) timer.schedule(this::ask, AGAIN_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Does not open it any more. */
  @Override
  public synchronized void close() {
    closed = true;
  }
}

package dunlin.bench.store;

import dunlin.bench.store.Rows.Row;
import dunlin.store.Completion;
import dunlin.store.RangeDescriptor;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Writes rows of one half of all keys to its current leader, and retries writes that were refused. */
final class HalfWriter implements AutoCloseable {
  /*
   * Owner: its own thread proposes; completions run on the store's threads.
   * Bounds: the window, which includes writes to retry. Failure: a failed write is retried after a look-up of the
   * leader.
   */
  private static final long AGAIN_NANOS = 1_000_000;

  private final Function<byte[], Optional<Replica<Row, Boolean>>> leading;
  private final boolean lower;
  private final int window;
  private final Gaps gaps = new Gaps();
  private final AtomicLong written = new AtomicLong();
  private final Semaphore places;
  private final Queue<Long> again = new ConcurrentLinkedQueue<>();
  private final Thread thread;
  private volatile boolean stopped;
  private volatile boolean lost = true; // whether the next write needs a look-up of the leader

  private long next; // of the thread
  private @Nullable Replica<Row, Boolean> at; // likewise
  private long epoch; // likewise

  HalfWriter(Function<byte[], Optional<Replica<Row, Boolean>>> leading, boolean lower, long firstNumber, int window) {
    this.leading = leading;
    this.lower = lower;
    this.window = window;
    next = firstNumber;
    places = new Semaphore(window);
    thread = Thread.ofPlatform().daemon().name("writer-" + (lower ? "lower" : "upper")).start(this::write);
  }

  Gaps gaps() {
    return gaps;
  }

  long written() {
    return written.get();
  }

  private void write() {
    while (!stopped) {
      places.acquireUninterruptibly();
      Long number = again.poll();
      if (number == null) number = fresh();
      if (!propose(number)) {
        again.add(number);
        places.release();
        LockSupport.parkNanos(AGAIN_NANOS);
      }
    }
  }

  private long fresh() {
    while (Rows.lower(next) != lower) next++;
    return next++;
  }

  private boolean propose(long number) {
    var row = Rows.row(number);
    if (lost) {
      at = leading.apply(row.key()).orElse(null);
      if (at == null) return false;
      epoch = at.descriptor().map(RangeDescriptor::epoch).orElse(1L);
      lost = false;
    }
    var to = at;
    return to != null
        && to.propose(
            epoch,
            row,
            new Completion<>() {
              @Override
              public void done(Boolean result) {
                gaps.event(System.nanoTime());
                written.incrementAndGet();
                places.release();
              }

              @Override
              public void failed(StoreException failure) {
                lost = true;
                again.add(number);
                places.release();
              }
            });
  }

  @Override
  public void close() {
    stopped = true;
    places.release(window); // the thread may wait for a place
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}

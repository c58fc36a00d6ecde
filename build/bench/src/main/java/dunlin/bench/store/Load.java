package dunlin.bench.store;

import dunlin.bench.store.Rows.Row;
import dunlin.store.Completion;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.AtomicHistogram;
import org.jspecify.annotations.Nullable;

/** Keeps a number of writes in flight, for a time or up to a number of rows, and measures each write from its call to its completion. */
final class Load {
  /*
   * Owner: the thread that calls run() proposes; completions run on the store's threads.
   * Bounds: the window. Failure: the first write that fails ends the run.
   */
  private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(2);
  private static final long FULL_PAUSE_NANOS = 20_000;
  private static final Duration DRAIN = Duration.ofSeconds(60);

  /** The target of the writes: {@link dunlin.store.Range#propose} or its remote counterpart. */
  interface Target {
    boolean propose(Row row, Completion<Boolean> completion);
  }

  private final Target target;
  private final int window;
  private final Semaphore places;
  private final AtomicHistogram nanos = new AtomicHistogram(LONGEST_NANOS, 3);
  private final AtomicLong done = new AtomicLong();
  private final AtomicReference<@Nullable StoreException> failed = new AtomicReference<>();
  private long full;

  Load(Target target, int window) {
    this.target = target;
    this.window = window;
    places = new Semaphore(window);
  }

  /** One write of a run. */
  private final class Write implements Completion<Boolean> {
    private final long begunNanos = System.nanoTime();

    @Override
    public void done(Boolean result) {
      nanos.recordValue(Math.min(LONGEST_NANOS, System.nanoTime() - begunNanos));
      done.incrementAndGet();
      places.release();
    }

    @Override
    public void failed(StoreException failure) {
      failed.compareAndSet(null, failure);
      places.release();
    }
  }

  /**
   * Writes rows with ascending numbers.
   *
   * @return the results, with the first unused number as `next`
   */
  Map<String, Object> run(long firstNumber, long rowsMax, Duration time) throws InterruptedException {
    long number = firstNumber;
    long begun = System.nanoTime();
    long end = begun + time.toNanos();
    while (number - firstNumber < rowsMax && failed.get() == null) {
      if (!places.tryAcquire()) {
        long left = end - System.nanoTime();
        if (left <= 0 || !places.tryAcquire(left, TimeUnit.NANOSECONDS)) break;
      }
      if (System.nanoTime() - end >= 0) {
        places.release();
        break;
      }
      var row = Rows.row(number);
      var write = new Write();
      while (!target.propose(row, write)) {
        full++;
        LockSupport.parkNanos(FULL_PAUSE_NANOS);
      }
      number++;
    }
    boolean timed = System.nanoTime() - end >= 0;
    long inTime = done.get();
    double seconds = (System.nanoTime() - begun) / 1e9;
    if (!places.tryAcquire(window, DRAIN.toSeconds(), TimeUnit.SECONDS)) throw new StoreException("writes have no end within " + DRAIN);
    places.release(window);
    var failure = failed.get();
    if (failure != null) throw failure;
    if (!timed) { // the run ended with its last row, so all rows count
      inTime = done.get();
      seconds = (System.nanoTime() - begun) / 1e9;
    }
    var result = new LinkedHashMap<String, Object>();
    result.put("writes", done.get());
    result.put("seconds", seconds);
    result.put("writes_per_second", inTime / seconds);
    for (double percentile : new double[] {50, 99, 99.9})
      result.put("p" + String.valueOf(percentile).replace(".0", "").replace(".", "") + "_us", nanos.getValueAtPercentile(percentile) / 1e3);
    result.put("full", full);
    result.put("next", number);
    return result;
  }
}

package dunlin.store.remote;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread that owns the state of a range client: it runs the tasks given to it, and a round of work after each batch. */
final class ClientLoop {
  /*
   * Owner: its thread; any thread may call execute().
   * Bounds: its callers bound the tasks: requests by their ranges, replies by the requests in flight, and a few for
   * each stream.
   * Failure: a task that throws is logged and affects no other.
   */
  private static final Logger log = LoggerFactory.getLogger(ClientLoop.class);
  private static final int ROUND_TASKS = 1024;

  private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final LongSupplier round;
  private final Thread thread;

  private volatile boolean parked; // single writer: the thread
  private volatile boolean stopping;
  private volatile boolean ended;

  /**
   * @param round runs after each batch of tasks; answers how many nanoseconds may pass until it wants to run again
   */
  ClientLoop(String name, LongSupplier round) {
    this.round = round;
    thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  void execute(Runnable task) {
    tasks.add(task);
    // Volatile on both sides: either the thread sees the task before it parks, or we see it parked.
    if (parked) LockSupport.unpark(thread);
    else if (ended) runRest();
  }

  /** Runs the tasks given so far, and ends. */
  void stop() throws InterruptedException {
    stopping = true;
    LockSupport.unpark(thread);
    thread.join();
  }

  private void run() {
    while (true) {
      boolean last = stopping;
      for (int i = 0; i < ROUND_TASKS || last; i++) {
        var task = tasks.poll();
        if (task == null) break;
        attempt(task);
      }
      long wait = lookAround();
      if (last) break;
      parked = true;
      if (tasks.isEmpty() && !stopping && wait > 0) LockSupport.parkNanos(this, wait);
      parked = false;
    }
    ended = true;
    runRest();
  }

  /** Called by the thread at its end, and afterwards by any thread that is too late. */
  private synchronized void runRest() {
    for (Runnable task; (task = tasks.poll()) != null; ) attempt(task);
  }

  private static void attempt(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) { // without the thread no call would ever end
      log.error("The range client has failed in a task", e);
    }
  }

  private long lookAround() {
    try {
      return round.getAsLong();
    } catch (RuntimeException | Error e) {
      log.error("The range client has failed in a round", e);
      return 1_000_000;
    }
  }
}

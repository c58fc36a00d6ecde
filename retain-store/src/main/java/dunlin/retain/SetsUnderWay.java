package dunlin.retain;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Lets a page wait for the messages that were on their way to the log before it.
 *
 * <p>A publisher's message is handed to this tier before its topic is matched. So who subscribes in between, too late for the
 * live message, waits here until it is kept, and gets it as the retained one rather than the one before, or none; and a page that is asked for when a message has come live is not
 * older than that message.
 */
final class SetsUnderWay {
  /*
   * Owner: none; any thread, no lock. The thread that raises drains from zero runs what is due.
   * Bounds: a wait for each page that is asked for, which each session does one at a time; each ends with the proposals before
   *   it, which the range answers all.
   */
  private final AtomicLong begun = new AtomicLong();
  private final AtomicLong ended = new AtomicLong();
  private final Queue<Waiting> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger drains = new AtomicInteger();

  private record Waiting(long until, Runnable task) {}

  /** A message is about to be proposed. */
  void begin() {
    begun.incrementAndGet();
  }

  /** A proposal has been answered, or was not taken. */
  void end() {
    ended.incrementAndGet();
    if (!waiting.isEmpty()) drain();
  }

  /** Runs a task when as many have ended as had begun: at once, or on the thread of the last one. */
  void whenEnded(Runnable task) {
    long until = begun.get();
    if (ended.get() >= until) {
      task.run();
      return;
    }
    waiting.add(new Waiting(until, task));
    drain(); // the last one may have ended just before
  }

  private void drain() {
    if (drains.getAndIncrement() != 0) return;
    int seen = 1;
    do {
      for (Waiting head = waiting.peek(); head != null && head.until() <= ended.get(); head = waiting.peek()) {
        waiting.remove();
        head.task().run();
      }
      seen = drains.addAndGet(-seen);
    } while (seen != 0);
  }
}

package dunlin.retain;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Lets a page wait for the messages that were proposed before it.
 *
 * <p>A publisher's message is passed to this tier before its topic is matched. A client that subscribes in between is
 * too late for the live message. Its page waits here until the message is stored, and so has it instead of the previous
 * one or none. And a page that is requested after a live message is not older than that message.
 */
final class PendingSets {
  /*
   * Owner: none; any thread, no lock. The thread that raises `drains` from zero runs the tasks that are due.
   * Bounds: a task for each requested page, of which a session has one at a time. Each ends with the proposals before
   * it, all of which the range answers.
   */
  private final AtomicLong begun = new AtomicLong();
  private final AtomicLong ended = new AtomicLong();
  private final Queue<Waiting> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger drains = new AtomicInteger();

  private record Waiting(long until, Runnable task) {}

  /** Called before a message is proposed. */
  void begin() {
    begun.incrementAndGet();
  }

  /** Called when a proposal has been answered, or was refused. */
  void end() {
    ended.incrementAndGet();
    if (!waiting.isEmpty()) drain();
  }

  /** Runs a task when all proposals begun so far have ended: at once, or on the thread of the last one. */
  void whenEnded(Runnable task) {
    long until = begun.get();
    if (ended.get() >= until) {
      task.run();
      return;
    }
    waiting.add(new Waiting(until, task));
    drain(); // the last one may have ended in the meantime
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

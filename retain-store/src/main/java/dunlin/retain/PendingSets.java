package dunlin.retain;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Lets a page wait for the messages that were proposed before it.
 *
 * <p>A publisher's message is passed to this tier before its topic is matched. A client that subscribes in between is
 * too late for the live message. Its page waits here until the message is stored, and so has it instead of the previous
 * one or none. And a page that is requested after a live message is not older than that message.
 */
final class PendingSets {
  /*
   * Proposals end in any order: tenants take turns, and what is refused is answered at once. So they are counted by generations. A page begins a new one, and
   * waits for all earlier ones.
   *
   * Owner: none; any thread, no lock. The thread that ends the last proposal of a generation runs the tasks that wait for it.
   * Bounds: a generation and a task for each requested page, of which a session has one at a time. Each ends with the proposals before
   * it, all of which the range answers.
   */
  private final AtomicReference<Generation> present = new AtomicReference<>(new Generation(1));

  /** The proposals between two pages. */
  static final class Generation {
    /** Its proposals that have not ended; one more while it is the present one, and one more until all earlier ones have ended. */
    private final AtomicLong open;

    // Both are set while it still counts as the present one in `open`, and read by the thread that brings that to 0.
    private @Nullable Runnable task;
    private @Nullable Generation next;

    private Generation(long open) {
      this.open = new AtomicLong(open);
    }

    private boolean enter() {
      for (long before = open.get(); before > 0; before = open.get()) if (open.compareAndSet(before, before + 1)) return true;
      return false;
    }

    private void leave() {
      @Nullable Generation left = this;
      while (left != null && left.open.decrementAndGet() == 0) {
        if (left.task != null) left.task.run();
        left = left.next;
      }
    }
  }

  /** Called before a message is proposed; answers what {@link #end} takes. */
  Generation begin() {
    Generation generation = present.get();
    while (!generation.enter()) generation = present.get();
    return generation;
  }

  /** Called when the proposal has been answered, or was refused. */
  void end(Generation generation) {
    generation.leave();
  }

  /** Runs a task when all proposals begun so far have ended: at once, or on the thread of the last one. */
  void whenEnded(Runnable task) {
    Generation before = present.get();
    while (!nothingIsOpen(before)) {
      var after = new Generation(2);
      if (present.compareAndSet(before, after)) {
        before.task = task;
        before.next = after;
        before.leave();
        return;
      }
      before = present.get();
    }
    task.run();
  }

  /** Of the present generation; a former one may be left by one proposal only. */
  @SuppressWarnings("ReferenceEquality")
  private boolean nothingIsOpen(Generation generation) {
    return generation.open.get() == 1 && present.get() == generation;
  }
}

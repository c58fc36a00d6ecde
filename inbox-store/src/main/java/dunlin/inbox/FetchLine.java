package dunlin.inbox;

import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The sessions that wait for a reader of the range, first come, first served. */
final class FetchLine {
  /*
   * Owner: any thread, under this object's lock, which is never held while something is read or answered.
   * A few fetches are with the readers at a time, and each that ends brings the next one. So however many sessions come back at
   * once, none finds the readers' own queue full: it waits.
   * Bounds: a connection fetches one page at a time, so the line has at most an entry for each connected session, a hundred bytes
   * or so; only what is with the readers holds messages.
   * Failure: readers that are taken up by others are asked again by the timer. What waits when the server closes is told so.
   */
  private static final int READING_MAX = 64;

  private final Supplier<Executor> readers;
  private final Consumer<Runnable> later;

  private final ArrayDeque<Fetch> waiting = new ArrayDeque<>();
  private int reading;
  private boolean retrying;
  private boolean closed;

  /** A page to be read. */
  interface Fetch {
    /** On a reader's thread. */
    void read();

    /** The server has closed before it was its turn. */
    void refused();
  }

  /** @param later runs something a little later, or throws RejectedExecutionException when nothing runs any more */
  FetchLine(Supplier<Executor> readers, Consumer<Runnable> later) {
    this.readers = readers;
    this.later = later;
  }

  /** How many sessions wait for a reader. */
  synchronized int waiting() {
    return waiting.size();
  }

  void add(Fetch fetch) {
    boolean refused;
    synchronized (this) {
      refused = closed;
      if (!refused) waiting.add(fetch);
    }
    if (refused) fetch.refused();
    else serve();
  }

  private void serve() {
    for (Fetch next = next(); next != null; next = next()) if (!hand(next)) return;
  }

  private synchronized @Nullable Fetch next() {
    if (reading >= READING_MAX || waiting.isEmpty()) return null;
    reading++;
    return waiting.remove();
  }

  /** Answers whether the readers took it. */
  private boolean hand(Fetch fetch) {
    try {
      readers
          .get()
          .execute(
              () -> {
                try {
                  fetch.read();
                } finally {
                  ended();
                }
              });
      return true;
    } catch (RejectedExecutionException full) {
      putBack(fetch);
      return false;
    }
  }

  private void ended() {
    synchronized (this) {
      reading--;
    }
    serve();
  }

  private void putBack(Fetch fetch) {
    synchronized (this) {
      reading--;
      waiting.addFirst(fetch);
      // Those that are being read ask again when they end.
      if (reading > 0 || retrying) return;
      retrying = true;
    }
    try {
      later.accept(this::retry);
    } catch (RejectedExecutionException over) {
      close();
    }
  }

  private void retry() {
    synchronized (this) {
      retrying = false;
    }
    serve();
  }

  /** Tells all that wait that their turn does not come. */
  void close() {
    ArrayDeque<Fetch> left;
    synchronized (this) {
      closed = true;
      left = new ArrayDeque<>(waiting);
      waiting.clear();
    }
    left.forEach(Fetch::refused);
  }
}

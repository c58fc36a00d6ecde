package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The sessions that wait for a reader of the range, first in, first out. Connecting clients have priority over them.
 */
final class FetchLine {
  /*
   * Owner: any thread, under this object's lock, which is never held while something is read or answered. Only a few
   * fetches are given to the readers at a time, and each one that ends starts the next. So however many sessions
   * reconnect at once, a fetch waits here and never meets a full queue of the readers. While a CONNECT waits for its
   * answer, fetches are delayed, each for STAND_BACK_NANOS at most: after a crash all clients reconnect at once, and a
   * connected client can wait longer for its messages than another one can wait for its CONNACK.
   * Bounds: a connection fetches one page at a time, so the line has at most one entry of about 100 bytes for each
   * connected session; only fetches at the readers hold messages, and in a cluster pages that wait for the proof of the lease (InboxCalls), which are bounded with them.
   * Failure: if the readers' queue is full with other work, the timer tries again. Fetches that wait when the server
   * closes fail.
   */
  private static final int READING_MAX = 64;
  private static final long STAND_BACK_NANOS = TimeUnit.SECONDS.toNanos(3);

  private final Supplier<Executor> readers;
  private final BooleanSupplier connecting;
  private final LongSupplier nanos;
  private final Consumer<Runnable> later;

  @GuardedBy("this")
  private final ArrayDeque<Entry> waiting = new ArrayDeque<>();
  @GuardedBy("this")
  private int reading;
  @GuardedBy("this")
  private boolean retrying;
  @GuardedBy("this")
  private boolean closed;

  private record Entry(Fetch fetch, long since) {}

  /** A page to be read. */
  interface Fetch {
    /** Reads the page; on a reader's thread. */
    void read();

    /** Called if the server closes before the fetch was read. */
    void refused();
  }

  /**
   * @param connecting whether a CONNECT waits for its answer
   * @param nanos a monotonic clock
   * @param later runs a task a little later, or throws RejectedExecutionException after the shutdown
   */
  FetchLine(Supplier<Executor> readers, BooleanSupplier connecting, LongSupplier nanos, Consumer<Runnable> later) {
    this.readers = readers;
    this.connecting = connecting;
    this.nanos = nanos;
    this.later = later;
  }

  /** Number of sessions that wait for a reader. */
  synchronized int waiting() {
    return waiting.size();
  }

  void add(Fetch fetch) {
    boolean refused;
    long now = nanos.getAsLong();
    synchronized (this) {
      refused = closed;
      if (!refused) waiting.add(new Entry(fetch, now));
    }
    if (refused) fetch.refused();
    else serve();
  }

  private void serve() {
    while (true) {
      Entry next = null;
      boolean back;
      synchronized (this) {
        back = standsBack();
        if (!back && reading < READING_MAX) next = waiting.poll();
        if (next != null) reading++;
      }
      if (back) serveLater();
      if (next == null || !hand(next)) return;
    }
  }

  @GuardedBy("this")
  private boolean standsBack() {
    var first = waiting.peek();
    return first != null && connecting.getAsBoolean() && nanos.getAsLong() - first.since() < STAND_BACK_NANOS;
  }

  /** Hands a fetch to the readers. Answers whether they accepted it. */
  private boolean hand(Entry entry) {
    try {
      readers
          .get()
          .execute(
              () -> {
                try {
                  entry.fetch().read();
                } finally {
                  ended();
                }
              });
      return true;
    } catch (RejectedExecutionException full) {
      putBack(entry);
      return false;
    }
  }

  private void ended() {
    synchronized (this) {
      reading--;
    }
    serve();
  }

  private void putBack(Entry entry) {
    synchronized (this) {
      reading--;
      waiting.addFirst(entry);
      // The fetches in progress start the next ones when they end.
      if (reading > 0) return;
    }
    serveLater();
  }

  private void serveLater() {
    synchronized (this) {
      if (retrying || closed) return;
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

  /** Fails all waiting fetches. */
  void close() {
    ArrayDeque<Entry> left;
    synchronized (this) {
      closed = true;
      left = new ArrayDeque<>(waiting);
      waiting.clear();
    }
    for (var entry : left) entry.fetch().refused();
  }
}

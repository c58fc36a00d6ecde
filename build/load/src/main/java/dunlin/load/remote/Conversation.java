package dunlin.load.remote;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Exchanges messages with one peer; for one thread, which may block. */
final class Conversation<I, O> {
  /*
   * Owner: one thread sends and takes; gRPC's threads call received(), ready() and ended().
   * Bounds: INBOX_MAX received messages that were not yet taken, because no more are requested from gRPC. A message
   * waits up to SEND_MILLIS_MAX until gRPC has room.
   * Failure: after the end, messages received before it can still be taken; then LostException has the reason.
   */
  static final int INBOX_MAX = 16;
  private static final long SEND_MILLIS_MAX = 300_000;

  /** The outgoing side: a gRPC call. */
  interface Outlet<O> {
    boolean isReady();

    void send(O message);

    /** Requests a number of further messages. */
    void request(int messages);
  }

  private final Outlet<O> outlet;

  @GuardedBy("this")
  private final Queue<I> inbox = new ArrayDeque<>();

  @GuardedBy("this")
  private @Nullable String ended;

  Conversation(Outlet<O> outlet) {
    this.outlet = outlet;
  }

  synchronized void received(I message) {
    inbox.add(message);
    notifyAll();
  }

  synchronized void ready() {
    notifyAll();
  }

  synchronized void ended(String why) {
    if (ended == null) ended = why;
    notifyAll();
  }

  /** The next message, or null when none arrives in time; 0 does not wait. */
  @Nullable I take(long millis) throws LostException {
    I message;
    synchronized (this) {
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
      while (inbox.isEmpty() && ended == null && waitUntil(end)) {}
      message = inbox.poll();
      if (message == null && ended != null) throw new LostException(ended);
    }
    if (message != null) outlet.request(1);
    return message;
  }

  void send(O message) throws LostException {
    send(message, SEND_MILLIS_MAX);
  }

  /** Sends a message when there is room within a time. */
  void send(O message, long millis) throws LostException {
    synchronized (this) {
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
      while (ended == null && !outlet.isReady()) {
        if (!waitUntil(end)) throw new LostException("takes no message for %d s".formatted(millis / 1_000));
      }
      if (ended != null) throw new LostException(ended);
    }
    outlet.send(message);
  }

  /** Waits for a notification; false when the time is over. */
  @GuardedBy("this")
  private boolean waitUntil(long endNanos) throws LostException {
    long left = endNanos - System.nanoTime();
    if (left <= 0) return false;
    try {
      TimeUnit.NANOSECONDS.timedWait(this, left);
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
      throw new LostException("is not waited for any longer");
    }
    return true;
  }
}

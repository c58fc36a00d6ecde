package dunlin.broker.connect;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.model.Publication;
import dunlin.runtime.DropReason;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jctools.queues.MpscUnboundedArrayQueue;
import org.jspecify.annotations.Nullable;

/** What the session tier offers to the durable sessions of one event loop, on its way there: one ordered stream, taken a round at a time. */
public final class PushQueue implements Runnable {
  /*
   * Owner: any thread offers, in practice the one that applies the session range; the event loop takes.
   * Bounds: messagesMax messages and bytesMax bytes. A message for several connections in a row counts its bytes once, since there is one
   *   of it; the one that passes a bound is still taken.
   * Full: a stored message is left in its inbox, and its connection is notified once that it is behind, upon which it reads the inbox: at most
   *   one such note for each connection. A message of QoS 0 is dropped and counted.
   * Failure: one that a connection cannot take is reported and costs no other.
   *
   * A connection stops counting as told before it begins to read. So a message that is stored when the note is gone already is either in
   * what it reads, or brings a push or a note of its own.
   */
  static final int MESSAGES_MAX = 65_536;
  static final long BYTES_MAX = 32 << 20;
  private static final int TAKEN_A_ROUND = 4_096;

  /**
   * @param message null for the note that more is stored than was pushed
   */
  private record Push(long connection, @Nullable InboxMessage message, int bytes) {}

  private final LoopConnections home;
  private final int messagesMax;
  private final long bytesMax;
  private final MpscUnboundedArrayQueue<Push> waiting = new MpscUnboundedArrayQueue<>(1_024);
  private final AtomicInteger messages = new AtomicInteger();
  private final AtomicLong bytes = new AtomicLong();
  private final Set<Long> behind = ConcurrentHashMap.newKeySet();
  private final AtomicInteger dropped = new AtomicInteger();
  private final AtomicLong notes = new AtomicLong();
  private final AtomicBoolean announced = new AtomicBoolean();

  /** Whose bytes are counted already. Two threads that offer at once may count them twice. */
  private volatile @Nullable Publication last;

  private volatile long announcedNanos; // written by the announcing thread

  PushQueue(LoopConnections home, int messagesMax, long bytesMax) {
    this.home = home;
    this.messagesMax = messagesMax;
    this.bytesMax = bytesMax;
  }

  /** Any thread. */
  void offer(long connection, InboxMessage message) {
    if (messages.get() >= messagesMax || bytes.get() >= bytesMax) {
      full(connection, message);
    } else {
      int size = message.message() == last ? 0 : message.message().body().length;
      last = message.message();
      messages.incrementAndGet();
      bytes.addAndGet(size);
      waiting.offer(new Push(connection, message, size));
    }
    announce();
  }

  private void full(long connection, InboxMessage message) {
    if (message.sequence() == 0) dropped.incrementAndGet();
    else note(connection);
  }

  /** Any thread: more is stored for a connection than was offered. */
  void behind(long connection) {
    note(connection);
    announce();
  }

  private void note(long connection) {
    if (!behind.add(connection)) return;
    notes.incrementAndGet();
    waiting.offer(new Push(connection, null, 0));
  }

  private void announce() {
    if (announced.get() || !announced.compareAndSet(false, true)) return;
    announcedNanos = System.nanoTime();
    home.loop().post(this);
  }

  /** On the loop. */
  @Override
  public void run() {
    announced.set(false);
    for (int i = 0; i < TAKEN_A_ROUND; i++) {
      Push next = waiting.poll();
      if (next == null) break;
      try {
        take(next);
      } catch (RuntimeException | AssertionError e) {
        home.loop().meters().unexpected("a connection did not take what was pushed to it", e);
      }
    }
    for (int left = dropped.getAndSet(0); left > 0; left--) {
      home.loop().counts().copies().received();
      home.loop().counts().copies().dropped(DropReason.OVERLOADED);
    }
    if (!waiting.isEmpty()) announce();
  }

  private void take(Push push) {
    InboxMessage message = push.message();
    if (message == null) {
      behind.remove(push.connection());
      home.behind(push.connection());
    } else {
      messages.decrementAndGet();
      bytes.addAndGet(-push.bytes());
      home.pushed(push.connection(), message);
    }
  }

  /** Messages that wait; any thread. */
  public int messages() {
    return messages.get();
  }

  /** Their bytes; any thread. */
  public long bytes() {
    return bytes.get();
  }

  /** How often a connection was told that it is behind; any thread. */
  public long notes() {
    return notes.get();
  }

  /** For how long the loop has not come to what waits; any thread. */
  public double waitingSeconds() {
    return announced.get() ? (System.nanoTime() - announcedNanos) / 1e9 : 0;
  }
}

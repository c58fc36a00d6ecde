package dunlin.broker.connect;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.model.Publication;
import dunlin.runtime.DropReason;
import dunlin.transport.trace.Trace.Step;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jctools.queues.MpscUnboundedArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * Queues what the session tier pushes to the durable sessions of one event loop: one ordered stream, which the loop
 * takes a round at a time.
 */
public final class PushQueue implements Runnable {
  /*
   * Owner: any thread offers, usually the applying thread of the session range; the event loop takes.
   * Bounds: messagesMax messages and bytesMax bytes. A message for several connections in a row counts its bytes once,
   *   because it is one object; the message that exceeds a bound is still accepted.
   * Full: a stored message stays in its inbox, and its connection gets a note that it is behind, and then reads the
   * inbox: at most one such note for each connection. A QoS 0 message is dropped and counted.
   * Failure: an exception while a connection takes a message is reported and does not affect other messages.
   *
   * The note of a connection is removed before the connection begins to read. So a message that is stored after that is
   * either in what it reads, or causes a push or another note.
   */
  static final int MESSAGES_MAX = 65_536;
  static final long BYTES_MAX = 32 << 20;
  private static final int TAKEN_A_ROUND = 4_096;

  /** @param message null for the note that more messages are stored than were pushed */
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

  /**
   * The last publication, whose bytes are already counted. Two threads that offer at the same time may count them
   * twice.
   */
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
    if (message.sequence() == 0) {
      dropped.incrementAndGet();
      home.loop().counts().copies().note(Step.DROPPED, DropReason.OVERLOADED.tag(), message.message(), null);
    } else {
      note(connection);
    }
  }

  /** Notes that more messages are stored for a connection than were offered; any thread. */
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

  /** Takes a round of the queue; on the loop. */
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
      home.loop().counts().copies().received(null, null);
      home.loop().counts().copies().dropped(DropReason.OVERLOADED, null, null); // noted when it came
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

  /** Number of waiting messages; any thread. */
  public int messages() {
    return messages.get();
  }

  /** Bytes of the waiting messages; any thread. */
  public long bytes() {
    return bytes.get();
  }

  /** Number of notes to connections that they are behind; any thread. */
  public long notes() {
    return notes.get();
  }

  /** How long the waiting messages have not been taken by the loop; any thread. */
  public double waitingSeconds() {
    return announced.get() ? (System.nanoTime() - announcedNanos) / 1e9 : 0;
  }
}

package dunlin.broker;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.broker.meter.LoopCounts;
import dunlin.model.Publication;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Sees the messages of a topic filter pass, for an operator who looks at some of them. */
public final class MessageWatch implements ApplicationSubscriptions.Taker, AutoCloseable {
  /*
   * It is in no books of messages, since nothing is owed to it: what it has no room for is neither received nor dropped, and no publisher
   * waits for it.
   *
   * Owner: event loops hand messages over, one thread looks at them; all hold the lock, for a few operations.
   * Bounds: messagesMax messages that wait to be looked at, of bytesMax bytes together or of one message. Full: further ones are skipped and counted.
   */
  /** Estimated memory of a message apart from its body. */
  private static final int MESSAGE_BYTES = 160;

  private final int messagesMax;
  private final long bytesMax;
  private final Consumer<MessageWatch> onClose;
  @GuardedBy("this")
  private List<Publication> waiting = new ArrayList<>();
  @GuardedBy("this")
  private long bytes;
  @GuardedBy("this")
  private long skipped;
  @GuardedBy("this")
  private boolean closed;

  MessageWatch(int messagesMax, long bytesMax, Consumer<MessageWatch> onClose) {
    this.messagesMax = messagesMax;
    this.bytesMax = bytesMax;
    this.onClose = onClose;
  }

  /**
   * What was seen since the last look.
   *
   * @param messages in the order of their lanes
   * @param skipped how many came after them for which there was no room
   */
  public record Look(List<Publication> messages, long skipped) {
    public Look {
      messages = List.copyOf(messages);
    }
  }

  @Override
  public synchronized void take(Publication message, LoopCounts.Hop copies) {
    if (closed) return;
    int more = message.body().length + MESSAGE_BYTES;
    // Once one was skipped, so are those behind it, so that a look has no gaps inside.
    if (skipped > 0 || waiting.size() == messagesMax || (!waiting.isEmpty() && bytes + more > bytesMax)) {
      skipped++;
      return;
    }
    waiting.add(message);
    bytes += more;
  }

  /** Looks, and makes room again. Never waits. */
  public synchronized Look look() {
    Look seen = new Look(waiting, skipped);
    waiting = new ArrayList<>();
    bytes = 0;
    skipped = 0;
    return seen;
  }

  @Override
  public void close() {
    synchronized (this) {
      if (closed) return;
      closed = true;
      waiting = List.of();
    }
    onClose.accept(this);
  }
}

package dunlin.broker.session;

import dunlin.broker.limit.Budget;
import dunlin.broker.loop.Loop;
import java.util.LinkedHashSet;
import org.jspecify.annotations.Nullable;

/**
 * The memory of messages of the sessions of one event loop that wait, are in flight, or were read ahead: its share of
 * the node's budget.
 */
public final class MessageMemory {
  /*
   * Owner: the event loop.
   * A message for many sessions is handed to them one right after the other, so a comparison with the last message is
   * enough to know that its body is already counted. If another message comes in between, the body is only counted once
   * more. Most messages go to one session, and for these no extra state is kept.
   * Bounds: one place in the line for each session; WAKES_A_TURN of them are notified at a time, in turn.
   * Failure: a session that ends releases all its memory and its place in the line.
   */
  /** Estimated memory of one session's reference to a message: its entry, its place in the queue and in the window. */
  static final int COPY_BYTES = 128;

  /** Estimated memory of a message beside its bytes. */
  static final int MESSAGE_BYTES = 128;

  /** Maximum number of bytes that are read at once for a session. */
  private static final int PAGE_BYTES = 256 * 1_024;

  /** Minimum number of bytes of a read. */
  private static final int PAGE_BYTES_MIN = 4 * 1_024;

  /**
   * A read for a session takes at most one part in PAGE_PART of what is left, so that many sessions can read at the
   * same time.
   */
  private static final int PAGE_PART = 64;

  private static final int WAKES_A_TURN = 64;

  private final Loop loop;
  private final Budget.Share share;
  private final LinkedHashSet<LiveSession> line = new LinkedHashSet<>();

  /** The last message that was taken, while it is held. */
  private @Nullable Outgoing last;

  private boolean wakeDue;

  /** Counts the sessions that hold one message. */
  static final class Holders {
    private int count;
  }

  MessageMemory(Loop loop, Budget.Share share) {
    this.loop = loop;
    this.share = share;
  }

  /** The bytes that a message counts for a session that holds it, whether or not other sessions hold it, too. */
  static long bytesOf(Outgoing message) {
    return (long) COPY_BYTES + MESSAGE_BYTES + message.size();
  }

  /** Whether a session that holds this many bytes may hold a message of this size; a refusal is counted. */
  boolean takes(long held, int size) {
    if (wouldTake(held, size)) return true;
    share.refused();
    return false;
  }

  /** The same for an operator's question: a refusal is not counted. */
  boolean wouldTake(long held, int size) {
    return share.allows(held, COPY_BYTES + MESSAGE_BYTES + size);
  }

  /** Counts a message that a session holds from now on. */
  @SuppressWarnings("ReferenceEquality") // compares identity
  void take(Outgoing message) {
    assert !message.held : "taken twice: " + message.sequence;
    message.held = true;
    Outgoing before = last;
    if (before == null || before.message != message.message) {
      last = message;
      share.add(bytesOf(message));
      return;
    }
    Holders holders = before.holders;
    if (holders == null) {
      before.holders = holders = new Holders();
      holders.count = 1;
    }
    holders.count++;
    message.holders = holders;
    share.add(COPY_BYTES);
  }

  /** Releases a message that a session no longer holds. */
  void free(Outgoing message) {
    if (!message.held) throw new IllegalStateException("let go twice: " + message.sequence);
    message.held = false;
    if (last == message) last = null;
    Holders holders = message.holders;
    message.holders = null;
    if (holders != null && --holders.count > 0) {
      share.add(-COPY_BYTES);
      return;
    }
    share.add(-bytesOf(message));
    wakeSoon();
  }

  /**
   * Reserves bytes for a read of a session that holds {@code held} bytes: {@link #giveBack} them after the read.
   *
   * @return the number of reserved bytes; 0 if there is no room now, and then the session is notified when there may be
   */
  int reservePage(LiveSession session, long held) {
    int bytes = Math.clamp(share.free() / PAGE_PART, PAGE_BYTES_MIN, PAGE_BYTES);
    if (!share.allows(held, bytes)) {
      await(session);
      return 0;
    }
    share.add(bytes);
    return bytes;
  }

  void giveBack(int bytes) {
    if (bytes == 0) return;
    share.add(-bytes);
    wakeSoon();
  }

  /** Has a session notified when there may be room again. */
  void await(LiveSession session) {
    if (line.add(session)) share.refused();
  }

  void forget(LiveSession session) {
    if (!line.isEmpty()) line.remove(session);
  }

  private void wakeSoon() {
    if (line.isEmpty() || wakeDue || !share.allows(0, PAGE_BYTES_MIN)) return;
    wakeDue = true;
    loop.executor().execute(this::wake);
  }

  private void wake() {
    wakeDue = false;
    for (int left = Math.min(line.size(), WAKES_A_TURN); left > 0 && share.allows(0, PAGE_BYTES_MIN); left--) {
      loop.runSafely(line.removeFirst()::drained);
    }
  }

  /** Notifies waiting sessions, because other loops may have released memory. */
  public void tick() {
    wakeSoon();
  }
}

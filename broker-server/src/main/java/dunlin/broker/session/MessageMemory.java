package dunlin.broker.session;

import dunlin.broker.limit.Budget;
import dunlin.broker.loop.Loop;
import java.util.LinkedHashSet;
import org.jspecify.annotations.Nullable;

/** The memory of the messages that the sessions of one event loop have waiting, in flight, or read ahead: its share of the node's budget. */
public final class MessageMemory {
  /*
   * Owner: the event loop.
   * A message that goes to many sessions goes to one right after the other, so comparing with the last one is enough to find out that its
   *   body is counted already. What comes between costs no more than counting it once more. Most messages go to one session, and for these nothing
   *   is kept.
   * Bounds: one place in the line for each session; WAKES_A_TURN of them are asked at a time, so that each has its turn.
   * Failure: a session that leaves gives everything back and its place in the line up.
   */
  /** What one session's hold on a message costs beside the message: its entry, its place in the queue and in the window. */
  static final int COPY_BYTES = 128;

  /** What a message costs beside its bytes. */
  static final int MESSAGE_BYTES = 128;

  /** Most bytes that are read at once for a session. */
  private static final int PAGE_BYTES = 256 * 1_024;

  /** Fewer are not worth a read. */
  private static final int PAGE_BYTES_MIN = 4 * 1_024;

  /** The part of what is left that is read at once for a session, so that many can be read for at a time. */
  private static final int PAGE_PART = 64;

  private static final int WAKES_A_TURN = 64;

  private final Loop loop;
  private final Budget.Share share;
  private final LinkedHashSet<LiveSession> line = new LinkedHashSet<>();

  /** What was taken last, while it is held. */
  private @Nullable Outgoing last;

  private boolean wakeDue;

  /** The sessions that hold one message. */
  static final class Holders {
    private int count;
  }

  MessageMemory(Loop loop, Budget.Share share) {
    this.loop = loop;
    this.share = share;
  }

  /** What a session's hold on a message counts for it, no matter who else holds it. */
  static long bytesOf(Outgoing message) {
    return (long) COPY_BYTES + MESSAGE_BYTES + message.size();
  }

  /** Whether a session that holds so many bytes may hold a message of this size; it is counted when it may not. */
  boolean takes(long held, int size) {
    if (share.allows(held, COPY_BYTES + MESSAGE_BYTES + size)) return true;
    share.refused();
    return false;
  }

  /** A session holds a message from now on. */
  @SuppressWarnings("ReferenceEquality") // the same one, not an equal one
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

  /** A session holds a message no longer. */
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
   * Has bytes put aside for what is read for a session that holds so many: {@link #giveBack} them when it has come.
   *
   * @return how many; 0 when there is no room for any now, and the session is notified when that may have changed
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

  /** Has a session told when there may be room again. */
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

  /** Other loops may have given something back. */
  public void tick() {
    wakeSoon();
  }
}

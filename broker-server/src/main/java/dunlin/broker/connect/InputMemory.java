package dunlin.broker.connect;

import dunlin.broker.codec.Limit;
import dunlin.broker.limit.Budget;
import dunlin.broker.limit.NodeBudget;
import dunlin.broker.loop.Loop;
import dunlin.broker.session.Hold;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import org.jspecify.annotations.Nullable;

/**
 * The memory of bytes that the connections of one event loop have read and not processed, mostly incomplete packets:
 * its shares of the node's budgets. Bytes of clients that are not authenticated have a small budget of their own.
 */
final class InputMemory {
  /*
   * Owner: the event loop.
   * Bounds: a connection that holds more than is left for the others, and more than the few bytes that each is allowed,
   * is not read from until more is left. The size of a read shrinks with what is left, so a budget is exceeded by at
   * most these few bytes and one small read for each connection. The budget of unauthenticated clients is not exceeded:
   * a connection for which nothing is left is closed at once. A connection that holds bytes has an entry in two maps.
   * Failure: packets that stay incomplete could keep others from being completed for ever. So when some connections
   * have waited for PATIENCE_TICKS without a break, connections are closed whose packet has been incomplete for as
   * long, VICTIMS_A_TICK at a time: the oldest of those that hold at least half as much as the largest. A connection
   * that is not read from for another reason may hold complete packets and is not closed.
   */
  private static final int PATIENCE_TICKS = 5_000 / KeepAliveWheel.TICK_MILLIS;
  private static final int VICTIMS_A_TICK = 8;
  private static final int WAKES_A_TURN = 64;

  /** The number of bytes that must be left for a connection, beyond what it holds, before it is read from again. */
  private static final int ROOM_MIN = 4 * 1_024;

  /** A read takes at most one part in READ_PART of what is left. */
  private static final int READ_PART = 64;

  private static final int READ_MIN = 512;

  private final Loop loop;
  private final Kind unknown;
  private final Kind known;
  private int now;

  /** The bytes held by connections of authenticated clients, or of unauthenticated ones. */
  private static final class Kind {
    final Budget.Share share;
    final Limit limit;

    /** Connections that hold bytes, with the tick since which their packet has been incomplete; the earliest first. */
    final LinkedHashMap<Input, Integer> holding = new LinkedHashMap<>();

    /** Connections that are not read from for lack of memory. */
    final LinkedHashSet<Input> waiting = new LinkedHashSet<>();

    /** The last tick at which no connection waited. */
    int lastQuiet;

    Kind(Budget.Share share, Limit limit) {
      this.share = share;
      this.limit = limit;
    }
  }

  InputMemory(Loop loop, NodeBudget budget) {
    this.loop = loop;
    this.unknown = new Kind(budget.unauthenticated().share(), Limit.UNAUTHENTICATED_MEMORY);
    this.known = new Kind(budget.unfinished().share(), Limit.UNFINISHED_MEMORY);
  }

  /** The maximum size of a read buffer. */
  int readMax(boolean isKnown) {
    return Math.clamp((isKnown ? known : unknown).share.free() / READ_PART, READ_MIN, Integer.MAX_VALUE);
  }

  /**
   * Counts the bytes that a connection holds now.
   *
   * @param isKnown whether its client is authenticated
   * @param isNew whether the bytes belong to another packet than those it held before
   */
  void settle(Input input, boolean isKnown, int bytes, boolean isNew) {
    int counted = input.counted();
    if (counted == 0 && bytes == 0) return;
    Kind kind = isKnown ? known : unknown;
    Kind other = isKnown ? unknown : known;
    if (counted > 0 && !other.holding.isEmpty() && other.holding.remove(input) != null) { // authenticated since then
      other.share.add(-counted);
      counted = 0;
      if (other.waiting.remove(input)) input.resume(Hold.MEMORY);
    }
    input.counted(bytes);
    kind.share.add(bytes - counted);
    if (counted > 0 && (bytes == 0 || isNew)) kind.holding.remove(input);
    if (bytes > 0) kind.holding.putIfAbsent(input, now);
    if (bytes > 0 && !isKnown && kind.share.free() <= 0) refuse(input);
    else if (!kind.share.allows(0, bytes)) holdBack(input, kind);
    else if (!kind.waiting.isEmpty() && kind.waiting.remove(input)) input.resume(Hold.MEMORY);
  }

  private void refuse(Input input) {
    unknown.share.refused();
    loop.runSafely(() -> input.noMemory(unknown.limit));
  }

  private static void holdBack(Input input, Kind kind) {
    if (!kind.waiting.add(input)) return;
    kind.share.refused();
    input.hold(Hold.MEMORY);
  }

  /** Resumes connections for which there is memory again, and closes some that keep others from continuing. */
  void tick() {
    now++;
    look(unknown);
    look(known);
  }

  private void look(Kind kind) {
    for (int left = Math.min(WAKES_A_TURN, kind.waiting.size()); left > 0; left--) {
      Input first = kind.waiting.removeFirst();
      if (kind.share.allows(first.counted(), ROOM_MIN)) first.resume(Hold.MEMORY);
      else kind.waiting.add(first);
    }
    if (kind.waiting.isEmpty()) kind.lastQuiet = now;
    if (now - kind.lastQuiet < PATIENCE_TICKS) return;
    for (int left = VICTIMS_A_TICK; left > 0; left--) {
      Input victim = victim(kind);
      if (victim == null) return;
      loop.runSafely(() -> victim.noMemory(kind.limit));
    }
  }

  private @Nullable Input victim(Kind kind) {
    int largest = 0;
    var slow = new ArrayList<Input>();
    for (var each : kind.holding.entrySet()) {
      if (now - each.getValue() < PATIENCE_TICKS) break;
      if (!each.getKey().isUnfinished()) continue;
      slow.add(each.getKey());
      largest = Math.max(largest, each.getKey().counted());
    }
    for (Input each : slow) if (each.counted() >= largest / 2) return each;
    return null;
  }
}

package dunlin.store.remote;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Calls to one range that wait to be sent: those of one ordered sequence, or those at one node that may overtake each other. */
final class Source {
  /*
   * Owner: the client's thread.
   * Bounds: those of the ranges whose calls they are. Calls that have ended stay until they come to the front.
   * An ordered sequence has one frame under way; the next one goes when all of it is answered. What was refused goes back
   * to the front, in its old order.
   */
  final RangeRoute route;
  final boolean ordered;
  final ArrayDeque<RemoteCall> waiting = new ArrayDeque<>();

  // Of an ordered sequence only.
  private final List<RemoteCall> refused = new ArrayList<>();
  private long nextOrder;
  private long pauseNanos;
  int underWay;
  boolean paused;
  @Nullable NodeLink link; // where its next frame is to go, or is

  Source(RangeRoute route, boolean ordered) {
    this.route = route;
    this.ordered = ordered;
  }

  void add(RemoteCall call) {
    call.order = nextOrder++;
    waiting.add(call);
  }

  /** The first call that has not ended. */
  @Nullable RemoteCall peek() {
    RemoteCall first;
    while ((first = waiting.peek()) != null && first.ended) waiting.remove();
    return first;
  }

  boolean sendable() {
    return (!ordered || underWay == 0) && peek() != null;
  }

  void refuse(RemoteCall call, long pause) {
    refused.add(call);
    pauseNanos = Math.max(pauseNanos, pause);
  }

  /** When nothing is under way any more: puts back what was refused, and answers for how long to wait. */
  long regroup() {
    assert underWay == 0 : underWay + " calls are under way";
    refused.sort(Comparator.comparingLong(call -> call.order));
    for (var call : refused.reversed()) waiting.addFirst(call);
    refused.clear();
    long pause = pauseNanos;
    pauseNanos = 0;
    link = null;
    return pause;
  }
}

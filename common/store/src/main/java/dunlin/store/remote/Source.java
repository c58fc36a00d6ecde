package dunlin.store.remote;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A queue of unsent calls to one range: those of one ordered sequence, or those at one node that may overtake each other. */
final class Source {
  /*
   * Owner: the client's thread.
   * Bounds: those of the calls' ranges. Calls that have ended stay until they reach the front. An ordered sequence has
   * one frame in flight; the next one is sent when all of it is answered. Refused calls go back to the front, in their
   * old order.
   */
  final RangeRoute route;
  final boolean ordered;
  final ArrayDeque<RemoteCall> waiting = new ArrayDeque<>();

  // For an ordered sequence only.
  private final List<RemoteCall> refused = new ArrayList<>();
  private long nextOrder;
  private long pauseNanos;
  int underWay;
  boolean paused;
  @Nullable NodeLink link; // where its next frame is to go, or is in flight

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

  /** Puts refused calls back, once nothing is in flight, and answers how long to wait. */
  long regroup() {
    assert underWay == 0 : underWay + " calls are in flight";
    refused.sort(Comparator.comparingLong(call -> call.order));
    for (var call : refused.reversed()) waiting.addFirst(call);
    refused.clear();
    long pause = pauseNanos;
    pauseNanos = 0;
    link = null;
    return pause;
  }
}

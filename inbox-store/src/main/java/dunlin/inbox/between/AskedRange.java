package dunlin.inbox.between;

import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.RangeState;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Answers the leaders of other ranges, from what this node's replica of a range has applied. */
public final class AskedRange implements OtherRange {
  /*
   * Owner: any thread, as RangeState says.
   * Bounds: those of a question.
   * Failure: a replica that is behind does not know the latest sessions. So a session has ended for it only when a later one is in its place, or when it has given out
   *   a later epoch of that shard and has no such session.
   */
  private final RangeState state;

  public AskedRange(RangeState state) {
    this.state = state;
  }

  @Override
  public CompletableFuture<Sums> sums() {
    // Each is read for itself, and may be below zero for a moment while a command is applied.
    return CompletableFuture.completedFuture(
        new Sums(Math.max(0, state.durableCount.get()), Math.max(0, state.memory.get()), Math.max(0, state.queuedBytes.get())));
  }

  @Override
  public CompletableFuture<List<Boolean>> ended(List<Birth> sessions) {
    return CompletableFuture.completedFuture(sessions.stream().map(this::hasEnded).toList());
  }

  private boolean hasEnded(Birth session) {
    var key = new SessionKey(session.tenant(), session.clientId());
    if (!state.interval.contains(state.interval.of(key))) return false;
    boolean past = state.counters.isPast(session.birth()); // read before the sessions: one that is there now has a later epoch
    var present = state.sessions.get(key);
    return past && (present == null || present.birth() != session.birth());
  }
}

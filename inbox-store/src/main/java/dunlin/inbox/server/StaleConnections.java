package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;

/**
 * Ends stale connections: those that no longer exist but that sessions still name as their owners. Otherwise these sessions
 * would count as online until the next start.
 */
final class StaleConnections {
  /*
   * Owner: any thread reports; the timer looks for sessions and proposes. This object's lock guards the notes and is
   * not held during a proposal.
   * Bounds: MISSING_MAX connections whose session is not known; a further one is reported again with its next message.
   * To find their sessions, all sessions are scanned, at most once in LOOK_TURNS turns of the timer. There is one note
   * for each connection that has to be ended.
   * Failure: an end is proposed again at each turn, AGAIN_MAX at a time, until the range has recorded it.
   */
  static final int LOOK_TURNS = 25;

  private static final int MISSING_MAX = 1_024;
  private static final int AGAIN_MAX = 64;

  private final RangeState state;
  private final BiPredicate<SessionKey, ConnectionId> proposer;
  @GuardedBy("this")
  private final Set<ConnectionId> missing = new HashSet<>();
  @GuardedBy("this")
  private final Map<ConnectionId, SessionKey> ending = new LinkedHashMap<>();
  @GuardedBy("this")
  private int turns;

  /**
   * @param proposer proposes to end a connection; false if the range's queue is full. If it is queued and then refused,
   *     {@link #end} must be called again
   */
  StaleConnections(RangeState state, BiPredicate<SessionKey, ConnectionId> proposer) {
    this.state = state;
    this.proposer = proposer;
  }

  /** Reports that a connection does not exist; its session is not known. */
  synchronized void missing(ConnectionId connection) {
    if (missing.size() < MISSING_MAX) missing.add(connection);
  }

  /** Reports that a connection does not exist, or never will, and may own the session. */
  synchronized void end(SessionKey session, ConnectionId connection) {
    ending.put(connection, session);
  }

  synchronized int waiting() {
    return ending.size() + missing.size();
  }

  /** One turn of the timer. */
  void again() {
    look();
    for (var each : next()) {
      if (!proposer.test(each.getValue(), each.getKey())) {
        end(each.getValue(), each.getKey());
      }
    }
  }

  private void look() {
    Set<ConnectionId> wanted;
    synchronized (this) {
      if (missing.isEmpty()) {
        turns = 0;
        return;
      }
      if (++turns < LOOK_TURNS) return;
      turns = 0;
      wanted = new HashSet<>(missing);
      missing.clear();
    }
    for (SessionState session : state.sessions.values()) {
      var owner = session.owner();
      if (owner != null && wanted.contains(owner)) end(session.key, owner);
    }
  }

  private synchronized Iterable<Map.Entry<ConnectionId, SessionKey>> next() {
    var turn = new ArrayList<Map.Entry<ConnectionId, SessionKey>>();
    for (var each : ending.entrySet()) {
      if (turn.size() == AGAIN_MAX) break;
      turn.add(Map.entry(each.getKey(), each.getValue()));
    }
    for (var each : turn) ending.remove(each.getKey());
    return turn;
  }
}

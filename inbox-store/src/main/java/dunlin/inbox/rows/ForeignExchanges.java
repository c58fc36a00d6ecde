package dunlin.inbox.rows;

import dunlin.store.RangeWriter;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;

/**
 * QoS 2 exchanges of sessions in other ranges whose messages are stored in this range. A repeated PUBLISH of such an
 * exchange is not stored again. The key includes the session's birth, so that a later session of the same client does
 * not find the exchanges of an earlier one.
 */
public final class ForeignExchanges {
  /*
   * Owner: the applying thread; any thread may read.
   * Bounds: the open exchanges of clients, at most one for each packet identifier of a client. One session for each
   * client: the exchanges of an earlier session are removed when a later one sends its first, or when the earlier
   * session is found to have ended.
   * Failure: every exchange is a row, so all replicas know the same.
   */
  private static final byte[] ROW = {1};

  private final Map<SessionKey, Held> sessions = new ConcurrentHashMap<>();

  private record Held(long birth, Set<Integer> packetIds) {}

  /** Whether the message of an exchange is stored here. */
  public boolean has(SessionKey session, long birth, int packetId) {
    var held = sessions.get(session);
    return held != null && held.birth == birth && held.packetIds.contains(packetId);
  }

  /** Whether a later session of the same client has exchanges here. */
  public boolean hasLater(SessionKey session, long birth) {
    var held = sessions.get(session);
    return held != null && held.birth > birth;
  }

  public void add(RangeWriter out, ShardInterval interval, SessionKey session, long birth, int packetId) {
    var held = sessions.get(session);
    if (held != null && held.birth != birth) removeAll(out, interval, session, held.birth);
    restore(session, birth, packetId);
    out.put(SessionKeys.foreignExchange(interval.homeOf(session), session, birth, packetId), ROW);
  }

  /** Restores an exchange from its row. */
  public void restore(SessionKey session, long birth, int packetId) {
    sessions.computeIfAbsent(session, _ -> new Held(birth, ConcurrentHashMap.newKeySet(4))).packetIds.add(packetId);
  }

  public void remove(RangeWriter out, ShardInterval interval, SessionKey session, long birth, int packetId) {
    if (!has(session, birth, packetId)) return;
    var held = sessions.get(session);
    if (held == null) return;
    held.packetIds.remove(packetId);
    if (held.packetIds.isEmpty()) sessions.remove(session);
    out.delete(SessionKeys.foreignExchange(interval.homeOf(session), session, birth, packetId));
  }

  /** Removes all exchanges of a session that has ended. */
  public void removeAll(RangeWriter out, ShardInterval interval, SessionKey session, long birth) {
    var held = sessions.get(session);
    if (held == null || held.birth != birth) return;
    sessions.remove(session);
    for (int packetId : held.packetIds) out.delete(SessionKeys.foreignExchange(interval.homeOf(session), session, birth, packetId));
  }

  /** Visits the sessions and their births; any thread. */
  public void forEach(BiConsumer<SessionKey, Long> visitor) {
    sessions.forEach((session, held) -> visitor.accept(session, held.birth));
  }

  /** How many sessions there are. */
  public int size() {
    return sessions.size();
  }

  public void clear() {
    sessions.clear();
  }
}

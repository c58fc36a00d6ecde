package dunlin.inbox.server;

import dunlin.inbox.Connections;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.SessionState;
import dunlin.runtime.LogText;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lists sessions, deletes them and disconnects clients, for an operator. */
final class SessionOperations implements SessionsMXBean {
  /*
   * Sessions in memory have no order, so each page scans all of them and keeps the first ones; this takes some tens of
   * nanoseconds for each session, on the operator's thread.
   *
   * Owner: any thread that may block.
   * Bounds: PAGE_MAX sessions at a time, listed or being deleted.
   * Failure: if the range refuses a deletion, the operation ends with its reason; sessions that were deleted before
   * stay deleted.
   */
  private static final Logger log = LoggerFactory.getLogger(SessionOperations.class);
  private static final int PAGE_MAX = 1_000;
  private static final int DELETIONS_MAX = 1_000_000;
  private static final long PATIENCE_SECONDS = 60;

  /** The sessions of each range. */
  private final List<? extends Map<SessionKey, SessionState>> sessions;
  private final Removal removal;
  private final Connections connections;

  /** Ends one session; answers whether there was such a session. */
  @FunctionalInterface
  interface Removal {
    CompletableFuture<Boolean> remove(String tenant, String clientId);
  }

  SessionOperations(List<? extends Map<SessionKey, SessionState>> sessions, Removal removal, Connections connections) {
    this.sessions = List.copyOf(sessions);
    this.removal = removal;
    this.connections = connections;
  }

  @Override
  public int getSessions() {
    return sessions.stream().mapToInt(Map::size).sum();
  }

  @Override
  public List<SessionRow> list(String tenant, String prefix, String after, int max) {
    require(max, PAGE_MAX);
    return page(tenant, prefix, after, max).stream().map(SessionOperations::row).toList();
  }

  private static SessionRow row(SessionState session) {
    var inbox = session.backlogIfAny();
    return new SessionRow(
        session.key.clientId(),
        session.user,
        session.owner() != null,
        session.expirySeconds(),
        session.subscriptionCount(),
        session.waiting(),
        inbox == null ? 0 : inbox.bytes());
  }

  /** The first sessions whose client identifiers follow another one, in the order of their client identifiers. */
  private List<SessionState> page(String tenant, String prefix, String after, int max) {
    Comparator<SessionState> order = Comparator.comparing(session -> session.key.clientId());
    var first = new PriorityQueue<>(order.reversed());
    for (var range : sessions) {
      for (var session : range.values()) {
        String clientId = session.key.clientId();
        if (!session.key.tenant().equals(tenant) || !clientId.startsWith(prefix) || clientId.compareTo(after) <= 0) continue;
        first.add(session);
        if (first.size() > max) first.remove();
      }
    }
    var page = new ArrayList<>(first);
    page.sort(order);
    return page;
  }

  @Override
  public boolean disconnect(String tenant, String clientId) {
    var key = new SessionKey(tenant, clientId);
    for (var range : sessions) {
      var session = range.get(key);
      var owner = session == null ? null : session.owner();
      if (owner == null) continue;
      log.info("An operator disconnects the client {}", LogText.quoted(clientId));
      connections.dismissed(owner);
      return true;
    }
    return false;
  }

  @Override
  public int delete(String tenant, String prefix, int max) {
    require(max, DELETIONS_MAX);
    int deleted = 0;
    String after = "";
    try {
      while (deleted < max) {
        var page = page(tenant, prefix, after, Math.min(PAGE_MAX, max - deleted));
        if (page.isEmpty()) break;
        deleted += deleteAll(page.stream().map(session -> session.key).toList());
        after = page.getLast().key.clientId();
      }
    } finally {
      log.info("An operator has deleted {} sessions of client identifiers that begin with {}", deleted, LogText.quoted(prefix));
    }
    return deleted;
  }

  @Override
  public boolean deleteOne(String tenant, String clientId) {
    var key = new SessionKey(tenant, clientId);
    if (sessions.stream().noneMatch(range -> range.containsKey(key))) return false; // so a name that no client can have is never proposed
    boolean deleted = deleteAll(List.of(key)) > 0;
    if (deleted) log.info("An operator has deleted the session of the client {}", LogText.quoted(clientId));
    return deleted;
  }

  private int deleteAll(List<SessionKey> keys) {
    var answers = keys.stream().map(key -> removal.remove(key.tenant(), key.clientId())).toList();
    int deleted = 0;
    try {
      for (var answer : answers) if (answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS)) deleted++;
    } catch (ExecutionException e) {
      // A JMX client need not have the classes of this broker, so a failure is reported as text.
      throw new IllegalStateException("sessions were not deleted: " + (e.getCause() == null ? e : e.getCause()).getMessage());
    } catch (TimeoutException e) {
      throw new IllegalStateException("sessions were not deleted within " + PATIENCE_SECONDS + " s");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted");
    }
    return deleted;
  }

  private static void require(int max, int most) {
    if (max < 1 || max > most) throw new IllegalArgumentException("max is %d; it must be from 1 to %d".formatted(max, most));
  }
}

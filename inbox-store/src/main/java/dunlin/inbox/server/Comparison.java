package dunlin.inbox.server;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.KeptConnections;
import dunlin.inbox.KeptConnections.Owner;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.SessionState;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Compares the connections that sessions name with those that one life of a frontend has kept. Those that are not there are reported; the frontend ends
 * those that no session names.
 */
final class Comparison {
  /*
   * No session may get a connection of this life while it is compared. Sessions may lose theirs: to another frontend, of which this one is told as always,
   * or because it has ended. So each connection that a session names at the end was named at the beginning, and is found: the iterator returns each
   * session that is there from the beginning to the end.
   *
   * Owner: the given thread; questions are answered on any.
   * Bounds: one question at a time, of QUESTION_MAX connections; a step looks at LOOK_MAX sessions.
   * Failure: it fails with a question, or when the thread takes nothing any more. Nothing is ended at the frontend then.
   */
  static final int QUESTION_MAX = 1_024;
  private static final int LOOK_MAX = 8_192;

  private final String frontend;
  private final long incarnation;
  private final KeptConnections connections;
  private final Iterator<Collection<SessionState>> ranges;
  private final Executor thread;
  private final BiConsumer<SessionKey, ConnectionId> missing;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();

  private Iterator<SessionState> sessions = Collections.emptyIterator();

  /**
   * @param sessions of each range
   * @param missing gets the sessions whose connections are not there
   */
  Comparison(
      String frontend, long incarnation, KeptConnections connections, List<Collection<SessionState>> sessions, Executor thread,
      BiConsumer<SessionKey, ConnectionId> missing) {
    this.frontend = frontend;
    this.incarnation = incarnation;
    this.connections = connections;
    this.ranges = sessions.iterator();
    this.thread = thread;
    this.missing = missing;
  }

  /** Begins. Completes when all connections have been compared, and the frontend knows it. */
  CompletableFuture<Void> start() {
    soon(
        () -> {
          connections.comparing();
          look();
        });
    return ended;
  }

  private void soon(Runnable step) {
    try {
      thread.execute(
          () -> {
            try {
              step.run();
            } catch (RuntimeException e) {
              ended.completeExceptionally(e);
            }
          });
    } catch (RejectedExecutionException closed) {
      ended.completeExceptionally(new StoreException("the session tier was closed", closed));
    }
  }

  private void look() {
    var owners = new ArrayList<Owner>();
    var keys = new HashMap<Long, SessionKey>();
    for (int i = 0; i < LOOK_MAX && owners.size() < QUESTION_MAX; i++) {
      var session = next();
      if (session == null) {
        if (!owners.isEmpty()) break;
        connections.compared();
        ended.complete(null);
        return;
      }
      long epoch = session.epoch();
      var owner = session.owner();
      if (owner == null || owner.incarnation() != incarnation || !owner.frontend().equals(frontend)) continue;
      owners.add(new Owner(owner.number(), epoch));
      keys.put(owner.number(), session.key);
    }
    if (owners.isEmpty()) soon(this::look);
    else ask(owners, keys);
  }

  private @Nullable SessionState next() {
    while (!sessions.hasNext()) {
      if (!ranges.hasNext()) return null;
      sessions = ranges.next().iterator();
    }
    return sessions.next();
  }

  private void ask(List<Owner> owners, Map<Long, SessionKey> keys) {
    var _ =
        connections
            .missing(owners)
            .whenComplete(
                (gone, failure) -> {
                  if (failure != null) ended.completeExceptionally(failure);
                  else soon(() -> answered(gone, keys));
                });
  }

  private void answered(List<Long> gone, Map<Long, SessionKey> keys) {
    for (Long number : gone) {
      var key = keys.get(number);
      if (key != null) missing.accept(key, new ConnectionId(frontend, incarnation, number));
    }
    look();
  }
}

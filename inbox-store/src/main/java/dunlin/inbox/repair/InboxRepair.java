package dunlin.inbox.repair;

import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.Effects;
import dunlin.inbox.range.SessionRange;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommandCodec;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Removes stored sessions and messages by name, in a store that was started for this purpose and serves no clients.
 */
public final class InboxRepair {
  /*
   * Owner: one thread, which waits for each step.
   *
   * A removal goes through the log. If rows were changed directly, the log entries that the next start replays would
   * contradict them.
   *
   * Failure: a StoreException reports a step that failed. An interrupted removal continues when it is requested again.
   */
  private static final int STEPS_MAX = 1_000;

  private final List<Part> parts;

  private record Part(SessionRange logic, Range<SessionCommand, SessionResult> range) {}

  /**
   * Declares the ranges of sessions in a store that has not started yet.
   *
   * @param layout the layout of the node's sessions
   */
  public InboxRepair(RangeStore store, Layout layout) {
    var ids = layout.rangeIds();
    var made = new ArrayList<Part>(layout.ranges());
    for (ShardInterval interval : ShardInterval.divide(layout.shards(), layout.ranges())) {
      var logic = new SessionRange(interval);
      made.add(new Part(logic, store.range(ids.get(made.size()), List.of(), new SessionCommandCodec(), logic)));
    }
    parts = List.copyOf(made);
  }

  /** The current rows, with all log entries applied. */
  public RangeReader rows() {
    return new DividedRows(parts.stream().map(part -> part.range().reader()).toList());
  }

  private Part of(String tenant, String clientId) {
    var session = new SessionKey(tenant, clientId);
    return parts.stream().filter(part -> contains(part.logic().state().interval, session)).findFirst().orElseThrow();
  }

  private static boolean contains(ShardInterval interval, SessionKey session) {
    return interval.contains(interval.of(session));
  }

  /**
   * Removes a session with its subscriptions and messages. Its will, if it has one, becomes due: a node publishes it
   * when it starts.
   *
   * @param routes receives each route that no session needs any more
   * @return whether there was such a session
   */
  public boolean removeSession(String tenant, String clientId, RemovedRoutes routes) {
    var part = of(tenant, clientId);
    var removed = run(part, new SessionCommand.Remove(System.currentTimeMillis(), tenant, clientId), routes);
    if (removed.outcome() instanceof Outcome.Stale) return false;
    // At time 0 nothing else is due, so this only deletes the messages of ended sessions.
    while (run(part, new SessionCommand.Tick(0, STEPS_MAX, 0), routes).effects().hasMoreWork()) {}
    return true;
  }

  /**
   * Removes one message of a session, as if the client had acknowledged it. Does nothing if there is no such message.
   */
  public void removeMessage(String tenant, String clientId, long sequence) {
    var part = of(tenant, clientId);
    var session = part.logic().state().sessions.get(new SessionKey(tenant, clientId));
    if (session == null) throw new StoreException("there is no session of the client identifier " + clientId);
    var ref = new SessionRef(tenant, clientId, session.epoch());
    run(part, new SessionCommand.Acknowledge(ref, new long[] {sequence}, false), (_, _, _) -> {});
  }

  /** Receives the routes that must be removed from the dist tier. */
  @FunctionalInterface
  public interface RemovedRoutes {
    void remove(ShardId shard, String tenant, TopicFilter filter);
  }

  private static SessionResult answer(CompletableFuture<SessionResult> result) {
    try {
      return result.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof StoreException failure ? failure : e;
    }
  }

  private static SessionResult run(Part part, SessionCommand command, RemovedRoutes routes) {
    var result = new CompletableFuture<SessionResult>();
    if (!part.range().propose(command, Completion.of(result))) throw new StoreException("the queue of the session range is full");
    var done = answer(result);
    for (Effects.RouteChange change : List.copyOf(done.effects().routes()))
      if (!change.wanted()) routes.remove(change.route().shard(), change.route().tenant(), change.route().filter());
    return done;
  }
}

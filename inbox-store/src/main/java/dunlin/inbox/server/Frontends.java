package dunlin.inbox.server;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.propose.Proposals;
import dunlin.inbox.state.SessionState;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The frontends that sessions are served for, each in one life at a time. A call goes to the life that its connection names. */
final class Frontends implements Connections {
  /*
   * Owner: any thread. This object's lock guards which life of a frontend there is, and is not held while a frontend is called, the range is proposed to or
   *   a future completes; who only looks one up takes no lock.
   * Bounds: FRONTENDS_MAX; one more is refused. An interruption for each of them. LostFrontends says how many losses are waited for.
   * Failure: what is for a frontend that is not attached, or for another life of it, is counted: with QoS 0 it is dropped, and else it waits in
   *   its inbox. A frontend that fails to take a call is logged, and the others are served. One that is awaited is detached when it does not come in time.
   */
  static final int FRONTENDS_MAX = 1_024;

  /** How long a client that has moved is not listened to while its former frontend has not come to this leader yet. */
  static final Duration COMES_WITHIN = Duration.ofSeconds(2);

  private static final Logger LOG = LoggerFactory.getLogger(Frontends.class);

  private final CompletableFuture<Void> started;
  private final LostFrontends lost;
  private final InboxMeters meters;

  /** Changed under the lock. */
  private final ConcurrentHashMap<String, Life> lives = new ConcurrentHashMap<>();

  /** The frontends that are waited for; FRONTENDS_MAX of them. Under the lock. */
  @GuardedBy("this")
  private final HashMap<String, Coming> coming = new HashMap<>();

  /** The last life of each frontend that was treated as gone and has not come again: nothing of its connections is waited for. FRONTENDS_MAX at most. Under the lock. */
  @GuardedBy("this")
  private final HashMap<String, Long> gone = new HashMap<>();

  /** The last interruption of each frontend that a timer waits for. Under the lock. */
  @GuardedBy("this")
  private final HashMap<String, Interruption> interruptions = new HashMap<>();

  @GuardedBy("this")
  private long lastInterruption;

  /** @param incarnation the latest life of the frontend that was interrupted and has not come again since */
  private record Interruption(long number, long incarnation) {}

  /** A frontend whose connections are to be settled. */
  private static final class Coming {
    /** Completes when it comes, or does not come any more, or not in time. */
    final CompletableFuture<Void> comes = new CompletableFuture<>();

    /** Its latest life with such a connection. Under the lock of the frontends. */
    long incarnation;

    Coming(long incarnation) {
      this.incarnation = incarnation;
    }
  }

  /** One life of a frontend. */
  private static final class Life {
    private final long incarnation;
    private final Connections connections;

    /** Whether sessions may get connections of it: its earlier lives have ended, and what it has kept was compared. Written under the lock. */
    private volatile boolean attached;

    private Life(long incarnation, Connections connections) {
      this.incarnation = incarnation;
      this.connections = connections;
    }
  }

  /** @param started completes when connections may be accepted, as far as no frontend is concerned */
  Frontends(CompletableFuture<Void> started, LostFrontends lost, InboxMeters meters) {
    this.started = started;
    this.lost = lost;
    this.meters = meters;
  }

  /** See {@link InboxServer#attach}. */
  CompletableFuture<Void> attach(String frontend, long incarnation, Connections connections) {
    return attach(frontend, new Life(incarnation, connections), false, () -> CompletableFuture.completedFuture(null));
  }

  /**
   * See {@link InboxServer#resume}.
   *
   * @param comparison is begun when all that was called for this life before has been applied
   */
  CompletableFuture<Void> resume(String frontend, long incarnation, Connections connections, Supplier<CompletableFuture<Void>> comparison) {
    return attach(frontend, new Life(incarnation, connections), true, comparison);
  }

  private CompletableFuture<Void> attach(String frontend, Life life, boolean again, Supplier<CompletableFuture<Void>> comparison) {
    check(frontend, life.incarnation);
    LostFrontends.Attempt earlier;
    try {
      earlier = begin(frontend, life, again);
    } catch (StoreException refused) {
      return CompletableFuture.failedFuture(refused);
    }
    var ready = new CompletableFuture<Void>();
    Proposals.follow(
        earlier.ended(),
        ready,
        () -> Proposals.follow(comparison.get(), ready, () -> Proposals.follow(started, ready, () -> ready.complete(null))));
    var attached = new CompletableFuture<Void>();
    var _ =
        ready.whenComplete(
            (_, failure) -> {
              if (failure != null) {
                end(frontend, life);
                attached.completeExceptionally(failure);
              } else if (open(frontend, life)) {
                attached.complete(null);
              } else {
                attached.completeExceptionally(new StoreException("frontend %s was detached before it was attached".formatted(frontend)));
              }
            });
    lost.propose(earlier.loss());
    awaitNoLonger(frontend);
    return attached;
  }

  /** It has come, or does not come any more. */
  private void awaitNoLonger(String frontend) {
    var awaited = noLongerAwaited(frontend);
    if (awaited != null) awaited.comes.complete(null);
  }

  private synchronized @Nullable Coming noLongerAwaited(String frontend) {
    return coming.remove(frontend);
  }

  /** See {@link InboxServer#awaited}. */
  synchronized Map<String, Long> awaited() {
    var awaited = new HashMap<String, Long>();
    coming.forEach((frontend, each) -> awaited.put(frontend, each.incarnation));
    return awaited;
  }

  /** @param again whether it may be attached already, in the same life */
  private synchronized LostFrontends.Attempt begin(String frontend, Life life, boolean again) {
    var present = lives.get(frontend);
    if (present != null && (present.incarnation > life.incarnation || (present.incarnation == life.incarnation && !again))) {
      throw new StoreException("frontend %s is attached with incarnation %d, so not with incarnation %d".formatted(frontend, present.incarnation, life.incarnation));
    }
    if (present == null && lives.size() >= FRONTENDS_MAX) throw new StoreException("too many frontends are attached");
    var earlier = lost.note(frontend, life.incarnation);
    lives.put(frontend, life);
    gone.remove(frontend);
    return earlier;
  }

  private synchronized boolean open(String frontend, Life life) {
    if (lives.get(frontend) != life) return false;
    life.attached = true;
    return true;
  }

  private synchronized void end(String frontend, Life life) {
    lives.remove(frontend, life);
  }

  /** See {@link InboxServer#await}. */
  void await(String frontend, long incarnation, Connections connections, ScheduledExecutorService timer, Duration time) {
    detachUnlessBack(frontend, interrupted(frontend, incarnation, connections), timer, time);
  }

  /** Answers the number of this interruption. */
  private synchronized long interrupted(String frontend, long incarnation, Connections connections) {
    var present = lives.get(frontend);
    if (present != null && present.connections.equals(connections)) lives.remove(frontend);
    long number = ++lastInterruption;
    interruptions.merge(frontend, new Interruption(number, incarnation), (before, _) -> new Interruption(number, Math.max(before.incarnation, incarnation)));
    return number;
  }

  /** Of several interruptions the last one counts: the frontend was back after the others. */
  private void detachUnlessBack(String frontend, long interruption, ScheduledExecutorService timer, Duration time) {
    Runnable detach =
        () -> {
          try {
            detachAfter(frontend, interruption);
          } catch (StoreException refused) {
            detachUnlessBack(frontend, interruption, timer, time);
          }
        };
    try {
      var _ = timer.schedule(detach, time.toMillis(), TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      LOG.debug("Closed before frontend {} has attached again; the next leader waits for it", frontend);
    }
  }

  private void detachAfter(String frontend, long interruption) {
    @Nullable Interruption last;
    LostFrontends.@Nullable Attempt attempt;
    synchronized (this) {
      last = interruptions.get(frontend);
      if (last == null || last.number != interruption) return;
      attempt = hasCome(frontend, last.incarnation) ? null : lose(frontend, last.incarnation);
      interruptions.remove(frontend);
    }
    detached(frontend, last.incarnation, attempt);
  }

  private synchronized boolean isInterrupted(ConnectionId connection) {
    var last = interruptions.get(connection.frontend());
    return last != null && last.incarnation >= connection.incarnation();
  }

  /** See {@link InboxServer#detach}. */
  CompletableFuture<Void> detach(String frontend, long incarnation) {
    check(frontend, incarnation);
    LostFrontends.@Nullable Attempt attempt;
    try {
      attempt = lose(frontend, incarnation);
    } catch (StoreException refused) {
      return CompletableFuture.failedFuture(refused);
    }
    if (attempt == null) return CompletableFuture.completedFuture(null);
    awaitNoLonger(frontend);
    lost.propose(attempt.loss());
    return attempt.loss().recorded();
  }

  /** Answers null when a later life is there. */
  private synchronized LostFrontends.@Nullable Attempt lose(String frontend, long incarnation) {
    var present = lives.get(frontend);
    if (present != null && present.incarnation > incarnation) return null;
    var attempt = lost.note(frontend, incarnation + 1);
    lives.remove(frontend);
    if (gone.size() < FRONTENDS_MAX || gone.containsKey(frontend)) gone.put(frontend, incarnation);
    return attempt;
  }

  private static void check(String frontend, long incarnation) {
    if (frontend.isEmpty()) throw new IllegalArgumentException("a frontend without a name");
    if (incarnation < 0 || incarnation == Long.MAX_VALUE) throw new IllegalArgumentException("incarnation " + incarnation);
  }

  /**
   * Treats frontends as gone that sessions have connections of and that have not come; what has come in an earlier life than those goes with it. One that has come
   * and was interrupted has its own time.
   *
   * @return false when that has to be done again, since too many are lost
   */
  boolean detachAbsent(Iterable<SessionState> sessions) {
    var absent = new HashMap<String, Long>();
    for (SessionState session : sessions) {
      var owner = session.owner();
      if (owner != null && !hasCome(owner.frontend(), owner.incarnation()) && !isInterrupted(owner)) absent.merge(owner.frontend(), owner.incarnation(), Math::max);
    }
    try {
      absent.forEach(this::detachAbsent);
      return true;
    } catch (StoreException refused) {
      LOG.warn("Frontends that have not come back cannot be treated as lost yet, trying again: {}", refused.getMessage());
      return false;
    }
  }

  /** Treats one frontend as gone unless it has come, in this life or a later one. */
  private void detachAbsent(String frontend, long incarnation) {
    LostFrontends.@Nullable Attempt attempt;
    synchronized (this) {
      var interrupted = interruptions.get(frontend); // since the sessions were looked at: the timer of that interruption decides
      if (hasCome(frontend, incarnation) || (interrupted != null && interrupted.incarnation >= incarnation)) return;
      attempt = lose(frontend, incarnation);
    }
    detached(frontend, incarnation, attempt);
  }

  private void detached(String frontend, long incarnation, LostFrontends.@Nullable Attempt attempt) {
    if (attempt == null) return;
    LOG.warn("Frontend {}, incarnation {}, has not come back: its connections are treated as lost", frontend, incarnation);
    awaitNoLonger(frontend);
    lost.propose(attempt.loss());
  }

  /** Whether a frontend is attached, or about to be, in this life or a later one. */
  private boolean hasCome(String frontend, long incarnation) {
    var present = lives.get(frontend);
    return present != null && present.incarnation >= incarnation;
  }

  /** Whether the frontend of a connection is attached in the life that the connection is of. */
  boolean isAttached(ConnectionId connection) {
    var life = lifeOf(connection);
    return life != null && life.attached;
  }

  private @Nullable Life lifeOf(ConnectionId connection) {
    var life = lives.get(connection.frontend());
    return life == null || life.incarnation != connection.incarnation() ? null : life;
  }

  /** Also before it is attached: a connection that was found to be there must learn that another one has its session. */
  private @Nullable Connections of(ConnectionId connection) {
    var life = lifeOf(connection);
    return life == null ? null : life.connections;
  }

  @Override
  public void push(ConnectionId connection, InboxMessage message) {
    var frontend = of(connection);
    if (frontend == null) {
      meters.pushUndeliverable();
      if (message.sequence() == 0) meters.offline(message.message(), "");
      return;
    }
    try {
      frontend.push(connection, message);
    } catch (RuntimeException e) {
      LOG.error("{} did not take a message", connection, e);
    }
  }

  @Override
  public void behind(ConnectionId connection) {
    call(connection, "note that it is behind", frontend -> frontend.behind(connection));
  }

  @Override
  public void displaced(ConnectionId connection) {
    call(connection, "end for another", frontend -> frontend.displaced(connection));
  }

  @Override
  public void dismissed(ConnectionId connection) {
    call(connection, "end for an operator", frontend -> frontend.dismissed(connection));
  }

  /** What one frontend fails to do must not stop the thread that serves all. */
  private void call(ConnectionId connection, String what, Consumer<Connections> call) {
    var frontend = of(connection);
    if (frontend == null) return;
    try {
      call.accept(frontend);
    } catch (RuntimeException e) {
      LOG.error("{} did not {}", connection, what, e);
    }
  }

  /** Waits for a frontend that has not come to this leader yet, and for one whose link has been lost, for COMES_WITHIN; not for one that was treated as gone. */
  @Override
  public CompletableFuture<Void> settled(ConnectionId connection) {
    var frontend = of(connection);
    if (frontend == null) return settledOnceBack(connection, null);
    return frontend.settled(connection).exceptionallyCompose(_ -> settledOnceBack(connection, frontend));
  }

  /** @param closed over which it could not be asked; null for none */
  private CompletableFuture<Void> settledOnceBack(ConnectionId connection, @Nullable Connections closed) {
    return comes(connection, closed).thenCompose(
        _ -> {
          var frontend = of(connection);
          return frontend == null ? CompletableFuture.completedFuture(null) : frontend.settled(connection).exceptionally(_ -> null);
        });
  }

  /** Completes when a frontend has come, in the life of a connection or a later one, or does not come any more, or not in time. */
  private synchronized CompletableFuture<Void> comes(ConnectionId connection, @Nullable Connections closed) {
    String frontend = connection.frontend();
    boolean here = hasCome(frontend, connection.incarnation()) && (closed == null || !closed.equals(of(connection)));
    boolean over = gone.getOrDefault(frontend, -1L) >= connection.incarnation();
    if (here || over) return CompletableFuture.completedFuture(null);
    var present = coming.get(frontend);
    if (present != null) {
      present.incarnation = Math.max(present.incarnation, connection.incarnation());
      return present.comes;
    }
    if (coming.size() == FRONTENDS_MAX) return CompletableFuture.completedFuture(null);
    var awaited = new Coming(connection.incarnation());
    coming.put(frontend, awaited);
    awaited.comes.completeOnTimeout(null, COMES_WITHIN.toMillis(), TimeUnit.MILLISECONDS).whenComplete((_, _) -> forget(frontend, awaited));
    return awaited.comes;
  }

  private synchronized void forget(String frontend, Coming awaited) {
    coming.remove(frontend, awaited);
  }
}

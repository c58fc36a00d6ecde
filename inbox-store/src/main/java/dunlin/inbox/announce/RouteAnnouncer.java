package dunlin.inbox.announce;

import dunlin.inbox.InboxRoutes;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.range.Effects.RouteChange;
import dunlin.inbox.rows.RouteKey;
import dunlin.runtime.Failures;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Announces the topic filters of the shards to the dist tier, and repeats each announcement until it succeeds. */
public final class RouteAnnouncer {
  /*
   * Owner: the server's timer thread; other threads hand over through its queue, which keeps their order. A route has
   * one call at a time, and another one after it if the wanted state has changed since: so the last change wins,
   * whatever the order in which calls end. A route that is not needed any more before a call was begun is forgotten, if
   * the dist tier surely does not have it.
   * Bounds: IN_FLIGHT_MAX unanswered calls, and one entry for each waiting route: those that topic filters of present
   * sessions need, and those that are to be removed since the dist tier has them, or may have. So sessions that come and
   * go while the dist tier does not answer leave no more than the calls that were begun for them.
   * Failure: a caller that waits for a route gets the error at once; the announcement is repeated every RETRY. At most
   * one line a second is logged.
   */
  private static final Logger LOG = LoggerFactory.getLogger(RouteAnnouncer.class);
  private static final int IN_FLIGHT_MAX = 256;
  private static final Duration RETRY = Duration.ofSeconds(1);
  private static final CompletableFuture<Void> DONE = CompletableFuture.completedFuture(null);

  private final InboxRoutes routes;
  private final ScheduledExecutorService timer;
  private final Consumer<RouteKey> changed;
  private final Consumer<RouteKey> forgotten;
  private final Map<RouteKey, Pending> pending = new HashMap<>();
  private final LinkedHashSet<RouteKey> ready = new LinkedHashSet<>();
  private int inFlight;
  private long failuresNotLogged;
  private long lineDue = System.nanoTime();

  /** A copy for the gauge. */
  private volatile int waiting;

  private static final class Pending {
    private boolean wanted;

    /** Whether the dist tier may have the route. */
    private boolean there;

    /** Whether the route is in {@code ready}, is being announced, or waits for a retry. */
    private boolean busy;

    private List<CompletableFuture<Void>> waiters = new ArrayList<>();

    Pending(boolean there) {
      this.there = there;
    }
  }

  /**
   * @param changed called with each route before it is announced or removed, on the timer thread
   * @param forgotten called with each route that needs no call after all, on the timer thread
   */
  public RouteAnnouncer(InboxRoutes routes, ScheduledExecutorService timer, Consumer<RouteKey> changed, Consumer<RouteKey> forgotten) {
    this.routes = routes;
    this.timer = timer;
    this.changed = changed;
    this.forgotten = forgotten;
  }

  /** Number of routes that are not yet announced or removed as wanted. */
  public int waiting() {
    return waiting;
  }

  /** Announces the routes that are needed when the server begins; the dist tier may have them. Any thread. */
  public void begin(List<RouteKey> needed) {
    hand(
        () ->
            routes.together(
                () -> {
                  for (var route : needed) {
                    changed.accept(route);
                    want(route, true, true);
                  }
                }));
  }

  /** Announces changes in their order. Any thread; the calls of one thread keep their order. */
  public void change(List<RouteChange> changes) {
    hand(() -> routes.together(() -> changes.forEach(this::change)));
  }

  private void change(RouteChange change) {
    changed.accept(change.route());
    want(change.route(), change.wanted(), !change.wanted());
  }

  /** Removes routes that no session here needs. On the timer thread; a later change of a route wins. */
  void remove(List<RouteKey> strays) {
    strays.forEach(route -> want(route, false, true));
  }

  /** The dist tier has this route, as it has said. On the timer thread. */
  void found(RouteKey route) {
    var waits = pending.get(route);
    if (waits != null) waits.there = true;
  }

  /**
   * Completes when those of these routes are announced that are wanted according to the changes handed over before.
   */
  public CompletableFuture<Void> settled(List<RouteKey> keys) {
    return settled(keys, UnaryOperator.identity());
  }

  /** Like {@link #settled}, but also completes if there is no room for a route. */
  CompletableFuture<Void> settledOrFull(List<RouteKey> keys) {
    return settled(
        keys,
        each -> each.exceptionallyCompose(failure -> failure instanceof QuotaExceededException ? DONE : CompletableFuture.failedFuture(failure)));
  }

  /**
   * Like {@link #settledOrFull}, but does not fail with an announcement: it waits until a retry has succeeded. Fails
   * when the timer is shut down.
   */
  public CompletableFuture<Void> settledAtLast(List<RouteKey> keys) {
    return settledOrFull(keys)
        .exceptionallyCompose(failure -> timer.isShutdown() ? CompletableFuture.failedFuture(failure) : settledAtLast(keys));
  }

  private CompletableFuture<Void> settled(List<RouteKey> keys, UnaryOperator<CompletableFuture<Void>> judged) {
    var all = new CompletableFuture<Void>();
    boolean handed =
        hand(
            () -> {
              var each = new ArrayList<CompletableFuture<Void>>();
              for (RouteKey key : keys) {
                var waits = pending.get(key);
                if (waits == null) continue;
                var waiter = new CompletableFuture<Void>();
                waits.waiters.add(waiter);
                each.add(judged.apply(waiter));
              }
              var _ =
                  CompletableFuture.allOf(each.toArray(CompletableFuture[]::new)).whenComplete(
                      (_, failure) -> {
                        if (failure == null) all.complete(null);
                        else all.completeExceptionally(Failures.unwrapped(failure));
                      });
            });
    if (!handed) all.completeExceptionally(new StoreException("the session tier is closed"));
    return all;
  }

  /** Whether the server is closed; the next one announces all routes again. */
  public boolean isClosed() {
    return timer.isShutdown();
  }

  private boolean hand(Runnable work) {
    try {
      timer.execute(work);
      return true;
    } catch (RejectedExecutionException closed) {
      return false;
    }
  }

  /** @param there whether the dist tier may have it, if no change of it waits */
  private void want(RouteKey route, boolean wanted, boolean there) {
    var waits = pending.computeIfAbsent(route, _ -> new Pending(there));
    waits.wanted = wanted;
    if (!wanted && !waits.there) {
      forget(route, waits);
    } else if (!waits.busy) {
      waits.busy = true;
      ready.add(route);
    }
    pump();
  }

  private void forget(RouteKey route, Pending waits) {
    ready.remove(route);
    pending.remove(route);
    forgotten.accept(route);
    waits.waiters.forEach(each -> each.completeExceptionally(new StoreException("the subscription has ended")));
  }

  private void pump() {
    while (inFlight < IN_FLIGHT_MAX && !ready.isEmpty()) {
      var route = ready.removeFirst();
      var waits = pending.get(route);
      if (waits == null) continue;
      start(route, waits);
    }
    waiting = pending.size();
  }

  private void start(RouteKey route, Pending waits) {
    boolean wanted = waits.wanted;
    waits.there = true;
    inFlight++;
    var call =
        Failures.inFuture(
            () ->
                wanted
                    ? routes.add(route.shard(), route.tenant(), route.filter())
                    : routes.remove(route.shard(), route.tenant(), route.filter()));
    var _ = call.whenComplete((_, failure) -> hand(() -> ended(route, waits, wanted, failure)));
  }

  private void ended(
      RouteKey route, Pending waits, boolean announced, @Nullable Throwable failure) {
    inFlight--;
    var waiters = waits.waiters;
    waits.waiters = new ArrayList<>();
    if (failure != null) {
      log(route, failure);
      waiters.forEach(each -> each.completeExceptionally(Failures.unwrapped(failure)));
      var _ = timer.schedule(() -> again(route), RETRY.toMillis(), TimeUnit.MILLISECONDS);
    } else if (waits.wanted != announced) {
      waits.waiters = waiters;
      ready.add(route);
    } else {
      pending.remove(route);
      waiters.forEach(each -> each.complete(null));
    }
    pump();
  }

  private void log(RouteKey route, Throwable failure) {
    failuresNotLogged++;
    long now = System.nanoTime();
    if (now - lineDue < 0) return;
    lineDue = now + RETRY.toNanos();
    LOG.warn("Routes could not be announced, trying again: {} failures, the last one for {}: {}", failuresNotLogged, route, Failures.unwrapped(failure).toString());
    failuresNotLogged = 0;
  }

  private void again(RouteKey route) {
    ready.add(route);
    pump();
  }
}

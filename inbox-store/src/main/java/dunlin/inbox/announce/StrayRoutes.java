package dunlin.inbox.announce;

import dunlin.inbox.InboxRoutes;
import dunlin.inbox.InboxRoutes.Announced;
import dunlin.inbox.InboxRoutes.Page;
import dunlin.inbox.rows.RouteKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.runtime.Failures;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * After a start, finds the routes in the dist tier that no session needs, and removes them. A route is removed after
 * the session range has removed the last subscription for it. If the process ends between the two, the route stays and
 * brings messages that no session needs.
 */
public final class StrayRoutes {
  /*
   * A route is known if the range needed it at the start or if it has changed since; a change becomes known before it
   * is announced, and the announcer learns which known routes the dist tier has. So an unknown route in the dist tier is left over from before the start, and a route that a client
   * adds or removes during the search is never taken for one.
   *
   * Owner: the timer thread of the session tier; expect() and search() may be called by any.
   * Bounds: one page at a time; its stray routes are removed before the next page is requested. Known are the routes of
   * the start and CHANGED_MAX more; beyond that the search ends, and the next start begins a new one. After the end
   * nothing is kept.
   * Failure: a page that cannot be read is requested again after RETRY. The announcer repeats removals that fail, and
   * the search waits for them.
   */
  private static final Logger LOG = LoggerFactory.getLogger(StrayRoutes.class);
  private static final Duration RETRY = Duration.ofSeconds(1);
  static final int CHANGED_MAX = 100_000;

  private final InboxRoutes routes;
  private final ScheduledExecutorService timer;
  private final ShardInterval interval;
  private final IntConsumer removed;

  /** Null while no search is in progress. */
  private @Nullable Set<RouteKey> known;

  private int changes;
  private int strays;

  /** Whether the last reading of a page has failed, which is logged once. */
  private boolean unreadable;

  /**
   * @param interval the shards whose routes are checked; the last range also checks routes of higher shards
   * @param removed counts the routes that were removed
   */
  public StrayRoutes(InboxRoutes routes, ScheduledExecutorService timer, ShardInterval interval, IntConsumer removed) {
    this.routes = routes;
    this.timer = timer;
    this.interval = interval;
    this.removed = removed;
  }

  /** Sets the routes that are needed now. Later changes are reported by {@link #changed}. */
  public void expect(List<RouteKey> needed) {
    hand(() -> known = new HashSet<>(needed));
  }

  /** Notes a route that is about to be announced or removed. On the timer thread. */
  public void changed(RouteKey route) {
    if (known == null || !known.add(route) || ++changes <= CHANGED_MAX) return;
    LOG.warn("Too many routes have changed since the start to find those that no session needs; the next start searches for them");
    known = null;
  }

  /** Notes that a route was neither announced nor removed after all: if a page has it, it is left over. On the timer thread. */
  public void forgotten(RouteKey route) {
    if (known != null && known.remove(route)) changes--;
  }

  /** Checks all routes, once. */
  public void search(RouteAnnouncer announcer) {
    hand(() -> read(announcer, null));
  }

  private void read(RouteAnnouncer announcer, byte @Nullable [] from) {
    if (known == null) return;
    var page = Failures.inFuture(() -> routes.announced(from));
    var _ =
        page.whenComplete(
            (read, failure) ->
                hand(
                    () -> {
                      if (failure == null) {
                        unreadable = false;
                        compare(announcer, read);
                      } else {
                        if (!unreadable) LOG.warn("The announced routes are read again until the dist tier answers: {}", Failures.unwrapped(failure).getMessage());
                        unreadable = true;
                        later(() -> read(announcer, from));
                      }
                    }));
  }

  private void compare(RouteAnnouncer announcer, Page page) {
    var needed = known;
    if (needed == null) return;
    var unknown = new ArrayList<RouteKey>();
    for (Announced route : page.routes()) {
      var key = new RouteKey(Integer.parseInt(route.shard().name()), route.tenant(), route.filter());
      if (!isMine(key.shardNumber())) continue;
      if (needed.contains(key)) announcer.found(key);
      else unknown.add(key);
    }
    announcer.remove(unknown);
    whenRemoved(announcer, unknown, page.next());
  }

  private boolean isMine(int shard) {
    boolean last = interval.to() == interval.shards();
    return interval.contains(shard) || (last && shard >= interval.shards());
  }

  private void whenRemoved(RouteAnnouncer announcer, List<RouteKey> unknown, byte @Nullable [] next) {
    if (unknown.isEmpty()) {
      goOn(announcer, next);
      return;
    }
    var _ =
        announcer
            .settled(unknown)
            .whenComplete(
                (_, failure) ->
                    hand(
                        () -> {
                          if (failure != null) {
                            later(() -> whenRemoved(announcer, unknown, next));
                            return;
                          }
                          strays += unknown.size();
                          removed.accept(unknown.size());
                          goOn(announcer, next);
                        }));
  }

  private void goOn(RouteAnnouncer announcer, byte @Nullable [] next) {
    if (next != null) {
      read(announcer, next);
      return;
    }
    known = null;
    if (strays > 0) LOG.info("Removed {} routes that no session needs, left over from before the last start", strays);
  }

  private void hand(Runnable work) {
    try {
      timer.execute(work);
    } catch (RejectedExecutionException closed) {
      LOG.debug("Closed before all routes were checked; the next start checks them");
    }
  }

  private void later(Runnable work) {
    try {
      var _ = timer.schedule(work, RETRY.toMillis(), TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      LOG.debug("Closed before all routes were checked; the next start checks them");
    }
  }
}

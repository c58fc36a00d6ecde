package dunlin.tiers;

import dunlin.broker.ApplicationSubscriptions;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RoutePage;
import dunlin.model.ShardId;
import dunlin.runtime.Failures;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongPredicate;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Removes the routes of frontends that have been dead for long, and leaves those alone that such a frontend sets when it is back. */
final class DeadRoutes {
  /*
   * A frontend that was only cut off may be back at any time, also while its routes are being removed. It raises its incarnation before it has clients again
   * (FrontendLease). So its routes are read first, for the largest incarnation among them, and those up to that one are removed once the meta group has said
   * later that the frontend is still dead: what it had set until then is void, and what it sets afterwards has a larger incarnation.
   *
   *   waiting   dead, for less than the time
   *   reading   one page of its routes after the other; ranges that have none are not read (RouteServer)
   *   read      until the meta group is heard again, and the frontend is still dead
   *   removing  the range's leader does that, in steps behind newer commands (RouteServer)
   *   removed   until it is back
   *
   * Owner: one thread looks, many times a second; futures of others complete what it reads with its next look.
   * Bounds: an entry for each dead frontend of the map; one of them at a time is read and removed, with one page in every other look.
   * Failure: when routes cannot be read or removed, it begins again after the time. The next leader of the routes counts anew.
   */
  private static final Logger LOG = LoggerFactory.getLogger(DeadRoutes.class);

  private final RouteClient routes;
  private final LongPredicate heardSince;
  private final LongSupplier nanoTime;
  private final long afterNanos;
  private final Map<UUID, Long> deadSince = new HashMap<>();

  /** Dead, and their routes are removed. */
  private final Set<UUID> done = new HashSet<>();

  /** The one that is worked on. */
  private @Nullable Removal removal;

  /** Whether the meta group was heard between the end of its reading and the present map. */
  private boolean heard;

  /**
   * @param heardSince whether the meta group has said after a time which nodes are dead
   * @param after how long a frontend must have been dead; zero for never
   */
  DeadRoutes(RouteClient routes, LongPredicate heardSince, LongSupplier nanoTime, Duration after) {
    this.routes = routes;
    this.heardSince = heardSince;
    this.nanoTime = nanoTime;
    this.afterNanos = after.toNanos();
  }

  /** Called before the map is read that the next calls are about. */
  void beforeTheMap() {
    heard = removal != null && removal.read && heardSince.test(removal.readNanos);
  }

  /** A frontend is dead, as the map has it now. */
  void dead(UUID node) {
    if (afterNanos == 0 || done.contains(node)) return;
    long now = nanoTime.getAsLong();
    long since = deadSince.computeIfAbsent(node, _ -> now);
    if (removal == null && now - since >= afterNanos) removal = new Removal(node);
    if (removal != null && removal.node.equals(node)) look(removal, now);
  }

  /** A frontend is not dead, or not known to be. */
  void alive(UUID node) {
    deadSince.remove(node);
    done.remove(node);
    if (removal != null && removal.node.equals(node)) removal = null;
  }

  /** The nodes of the map: others are gone for good. */
  void among(Set<UUID> nodes) {
    deadSince.keySet().retainAll(nodes);
    done.retainAll(nodes);
    if (removal != null && !nodes.contains(removal.node)) removal = null;
  }

  private void look(Removal of, long now) {
    try {
      if (!of.step(now)) return;
      if (of.removed > 0) LOG.info("Node {} has been dead for {} s or more: {} routes of its clients were removed", of.node, Duration.ofNanos(afterNanos).toSeconds(), of.removed);
      done.add(of.node);
    } catch (RuntimeException failure) {
      LOG.warn("Routes of node {}, which is dead, could not be removed; that is tried again: {}", of.node, Failures.unwrapped(failure).getMessage());
      deadSince.put(of.node, now);
    }
    removal = null;
  }

  /** The work on one frontend: its routes for clients, and then those for its application. */
  private final class Removal {
    final UUID node;
    long removed;
    private final Deque<ShardId> shards;
    private long largest = -1;
    private long readNanos;
    private byte @Nullable [] next;
    private @Nullable CompletableFuture<RoutePage> page;
    private @Nullable CompletableFuture<Long> purge;
    private boolean read;

    Removal(UUID node) {
      this.node = node;
      shards = new ArrayDeque<>(List.of(ShardId.frontend(node.toString()), ApplicationSubscriptions.shardOf(node.toString())));
    }

    /** Does what can be done now, and answers whether all is done. */
    boolean step(long now) {
      var shard = shards.element();
      if (read) return purged(shard);
      var requested = page;
      if (requested == null) {
        page = routes.routesOf(shard, next);
        return false;
      }
      if (!requested.isDone()) return false;
      var arrived = requested.join();
      largest = arrived.routes().stream().mapToLong(Route::incarnation).reduce(largest, Math::max);
      page = null;
      next = arrived.next();
      if (next != null) return false;
      if (largest < 0) return nextShard();
      read = true;
      readNanos = now;
      return false;
    }

    private boolean purged(ShardId shard) {
      var begun = purge;
      if (begun == null) {
        if (heard) purge = routes.removeRoutesBefore(shard, largest + 1);
        return false;
      }
      if (!begun.isDone()) return false;
      removed += begun.join();
      return nextShard();
    }

    private boolean nextShard() {
      shards.remove();
      largest = -1;
      purge = null;
      read = false;
      return shards.isEmpty();
    }
  }
}

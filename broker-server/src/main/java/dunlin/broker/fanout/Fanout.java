package dunlin.broker.fanout;

import dunlin.broker.loop.Loop;
import dunlin.broker.loop.LoopThread;
import dunlin.broker.loop.Loops;
import dunlin.dist.Delivery;
import dunlin.dist.DistClient;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The second step of the fan-out: from this frontend, as a shard, to the event loops of its sessions. Subscribers on
 * the calling loop get the message at once; each other loop with subscribers gets it once, in this round's batch.
 */
public final class Fanout implements Delivery {
  /*
   * Owner: none; each event loop calls it for its own lane. A call keeps its temporary data on its stack.
   */
  private final ShardId shard;
  private final long incarnation;

  /** Set once, before an event loop delivers anything. */
  private LoopFanout[] parts = {};

  /**
   * @param shard the shard of this frontend in the dist tier
   * @param incarnation of this process; routes of smaller ones are void
   */
  public Fanout(ShardId shard, long incarnation) {
    this.shard = shard;
    this.incarnation = incarnation;
  }

  /** Creates the part of each event loop. */
  public void open(Loops all) {
    var made = new LoopFanout[all.count()];
    for (int i = 0; i < made.length; i++) made[i] = new LoopFanout(all.get(i), shard, incarnation);
    parts = made;
  }

  /**
   * Compares the dist tier's routes with the subscriptions, again and again.
   *
   * @param interval from the end of one comparison to the beginning of the next
   */
  public void auditRoutes(DistClient dist, Duration interval, MeterRegistry registry) {
    new RouteAudit(List.of(parts), shard, dist, interval, registry).start();
  }

  /** Sets all routes again with a larger incarnation. Completes when filters that are subscribed to from then on have it. Any thread. */
  public CompletableFuture<Void> renewRoutes(long larger) {
    return CompletableFuture.allOf(
        Arrays.stream(parts).map(part -> CompletableFuture.runAsync(() -> part.routes().renew(larger), part.loop()::post)).toArray(CompletableFuture[]::new));
  }

  /** The part of an event loop. */
  public LoopFanout on(int loop) {
    return parts[loop];
  }

  /** The part that keeps a filter's route and the members of its group. */
  public LoopFanout ownerOf(String tenant, TopicFilter filter) {
    return parts[RouteTable.ownerOf(tenant, filter, parts.length)];
  }

  /** The filter of a route, or null if the route belongs to an earlier life or the filter has been removed. */
  @Nullable FilterHandle filterOf(Route route) {
    if (route.incarnation() < incarnation) return null;
    FilterHandle handle = parts[route.handle() % parts.length].routes().byNumber(route.handle());
    return handle != null && handle.isOf(route) ? handle : null;
  }

  /** A handle of a group without members here, for a message whose route names such a group. */
  private FilterHandle withoutMembers(Route route) {
    return new FilterHandle(route.tenant(), route.filter(), route.handle(), parts.length);
  }

  @Override
  public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    Loop current = LoopThread.current();
    if (current == null) throw new IllegalStateException("a lane without an event loop");
    LoopFanout here = parts[current.index()];
    int plain = 0;
    FilterHandle only = null;
    for (int i = 0; i < routes.size(); i++) {
      Route route = routes.get(i);
      FilterHandle filter = filterOf(route);
      // The last member here has left after the route was picked. The group may have durable members.
      if (filter == null && route.filter().shared()) filter = withoutMembers(route);
      if (filter == null) continue;
      if (filter.group() == null) {
        plain++;
        only = filter;
        continue;
      }
      if (acknowledgement != null) acknowledgement.expect();
      here.groups().dispatch(message, filter, feedback, acknowledgement);
    }
    if (plain == 1 && only != null) {
      deliver(here, message, only, acknowledgement);
    } else if (plain > 1) {
      deliverSeveral(here, message, plainFilters(routes, plain), acknowledgement);
    }
    if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
  }

  private void deliver(
      LoopFanout here, Publication message, FilterHandle filter, @Nullable Acknowledgement acknowledgement) {
    for (long left = filter.loops(); left != 0; left &= left - 1) {
      int target = Long.numberOfTrailingZeros(left);
      if (target == here.loop().index()) {
        if (!here.deliverToSubscribers(message, filter, acknowledgement)) wait(here, message, new FilterHandle[] {filter}, acknowledgement);
      } else {
        passOn(here.loop(), target, message, filter, acknowledgement);
      }
    }
  }

  private void deliverSeveral(
      LoopFanout here, Publication message, FilterHandle[] filters, @Nullable Acknowledgement acknowledgement) {
    long loops = 0;
    for (FilterHandle filter : filters) loops |= filter.loops();
    for (long left = loops; left != 0; left &= left - 1) {
      int target = Long.numberOfTrailingZeros(left);
      if (target == here.loop().index()) {
        if (!here.deliverToSubscribers(message, filters, filters.length, acknowledgement)) wait(here, message, filters, acknowledgement);
      } else {
        passOn(here.loop(), target, message, filters, acknowledgement);
      }
    }
  }

  /** Lets a message with too many subscribers on this loop wait, with the credit that it holds. */
  private static void wait(
      LoopFanout here, Publication message, FilterHandle[] filters, @Nullable Acknowledgement acknowledgement) {
    if (acknowledgement != null) acknowledgement.expect();
    here.loop().window().take(message.body().length);
    here.wide().add(message, filters, acknowledgement, here.loop());
  }

  private void passOn(
      Loop from, int target, Publication message, Object filters, @Nullable Acknowledgement acknowledgement) {
    if (acknowledgement != null) acknowledgement.expect();
    from.window().take(message.body().length);
    from.batchTo(parts[target].loop()).add(message, filters, acknowledgement);
  }

  private FilterHandle[] plainFilters(MatchedRoutes routes, int count) {
    FilterHandle[] filters = new FilterHandle[count];
    int found = 0;
    for (int i = 0; i < routes.size() && found < count; i++) {
      FilterHandle filter = filterOf(routes.get(i));
      if (filter != null && filter.group() == null) filters[found++] = filter;
    }
    return found == count ? filters : Arrays.copyOf(filters, found);
  }

  @Override
  public int groupCredit(Route route) {
    FilterHandle filter = filterOf(route);
    ShareGroup group = filter == null ? null : filter.group();
    return group == null ? 0 : group.credit();
  }
}

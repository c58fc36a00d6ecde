package dunlin.broker;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.Route;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The second step of the fan-out: from this frontend as a shard to the event loops of its sessions. Subscribers of the
 * calling loop get the message at once, each other loop that has any gets it once, in this round's batch.
 */
final class Fanout implements Delivery {
  /*
   * Owner: none; each event loop calls it for its own lane. The scratch of a call lives on its stack.
   */
  private final Frontend frontend;

  Fanout(Frontend frontend) {
    this.frontend = frontend;
  }

  @Override
  public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    Loop loop = LoopThread.current();
    if (loop == null) throw new IllegalStateException("a lane without an event loop");
    int plain = 0;
    FilterHandle only = null;
    for (int i = 0; i < routes.size(); i++) {
      Route route = routes.get(i);
      FilterHandle filter = frontend.filterOf(route);
      // The last member here has left since the route was picked. The group may have durable members.
      if (filter == null && route.filter().shared()) filter = frontend.withoutMembers(route);
      if (filter == null) continue;
      if (filter.group() == null) {
        plain++;
        only = filter;
        continue;
      }
      if (acknowledgement != null) acknowledgement.expect();
      loop.groups().dispatch(message, filter, feedback, acknowledgement);
    }
    if (plain == 1 && only != null) {
      deliver(loop, message, only, acknowledgement);
    } else if (plain > 1) {
      deliverSeveral(loop, message, plainFilters(routes, plain), acknowledgement);
    }
    if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
  }

  private void deliver(
      Loop loop, Publication message, FilterHandle filter, @Nullable Acknowledgement acknowledgement) {
    for (long left = filter.loops(); left != 0; left &= left - 1) {
      int target = Long.numberOfTrailingZeros(left);
      if (target == loop.index()) {
        if (!loop.deliverToSubscribers(message, filter, acknowledgement)) wait(loop, message, new FilterHandle[] {filter}, acknowledgement);
      } else {
        passOn(loop, target, message, filter, acknowledgement);
      }
    }
  }

  private void deliverSeveral(
      Loop loop, Publication message, FilterHandle[] filters, @Nullable Acknowledgement acknowledgement) {
    long loops = 0;
    for (FilterHandle filter : filters) loops |= filter.loops();
    for (long left = loops; left != 0; left &= left - 1) {
      int target = Long.numberOfTrailingZeros(left);
      if (target == loop.index()) {
        if (!loop.deliverToSubscribers(message, filters, filters.length, acknowledgement)) wait(loop, message, filters, acknowledgement);
      } else {
        passOn(loop, target, message, filters, acknowledgement);
      }
    }
  }

  /** Has a message wait that has too many subscribers on this loop, with the credit that it holds. */
  private static void wait(
      Loop loop, Publication message, FilterHandle[] filters, @Nullable Acknowledgement acknowledgement) {
    if (acknowledgement != null) acknowledgement.expect();
    loop.window().take(message.body().length);
    loop.wide().add(message, filters, acknowledgement, loop);
  }

  private void passOn(
      Loop loop, int target, Publication message, Object filters, @Nullable Acknowledgement acknowledgement) {
    if (acknowledgement != null) acknowledgement.expect();
    loop.window().take(message.body().length);
    loop.batchTo(frontend.loop(target)).add(message, filters, acknowledgement);
  }

  private FilterHandle[] plainFilters(MatchedRoutes routes, int count) {
    FilterHandle[] filters = new FilterHandle[count];
    int found = 0;
    for (int i = 0; i < routes.size() && found < count; i++) {
      FilterHandle filter = frontend.filterOf(routes.get(i));
      if (filter != null && filter.group() == null) filters[found++] = filter;
    }
    return found == count ? filters : Arrays.copyOf(filters, found);
  }

  @Override
  public int groupCredit(Route route) {
    FilterHandle filter = frontend.filterOf(route);
    ShareGroup group = filter == null ? null : filter.group();
    return group == null ? 0 : group.credit();
  }
}

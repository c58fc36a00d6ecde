package dunlin.tiers;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.inbox.server.InboxServer;
import dunlin.model.Publication;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The session tier as a destination of the dist tier: all inbox shards of a server together, which are those of all ranges, or of one that this node leads. */
public final class InboxDelivery implements Delivery {
  private final InboxServer inbox;

  public InboxDelivery(InboxServer inbox) {
    this.inbox = inbox;
  }

  @Override
  public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    if (inbox.isOneRange()) {
      inbox.deliver(message, groups(routes), acknowledgement);
      return;
    }
    var matched = inbox.matched();
    for (int i = 0; i < routes.size(); i++) matched.add(routes.get(i).shard(), routes.get(i).filter());
    inbox.deliver(message, matched, acknowledgement);
  }

  private static List<TopicFilter> groups(MatchedRoutes routes) {
    List<TopicFilter> groups = List.of();
    for (int i = 0; i < routes.size(); i++) {
      TopicFilter filter = routes.get(i).filter();
      if (!filter.shared()) continue;
      if (groups.isEmpty()) groups = new ArrayList<>(2);
      groups.add(filter);
    }
    return groups;
  }

  @Override
  public int groupCredit(Route route) {
    return inbox.groupCredit(route.shard(), route.tenant(), route.filter());
  }
}

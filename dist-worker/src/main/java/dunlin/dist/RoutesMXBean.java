package dunlin.dist;

import dunlin.dist.route.Route;
import dunlin.runtime.metrics.Description;
import dunlin.runtime.metrics.Unit;
import java.util.List;
import java.util.Locale;

/** The routes as operators see them by JMX, at the node that leads them: {@code dunlin:type=Routes,node=<id>}. */
@Description("The routes: which frontends and which shards of durable sessions get which messages")
public interface RoutesMXBean {
  /**
   * @param filter as SUBSCRIBE spells it, with $share or $oshare and the group, if it is shared
   * @param group the name of the group, to one of whose destinations a message goes; empty without one
   * @param destination {@code frontend} for connected sessions that end with their connections, {@code inbox} for durable sessions
   * @param shard the id of the frontend's node, or the number of the shard of durable sessions
   */
  record RouteRow(String filter, String group, String destination, String shard) {
    static RouteRow of(Route route) {
      return new RouteRow(
          route.filter().text(), route.filter().group(), route.shard().kind().name().toLowerCase(Locale.ROOT), route.shard().name());
    }

    /** Its place in the order of routes, as {@link #match} takes it. */
    public String place() {
      return filter + " " + destination + ":" + shard;
    }
  }

  /**
   * What has become of messages that were matched: {@code received = forwarded + unmatched + returned}.
   *
   * @param forwarded handed to at least one destination
   * @param unmatched without a route, or only with routes to nodes that are gone; they have no subscriber
   * @param returned to their senders, since a node with subscribers was not known yet; they are sent again
   */
  record RouteAccount(long received, long forwarded, long unmatched, long returned) {
    RouteAccount plus(RouteAccount other) {
      return new RouteAccount(received + other.received, forwarded + other.forwarded, unmatched + other.unmatched, returned + other.returned);
    }
  }

  @Description("What has become of the messages that were matched on this node, since it has led the routes. In each answer all of them are accounted for")
  RouteAccount getAccount();

  @Description("Number of routes of all tenants")
  @Unit("routes")
  long getRoutes();

  @Description("Lists the routes of all topic filters that match a topic, by their topic filters: a message goes to all without a group, and to one of each group")
  List<RouteRow> match(
      @Description("Tenant of the publisher") String tenant,
      @Description("Topic name") String topic,
      @Description("The last route of the previous page as <filter> <destination>:<shard>; empty for the first page") String after,
      @Description("Maximum number of routes in the answer: 1 to 1000") @Unit("routes") int max);
}

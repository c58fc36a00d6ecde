package dunlin.dist;

import dunlin.dist.route.FilterRoutes;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteServer;
import dunlin.runtime.FirstRows;
import dunlin.runtime.metrics.NodeBeans;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;

/** Looks up routes for an operator, in the index that lanes read. */
final class RouteOperations implements RoutesMXBean {
  /*
   * Owner: any thread. All ranges are asked, since those without a match cost little.
   * Bounds: ROWS_MAX routes; each page visits all routes that match.
   */
  private static final int ROWS_MAX = 1_000;
  private static final int TOPIC_MAX = 65_535;

  private final List<RouteServer> servers;

  /** @param servers one for each range */
  RouteOperations(List<RouteServer> servers) {
    this.servers = List.copyOf(servers);
  }

  @Override
  public long getRoutes() {
    return servers.stream().mapToLong(server -> server.applied().size()).sum();
  }

  @Override
  public List<RouteRow> match(String tenant, String topic, String after, int max) {
    NodeBeans.requireMax(max, ROWS_MAX);
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    if (name.length == 0 || name.length > TOPIC_MAX) throw new IllegalArgumentException("a topic name has 1 to %d bytes".formatted(TOPIC_MAX));
    if (topic.chars().anyMatch(c -> c == '+' || c == '#' || c == 0)) {
      throw new IllegalArgumentException("a topic name has no wildcards, + and #, and no character U+0000");
    }
    var first = new FirstRows<RouteRow>(Comparator.comparing(RouteRow::place), max);
    for (RouteServer server : servers) {
      server.applied().index().match(tenant, name, 0, name.length, routes -> offer(routes, after, first));
    }
    return first.inOrder();
  }

  private static void offer(FilterRoutes routes, String after, FirstRows<RouteRow> first) {
    offer(routes.plain(), after, first);
    for (FilterRoutes.Group group : routes.groups()) offer(group.routes(), after, first);
  }

  private static void offer(Route[] routes, String after, FirstRows<RouteRow> first) {
    for (Route route : routes) {
      RouteRow row = RouteRow.of(route);
      if (row.place().compareTo(after) > 0) first.offer(row);
    }
  }
}

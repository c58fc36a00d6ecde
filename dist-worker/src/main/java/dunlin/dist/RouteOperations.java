package dunlin.dist;

import dunlin.dist.route.FilterRoutes;
import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteMatch;
import dunlin.dist.route.RouteServer;
import dunlin.dist.route.RouteView;
import dunlin.runtime.Failures;
import dunlin.runtime.FirstRows;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Looks up routes for an operator, in the index that lanes read, and where other nodes lead ranges, by asking these. */
final class RouteOperations implements RoutesMXBean {
  /*
   * Owner: any thread. All ranges are asked, since those without a match cost little.
   * Bounds: ROWS_MAX routes; each page visits all routes that match. Other ranges answer within ANSWER_MILLIS, and only those that a topic may visit are asked.
   * Failure: while a range is not known, or does not answer, there is no page.
   */
  private static final long ANSWER_MILLIS = 2_000;
  private static final int ROWS_MAX = 1_000;
  private static final int TOPIC_MAX = 65_535;

  private final List<RouteServer> servers;

  /** All ranges as they are known now; null where there are none beside those of the servers. */
  private final @Nullable Supplier<RouteView> views;

  private final LongSupplier elsewhere;
  private final List<LocalLane> lanes;

  /**
   * @param servers one for each range
   * @param lanes grows as lanes are opened
   */
  RouteOperations(List<RouteServer> servers, List<LocalLane> lanes) {
    this(servers, null, () -> 0, lanes);
  }

  /**
   * In a cluster.
   *
   * @param servers that of the first range
   * @param elsewhere how many routes other ranges have
   * @param lanes as above
   */
  RouteOperations(List<RouteServer> servers, @Nullable Supplier<RouteView> views, LongSupplier elsewhere, List<LocalLane> lanes) {
    this.servers = List.copyOf(servers);
    this.views = views;
    this.elsewhere = elsewhere;
    this.lanes = lanes;
  }

  /** Each lane reads its own counts between two messages, so that the sum of what they say is right. */
  @Override
  public RouteAccount getAccount() {
    var asked = lanes.stream().map(LocalLane::account).toList();
    var sum = new RouteAccount(0, 0, 0, 0);
    for (var answer : asked) sum = sum.plus(join(answer, "a lane to the routes has not said what it has counted"));
    return sum;
  }

  @Override
  public long getRoutes() {
    return servers.stream().mapToLong(server -> server.applied().size()).sum() + elsewhere.getAsLong();
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
      server.applied().match(tenant, name, 0, name.length, routes -> offer(routes, after, first));
    }
    if (views != null) for (FilterRoutes routes : elsewhere(views.get(), tenant, name)) offer(routes, after, first);
    return first.inOrder();
  }

  private static List<FilterRoutes> elsewhere(RouteView view, String tenant, byte[] topic) {
    boolean[] in = view.search().in(tenant, topic, topic.length);
    var asked = new ArrayList<CompletableFuture<RouteMatch>>();
    for (int part = 1; part < in.length; part++) {
      if (!in[part]) continue;
      asked.add(view.part(part).orElseThrow(() -> new StoreException("a range of routes was just split; ask again")).match(tenant, topic, MatchSignature.NONE));
    }
    var found = new ArrayList<FilterRoutes>();
    for (var answer : asked) if (join(answer, "the leader of a range of routes does not answer") instanceof RouteMatch.Found(_, var routes, _)) found.addAll(FilterRoutes.of(routes));
    return found;
  }

  private static <T> T join(CompletableFuture<T> answer, String failed) {
    try {
      return answer.orTimeout(ANSWER_MILLIS, TimeUnit.MILLISECONDS).join();
    } catch (CompletionException e) {
      throw new StoreException(failed + ": " + Failures.unwrapped(e).getMessage(), e);
    }
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

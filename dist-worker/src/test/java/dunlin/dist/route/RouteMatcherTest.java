package dunlin.dist.route;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RouteMatcherTest {
  private static final byte[] ALL = {};

  private final RouteRange routes = new RouteRange();
  private final InMemoryRange<RouteCommand, RouteResult> range = new InMemoryRange<>(new RouteCodec(), routes);
  private final RouteServer server = new RouteServer("routes", RouteReplica.alone(range, routes), new RouteQuota(1 << 20, 100, () -> 0, _ -> 0), 100);
  private final RouteMatcher matcher = new RouteMatcher(routes);

  private static Route route(String filter, ShardId shard, int handle) {
    return new Route("t", TopicFilter.parse(filter).orElseThrow(), shard, 1, handle);
  }

  private Route add(String filter, ShardId shard, int handle) {
    var route = route(filter, shard, handle);
    var added = server.addRoute(1, route);
    range.applyAll();
    assertThat(added).isCompleted();
    return route;
  }

  private void remove(Route route) {
    var removed = server.removeRoute(1, route);
    range.applyAll();
    assertThat(removed).isCompleted();
  }

  private static byte[] topic(String name) {
    return name.getBytes(StandardCharsets.UTF_8);
  }

  private RouteMatch match(String topic, MatchSignature known) {
    return matcher.match("t", topic(topic), known, ALL);
  }

  private RouteMatch.Found found(String topic) {
    assertThat(match(topic, MatchSignature.NONE)).isInstanceOf(RouteMatch.Found.class);
    return (RouteMatch.Found) match(topic, MatchSignature.NONE);
  }

  @Test
  void allRoutesOfMatchingFiltersAreFound() {
    var plain = add("a/+", ShardId.frontend("n"), 1);
    var shared = add("$share/g/a/b", ShardId.inbox(2), 0);
    var other = add("a/+", ShardId.inbox(3), 0);
    add("b/+", ShardId.inbox(3), 0);

    var found = found("a/b");

    assertThat(found.routes()).containsExactlyInAnyOrder(plain, shared, other);
    assertThat(found.next()).isNull();
    assertThat(found("nothing").routes()).isEmpty();
    assertThat(match("nothing", found("nothing").signature())).isEqualTo(new RouteMatch.Unchanged());
  }

  @Test
  void anyChangeOfTheRoutesChangesTheSignature() {
    var first = add("a", ShardId.frontend("n"), 1);
    var signatures = new ArrayList<MatchSignature>();
    signatures.add(found("a").signature());
    assertThat(match("a", signatures.getLast())).isEqualTo(new RouteMatch.Unchanged());
    add("b", ShardId.frontend("n"), 9);
    assertThat(match("a", signatures.getLast())).as("a filter that the topic does not match").isEqualTo(new RouteMatch.Unchanged());

    add("a", ShardId.frontend("n"), 2); // another handle
    signatures.add(found("a").signature());
    add("#", ShardId.frontend("n"), 3);
    signatures.add(found("a").signature());
    add("$share/g/a", ShardId.frontend("n"), 4);
    signatures.add(found("a").signature());
    add("a", ShardId.inbox(1), 0);
    signatures.add(found("a").signature());
    remove(first);
    signatures.add(found("a").signature());

    assertThat(signatures).doesNotHaveDuplicates();
    assertThat(new RouteMatcher(routes).match("t", topic("a"), signatures.getLast(), ALL)).as("of another leadership").isInstanceOf(RouteMatch.Found.class);
  }

  @Test
  void manyRoutesComeInPieces() {
    var all = new ArrayList<Route>();
    for (int i = 0; i < 50; i++) all.add(add(i % 2 == 0 ? "a/b" : "a/+", ShardId.inbox(i), 0));
    var small = new RouteMatcher(routes, 500);
    var read = new ArrayList<Route>();
    byte @Nullable [] after = ALL;
    int pieces = 0;
    while (after != null) {
      var piece = (RouteMatch.Found) small.match("t", topic("a/b"), MatchSignature.NONE, after);
      read.addAll(piece.routes());
      after = piece.next();
      pieces++;
    }

    assertThat(read).containsExactlyInAnyOrderElementsOf(all);
    assertThat(pieces).isGreaterThan(5);
    assertThat(FilterRoutes.of(read)).as("routes of a filter stand together").hasSize(2);
  }

  @Test
  void routesAreGroupedByFilterAndGroup() {
    var routesOfTwo =
        List.of(
            route("a", ShardId.inbox(1), 0), route("a", ShardId.inbox(2), 0), route("$share/g/a", ShardId.inbox(1), 0), route("$oshare/g/a", ShardId.inbox(1), 0),
            route("#", ShardId.inbox(1), 0));

    var filters = FilterRoutes.of(routesOfTwo);

    assertThat(filters).hasSize(2);
    assertThat(filters.getFirst().plain()).hasSize(2);
    assertThat(filters.getFirst().groups()).extracting(FilterRoutes.Group::ordered).containsExactly(false, true);
    assertThat(filters.getLast().plain()).hasSize(1);
    assertThat(FilterRoutes.of(List.of())).isEmpty();
  }
}

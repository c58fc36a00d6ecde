package dunlin.dist.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class RouteRowsTest {
  private static final List<ShardId> SHARDS =
      List.of(
          new ShardId(ShardId.Kind.FRONTEND, "f1"), new ShardId(ShardId.Kind.FRONTEND, "f11"), new ShardId(ShardId.Kind.FRONTEND, "1f1"), new ShardId(ShardId.Kind.INBOX, "f1"),
          new ShardId(ShardId.Kind.INBOX, "1"));

  private static List<Route> routes() {
    var routes = new ArrayList<Route>();
    for (String tenant : List.of("", "t", "täglich"))
      for (String filter : List.of("a/b", "#", "$share/g/a/b", "$oshare/gruppe-ä/+/b"))
        for (ShardId shard : SHARDS) routes.add(new Route(tenant, TopicFilter.parse(filter).orElseThrow(), shard, 1, 2));
    return routes;
  }

  @Test
  void keysTellTheirShards() {
    for (Route route : routes()) {
      byte[] key = RouteRows.key(route);
      for (ShardId shard : SHARDS) assertThat(RouteRows.of(shard).test(key)).as("%s of %s", route, shard).isEqualTo(route.shard().equals(shard));
      for (ShardId.Kind kind : ShardId.Kind.values()) assertThat(RouteRows.of(kind).test(key)).as("%s of %s", route, kind).isEqualTo(route.shard().kind() == kind);
    }
  }

  @Test
  void aKeyWithoutAShardIsRefused() {
    byte[] key = RouteRows.key(routes().getFirst());
    for (int length = 0; length < key.length - 2; length++) {
      byte[] cut = Arrays.copyOf(key, length);
      assertThatThrownBy(() -> RouteRows.of(SHARDS.getFirst()).test(cut)).as("%d bytes", length).isInstanceOf(IllegalStateException.class);
    }
  }
}

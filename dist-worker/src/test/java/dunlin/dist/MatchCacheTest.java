package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.FilterRoutes;
import dunlin.dist.route.MatchSignature;
import dunlin.dist.route.Route;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class MatchCacheTest {
  private static final UUID RANGE = new UUID(0, 2);
  private static final MatchSignature SIGNATURE = new MatchSignature(1, 2, 3);
  private static final Route ROUTE = new Route("t", TopicFilter.plain("x"), ShardId.inbox(1), 1, 0);

  private final MatchCache cache = new MatchCache();

  private static MatchCache.Key key(String topic) {
    return new MatchCache.Key(RANGE, "t", topic);
  }

  private void put(String topic, List<Route> routes) {
    cache.put(key(topic), SIGNATURE, routes, FilterRoutes.of(routes));
  }

  @Test
  void whatIsKeptIsOfOneRangeAndTenant() {
    put("x", List.of(ROUTE));

    assertThat(cache.get(key("x"))).isNotNull();
    assertThat(cache.get(new MatchCache.Key(new UUID(0, 3), "t", "x"))).isNull();
    assertThat(cache.get(new MatchCache.Key(RANGE, "u", "x"))).isNull();
  }

  @Test
  void topicsThatWereNotPublishedForLongGoFirst() {
    put("first", List.of(ROUTE));
    for (int i = 0; i < 10_000; i++) {
      put("t" + i, List.of(ROUTE));
      assertThat(cache.bytes()).isLessThanOrEqualTo(MatchCache.BYTES_MAX);
      assertThat(cache.get(key("first"))).as("it is used all the time").isNotNull();
    }

    assertThat(cache.get(key("t0"))).isNull();
    assertThat(cache.get(key("t9999"))).isNotNull();
  }

  @Test
  void aTopicIsCountedOnceHoweverOftenItIsPut() {
    put("x", List.of(ROUTE));
    long once = cache.bytes();
    put("x", List.of(ROUTE));

    assertThat(cache.bytes()).isEqualTo(once);
  }

  @Test
  void aTopicWithVeryManyRoutesIsNotKept() {
    put("x", List.of(ROUTE));
    put("x", Collections.nCopies(10_000, ROUTE));

    assertThat(cache.get(key("x"))).isNull();
    assertThat(cache.bytes()).isZero();
  }
}

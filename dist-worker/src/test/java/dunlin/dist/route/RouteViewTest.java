package dunlin.dist.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class RouteViewTest {
  private static final RangeDescriptor WHOLE = new RangeDescriptor(new UUID(0, 1), RouteReplica.KIND, KeyInterval.all(), 1, List.of(), null);
  private static final RangeDescriptor LOWER = WHOLE.lower(key("g"));
  private static final RangeDescriptor MIDDLE_AND_UPPER = WHOLE.upper(key("g"), new UUID(0, 2), new RangeDescriptor.Origin(WHOLE.id(), 1, 1));
  private static final RangeDescriptor MIDDLE = MIDDLE_AND_UPPER.lower(key("p"));
  private static final RangeDescriptor UPPER = MIDDLE_AND_UPPER.upper(key("p"), new UUID(0, 3), new RangeDescriptor.Origin(MIDDLE.id(), 1, 1));

  private static byte[] key(String filter) {
    byte[] text = filter.getBytes(StandardCharsets.UTF_8);
    return RouteRows.prefix("t", text, text.length);
  }

  private record Known(UUID range) implements RouteView.Other {
    @Override
    public CompletableFuture<RouteMatch> match(String tenant, byte[] topic, MatchSignature known) {
      throw new UnsupportedOperationException();
    }
  }

  private static RouteView view(RangeDescriptor own, RangeDescriptor... map) {
    return RouteView.of(own, List.of(map), range -> new Known(range.id()));
  }

  /** The numbers of the ranges that a topic visits beside the first one; 0 for an unknown one. */
  private static List<Long> visited(RouteView view, String topic) {
    byte[] name = topic.getBytes(StandardCharsets.UTF_8);
    boolean[] in = view.search().in("t", name, name.length);
    var visited = new ArrayList<Long>();
    for (int part = 1; part < in.length; part++) if (in[part]) visited.add(view.part(part).map(other -> other.range().getLeastSignificantBits()).orElse(0L));
    return visited;
  }

  @Test
  void theWholeHasNoOthers() {
    assertThat(visited(view(WHOLE, WHOLE), "x")).isEmpty();
    assertThat(visited(RouteView.whole(), "x")).isEmpty();
    assertThat(view(LOWER, LOWER).epoch()).isEqualTo(2);
  }

  @Test
  void eachTopicVisitsTheRangeOfItsFilters() {
    var view = view(LOWER, UPPER, LOWER, MIDDLE);

    assertThat(visited(view, "a")).isEmpty();
    assertThat(visited(view, "h/1")).containsExactly(2L);
    assertThat(visited(view, "x/1")).containsExactly(3L);
  }

  @Test
  void whatTheMapDoesNotShowYetIsAPartWithoutARange() {
    assertThat(visited(view(LOWER, WHOLE), "x")).as("the map is from before the first split").containsExactly(0L);
    var late = view(LOWER, LOWER, MIDDLE);
    assertThat(visited(late, "h")).containsExactly(2L);
    assertThat(visited(late, "x")).as("behind the last range").containsExactly(0L);
    var hole = view(LOWER, LOWER, UPPER);
    assertThat(visited(hole, "h")).as("between two ranges").containsExactly(0L);
    assertThat(visited(hole, "x")).containsExactly(3L);
  }

  /** The rows of the own range are newer than the map, or older: they are what is matched. */
  @Test
  void theOwnKeysAreThoseOfTheOwnRows() {
    assertThat(visited(view(WHOLE, LOWER, MIDDLE, UPPER), "x")).isEmpty();
  }

  @Test
  void onlyTheFirstRangeHasAView() {
    assertThatThrownBy(() -> view(UPPER, LOWER, MIDDLE)).isInstanceOf(IllegalArgumentException.class);
  }
}

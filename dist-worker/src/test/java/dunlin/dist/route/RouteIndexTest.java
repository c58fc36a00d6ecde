package dunlin.dist.route;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.RouteCommand.Add;
import dunlin.dist.route.RouteCommand.Remove;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Two ranges that have just been one: each has a thread that applies commands, one that settles, and one that matches. */
class RouteIndexTest {
  private static final int FILTERS = 20_000;
  private static final int CUT = 12_000;
  private static final int COMMANDS = 4_000;
  private static final int STAYS = 10;
  private static final String TENANT = "default";
  private static final ShardId SHARD = ShardId.frontend("one");
  private static final ShardId OTHER = ShardId.frontend("other");
  private static final TopicFilter ALL = TopicFilter.plain("f/#");

  static LongStream seeds() {
    return LongStream.range(0, 6);
  }

  private static String level(int number) {
    return "f/%05d".formatted(number);
  }

  private static TopicFilter filter(int number) {
    return TopicFilter.plain(level(number) + "/+");
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void bothGoOnWhileTheySettle(long seed) throws Exception {
    var rows = new InMemoryRange.Rows();
    var parent = new RouteRange();
    var all = new ArrayList<RouteCommand>();
    all.add(new Add(new Route(TENANT, ALL, SHARD, 1, 1)));
    for (int i = 0; i < FILTERS; i++) all.add(new Add(new Route(TENANT, filter(i), SHARD, 1, 1)));
    parent.apply(all, rows);
    byte[] from = RouteRows.first(TENANT, level(CUT));
    var upperRows = new InMemoryRange.Rows();
    upperRows.map.putAll(rows.map.tailMap(from, true));
    rows.map.tailMap(from, true).clear();
    var child = new RouteRange();

    parent.cut(rows, from);
    assertThat(child.openSplit(parent, from)).as("seed %d", seed).isTrue();
    var parts = List.of(new Part(seed, parent, rows, 0, CUT), new Part(seed, child, upperRows, CUT, FILTERS));
    try (var threads = Executors.newCachedThreadPool()) {
      var ends = parts.stream().flatMap(part -> part.run(threads).stream()).toList();
      for (var end : ends) end.get(60, TimeUnit.SECONDS);
    }

    for (Part part : parts) part.isAsItsRows();
  }

  /** A match costs by their number ever after, so a split must not let more of them in. */
  @Test
  void newPatternsAreJudgedByThoseOfTheRangeBeforeUntilThePartIsCounted() {
    var rows = new InMemoryRange.Rows();
    var parent = new RouteRange();
    var _ = parent.apply(List.of(new Add(new Route(TENANT, TopicFilter.plain("a/+"), SHARD, 1, 1)), new Add(new Route(TENANT, TopicFilter.plain("f/+/x"), SHARD, 1, 1))), rows);
    int before = parent.patterns().size(TENANT);
    byte[] from = RouteRows.first(TENANT, "f");
    var upperRows = new InMemoryRange.Rows();
    upperRows.map.putAll(rows.map.tailMap(from, true));
    rows.map.tailMap(from, true).clear();
    var child = new RouteRange();
    parent.cut(rows, from);
    assertThat(child.openSplit(parent, from)).isTrue();

    assertThat(parent.patterns().take(TENANT, "b/c/+", before)).as("a new pattern").isFalse();
    assertThat(child.patterns().take(TENANT, "g/h/+", before)).as("a new pattern").isFalse();
    var _ = child.apply(List.of(new Add(new Route(TENANT, TopicFilter.plain("g/h/+"), SHARD, 1, 1))), upperRows);
    assertThat(parent.patterns().size(TENANT)).as("both parts together").isEqualTo(before + 1);

    parent.settle(() -> false);
    child.settle(() -> false);
    assertThat(parent.patterns().size(TENANT)).isEqualTo(1);
    assertThat(child.patterns().size(TENANT)).isEqualTo(before + 1);
  }

  private static final class Part {
    private final long seed;
    private final RouteRange range;
    private final InMemoryRange.Rows rows;
    private final int first;
    private final int end;
    private final CountDownLatch changed = new CountDownLatch(2);

    Part(long seed, RouteRange range, InMemoryRange.Rows rows, int first, int end) {
      this.seed = seed;
      this.range = range;
      this.rows = rows;
      this.first = first;
      this.end = end;
    }

    List<CompletableFuture<Void>> run(ExecutorService threads) {
      return List.of(
          CompletableFuture.runAsync(this::change, threads), CompletableFuture.runAsync(this::settle, threads), CompletableFuture.runAsync(this::match, threads));
    }

    private void settle() {
      try {
        range.settle(() -> false);
      } finally {
        changed.countDown();
      }
    }

    /** Changes routes of all filters but those that stay: routes that are there, others of the same filter, and those of new filters. */
    private void change() {
      var random = new Random(seed * 2 + first);
      try {
        for (int i = 0; i < COMMANDS; i++) {
          int number = first + random.nextInt(end - first);
          if (number % STAYS == 0) continue;
          var filter = random.nextInt(5) == 0 ? TopicFilter.plain(level(number) + "/new") : filter(number);
          var shard = random.nextBoolean() ? SHARD : OTHER;
          RouteCommand command = random.nextBoolean() ? new Remove(TENANT, filter, shard, 1) : new Add(new Route(TENANT, filter, shard, 1, 1 + random.nextInt(2)));
          var _ = range.apply(List.of(command), rows);
          var present = command instanceof Add(Route route) ? route : null;
          assertThat(range.find(TENANT, filter, shard)).as("seed %d, %s", seed, command).isEqualTo(present);
        }
      } finally {
        changed.countDown();
      }
    }

    /** What stays is found once, and nothing of the other part. */
    private void match() {
      var random = new Random(seed * 2 + first);
      boolean last;
      do {
        last = changed.getCount() == 0;
        for (int i = 0; i < 100; i++) matches(random.nextInt(FILTERS / STAYS) * STAYS);
      } while (!last);
    }

    private void matches(int number) {
      byte[] topic = (level(number) + "/x").getBytes(StandardCharsets.UTF_8);
      var found = new ArrayList<Route>();
      var _ = range.match(TENANT, topic, 0, topic.length, of -> found.addAll(List.of(of.plain())));
      var expected = new ArrayList<TopicFilter>();
      if (first == 0) expected.add(ALL);
      if (number >= first && number < end) expected.add(filter(number));
      assertThat(found).as("seed %d, filter %d", seed, number).extracting(Route::filter).containsExactlyInAnyOrderElementsOf(expected);
    }

    void isAsItsRows() {
      var reopened = new RouteRange();
      reopened.open(rows);
      assertThat(range.size()).as("seed %d", seed).isEqualTo(reopened.size());
      assertThat(range.memory()).as("seed %d", seed).isEqualTo(reopened.memory());
      assertThat(range.filters()).as("seed %d", seed).isEqualTo(reopened.filters());
      assertThat(range.size(TENANT)).as("seed %d", seed).isEqualTo(reopened.size(TENANT));
      assertThat(range.patterns().size(TENANT)).as("seed %d", seed).isEqualTo(reopened.patterns().size(TENANT));
      IntStream.range(first, end)
          .forEach(
              number -> {
                for (var shard : List.of(SHARD, OTHER))
                  assertThat(range.find(TENANT, filter(number), shard)).as("seed %d", seed).isEqualTo(reopened.find(TENANT, filter(number), shard));
              });
    }
  }
}

package dunlin.dist.route;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.dist.route.InMemoryRange;
import dunlin.dist.route.RouteCommand.Add;
import dunlin.dist.route.RouteCommand.PurgeBefore;
import dunlin.dist.route.RouteCommand.Remove;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

public class RouteRangeTest {
  private record Key(String tenant, TopicFilter filter, ShardId shard) {}

  static LongStream seeds() {
    return LongStream.range(0, 40);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void agreesWithAMapAndFindsItsRowsAgain(long seed) {
    var random = new Random(seed);
    var range = new RouteRange();
    var rows = new InMemoryRange.Rows();
    var model = new HashMap<Key, Route>();
    for (int entry = 0; entry < 100; entry++) {
      var commands = new ArrayList<RouteCommand>();
      int size = 1 + random.nextInt(10);
      for (int i = 0; i < size; i++) commands.add(command(random));

      List<RouteResult> results = range.apply(commands, rows);

      for (int i = 0; i < size; i++) check(seed, model, commands.get(i), results.get(i));
      assertThat(range.size()).as("seed %d", seed).isEqualTo(model.size());
      assertThat(rows.map).as("seed %d", seed).hasSize(model.size());
    }

    assertHolds(seed, range, model);
    var reopened = new RouteRange();
    reopened.open(rows);
    assertHolds(seed, reopened, model);
    range.open(rows);
    assertHolds(seed, range, model);
  }

  /** What remains after a split is what would be read from the remaining rows, and goes on like that, before it has settled and afterwards. */
  @ParameterizedTest
  @MethodSource("seeds")
  void keepsWhatIsBelowACut(long seed) {
    var random = new Random(seed);
    var held = new Held(seed);
    held.change(random, 300);

    held.split(cut(random, held.model));

    assertFinds(seed, held.range, held.model);
    held.change(random, random.nextInt(100));
    assertFinds(seed, held.range, held.model);
    held.isAsItsRows();
    held.change(random, 100);
    held.isAsItsRows();
  }

  /** Limits and meters know what both parts had before, and what each has once it has settled. */
  @Test
  void countsWhatItHasWhenItHasSettled() {
    var parent = new Held(9);
    parent.change(new Random(9), 300);
    long before = parent.range.size();
    long memory = parent.range.memory();
    byte[] from = RouteRows.first("two", "");
    var child = parent.split(from);
    assertThat(child.range.openSplit(parent.range, from)).isTrue();

    assertThat(parent.range.size()).isEqualTo(before);
    assertThat(parent.range.memory()).isEqualTo(memory);
    assertThat(child.range.size()).isZero();
    assertThat(child.range.memory()).isZero();
    assertThat(child.range.size("two")).isZero();

    parent.isAsItsRows();
    child.isAsItsRows();
    assertThat(parent.range.size() + child.range.size()).isEqualTo(before);
    assertThat(parent.range.memory() + child.range.memory()).isEqualTo(memory);
    assertThat(parent.range.size("two")).isZero();
    assertThat(child.range.size("two")).isEqualTo(child.range.size()).isPositive();
  }

  /** It may come late, when a snapshot was installed since, or when nothing was split. */
  @Test
  void settlesWithoutACutAndAfterRowsWereRead() {
    var held = new Held(10);
    held.range.settle(() -> false);
    held.change(new Random(10), 300);
    held.range.settle(() -> false);
    held.isAsItsRows();

    held.split(RouteRows.first("two", ""));
    held.range.open(held.rows);
    held.range.settle(() -> false);

    held.isAsItsRows();
  }

  /** It works all the same, and may be divided later. */
  @Test
  void aRangeThatIsOverIsDividedNoFurther() {
    var parent = new Held(11);
    parent.change(new Random(11), 2_000);
    var _ = parent.split(RouteRows.first("two", ""));
    var looks = new AtomicInteger();

    for (int last = 1; last <= 2; last++) { // before it is counted, and before it is divided
      int end = last;
      looks.set(0);
      parent.range.settle(() -> looks.incrementAndGet() == end);

      assertThat(looks).as("looks").hasValue(last);
      assertFinds(11, parent.range, parent.model);
      parent.change(new Random(last), 50);
    }

    parent.isAsItsRows();
  }

  /** What was split off opens by what its parent has kept as by its rows, goes on like that, and is split again. */
  @ParameterizedTest
  @MethodSource("seeds")
  void handsOverWhatIsAboveACutOnce(long seed) {
    var random = new Random(seed);
    var parent = new Held(seed);
    parent.change(random, 300);
    for (int split = 0; split < 4; split++) {
      byte[] from = cut(random, parent.model);
      boolean between = RouteRows.together(from) < from.length;
      var child = parent.split(from);
      if (random.nextInt(3) == 0) parent.range.open(parent.rows); // a snapshot was installed
      if (random.nextInt(3) == 0) parent.range.settle(() -> false);
      parent.change(random, random.nextInt(50)); // also of what is not its own any more

      assertThat(child.range.openSplit(parent.range, new byte[] {1})).as("seed %d: of another cut", seed).isFalse();
      assertThat(child.range.openSplit(parent.range, from)).as("seed %d", seed).isEqualTo(!between);
      if (between) child.range.open(child.rows);

      assertFinds(seed, child.range, child.model);
      assertThat(new RouteRange().openSplit(parent.range, from)).as("seed %d: a second time", seed).isFalse();
      if (random.nextBoolean()) child.isAsItsRows();
      child.change(random, 100);
      parent.change(random, 100);
      assertFinds(seed, child.range, child.model);
      assertFinds(seed, parent.range, parent.model);
      if (random.nextInt(3) == 0) child.range.open(child.rows);
      if (random.nextBoolean()) child.isAsItsRows();
      if (random.nextBoolean()) parent.isAsItsRows();
      if (random.nextBoolean()) parent = child;
    }
    parent.isAsItsRows();
  }

  @Test
  void whatWasNotTakenGivesWayToTheNextCut() {
    var parent = new Held(7);
    parent.change(new Random(7), 300);
    byte[] upper = RouteRows.first("two", "");
    byte[] lower = RouteRows.first("one", "a");
    var notTaken = parent.split(upper);
    var taken = parent.split(lower);

    assertThat(notTaken.range.openSplit(parent.range, upper)).isFalse();
    assertThat(taken.range.openSplit(parent.range, lower)).isTrue();
    taken.isAsItsRows();
  }

  /** A new process has kept nothing. */
  @Test
  void aParentThatWasOpenedHandsNothingOver() {
    var parent = new Held(8);
    parent.change(new Random(8), 300);
    byte[] from = RouteRows.first("two", "");
    var child = parent.split(from);
    var restarted = new RouteRange();
    restarted.open(parent.rows);

    assertThat(child.range.openSplit(restarted, from)).isFalse();
    child.range.open(child.rows);
    child.isAsItsRows();
  }

  /** A range with its rows, and what it should hold. */
  private static final class Held {
    final RouteRange range = new RouteRange();
    final InMemoryRange.Rows rows = new InMemoryRange.Rows();
    final Map<Key, Route> model = new HashMap<>();
    private final long seed;

    Held(long seed) {
      this.seed = seed;
    }

    void change(Random random, int commands) {
      for (int i = 0; i < commands; i++) {
        var command = command(random);
        check(seed, model, command, range.apply(List.of(command), rows).getFirst());
      }
    }

    /** The upper part, which is not open yet. */
    Held split(byte[] from) {
      var upper = new Held(seed);
      var cutOff = rows.map.tailMap(from, true);
      upper.rows.map.putAll(cutOff);
      cutOff.clear();
      model.forEach((key, route) -> {
        if (Arrays.compareUnsigned(RouteRows.key(route), from) >= 0) upper.model.put(key, route);
      });
      model.keySet().removeAll(upper.model.keySet());
      range.cut(rows, from);
      return upper;
    }

    /** Once it has settled. */
    void isAsItsRows() {
      range.settle(() -> false);
      assertHolds(seed, range, model);
      var reopened = new RouteRange();
      reopened.open(rows);
      assertThat(range.size()).as("seed %d", seed).isEqualTo(reopened.size());
      assertThat(range.memory()).as("seed %d", seed).isEqualTo(reopened.memory());
    }
  }

  /** The beginning of a route's key: within its tenant, its filter, at the end of its filter, or between routes of its filter. */
  private static byte[] cut(Random random, Map<Key, Route> model) {
    var routes = model.values().stream().sorted(Comparator.comparing(Route::toString)).toList();
    byte[] key = RouteRows.key(routes.get(random.nextInt(routes.size())));
    return Arrays.copyOf(key, random.nextBoolean() ? RouteRows.together(key) : 1 + random.nextInt(key.length));
  }

  private static void check(long seed, Map<Key, Route> model, RouteCommand command, RouteResult result) {
    RouteResult expected =
        switch (command) {
          case Add(Route route) -> {
            var key = new Key(route.tenant(), route.filter(), route.shard());
            Route before = model.get(key);
            if (before != null && before.incarnation() > route.incarnation()) {
              yield new RouteResult.Superseded(before.incarnation());
            }
            model.put(key, route);
            yield new RouteResult.Added();
          }
          case Remove remove -> {
            var key = new Key(remove.tenant(), remove.filter(), remove.shard());
            Route before = model.get(key);
            if (before != null && before.incarnation() <= remove.incarnation()) model.remove(key);
            yield new RouteResult.Removed();
          }
          case PurgeBefore purge -> {
            int before = model.size();
            model
                .values()
                .removeIf(route -> route.shard().equals(purge.shard()) && route.incarnation() < purge.incarnation());
            yield new RouteResult.Purged(before - model.size(), null);
          }
        };
    assertThat(result).as("%s, seed %d", command, seed).isEqualTo(expected);
  }

  private static void assertHolds(long seed, RouteRange range, Map<Key, Route> model) {
    assertThat(range.size()).as("seed %d", seed).isEqualTo(model.size());
    assertThat(range.filters())
        .as("seed %d", seed)
        .isEqualTo(Math.toIntExact(model.keySet().stream().map(key -> key.tenant + ' ' + key.filter.filter()).distinct().count()));
    assertFinds(seed, range, model);
  }

  private static void assertFinds(long seed, RouteRange range, Map<Key, Route> model) {
    model.forEach(
        (key, route) -> assertThat(range.find(key.tenant, key.filter, key.shard)).as("seed %d", seed).isEqualTo(route));
    for (String tenant : List.of("one", "two")) {
      for (String topic : List.of("a", "b", "a/a", "a/b", "b/a", "$a/a", "/a")) {
        var matched = new ArrayList<Route>();
        byte[] bytes = topic.getBytes(StandardCharsets.UTF_8);
        range.match(
            tenant,
            bytes,
            0,
            bytes.length,
            of -> {
              matched.addAll(List.of(of.plain()));
              for (var group : of.groups()) matched.addAll(List.of(group.routes()));
            });
        assertThat(matched)
            .as("topic %s of %s, seed %d", topic, tenant, seed)
            .containsExactlyInAnyOrderElementsOf(
                model.values().stream()
                    .filter(route -> route.tenant().equals(tenant) && route.filter().matches(topic))
                    .toList());
      }
    }
  }

  private static RouteCommand command(Random random) {
    String tenant = random.nextBoolean() ? "one" : "two";
    String[] filters = {"a", "b", "+", "#", "a/#", "a/+", "+/a", "$a/#", "/a"};
    String filter = filters[random.nextInt(filters.length)];
    var topicFilter =
        switch (random.nextInt(4)) {
          case 0 -> new TopicFilter(filter, "g" + random.nextInt(2), false);
          case 1 -> new TopicFilter(filter, "g" + random.nextInt(2), true);
          default -> TopicFilter.plain(filter);
        };
    var shard = random.nextBoolean() ? ShardId.inbox(random.nextInt(3)) : ShardId.frontend("n" + random.nextInt(2));
    long incarnation = random.nextInt(4);
    return switch (random.nextInt(20)) {
      case 0 -> new PurgeBefore(shard, incarnation, new byte[0], PurgeBefore.LIMIT_MAX);
      case 1, 2, 3, 4, 5, 6, 7 -> new Remove(tenant, topicFilter, shard, incarnation);
      default -> new Add(new Route(tenant, topicFilter, shard, incarnation, random.nextInt(3)));
    };
  }

  @Test
  void purgesAtMostItsLimitOfRowsInAStep() {
    var range = new RouteRange();
    var rows = new InMemoryRange.Rows();
    var old = ShardId.frontend("old");
    var add = new ArrayList<RouteCommand>();
    for (int i = 0; i < 10; i++) {
      add.add(new Add(new Route("t", TopicFilter.plain("f" + i), i % 2 == 0 ? old : ShardId.inbox(0), 1, 0)));
    }
    range.apply(add, rows);

    byte[] cursor = new byte[0];
    var removed = new ArrayList<Long>();
    while (cursor != null) {
      var result = range.apply(List.of(new PurgeBefore(old, 2, cursor, 3)), rows).getFirst();
      assertThat(result).isInstanceOf(RouteResult.Purged.class);
      if (!(result instanceof RouteResult.Purged(long count, byte[] next))) return;
      removed.add(count);
      cursor = next;
    }

    assertThat(removed).containsExactly(2L, 1L, 2L, 0L);
    assertThat(range.size()).isEqualTo(5);
  }

  @Test
  void looksForAShardWithoutRoutesInNoRow() {
    var range = new RouteRange();
    var rows = new InMemoryRange.Rows();
    var add = new ArrayList<RouteCommand>();
    for (int i = 0; i < 10; i++) add.add(new Add(new Route("t", TopicFilter.plain("f" + i), ShardId.inbox(0), 1, 0)));
    range.apply(add, rows);
    var purge = new PurgeBefore(ShardId.frontend("left"), Long.MAX_VALUE, new byte[0], 3);

    assertThat(range.apply(List.of(purge), rows)).containsExactly(new RouteResult.Purged(0, null));

    byte[] from = RouteRows.first("t", "f5");
    rows.map.tailMap(from, true).clear();
    range.cut(rows, from);
    assertThat(range.apply(List.of(purge), rows).getFirst())
        .as("what is not settled is read")
        .isInstanceOfSatisfying(RouteResult.Purged.class, purged -> assertThat(purged.next()).isNotNull());
    range.settle(() -> false);
    assertThat(range.apply(List.of(purge), rows)).containsExactly(new RouteResult.Purged(0, null));
  }

  /** Rows that no command names are not in the index, also not in that of a range that was split off. */
  @Test
  void looksInRowsThatTheIndexDoesNotHave() {
    var rows = new InMemoryRange.Rows();
    rows.put(RouteRows.key(TOO_DEEP), RouteRows.value(TOO_DEEP));
    var parent = new RouteRange();
    parent.open(rows);
    byte[] from = RouteRows.first("a", "");
    parent.cut(new InMemoryRange.Rows(), from);
    var child = new RouteRange();
    assertThat(child.openSplit(parent, from)).isTrue();
    child.settle(() -> false);

    assertThat(child.apply(List.of(new PurgeBefore(TOO_DEEP.shard(), 2, new byte[0], 10)), rows)).hasSize(1);

    assertThat(rows.map).isEmpty();
  }

  @Test
  void writesNothingForAnExistingRoute() {
    var range = new RouteRange();
    var rows = new InMemoryRange.Rows();
    var route = new Route("t", TopicFilter.plain("a"), ShardId.inbox(0), 1, 7);
    range.apply(List.of(new Add(route)), rows);
    byte[] key = RouteRows.key(route);
    byte[] row = rows.get(key);

    range.apply(List.of(new Add(route)), rows);

    assertThat(rows.get(key)).isSameAs(row);
  }

  private static final Route TOO_DEEP = new Route("t", TopicFilter.plain("a/".repeat(300) + "b"), ShardId.inbox(0), 1, 0);

  /** A log of another version may have such a command: it must not stop the replica at each start. */
  @Test
  void aRouteBeyondTheLimitsIsRefusedEachTimeItIsReplayed() {
    var range = new RouteRange();
    var rows = new InMemoryRange.Rows();
    var codec = new RouteCodec();
    RouteCommand deep = codec.decode(ByteBuffer.wrap(InMemoryRange.bytes(codec, new Add(TOO_DEEP))));
    var good = new Route("t", TopicFilter.plain("a"), ShardId.inbox(0), 1, 0);

    for (int replay = 0; replay < 2; replay++) {
      assertThat(range.apply(List.of(deep, new Add(good)), rows))
          .containsExactly(new RouteResult.Refused("a filter of 301 levels"), new RouteResult.Added());
    }

    assertThat(rows.map).hasSize(1);
    assertThat(range.size()).isEqualTo(1);
  }

  @Test
  void aRouteBeyondTheLimitsInTheRowsIsLeftOutAndCanBeRemoved() {
    var good = new Route("t", TopicFilter.plain("a"), ShardId.inbox(0), 1, 0);
    for (RouteCommand removal :
        List.of(
            new Remove("t", TOO_DEEP.filter(), TOO_DEEP.shard(), 1), new PurgeBefore(TOO_DEEP.shard(), 2, new byte[0], 10))) {
      var rows = new InMemoryRange.Rows();
      for (Route route : List.of(good, TOO_DEEP)) rows.put(RouteRows.key(route), RouteRows.value(route));
      var range = new RouteRange();

      range.open(rows);

      assertThat(range.size()).isEqualTo(1);
      assertThat(range.find("t", good.filter(), good.shard())).isEqualTo(good);
      assertThat(rows.map).hasSize(2);
      range.apply(List.of(removal), rows);
      assertThat(rows.get(RouteRows.key(TOO_DEEP))).as("%s", removal).isNull();
    }
  }

  @Test
  void refusesToOpenRowsOfAnUnknownFormat() {
    var rows = new InMemoryRange.Rows();
    rows.put(new byte[] {1, 2, 3}, new byte[] {9});

    assertThatThrownBy(() -> new RouteRange().open(rows)).isInstanceOf(IllegalStateException.class);
  }
}

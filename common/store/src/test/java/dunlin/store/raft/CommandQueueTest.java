package dunlin.store.raft;

import static dunlin.store.CommandKind.CALL;
import static dunlin.store.CommandKind.FLOW;
import static dunlin.store.CommandKind.RELEASE;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.RangeId;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CommandQueueTest {
  private static final RangeId RANGE = RangeId.firstOf("routes");

  private record Item(@Nullable String source, int bytes, int number) implements CommandQueue.Waiting {
    Item(int bytes) {
      this(null, bytes, 0);
    }
  }

  private final CommandQueue<Item> queue = new CommandQueue<>(RANGE, 16, 1600);
  private final ArrayList<String> told = new ArrayList<>();

  @Test
  void flowsUseThreeQuartersOfTheNumber() {
    for (int i = 0; i < 12; i++) assertThat(queue.offer(new Item(1), FLOW)).isTrue();

    assertThat(queue.offer(new Item(1), FLOW)).isFalse();
    assertThat(queue.offer(new Item(1), CALL)).isTrue();
    assertThat(queue.offer(new Item(1), RELEASE)).isTrue();
    assertThat(queue.offer(new Item(1), CALL)).isTrue();
    assertThat(queue.offer(new Item(1), RELEASE)).isTrue();
    assertThat(queue.offer(new Item(1), CALL)).isFalse();
    assertThat(queue.offer(new Item(1), RELEASE)).isFalse();
    assertThat(queue.commands()).isEqualTo(16);
    assertThat(queue.bytes()).as("what was refused takes none").isEqualTo(16);
  }

  @Test
  void flowsUseThreeQuartersOfTheBytes() {
    for (int i = 0; i < 3; i++) assertThat(queue.offer(new Item(400), FLOW)).isTrue();

    assertThat(queue.offer(new Item(1), FLOW)).isFalse();
    assertThat(queue.offer(new Item(400), CALL)).isTrue();
    assertThat(queue.offer(new Item(1), RELEASE)).isFalse();
    assertThat(queue.bytes()).isEqualTo(1600);
  }

  @Test
  void notifiesWaitingCallersOnceWhenHalfIsFree() {
    for (int i = 0; i < 12; i++) queue.offer(new Item(100), FLOW);
    queue.offer(new Item(400), CALL);
    Runnable first = () -> told.add("first");
    assertThat(queue.whenRoom(first)).isTrue();
    assertThat(queue.whenRoom(() -> told.add("second"))).isTrue();
    assertThat(queue.whenRoom(first)).as("waits already").isTrue();
    assertThat(queue.callersWaiting()).isEqualTo(2);

    take(7);
    assertThat(told).as("six wait, with 900 bytes").isEmpty();
    take(1);
    assertThat(told).as("five wait, with 800 bytes").containsExactly("first", "second");
    take(5);
    assertThat(told).hasSize(2);
    assertThat(queue.callersWaiting()).isZero();
  }

  @Test
  void aCallerThatIsRefusedAgainIsNotifiedBeforeLaterOnes() {
    var again = new AtomicReference<Runnable>();
    again.set(
        () -> {
          told.add("again");
          if (told.size() == 1) queue.whenRoom(again.get());
        });
    queue.whenRoom(again.get());
    queue.tellRoom();
    queue.whenRoom(() -> told.add("later"));

    queue.tellRoom();

    assertThat(told).containsExactly("again", "again", "later");
  }

  @Test
  void aCallerThatThrowsDoesNotAffectOthers() {
    queue.whenRoom(
        () -> {
          throw new IllegalStateException("as the test wants it");
        });
    queue.whenRoom(() -> told.add("told"));

    queue.tellRoom();

    assertThat(told).containsExactly("told");
  }

  @Test
  void boundsWaitingCallers() {
    Runnable last = () -> {};
    for (int i = 1; i < CommandQueue.CALLERS_MAX; i++) {
      int number = i;
      assertThat(queue.whenRoom(() -> told.add("caller " + number))).isTrue();
    }
    assertThat(queue.whenRoom(last)).isTrue();

    assertThat(queue.whenRoom(() -> told.add("one too many"))).isFalse();
    assertThat(queue.whenRoom(last)).as("waits already").isTrue();
    queue.tellRoom();
    assertThat(told).hasSize(CommandQueue.CALLERS_MAX - 1).doesNotContain("one too many");
  }

  @Test
  void sourcesTakeTurnsAndKeepTheirOrder() {
    var large = new CommandQueue<Item>(RANGE, 1024, 1 << 20);
    for (int i = 0; i < 500; i++) assertThat(large.offer(new Item("flood", 100, i), FLOW)).isTrue();
    for (int i = 0; i < 3; i++) assertThat(large.offer(new Item("quiet", 100, i), FLOW)).isTrue();

    var taken = new ArrayList<Item>();
    for (Item next; (next = large.poll()) != null; ) taken.add(next);

    assertThat(taken).hasSize(503);
    assertThat(taken.stream().filter(each -> "quiet".equals(each.source())).map(Item::number)).containsExactly(0, 1, 2);
    assertThat(taken.stream().filter(each -> "flood".equals(each.source())).map(Item::number)).isSorted();
    assertThat(taken.indexOf(new Item("quiet", 100, 2))).as("waits for one turn of the other").isLessThan(40);
    assertThat(large.commands()).isZero();
    assertThat(large.bytes()).isZero();
    assertThat(large.isEmpty()).isTrue();
  }

  @Test
  void aLargeCommandCostsItsSourceTurns() {
    var large = new CommandQueue<Item>(RANGE, 1024, 1 << 20);
    for (int i = 0; i < 2; i++) large.offer(new Item("large", 20_000, i), FLOW);
    for (int i = 0; i < 100; i++) large.offer(new Item("small", 100, i), FLOW);

    var taken = new ArrayList<Item>();
    for (Item next; (next = large.poll()) != null; ) taken.add(next);

    assertThat(taken.getFirst().source()).isEqualTo("large");
    assertThat(taken.indexOf(new Item("large", 20_000, 1))).as("as many bytes of the other come before").isGreaterThan(90);
  }

  @Test
  void aCommandWithoutASourceKeepsItsPlaceAmongAll() {
    for (Item each : List.of(new Item("a", 1, 0), new Item("b", 1, 1), new Item(null, 1, 2), new Item("a", 1, 3))) queue.offer(each, CALL);

    assertThat(queue.poll()).extracting(Item::number).isEqualTo(0);
    assertThat(queue.poll()).extracting(Item::number).isEqualTo(1);
    assertThat(queue.peek()).extracting(Item::number).isEqualTo(2);
    assertThat(queue.poll()).extracting(Item::number).isEqualTo(2);
    assertThat(queue.poll()).extracting(Item::number).isEqualTo(3);
    assertThat(queue.poll()).isNull();
  }

  @Test
  void flowsOfOneSourceLeaveRoomForOthersOnceTheyAreSeen() {
    for (int i = 0; i < 11; i++) assertThat(queue.offer(new Item("flood", 1, i), FLOW)).isTrue();
    assertThat(queue.peek()).isNotNull();

    assertThat(queue.offer(new Item("flood", 1, 11), FLOW)).isFalse();
    assertThat(queue.offer(new Item("quiet", 1, 0), FLOW)).isTrue();
    assertThat(queue.offer(new Item("flood", 1, 12), CALL)).as("only what its sender can hold back").isTrue();

    take(5);
    assertThat(queue.offer(new Item("flood", 1, 13), FLOW)).as("half is free").isTrue();
  }

  /** Against a queue for each source: whatever order offers and takes have, nothing is lost, doubled or out of its source's order. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
  void keepsTheOrderOfEachSource(long seed) {
    var random = new Random(seed);
    var model = new HashMap<String, ArrayDeque<Item>>();
    int number = 0;
    for (int step = 0; step < 5_000; step++) {
      if (random.nextInt(100) < 55) {
        String source = random.nextInt(20) == 0 ? null : "s" + Math.min(random.nextInt(4), random.nextInt(4));
        var item = new Item(source, 1 + random.nextInt(200), number++);
        if (queue.offer(item, random.nextBoolean() ? FLOW : CALL)) model.computeIfAbsent(String.valueOf(source), _ -> new ArrayDeque<>()).add(item);
      } else {
        var expected = queue.peek();
        var taken = queue.poll();
        assertThat(taken).as("seed %d", seed).isEqualTo(expected);
        if (taken == null) continue;
        assertThat(taken).as("seed %d", seed).isEqualTo(Objects.requireNonNull(model.get(String.valueOf(taken.source()))).poll());
        boolean alone = taken.source() == null;
        int taking = taken.number();
        assertThat(model.values().stream().flatMap(ArrayDeque::stream).filter(each -> alone || each.source() == null).noneMatch(each -> each.number() < taking))
            .as("seed %d: a command without a source keeps its place", seed)
            .isTrue();
      }
      assertThat(queue.commands()).isEqualTo(model.values().stream().mapToInt(ArrayDeque::size).sum());
    }
  }

  private void take(int commands) {
    for (int i = 0; i < commands; i++) {
      assertThat(queue.poll()).isNotNull();
      queue.tellRoom();
    }
  }
}

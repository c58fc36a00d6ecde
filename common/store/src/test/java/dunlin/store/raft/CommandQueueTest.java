package dunlin.store.raft;

import static dunlin.store.CommandKind.CALL;
import static dunlin.store.CommandKind.FLOW;
import static dunlin.store.CommandKind.RELEASE;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.RangeId;
import java.util.ArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class CommandQueueTest {
  private static final RangeId RANGE = RangeId.firstOf("routes");

  private record Item(int bytes) implements CommandQueue.Waiting {}

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

  private void take(int commands) {
    for (int i = 0; i < commands; i++) {
      assertThat(queue.poll()).isNotNull();
      queue.tellRoom();
    }
  }
}

package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.broker.OpenFrontend;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SubscriberListTest {
  private final OpenFrontend open = new OpenFrontend(1);
  private final FilterHandle filter = OpenFrontend.handle("t", 1);

  @AfterAll
  void closes() {
    open.close();
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void holdsExactlyThoseThatWereAddedAndNotRemoved(long seed) {
    Random random = new Random(seed);
    SubscriberList list = new SubscriberList();
    List<Subscriber> inside = new ArrayList<>();
    for (int step = 0; step < 500; step++) {
      if (!inside.isEmpty() && random.nextInt(5) < (step < 250 ? 2 : 3)) {
        list.remove(inside.remove(random.nextInt(inside.size())));
      } else {
        Subscriber added = open.subscriber(0, filter, "s" + step);
        list.add(added);
        inside.add(added);
      }
      Set<Subscriber> found = new HashSet<>();
      for (int i = 0; i < list.size(); i++) found.add(list.get(i));
      assertThat(found).as("seed %d, step %d", seed, step).containsExactlyInAnyOrderElementsOf(inside);
    }
  }

  @Test
  void aSubscriberThatIsNotInTheListCannotBeRemoved() {
    SubscriberList list = new SubscriberList();
    Subscriber one = open.subscriber(0, filter, "one");
    list.add(one);
    list.remove(one);

    assertThatThrownBy(() -> list.remove(one)).isInstanceOfAny(AssertionError.class, ArrayIndexOutOfBoundsException.class);
  }

  @Test
  void aHandleSaysOnWhichLoopsItHasSubscribers() {
    FilterHandle handle = OpenFrontend.handle("t", 3);
    Subscriber one = open.subscriber(0, handle, "one");
    Subscriber other = open.subscriber(0, handle, "other");
    Subscriber third = open.subscriber(0, handle, "third");
    handle.add(2, one);
    handle.add(2, other);
    handle.add(0, third);
    assertThat(handle.loops()).isEqualTo(0b101);

    handle.remove(2, one);
    assertThat(handle.loops()).isEqualTo(0b101);
    handle.remove(2, other);
    handle.remove(0, third);
    assertThat(handle.loops()).isZero();
    assertThat(handle.on(2)).isNull();
  }
}

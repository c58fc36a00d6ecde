package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.ExpiryQueue;
import dunlin.inbox.state.SessionState;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares the queue with a sorted set. */
final class ExpiryQueueTest {
  static LongStream seeds() {
    return LongStream.range(0, 50);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void theFirstIsTheOneWithTheEarliestDeadlineAndBirth(long seed) {
    var random = new Random(seed);
    var queue = new ExpiryQueue();
    var order = Comparator.comparingLong((SessionState each) -> each.deadline).thenComparingLong(each -> each.birth);
    var model = new TreeSet<SessionState>(order);
    List<SessionState> absent = new ArrayList<>();

    for (int step = 0; step < 2_000; step++) {
      boolean grows = step < 1_000 ? random.nextInt(3) > 0 : random.nextInt(3) == 0;
      if (grows || absent.isEmpty()) {
        var session = new SessionState(new SessionKey("default", "c" + step), "", step + 1);
        session.deadline = random.nextInt(20);
        queue.add(session);
        model.add(session);
        absent.add(session);
      } else {
        var first = queue.first();
        var session = random.nextInt(3) == 0 && first != null ? first : absent.get(random.nextInt(absent.size()));
        queue.remove(session);
        model.remove(session);
        absent.remove(session);
        assertThat(session.expiryPlace).isNegative();
      }
      assertThat(queue.isEmpty()).as("seed %d, step %d", seed, step).isEqualTo(model.isEmpty());
      assertThat(queue.first()).as("seed %d, step %d", seed, step).isSameAs(model.isEmpty() ? null : model.first());
      assertThat(queue.firstDeadline()).isEqualTo(model.isEmpty() ? SessionState.NEVER : model.first().deadline);
    }
  }
}

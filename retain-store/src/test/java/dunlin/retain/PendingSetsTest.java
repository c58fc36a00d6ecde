package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PendingSetsTest {
  private final PendingSets sets = new PendingSets();
  private final List<String> ran = new ArrayList<>();

  @Test
  void withoutPendingSetsATaskRunsAtOnce() {
    sets.end(sets.begin());

    sets.whenEnded(() -> ran.add("read"));
    assertThat(ran).containsExactly("read");
  }

  @Test
  void waitsForEarlierSetsOnly() {
    var one = sets.begin();
    var other = sets.begin();
    sets.whenEnded(() -> ran.add("first"));
    var later = sets.begin();
    sets.whenEnded(() -> ran.add("second"));

    sets.end(one);
    assertThat(ran).isEmpty();
    sets.end(other);
    assertThat(ran).containsExactly("first");
    sets.end(later);
    assertThat(ran).containsExactly("first", "second");
  }

  /** A later message of another tenant may be stored first. */
  @Test
  void laterSetsThatEndFirstDoNotCount() {
    var earlier = sets.begin();
    sets.whenEnded(() -> ran.add("first"));
    var later = sets.begin();
    sets.whenEnded(() -> ran.add("second"));

    sets.end(later);
    sets.end(sets.begin());
    assertThat(ran).isEmpty();
    sets.end(earlier);
    assertThat(ran).containsExactly("first", "second");
    sets.whenEnded(() -> ran.add("third"));
    assertThat(ran).endsWith("third");
  }

  @Test
  void aTaskMayWaitAgain() {
    var set = sets.begin();
    sets.whenEnded(() -> sets.whenEnded(() -> ran.add("inner")));

    sets.end(set);
    assertThat(ran).containsExactly("inner");
  }

  @Test
  void everyTaskRunsOnceUnderConcurrency() throws InterruptedException {
    AtomicInteger done = new AtomicInteger();
    int rounds = 20_000;
    Thread setter =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int i = 0; i < rounds; i++) sets.end(sets.begin());
                });
    for (int i = 0; i < rounds; i++) sets.whenEnded(done::incrementAndGet);
    setter.join();

    assertThat(done).hasValue(rounds);
  }
}

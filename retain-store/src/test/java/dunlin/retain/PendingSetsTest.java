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
    sets.begin();
    sets.end();

    sets.whenEnded(() -> ran.add("read"));
    assertThat(ran).containsExactly("read");
  }

  @Test
  void waitsForEarlierSetsOnly() {
    sets.begin();
    sets.begin();
    sets.whenEnded(() -> ran.add("first"));
    sets.begin();
    sets.whenEnded(() -> ran.add("second"));

    sets.end();
    assertThat(ran).isEmpty();
    sets.end();
    assertThat(ran).containsExactly("first");
    sets.end();
    assertThat(ran).containsExactly("first", "second");
  }

  @Test
  void aTaskMayWaitAgain() {
    sets.begin();
    sets.whenEnded(() -> sets.whenEnded(() -> ran.add("inner")));

    sets.end();
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
                  for (int i = 0; i < rounds; i++) {
                    sets.begin();
                    sets.end();
                  }
                });
    for (int i = 0; i < rounds; i++) sets.whenEnded(done::incrementAndGet);
    setter.join();

    assertThat(done).hasValue(rounds);
  }
}

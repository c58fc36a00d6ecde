package dunlin.store.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class GroupTurnsTest {
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final ByteString GROUP = ByteString.copyFromUtf8("a");
  private static final ByteString OTHER = ByteString.copyFromUtf8("b");

  private final GroupTurns turns = new GroupTurns();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void ends() {
    threads.shutdownNow();
  }

  @Test
  void appendsOfAGroupDoNotOverlap() {
    var running = new AtomicInteger();
    var overlapping = new AtomicInteger();
    var done = new AtomicInteger();
    for (int i = 0; i < 8; i++) {
      threads.execute(
          () -> {
            for (int n = 0; n < 1_000; n++) {
              turns.run(
                  GROUP,
                  () -> {
                    if (running.incrementAndGet() > 1) overlapping.incrementAndGet();
                    Thread.onSpinWait();
                    running.decrementAndGet();
                  });
            }
            done.incrementAndGet();
          });
    }
    await().atMost(PATIENCE).until(() -> done.get() == 8);
    assertThat(overlapping).hasValue(0);
  }

  @Test
  void anotherGroupNeedNotWait() throws InterruptedException {
    var entered = new CountDownLatch(1);
    var leave = new CountDownLatch(1);
    List<String> came = Collections.synchronizedList(new ArrayList<>());
    threads.execute(
        () ->
            turns.run(
                GROUP,
                () -> {
                  entered.countDown();
                  try {
                    leave.await();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                  came.add("first");
                }));
    entered.await();
    threads.execute(() -> turns.run(GROUP, () -> came.add("second")));
    turns.run(OTHER, () -> came.add("other"));
    assertThat(came).containsExactly("other");

    leave.countDown();
    await().atMost(PATIENCE).untilAsserted(() -> assertThat(came).containsExactly("other", "first", "second"));
  }

  @Test
  void anAppendThatFailsLeavesTheNextItsTurn() {
    Runnable failing =
        () -> {
          throw new IllegalStateException("the test has it fail");
        };
    assertThatThrownBy(() -> turns.run(GROUP, failing)).hasMessage("the test has it fail");
    var came = new AtomicInteger();
    threads.execute(() -> turns.run(GROUP, came::incrementAndGet));
    await().atMost(PATIENCE).until(() -> came.get() == 1);
  }
}

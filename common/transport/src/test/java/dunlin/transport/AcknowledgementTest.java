package dunlin.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.ReasonCode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class AcknowledgementTest {
  private final List<ReasonCode> completed = Collections.synchronizedList(new ArrayList<>());

  private final class Recorded extends Acknowledgement {
    @Override
    protected void complete(ReasonCode reason) {
      completed.add(reason);
    }
  }

  @Test
  void completesWithTheLastAnswerOnly() {
    Acknowledgement acknowledgement = new Recorded();
    acknowledgement.expect();
    acknowledgement.expect();

    acknowledgement.answer(ReasonCode.SUCCESS);
    acknowledgement.answer(ReasonCode.SUCCESS);
    assertThat(completed).isEmpty();
    acknowledgement.answer(ReasonCode.SUCCESS);
    assertThat(completed).containsExactly(ReasonCode.SUCCESS);
  }

  @Test
  void oneErrorAmongSuccessesIsTheOutcome() {
    Acknowledgement acknowledgement = new Recorded();
    acknowledgement.expect();
    acknowledgement.expect();

    acknowledgement.answer(ReasonCode.SUCCESS);
    acknowledgement.answer(ReasonCode.QUOTA_EXCEEDED);
    acknowledgement.answer(ReasonCode.SUCCESS);
    assertThat(completed).containsExactly(ReasonCode.QUOTA_EXCEEDED);
  }

  @Test
  void isMatchedOnceThereIsASubscriber() {
    Acknowledgement acknowledgement = new Recorded();

    assertThat(acknowledgement.matched()).isFalse();
    acknowledgement.markMatched();
    assertThat(acknowledgement.matched()).isTrue();
  }

  static LongStream seeds() {
    return LongStream.range(0, 20);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void concurrentAnswersCompleteItOnce(long seed) throws InterruptedException {
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      completed.clear();
      Acknowledgement acknowledgement = new Recorded();
      int answers = 1 + random.nextInt(4);
      int failing = random.nextInt(answers * 2);
      CountDownLatch go = new CountDownLatch(1);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < answers; i++) {
        acknowledgement.expect();
        ReasonCode reason = i == failing ? ReasonCode.SERVER_BUSY : ReasonCode.SUCCESS;
        threads.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      try {
                        go.await();
                      } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                      }
                      acknowledgement.answer(reason);
                    }));
      }
      go.countDown();
      acknowledgement.answer(ReasonCode.SUCCESS);
      for (Thread thread : threads) thread.join();

      ReasonCode expected = failing < answers ? ReasonCode.SERVER_BUSY : ReasonCode.SUCCESS;
      assertThat(completed).as("seed %d, round %d", seed, round).containsExactly(expected);
    }
  }
}

package dunlin.cluster.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A node's own calls when it closes. */
class OutgoingCallsTest {
  private static final NodeAddress THERE = new NodeAddress("there", 1);
  private static final Duration LONG = Duration.ofMinutes(5);

  @Test
  void aThreadThatWaitsForANodeIsInterruptedAndMayWriteFilesAfterwards() throws Exception {
    var calling = new CountDownLatch(1);
    var never = new CountDownLatch(1);
    var calls =
        new OutgoingCalls(
            (_, _, deadline) -> {
              calling.countDown();
              try {
                if (never.await(deadline.toMillis(), TimeUnit.MILLISECONDS)) throw new AssertionError("it is never");
                return new byte[0];
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedIOException("interrupted");
              }
            });
    var interruptedAfterwards = new CompletableFuture<Boolean>();
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                calls.call(THERE, new byte[0], LONG);
                interruptedAfterwards.completeExceptionally(new AssertionError("answered"));
              } catch (IOException e) {
                interruptedAfterwards.complete(Thread.currentThread().isInterrupted());
              }
            });
    assertThat(calling.await(30, TimeUnit.SECONDS)).isTrue();

    calls.close();

    assertThat(interruptedAfterwards.get(30, TimeUnit.SECONDS)).isFalse();
    assertThatThrownBy(() -> calls.call(THERE, new byte[0], LONG)).isInstanceOf(IOException.class).hasMessageContaining("closed");
  }

  @Test
  void aThreadThatIsNotCallingAnyMoreIsNotInterrupted() throws Exception {
    var calls = new OutgoingCalls((_, request, _) -> request);

    assertThat(calls.call(THERE, new byte[] {1}, LONG)).containsExactly(1);
    calls.close();

    assertThat(Thread.currentThread().isInterrupted()).isFalse();
  }
}

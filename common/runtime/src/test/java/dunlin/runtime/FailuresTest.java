package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

class FailuresTest {
  @Test
  void aCallThatThrowsFailsLikeOneWhoseFutureDoes() {
    var thrown = new IllegalStateException("full");
    assertThat(Failures.inFuture(() -> { throw thrown; })).isCompletedExceptionally().failsWithin(Duration.ZERO).withThrowableThat().withCause(thrown);
    var answer = new CompletableFuture<String>();
    assertThat(Failures.inFuture(() -> answer)).isSameAs(answer);
  }

  @Test
  void onlyWhatAFutureHasWrappedIsUnwrapped() {
    var cause = new IOException("gone");
    assertThat(Failures.unwrapped(new CompletionException(cause))).isSameAs(cause);
    assertThat(Failures.unwrapped(cause)).isSameAs(cause);
    var other = new IllegalStateException(cause);
    assertThat(Failures.unwrapped(other)).isSameAs(other);
    var empty = new CompletionException("nothing in it", null);
    assertThat(Failures.unwrapped(empty)).isSameAs(empty);
  }
}

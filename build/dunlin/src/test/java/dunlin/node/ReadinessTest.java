package dunlin.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ReadinessTest {
  private final RuntimeException failure = new IllegalStateException("the disk is gone");
  private final Readiness readiness = new Readiness();

  @Test
  void aNodeIsReadyFromTheEndOfItsStartUntilItIsClosed() {
    assertThat(readiness.ready()).isFalse();
    readiness.started();
    assertThat(readiness.ready()).isTrue();
    readiness.closed();
    assertThat(readiness.ready()).isFalse();
  }

  @Test
  void aFailureEndsReadinessForGood() {
    readiness.started();
    readiness.failed(failure);

    assertThat(readiness.ready()).isFalse();
  }

  @Test
  void aFailureDuringTheStartEndsIt() {
    readiness.failed(failure);
    readiness.failed(new IllegalStateException("and so another range"));

    assertThatThrownBy(readiness::started).isSameAs(failure);
    assertThat(readiness.ready()).isFalse();
  }
}

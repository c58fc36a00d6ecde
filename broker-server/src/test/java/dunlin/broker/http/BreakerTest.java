package dunlin.broker.http;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.http.Breaker.Admission;
import dunlin.broker.http.Breaker.Change;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** When a service that fails is not asked, and when it is asked again. */
class BreakerTest {
  private static final Duration PAUSE = Duration.ofSeconds(5);

  private long now = Long.MAX_VALUE - 1_000; // the clock may pass the largest number
  private final Breaker breaker = new Breaker(3, PAUSE, () -> now);

  private void opens() {
    for (int source = 1; source <= 2; source++) assertThat(breaker.failed(source, Admission.YES)).isEqualTo(Change.NONE);
    assertThat(breaker.failed(3, Admission.YES)).isEqualTo(Change.OPENED);
  }

  @Test
  void failuresInARowOpenIt() {
    opens();
    assertThat(breaker.isOpen()).isTrue();
    assertThat(breaker.admits()).isEqualTo(Admission.NO);
  }

  @Test
  void aSuccessBetweenThemDoesNot() {
    for (int i = 0; i < 10; i++) {
      breaker.failed(2L * i, Admission.YES);
      breaker.failed(2L * i + 1, Admission.YES);
      assertThat(breaker.succeeded()).isEqualTo(Change.NONE);
    }
    assertThat(breaker.admits()).isEqualTo(Admission.YES);
  }

  @Test
  void failuresOfOneAddressCountAsOne() {
    for (int i = 0; i < 1_000; i++) assertThat(breaker.failed(7, Admission.YES)).isEqualTo(Change.NONE);
    assertThat(breaker.isOpen()).isFalse();
    assertThat(breaker.failed(8, Admission.YES)).isEqualTo(Change.NONE);
    assertThat(breaker.failed(7, Admission.YES)).isEqualTo(Change.OPENED);
  }

  @Test
  void afterThePauseOneProbeDecides() {
    opens();
    now += PAUSE.toNanos() - 1;
    assertThat(breaker.admits()).isEqualTo(Admission.NO);
    now += 1;
    assertThat(breaker.admits()).isEqualTo(Admission.PROBE);
    assertThat(breaker.admits()).as("one at a time").isEqualTo(Admission.NO);
    assertThat(breaker.failed(1, Admission.PROBE)).isEqualTo(Change.NONE);
    assertThat(breaker.admits()).isEqualTo(Admission.NO);
    now += PAUSE.toNanos();
    assertThat(breaker.admits()).isEqualTo(Admission.PROBE);
    assertThat(breaker.succeeded()).isEqualTo(Change.CLOSED);
    assertThat(breaker.admits()).isEqualTo(Admission.YES);
    opens();
  }

  /** Requests that began before it opened end later. */
  @Test
  void lateFailuresChangeNothing() {
    opens();
    now += PAUSE.toNanos();
    assertThat(breaker.admits()).isEqualTo(Admission.PROBE);
    assertThat(breaker.failed(9, Admission.YES)).isEqualTo(Change.NONE);
    assertThat(breaker.admits()).as("the probe is still on its way").isEqualTo(Admission.NO);
  }

  @Test
  void aLateSuccessClosesIt() {
    opens();
    assertThat(breaker.succeeded()).isEqualTo(Change.CLOSED);
    assertThat(breaker.admits()).isEqualTo(Admission.YES);
  }
}

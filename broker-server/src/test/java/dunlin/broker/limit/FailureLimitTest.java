package dunlin.broker.limit;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class FailureLimitTest {
  private final AtomicLong nanos = new AtomicLong(-TimeUnit.DAYS.toNanos(1));
  private final FailureLimit limit = new FailureLimit(3, nanos::get);

  @Test
  void theFailuresOfAnAddressInAMinuteAreLimited() {
    SocketAddress guesser = address("192.0.2.1");

    assertThat(limit.failed(guesser)).isFalse();
    assertThat(limit.failed(guesser)).isFalse();
    assertThat(limit.exceeded(guesser)).isFalse();
    assertThat(limit.failed(guesser)).as("the last one").isTrue();
    assertThat(limit.exceeded(guesser)).isTrue();
    assertThat(limit.failed(guesser)).as("told once only").isFalse();
    assertThat(limit.exceeded(address("192.0.2.2"))).as("another address").isFalse();

    nanos.addAndGet(TimeUnit.MINUTES.toNanos(1));
    assertThat(limit.exceeded(guesser)).isFalse();
    assertThat(limit.addresses()).isZero();
  }

  @Test
  void allAddressesOfOneNetworkOfIpv6AreOne() {
    for (int i = 1; i <= 3; i++) limit.failed(address("2001:db8::" + i));

    assertThat(limit.exceeded(address("2001:db8::ffff:4"))).isTrue();
    assertThat(limit.exceeded(address("2001:db8:0:1::1"))).isFalse();
  }

  @Test
  void theTableIsBoundedAndFurtherFailuresAreCounted() {
    for (int i = 0; i < FailureLimit.ADDRESSES_MAX + 10; i++) {
      limit.failed(address((i >> 16) + 1 + ".0." + (i >> 8 & 0xFF) + "." + (i & 0xFF)));
    }

    assertThat(limit.addresses()).isEqualTo(FailureLimit.ADDRESSES_MAX);
    assertThat(limit.untracked()).isEqualTo(10);
  }

  @Test
  void anAddressOfOneFamilyIsNeverTakenForOneOfTheOther() {
    FailureLimit limit = new FailureLimit(1, nanos::get);
    limit.failed(address("0:0:a00:1::1")); // whose first 64 bits are the number of 10.0.0.1

    assertThat(limit.exceeded(address("0:0:a00:1::2"))).isTrue();
    assertThat(limit.exceeded(address("10.0.0.1"))).isFalse();
  }

  @Test
  void zeroMeansNoLimit() {
    FailureLimit none = new FailureLimit(0, nanos::get);
    for (int i = 0; i < 100; i++) assertThat(none.failed(address("192.0.2.1"))).isFalse();

    assertThat(none.exceeded(address("192.0.2.1"))).isFalse();
    assertThat(none.addresses()).isZero();
  }

  private static SocketAddress address(String host) {
    return new InetSocketAddress(host, 1_883);
  }
}

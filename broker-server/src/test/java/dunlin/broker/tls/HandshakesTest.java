package dunlin.broker.tls;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.channel.embedded.EmbeddedChannel;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;

class HandshakesTest {
  private static final Duration SOON = Duration.ofMinutes(1);

  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final CountDownLatch held = new CountDownLatch(1);
  private final List<String> ran = new CopyOnWriteArrayList<>();

  private Handshakes handshakes(int atOnce, int perAddress) {
    return new Handshakes(new HandshakeSettings(atOnce, perAddress, 1), meters);
  }

  /** Occupies the only thread until the test lets it go on. */
  private void hold(Handshakes handshakes) {
    CountDownLatch begun = new CountDownLatch(1);
    handshakes.run(
        0,
        () -> {
          begun.countDown();
          waitFor(held);
        },
        new EmbeddedChannel());
    waitFor(begun);
  }

  private static void waitFor(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void run(Handshakes handshakes, long source, String name, EmbeddedChannel connection) {
    handshakes.run(source, () -> ran.add(name), connection);
  }

  @Test
  void handshakesAreBoundedInAllAndByAddress() throws Exception {
    try (Handshakes handshakes = handshakes(3, 2)) {
      InetAddress one = InetAddress.ofLiteral("192.0.2.1");
      InetAddress other = InetAddress.ofLiteral("192.0.2.2");
      assertThat(handshakes.begin(one)).isTrue();
      assertThat(handshakes.begin(one)).isTrue();
      assertThat(handshakes.begin(one)).as("a third of one address").isFalse();
      assertThat(handshakes.begin(other)).isTrue();
      assertThat(handshakes.begin(other)).as("a fourth in all").isFalse();
      assertThat(meters.get("dunlin.tls.handshakes").gauge().value()).isEqualTo(3);
      handshakes.ended(one);
      assertThat(handshakes.begin(other)).isTrue();
      assertThat(handshakes.begin(null)).as("also without an address").isFalse();
    }
  }

  @Test
  void anIpv6AddressCountsAsItsNetwork() throws Exception {
    try (Handshakes handshakes = handshakes(10, 1)) {
      assertThat(handshakes.begin(InetAddress.ofLiteral("2001:db8::1"))).isTrue();
      assertThat(handshakes.begin(InetAddress.ofLiteral("2001:db8::ffff:1"))).isFalse();
      assertThat(handshakes.begin(InetAddress.ofLiteral("2001:db8:0:1::1"))).isTrue();
    }
  }

  @Test
  void addressesTakeTurns() {
    try (Handshakes handshakes = handshakes(100, 100)) {
      hold(handshakes);
      for (int i = 1; i <= 50; i++) run(handshakes, 1, "storm " + i, new EmbeddedChannel());
      run(handshakes, 2, "other", new EmbeddedChannel());
      assertThat(meters.get("dunlin.tls.waiting").gauge().value()).isEqualTo(51);
      held.countDown();
      await().atMost(SOON).until(() -> ran.size() == 51);
      assertThat(ran.indexOf("other")).as("its place among those of the storm").isEqualTo(1);
    }
  }

  @Test
  void withoutRoomTheAddressWithMostLosesItsLast() {
    try (Handshakes handshakes = handshakes(3, 3)) {
      hold(handshakes);
      EmbeddedChannel last = new EmbeddedChannel();
      run(handshakes, 1, "a", new EmbeddedChannel());
      run(handshakes, 1, "b", new EmbeddedChannel());
      run(handshakes, 1, "c", last);
      assertThatThrownBy(() -> run(handshakes, 1, "d", new EmbeddedChannel())).isInstanceOf(RejectedExecutionException.class);
      assertThat(last.isOpen()).isTrue();
      run(handshakes, 2, "other", new EmbeddedChannel());
      last.runPendingTasks();
      assertThat(last.isOpen()).as("makes room for another address").isFalse();
      held.countDown();
      await().atMost(SOON).until(() -> ran.size() == 3);
      assertThat(ran).containsExactly("a", "other", "b");
    }
  }
}

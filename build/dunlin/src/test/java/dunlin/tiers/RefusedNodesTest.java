package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.links.LinkPeer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class RefusedNodesTest {
  private static final UUID NODE = new UUID(1, 1);
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private long now = -5;
  private final RefusedNodes refused = new RefusedNodes(_ -> Optional.empty(), () -> now);

  private void refuse(int times, Duration every) {
    for (int i = 0; i < times; i++) {
      refused.note(NODE);
      now += every.toNanos();
    }
  }

  @Test
  void aNodeThatRefusesForAWhileIsGone() {
    assertThat(refused.isGone(NODE)).isFalse();

    refuse(3, Duration.ofMillis(200));
    assertThat(refused.isGone(NODE)).as("it may be about to listen").isFalse();
    refuse(2, Duration.ofMillis(200));

    assertThat(refused.isGone(NODE)).isTrue();
    assertThat(refused.isGone(new UUID(1, 2))).isFalse();
  }

  /** The node may not have been dialled since. */
  @Test
  void refusalsOfLongAgoDoNotCount() {
    refuse(5, Duration.ofMillis(200));
    now += Duration.ofSeconds(3).toNanos();
    assertThat(refused.isGone(NODE)).isFalse();

    refuse(2, Duration.ofMillis(200));
    assertThat(refused.isGone(NODE)).isFalse();
  }

  @Test
  void refusalsFarApartAreNoSeries() {
    refuse(5, Duration.ofSeconds(3));

    assertThat(refused.isGone(NODE)).isFalse();
  }

  private static RefusedNodes at(int port) {
    return new RefusedNodes(node -> Optional.of(new LinkPeer(node, "127.0.0.1", port)), System::nanoTime);
  }

  /** Links pause for longer and longer, and the clients of others wait. */
  @Test
  void oneRefusalIsEnoughWhereTheHostGoesOnRefusing() throws IOException {
    int port;
    try (var once = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = once.getLocalPort();
    }
    var looking = at(port);

    looking.note(NODE);

    assertThat(looking.isGone(NODE)).as("it may be about to listen").isFalse();
    await().atMost(PATIENCE).until(() -> looking.isGone(NODE));
  }

  @Test
  void oneRefusalIsNotEnoughWhereTheHostListensByNow() throws IOException {
    try (var listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      var looking = at(listening.getLocalPort());
      looking.note(NODE);

      listening.accept().close();

      assertThat(looking.isGone(NODE)).isFalse();
    }
  }

  @Test
  void aNodeThatIsThereAgainIsNotGone() {
    refuse(5, Duration.ofMillis(200));
    refused.isThere(NODE);

    assertThat(refused.isGone(NODE)).isFalse();
  }
}

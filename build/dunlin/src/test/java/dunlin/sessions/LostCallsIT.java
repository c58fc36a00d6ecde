package dunlin.sessions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import dunlin.TestBroker;
import dunlin.WiredTiers;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What clients see when the links by which the retain tier and the dist tier are called are lost. */
class LostCallsIT {
  private static final int LOSSES = 3;

  @Test
  void clientsWaitAndStayConnected(@TempDir Path data) {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    try {
      loseLinks(WiredTiers.overQueues(seed), data);
    } catch (AssertionError e) {
      throw new AssertionError("-Ddunlin.test.seed=" + seed, e);
    }
  }

  @Test
  void clientsWaitAndStayConnectedOverGrpc(@TempDir Path data) {
    loseLinks(WiredTiers.overGrpc(), data);
  }

  private static void loseLinks(WiredTiers connections, Path data) {
    try (TestBroker broker = TestBroker.over(connections, data)) {
      var publisher = RawClient.connected(broker.port(), Connect.of("publisher").clean().expiry(0));
      var passing = RawClient.connected(broker.port(), Connect.of("passing").clean().expiry(0));
      var durable = RawClient.connected(broker.port(), Connect.of("durable").clean());
      for (int i = 1; i <= LOSSES; i++) {
        String number = String.valueOf(i);
        long lost = connections.lostCalls();
        int links = connections.loseCalls();
        assertThat(links).isEqualTo(3);
        await().atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(5)).until(() -> connections.lostCalls() == lost + links);

        assertThat(publisher.publishAndWait("kept", "message " + number, true)).isLessThan(0x80);
        passing.subscribe("passing/" + number, 1);
        durable.subscribe("durable/" + number, 1);

        assertThat(publisher.publishAndWait("passing/" + number, "to passing " + number)).isZero();
        assertThat(acknowledged(passing)).isEqualTo("to passing " + number);
        assertThat(publisher.publishAndWait("durable/" + number, "to durable " + number)).isZero();
        assertThat(acknowledged(durable)).isEqualTo("to durable " + number);
        var reader = RawClient.connected(broker.port(), Connect.of("reader").clean().expiry(0));
        reader.subscribe("kept", 1);
        assertThat(acknowledged(reader)).isEqualTo("message " + number);
        reader.disconnect();
      }
      publisher.disconnect();
      passing.disconnect();
      durable.disconnect();
    }
  }

  private static String acknowledged(RawClient client) {
    var publish = client.next(RawClient.PUBLISH);
    client.puback(publish.packetId());
    return publish.text();
  }
}

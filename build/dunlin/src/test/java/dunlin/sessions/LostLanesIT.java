package dunlin.sessions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import dunlin.TestBroker;
import dunlin.WiredTiers;
import dunlin.harness.RawClient;
import dunlin.harness.SteadyClients;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients when the links of the lanes to the dist tier are lost: publishers see nothing of it. */
class LostLanesIT {
  private static final int LOSSES = 5;

  @Test
  void publishersSeeNothingOfLostLinks(@TempDir Path data) {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    try {
      publish(WiredTiers.overQueues(seed), data, WiredTiers::loseLanes, false);
    } catch (AssertionError e) {
      throw new AssertionError("-Ddunlin.test.seed=" + seed, e);
    }
  }

  @Test
  void publishersSeeNothingOfLostLinksOverGrpc(@TempDir Path data) {
    publish(WiredTiers.overGrpc(), data, WiredTiers::loseLanes, false);
  }

  @Test
  void publishersSeeNothingOfLanesThatMove(@TempDir Path data) {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    try {
      publish(WiredTiers.overQueues(seed), data, WiredTiers::moveLanes, true);
    } catch (AssertionError e) {
      throw new AssertionError("-Ddunlin.test.seed=" + seed, e);
    }
  }

  @Test
  void publishersSeeNothingOfLanesThatMoveOverGrpc(@TempDir Path data) {
    publish(WiredTiers.overGrpc(), data, WiredTiers::moveLanes, true);
  }

  /** @param inOrder whether lanes answer what they have delivered before they end */
  private static void publish(WiredTiers connections, Path data, ToIntFunction<WiredTiers> ends, boolean inOrder) {
    try (TestBroker broker = TestBroker.over(connections, data)) {
      int topics = inOrder ? 6 : 4;
      var clients = new SteadyClients();
      clients.receives("clean", topics, subscribed(broker, Connect.of("clean").clean().expiry(0)));
      clients.receives("durable", topics, subscribed(broker, Connect.of("durable").clean()));
      clients.receivesAtMostOnce("zero", subscribed(broker, Connect.of("zero").clean().expiry(0), 0));
      clients.receivesAtMostOnce("durable zero", subscribed(broker, Connect.of("durable-zero").clean(), 0));
      clients.publishes("steady/1-v5", 1, RawClient.connected(broker.port(), Connect.of("1-v5").clean().expiry(0)));
      clients.publishes("steady/1-v3", 1, RawClient.connected3(broker, "1-v3"));
      clients.publishes("steady/2-v5", 2, RawClient.connected(broker.port(), Connect.of("2-v5").clean()));
      clients.publishes("steady/2-v3", 2, RawClient.connected(broker.port(), RawClient.connect(4, false, 0, "2-v3", new byte[0])));
      if (inOrder) {
        clients.publishes("steady/2-v5-clean", 2, RawClient.connected(broker.port(), Connect.of("2-v5-clean").clean().expiry(0)));
        clients.publishes("steady/2-v3-clean", 2, RawClient.connected3(broker, "2-v3-clean"));
      }
      for (int i = 0; i < LOSSES; i++) {
        int before = clients.progress();
        await().atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(5)).until(() -> clients.progress() > before + 3);
        assertThat(ends.applyAsInt(connections)).isPositive();
      }
      clients.check();
      clients.checkAtMostOnce(RawClient.connected(broker.port(), Connect.of("over").clean().expiry(0)));
    }
  }

  private static RawClient subscribed(TestBroker broker, Connect connect) {
    return subscribed(broker, connect, 2);
  }

  private static RawClient subscribed(TestBroker broker, Connect connect, int qos) {
    var client = RawClient.connected(broker.port(), connect);
    client.subscribe("steady/#", qos);
    return client;
  }
}

package dunlin.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import dunlin.broker.ConnectionEvent;
import java.time.Duration;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The faults of three brokers of one cluster. */
@DunlinTest(nodes = 3)
class ClusterFaultsTest {
  private static final Duration SOON = Duration.ofMinutes(2);

  /** The expiry of sessions in seconds, which is longer than all that a test waits for. */
  private static final long LASTING = 3_600;

  @AfterEach
  void restore(DunlinCluster cluster) {
    cluster.heal();
    cluster.awaitReady(SOON);
  }

  /** Publishes until it is acknowledged, as a client does. */
  private static void publish(PahoSession publisher, String topic, String payload) {
    await("an acknowledgement")
        .atMost(SOON)
        .pollInterval(Duration.ofMillis(50))
        .ignoreExceptionsInstanceOf(MqttException.class)
        .until(
            () -> {
              publisher.publish(topic, payload);
              return true;
            });
  }

  /** Receives up to a message; earlier ones may come twice. */
  private static void receive(PahoSession subscriber, String payload) throws InterruptedException {
    String received;
    do received = subscriber.receive();
    while (!received.equals(payload));
  }

  private static boolean isEnd(BrokerEvent event, int node, String clientId) {
    return event instanceof BrokerEvent.Connection connection
        && connection.node() == node
        && connection.event() instanceof ConnectionEvent.Disconnected end
        && end.clientId().equals(clientId);
  }

  @Test
  void aNodeThatIsCutOffDisconnectsItsClientsAndTheOthersGoOn(DunlinCluster cluster, BrokerEvents events) throws Exception {
    try (var cutOff = new PahoSession(cluster.uri(0), "cut-off", 0);
        var subscriber = new PahoSession(cluster.uri(1), "subscriber", LASTING);
        var publisher = new PahoSession(cluster.uri(2), "publisher", LASTING)) {
      subscriber.subscribe("t");
      publish(publisher, "t", "before");
      receive(subscriber, "before");

      cluster.cut(0);
      events.await(each -> isEnd(each, 0, "cut-off"), SOON);
      assertThat(cutOff.disconnection()).as("a packet").isPresent();
      assertThat(cluster.missing()).contains("node 0: ");
      assertThatThrownBy(() -> cluster.awaitReady(Duration.ofMillis(1))).isInstanceOf(AssertionError.class).hasMessageMatching("(?s)not ready within PT0.001S: .*node 0: .*");
      publish(publisher, "t", "during");
      receive(subscriber, "during");
    }

    cluster.heal();
    cluster.awaitReady(SOON);
    try (var subscriber = new PahoSession(cluster.uri(0), "subscriber", LASTING);
        var publisher = new PahoSession(cluster.uri(1), "publisher", LASTING)) {
      assertThat(subscriber.sessionPresent()).isTrue();
      publish(publisher, "t", "after");
      receive(subscriber, "after");
      try (var online = new PahoSession(cluster.uri(0), "online-again", 0)) {
        online.subscribe("t");
        publish(publisher, "t", "after, to a client of that node");
        receive(online, "after, to a client of that node");
      }
    }
  }

  @Test
  void acknowledgedMessagesSurviveAKill(DunlinCluster cluster) throws Exception {
    try (var killed = new PahoSession(cluster.uri(1), "killed", LASTING)) {
      killed.subscribe("kept");
      cluster.kill(1);
      assertThat(killed.disconnection()).isEmpty();
    }
    assertThat(cluster.isRunning(1)).isFalse();
    try (var publisher = new PahoSession(cluster.uri(2), "publisher", LASTING)) {
      publish(publisher, "kept", "while it was away");
    }
    try (var moved = new PahoSession(cluster.uri(0), "killed", LASTING)) {
      receive(moved, "while it was away");
    }

    cluster.start(1);
    cluster.awaitReady(SOON);
    try (var back = new PahoSession(cluster.uri(1), "killed", LASTING);
        var publisher = new PahoSession(cluster.uri(0), "publisher", LASTING)) {
      assertThat(back.sessionPresent()).isTrue();
      publish(publisher, "kept", "when it is back");
      receive(back, "when it is back");
    }
  }

  /** One of these pairs leads the routes and the sessions, unless one node leads both. */
  @ParameterizedTest
  @CsvSource({"0, 1", "1, 2", "2, 0"})
  void twoNodesThatAreCutOffFromEachOtherServeDurableSubscribersOverTheThird(int one, int other, DunlinCluster cluster) throws Exception {
    try (var subscriber = new PahoSession(cluster.uri(one), "between", LASTING);
        var publisher = new PahoSession(cluster.uri(other), "publisher-between", 0)) {
      subscriber.subscribe("between");

      cluster.cut(one, other);
      publish(publisher, "between", "during");
      receive(subscriber, "during");
    }
  }

  @Test
  void aNodeThatCannotStartEndsTheOthers() {
    var builder = DunlinCluster.builder().nodes(2).startWithin(Duration.ofMinutes(5)).set(1, "dunlin.no-such-key", "1");
    assertTimeout(
        SOON, () -> assertThatThrownBy(builder::start).isInstanceOf(IllegalStateException.class).hasMessageStartingWith("a node cannot start: Unknown key dunlin.no-such-key"));
  }

  @Test
  void delaysWhatNodesSendToEachOther(DunlinCluster cluster) throws Exception {
    var later = Duration.ofMillis(100);
    try (var subscriber = new PahoSession(cluster.uri(0), "delayed", LASTING);
        var publisher = new PahoSession(cluster.uri(1), "publisher", LASTING)) {
      subscriber.subscribe("delayed");
      for (int i = 0; i < cluster.size(); i++) cluster.delay(i, later);
      long start = System.nanoTime();
      publish(publisher, "delayed", "later");
      // There and back again between the node of the publisher, or the leader of the sessions, and a majority of its replicas.
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(later.multipliedBy(2));
      receive(subscriber, "later");
    } finally {
      for (int i = 0; i < cluster.size(); i++) cluster.delay(i, Duration.ZERO);
    }
  }
}

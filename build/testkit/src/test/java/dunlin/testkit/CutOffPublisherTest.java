package dunlin.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.ConnectionEvent;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a broker still has of its publishers when it is cut off, while these go on at another one: it does not come behind what that has taken. */
@DunlinTest(nodes = 3)
class CutOffPublisherTest {
  private static final Duration SOON = Duration.ofMinutes(2);

  @AfterEach
  void restore(DunlinCluster cluster) {
    cluster.heal();
    cluster.awaitReady(SOON);
  }

  /** A broker that has to send to another one what its clients publish. */
  private static int notLeading(DunlinCluster cluster, String range) {
    return IntStream.range(0, cluster.size()).filter(node -> !leads(cluster, node, range)).findFirst().orElseThrow();
  }

  private static int leading(DunlinCluster cluster, String range) {
    return IntStream.range(0, cluster.size()).filter(node -> leads(cluster, node, range)).findFirst().orElseThrow();
  }

  private static boolean leads(DunlinCluster cluster, int node, String range) {
    return cluster.meters(node).get("dunlin.store.leading").tag("range", range).gauge().value() == 1;
  }

  private static boolean isEnd(BrokerEvent event, int node, String clientId) {
    return event instanceof BrokerEvent.Connection connection
        && connection.node() == node
        && connection.event() instanceof ConnectionEvent.Disconnected end
        && end.clientId().equals(clientId);
  }

  @Test
  void aMessageToBeRetainedDoesNotReplaceALaterOne(DunlinCluster cluster, BrokerEvents events) throws Exception {
    int cutOff = notLeading(cluster, "retain");
    int other = leading(cluster, "retain");
    try (var publisher = new PahoSession(cluster.uri(cutOff), "retaining", 0);
        var moved = new PahoSession(cluster.uri(other), "retaining-elsewhere", 0)) {
      publisher.publishHere("r", "first", 1, true);

      cluster.cut(cutOff);
      var older = CompletableFuture.runAsync(() -> publishUnanswered(publisher, "r", "older"), Thread::startVirtualThread);
      await("is on its way").atMost(SOON).until(() -> cluster.meters(cutOff).get("dunlin.retain.calls").gauge().value() > 0);
      events.await(each -> isEnd(each, cutOff, "retaining"), SOON);
      moved.publishHere("r", "newer", 1, true);
      cluster.heal();
      cluster.awaitReady(SOON);

      assertThat(older).succeedsWithin(SOON);
      for (int node = 0; node < cluster.size(); node++) {
        try (var reader = new PahoSession(cluster.uri(node), "reader-" + node, 0)) {
          reader.subscribe("r");
          assertThat(reader.receive()).as("at node %d, node %d was cut off", node, cutOff).isEqualTo("newer");
        }
      }
    }
  }

  @Test
  void aMessageOfQos0DoesNotComeBehindALaterOne(DunlinCluster cluster, BrokerEvents events) throws Exception {
    int cutOff = notLeading(cluster, "routes");
    int other = leading(cluster, "routes");
    try (var subscriber = new PahoSession(cluster.uri(other), "subscriber", 0);
        var publisher = new PahoSession(cluster.uri(cutOff), "publishing", 0);
        var moved = new PahoSession(cluster.uri(other), "publishing-elsewhere", 0)) {
      subscriber.subscribe("t");
      publisher.publishHere("t", "first", 1, false);
      assertThat(subscriber.receive()).isEqualTo("first");

      cluster.cut(cutOff);
      publisher.publishHere("t", "older", 0, false);
      events.await(each -> isEnd(each, cutOff, "publishing"), SOON);
      moved.publishHere("t", "newer", 1, false);
      assertThat(subscriber.receive()).isEqualTo("newer");
      cluster.heal();
      cluster.awaitReady(SOON);

      moved.publishHere("t", "last", 1, false);
      assertThat(subscriber.receive()).as("node %d was cut off", cutOff).isEqualTo("last");
    }
  }

  /** It may be acknowledged with an error, or never. */
  private static void publishUnanswered(PahoSession publisher, String topic, String payload) {
    try {
      publisher.publishHere(topic, payload, 1, true);
    } catch (MqttException _) {
      // The connection has ended.
    }
  }
}

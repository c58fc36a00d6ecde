package dunlin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.RawClient.Connect;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients when the link between the frontend and the session tier is lost. */
class LostSessionTierIT {
  private static final int SERVER_BUSY = 0x89;
  private static final int LOSSES = 3;

  /** Connects, and retries while refused with 0x88, until the session tier is back. */
  private static RawClient connectedAgain(TestBroker broker, Connect connect) {
    RawClient[] client = {null};
    await().atMost(TestBroker.SOON).pollInterval(Duration.ofMillis(20)).until(
        () -> {
          var next = new RawClient(broker.port());
          next.send(connect.packet());
          var connack = next.read();
          assertThat(connack.type()).isEqualTo(RawClient.CONNACK);
          if (connack.reason() != 0) {
            assertThat(connack.reason()).isEqualTo(0x88);
            next.close();
            return false;
          }
          assertThat(connack.sessionPresent()).as("session of %s", connect.clientId()).isEqualTo(!connect.cleanStart());
          client[0] = next;
          return true;
        });
    return client[0];
  }

  private static void ends(RawClient client) {
    assertThat(client.next(RawClient.DISCONNECT).reason()).isEqualTo(SERVER_BUSY);
    client.awaitClosed();
    client.close();
  }

  @Test
  void connectionsEndAndSessionsStay(@TempDir Path data) {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    try {
      loseLinks(WiredSeams.overQueues(seed), data);
    } catch (AssertionError e) {
      throw new AssertionError("-Ddunlin.test.seed=" + seed, e);
    }
  }

  @Test
  void connectionsOverGrpcEndAndSessionsStay(@TempDir Path data) {
    loseLinks(WiredSeams.overGrpc(), data);
  }

  private static void loseLinks(WiredSeams seams, Path data) {
    var durable = Connect.of("durable");
    var watcher = Connect.of("watcher");
    try (TestBroker broker = TestBroker.over(seams, data)) {
      RawClient subscriber = RawClient.connected(broker.port(), durable.clean());
      subscriber.subscribe("t", 1);
      RawClient watching = RawClient.connected(broker.port(), watcher.clean());
      watching.subscribe("wills", 1);
      for (int i = 1; i <= LOSSES; i++) {
        RawClient dying = connectedAgain(broker, Connect.of("dying").clean().expiry(0).will("wills", "will " + i, 1, 0));

        seams.loseSessions();

        ends(dying);
        ends(subscriber);
        ends(watching);
        RawClient publisher = connectedAgain(broker, Connect.of("publisher").clean().expiry(0));
        assertThat(publisher.publishAndWait("t", "message " + i)).isZero();
        publisher.disconnect();
        subscriber = connectedAgain(broker, durable);
        assertThat(acknowledged(subscriber)).isEqualTo("message " + i);
        watching = connectedAgain(broker, watcher);
        assertThat(acknowledged(watching)).isEqualTo("will " + i);
      }
      subscriber.disconnect();
      watching.disconnect();
    }
  }

  private static String acknowledged(RawClient client) {
    var publish = client.next(RawClient.PUBLISH);
    client.puback(publish.packetId());
    return publish.text();
  }
}

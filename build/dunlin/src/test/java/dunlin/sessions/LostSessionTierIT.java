package dunlin.sessions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import dunlin.TestBroker;
import dunlin.WiredTiers;
import dunlin.harness.RawClient;
import dunlin.harness.StayingClients;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Clients when the link between the frontend and the session tier is lost, and when the frontend gives its connections up. */
class LostSessionTierIT {
  private static final int SERVER_BUSY = 0x89;
  private static final int LOSSES = 3;
  private static final int MESSAGES = 20;

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

  private static void overQueues(Consumer<WiredTiers> test) {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    try {
      test.accept(WiredTiers.overQueues(seed));
    } catch (AssertionError e) {
      throw new AssertionError("-Ddunlin.test.seed=" + seed, e);
    }
  }

  @Test
  void connectionsEndWithTheirLifeAndSessionsStay(@TempDir Path data) {
    overQueues(connections -> endLives(connections, data));
  }

  @Test
  void connectionsOverGrpcEndWithTheirLifeAndSessionsStay(@TempDir Path data) {
    endLives(WiredTiers.overGrpc(), data);
  }

  @Test
  void connectionsOutliveLinks(@TempDir Path data) {
    overQueues(connections -> loseLinks(connections, data));
  }

  @Test
  void connectionsOverGrpcOutliveLinks(@TempDir Path data) {
    loseLinks(WiredTiers.overGrpc(), data);
  }

  /** Durable and online clients publish and subscribe with each QoS, while one link after the other is lost. */
  private static void loseLinks(WiredTiers connections, Path data) {
    try (TestBroker broker = TestBroker.over(connections, data)) {
      var durable = RawClient.connected(broker.port(), Connect.of("durable").clean().will("wills", "durable", 1, 0));
      durable.subscribe("t", 2);
      var online = RawClient.connected(broker.port(), Connect.of("online").clean().expiry(0).will("wills", "online", 1, 0));
      online.subscribe("t", 2);
      var watcher = RawClient.connected(broker.port(), Connect.of("watcher").clean());
      watcher.subscribe("wills", 1);
      var publisher = RawClient.connected(broker.port(), Connect.of("publisher").clean());
      var expected = new ArrayList<String>();
      for (int i = 1; i <= LOSSES * MESSAGES; i++) {
        String text = "message " + i;
        if (i % MESSAGES == MESSAGES / 2) connections.loseSessions();
        boolean accepted = i % 2 == 0 ? publisher.publishAndWait("t", text) < 0x80 : publishesOnce(publisher, text, i);
        if (accepted) expected.add(text);
        // What is acknowledged while there is no link must not come again.
        if (i % MESSAGES != MESSAGES / 2) continue;
        while (!expected.isEmpty()) {
          String next = expected.removeFirst();
          assertThat(StayingClients.received(durable)).isEqualTo(next);
          assertThat(StayingClients.received(online)).isEqualTo(next);
        }
      }
      for (String next : expected) {
        assertThat(StayingClients.received(durable)).isEqualTo(next);
        assertThat(StayingClients.received(online)).isEqualTo(next);
      }
      await().atMost(TestBroker.SOON).until(() -> connections.lostSessions() == LOSSES);
      for (var client : List.of(durable, online)) {
        client.subscribe("more", 1);
        assertThat(publisher.publishAndWait("more", "the last one")).isZero();
        assertThat(StayingClients.received(client)).isEqualTo("the last one");
        client.disconnect();
      }
      assertThat(watcher.hasInput()).as("no will was sent").isFalse();
      watcher.disconnect();
      publisher.disconnect();
    }
  }

  /** With QoS 2. Answers whether it was accepted. */
  private static boolean publishesOnce(RawClient publisher, String text, int packetId) {
    publisher.publish("t", text, 2, packetId, false, false);
    if (publisher.next(RawClient.PUBREC).reason() >= 0x80) return false;
    publisher.pubrel(packetId);
    publisher.next(RawClient.PUBCOMP);
    return true;
  }

  private static void endLives(WiredTiers connections, Path data) {
    var durable = Connect.of("durable");
    var watcher = Connect.of("watcher");
    try (TestBroker broker = TestBroker.over(connections, data)) {
      RawClient subscriber = RawClient.connected(broker.port(), durable.clean());
      subscriber.subscribe("t", 1);
      RawClient watching = RawClient.connected(broker.port(), watcher.clean());
      watching.subscribe("wills", 1);
      for (int i = 1; i <= LOSSES; i++) {
        RawClient dying = connectedAgain(broker, Connect.of("dying").clean().expiry(0).will("wills", "will " + i, 1, 0));

        connections.endLife();

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

package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Message;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that send all their packets and then close the socket, or only their side of it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@SuppressWarnings("try") // the end of the connection is what is tested
class HalfClosedIT {
  private final TestBroker broker;

  HalfClosedIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false", "dunlin.lane.messages-max", "16", "dunlin.mqtt.receive-maximum", "100"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  @Test
  @Tag("pitfall-25")
  void aClientThatHalfClosesIsClosedAndItsWillIsSent() {
    String topic = name();
    try (var watcher = RawClient.connected(broker, name())) {
      watcher.subscribe(topic, 1);
      try (var client = RawClient.connected(broker.port(), Connect.of(name()).will(topic, "will", 1, 0))) {
        client.halfClose();
        assertThat(watcher.message().text()).isEqualTo("will");
        client.expectClosed();
      }
    }
  }

  @Test
  void aConnectionThatHalfClosesBeforeConnectIsClosed() {
    try (var nothing = new RawClient(broker.port());
        var half = new RawClient(broker.port())) {
      nothing.halfClose();
      half.send(new byte[] {0x10, 20, 0, 4, 'M'});
      half.halfClose();
      nothing.expectClosed();
      half.expectClosed();
    }
  }

  /** All of it counts, although the connection has ended before the broker processes it. */
  @ParameterizedTest(name = "level {0}, half-closed {1}, durable session {2}")
  @CsvSource({"4, true, false", "4, false, false", "5, true, false", "5, false, false", "5, true, true", "5, false, true"})
  @Tag("pitfall-11")
  @Tag("pitfall-25")
  @Tag("MQTT-3.14.4-3")
  @Tag("MQTT-3.1.4-6")
  void packetsSentTogetherWithTheEndAreServed(int level, boolean half, boolean durable) {
    String topic = name();
    try (var watcher = RawClient.connected(broker, name())) {
      watcher.subscribe(topic, 1);
      for (int round = 0; round < 20; round++) {
        byte[] none = level == 5 ? RawClient.noProperties() : new byte[0];
        byte[] properties = RawClient.properties(RawClient.sessionExpiry(durable ? 60 : 0));
        try (var client = new RawClient(broker.port())) {
          client.send(
              RawClient.bytes(
                  RawClient.connect(level, durable ? 4 : 6, 0, properties, name(), none, topic, "will"),
                  RawClient.publishing(level, topic, 0, 0, "at most once " + round),
                  RawClient.publishing(level, topic, 1, 1, "at least once " + round),
                  RawClient.packet(RawClient.DISCONNECT)));
          if (half) client.halfClose();
        }
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < 2; i++) texts.add(watcher.take().text());
        assertThat(texts).as("round %d", round).containsExactly("at most once " + round, "at least once " + round);
      }
      assertThat(watcher.untilPong()).isEmpty();
    }
  }

  /** More than the lane accepts at once, so that the broker stops reading in between. */
  @ParameterizedTest(name = "QoS {0}")
  @ValueSource(ints = {0, 1})
  @Tag("pitfall-25")
  @Tag("MQTT-3.14.4-3")
  void aBurstThatEndsWithDisconnectIsServedToItsEnd(int qos) {
    String topic = name();
    int messages = 1_500;
    try (var watcher = RawClient.connected(broker, name(), RawClient.sessionExpiry(60))) {
      watcher.subscribe(topic, 1);
      byte[][] all = new byte[messages + 2][];
      all[0] = RawClient.connect(4, 6, 0, RawClient.noProperties(), name().substring(0, 20), topic, "will");
      for (int i = 1; i <= messages; i++) all[i] = RawClient.publishing(4, topic, qos, i, "" + i);
      all[messages + 1] = RawClient.packet(RawClient.DISCONNECT);
      try (var client = new RawClient(broker.port())) {
        client.send(RawClient.bytes((Object[]) all));
        client.halfClose();
        Set<String> arrived = new HashSet<>();
        while (arrived.size() < messages) {
          Message message = watcher.take();
          assertThat(message.text()).isNotEqualTo("will");
          arrived.add(message.text());
        }
        client.awaitClosed();
      }
      assertThat(watcher.untilPong()).filteredOn(each -> each.type() == RawClient.PUBLISH).isEmpty();
    }
  }

  /** A peer that has silently disappeared is detected when it should send or read. */
  @Test
  @Tag("pitfall-20")
  void manyHalfClosedConnectionsLeaveNothingBehind() {
    int before = broker.frontend().connectionCount();
    List<RawClient> clients = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      RawClient client = i % 2 == 0 ? RawClient.connected(broker, name()) : new RawClient(broker.port());
      client.halfClose();
      clients.add(client);
    }
    await().atMost(TestBroker.SOON).until(() -> broker.frontend().connectionCount() == before);
    clients.forEach(RawClient::close);
  }

  private static String name() {
    return UUID.randomUUID().toString();
  }
}

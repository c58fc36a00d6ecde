package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import dunlin.Dunlin.Client;
import dunlin.Dunlin;
import dunlin.Message;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.broker.ConnectionEvent;
import dunlin.harness.RawClient;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An application that publishes and subscribes in its embedded node. */
class ApplicationIT {
  private static final Map<String, String> SETTINGS = Map.of("dunlin.store.fsync", "false", "dunlin.lanes", "2");

  @TempDir private Path data;

  private static Message message(String topic, String text, int qos) {
    return Message.of(topic, text.getBytes(StandardCharsets.UTF_8), qos);
  }

  private static Message retained(String topic, String text) {
    return new Message(topic, text.getBytes(StandardCharsets.UTF_8), 1, true);
  }

  private static String text(Message message) {
    return new String(message.payload(), StandardCharsets.UTF_8);
  }

  private static <T> T next(BlockingQueue<T> came) {
    try {
      var next = came.poll(TestBroker.SOON.toSeconds(), TimeUnit.SECONDS);
      if (next == null) throw new AssertionError("nothing came");
      return next;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  @Test
  void messagesOfTheApplicationReachClientsInOrder() {
    try (var broker = TestBroker.on(data, SETTINGS);
        var online = RawClient.connected(broker.port(), Connect.of("online").expiry(0))) {
      RawClient.connected(broker.port(), Connect.of("absent")).disconnectAfter(each -> each.subscribe("t", 1));
      online.subscribe("t", 2);
      var answers = new ArrayList<CompletableFuture<Boolean>>();
      for (int i = 0; i < 500; i++) answers.add(broker.node().publish(message("t", "" + i, 1)));

      assertThat(answers).allSatisfy(answer -> assertThat(answer).succeedsWithin(TestBroker.SOON).isEqualTo(true));

      var expected = IntStream.range(0, 500).mapToObj(Integer::toString).toList();
      assertThat(taken(online, 500)).isEqualTo(expected);
      try (var absent = RawClient.connected(broker.port(), Connect.of("absent"))) {
        assertThat(taken(absent, 500)).isEqualTo(expected);
      }
      broker.awaitBalance();
    }
  }

  private static List<String> taken(RawClient client, int count) {
    var texts = new ArrayList<String>();
    for (int i = 0; i < count; i++) {
      Packet next = client.next(RawClient.PUBLISH);
      texts.add(next.text());
      client.puback(next.packetId());
    }
    return texts;
  }

  @Test
  void theResultSaysWhetherThereAreSubscribers() {
    try (var broker = TestBroker.on(data, SETTINGS)) {
      assertThat(broker.node().publish(message("nobody", "m", 1)).join()).isFalse();
      assertThat(broker.node().publish(message("nobody", "m", 0)).join()).isTrue();
      assertThat(broker.node().publish(retained("kept", "m")).join()).isFalse();
      try (var client = RawClient.connected(broker.port(), Connect.of("c"))) {
        client.subscribe("kept", 0);
        assertThat(client.next(RawClient.PUBLISH).retain()).isTrue();
      }
      broker.awaitBalance();
    }
  }

  @Test
  void theApplicationGetsWhatClientsPublish() {
    var came = new LinkedBlockingQueue<Message>();
    try (var broker = TestBroker.on(data, SETTINGS);
        var client = RawClient.connected(broker.port(), Connect.of("c").expiry(0))) {
      client.publishAndWait("plant/1", "old", true);
      client.publishAndWait("plant/2", "other", true);
      try (var subscription = broker.node().subscribe("plant/+", came::add)) {
        assertThat(List.of(next(came), next(came))).extracting(ApplicationIT::text).containsExactlyInAnyOrder("old", "other");
        client.publishAndWait("plant/1", "new", true);
        var live = next(came);
        assertThat(text(live)).isEqualTo("new");
        assertThat(live.retained()).isFalse();
        assertThat(live.qos()).isEqualTo(1);
        for (int i = 0; i < 200; i++) client.publishAndWait("plant/3", "" + i);
        for (int i = 0; i < 200; i++) assertThat(text(next(came))).isEqualTo("" + i);
        assertThat(subscription.dropped()).isZero();
      }
      client.publishAndWait("plant/1", "too late");
      assertThat(came).isEmpty();
      broker.awaitBalance();
    }
  }

  @Test
  @SuppressWarnings("try") // closed inside on purpose
  void applicationsTalkToThemselvesAndOverlappingSubscriptionsGetTheirOwn() {
    var wide = new LinkedBlockingQueue<Message>();
    var narrow = new LinkedBlockingQueue<Message>();
    try (var broker = TestBroker.on(data, SETTINGS);
        var one = broker.node().subscribe("#", wide::add);
        var same = broker.node().subscribe("a/b", narrow::add);
        var again = broker.node().subscribe("a/b", narrow::add)) {
      assertThat(broker.node().publish(message("a/b", "m", 2)).join()).isTrue();
      assertThat(next(wide).qos()).isEqualTo(2);
      next(narrow);
      next(narrow);
      same.close();
      assertThat(broker.node().publish(message("a/b", "n", 1)).join()).isTrue();
      next(wide);
      assertThat(text(next(narrow))).isEqualTo("n");
      again.close();
      one.close();
      await().atMost(TestBroker.SOON).until(() -> !broker.node().publish(message("a/b", "o", 1)).join());
      assertThat(narrow).isEmpty();
    }
  }

  @Test
  void aBlockedListenerDelaysNoOtherAndLosesMessagesBeyondItsLimit() throws Exception {
    var release = new CountDownLatch(1);
    var came = new LinkedBlockingQueue<Message>();
    try (var broker = TestBroker.on(data, SETTINGS);
        var client = RawClient.connected(broker.port(), Connect.of("c").expiry(0));
        var stuck =
            broker.node().subscribe(
                "t",
                message -> {
                  try {
                    release.await();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                  came.add(message);
                })) {
      for (int i = 0; i < 10_500; i += 100) {
        for (int j = i; j < i + 100; j++) client.publish("t", "" + j, 1, j % 100 + 1, false);
        client.next(100, RawClient.PUBACK);
      }
      assertThat(stuck.dropped()).isBetween(499L, 500L); // the listener may have taken the first one out of the queue
      release.countDown();
      for (int i = 0; i < 10_000; i++) assertThat(text(next(came))).isEqualTo("" + i);
      broker.awaitBalance();
    }
  }

  @Test
  void aListenerThatThrowsGetsTheNextMessage() {
    var came = new LinkedBlockingQueue<Message>();
    try (var broker = TestBroker.on(data, SETTINGS);
        var _ =
            broker.node().subscribe(
                "t",
                message -> {
                  came.add(message);
                  throw new IllegalStateException("by design");
                })) {
      broker.node().publish(message("t", "1", 1)).join();
      broker.node().publish(message("t", "2", 1)).join();
      assertThat(text(next(came))).isEqualTo("1");
      assertThat(text(next(came))).isEqualTo("2");
    }
  }

  @Test
  void theApplicationHasTheSameLimitsAsClients() {
    try (var broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false", "dunlin.mqtt.topic-levels-max", "3"))) {
      var node = broker.node();
      for (String topic : List.of("", "a/+", "#", "a\u0000", "$SYS/broker/version", "$share/g/a", "$share", "a/b/c/d", "\ud800", "a\u0001", "a\uffff")) {
        assertThatThrownBy(() -> node.publish(message(topic, "m", 1))).as("topic '%s'", topic).isInstanceOf(IllegalArgumentException.class);
      }
      assertThatThrownBy(() -> node.publish(Message.of("t", new byte[2_000_000], 1)))
          .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("the limit is");
      assertThatThrownBy(() -> Message.of("t", new byte[0], 3)).hasMessage("qos is 3; it must be 0, 1 or 2");
      assertThatThrownBy(() -> node.subscribe("a/#/b", _ -> {})).isInstanceOf(IllegalArgumentException.class);
      for (String filter : List.of("", "$share/g/a", "$share", "a/b/c/#", "a\u0001", "\ud800")) {
        assertThatThrownBy(() -> node.subscribe(filter, _ -> {})).as("filter '%s'", filter).isInstanceOf(IllegalArgumentException.class);
      }
    }
  }

  @Test
  void featuresThatAreOffForClientsAreOffForTheApplication() {
    var settings =
        Map.of(
            "dunlin.store.fsync", "false", "dunlin.mqtt.maximum-qos", "1", "dunlin.mqtt.retain-available", "false",
            "dunlin.mqtt.wildcard-subscription-available", "false");
    try (var broker = TestBroker.on(data, settings)) {
      var node = broker.node();
      assertThatThrownBy(() -> node.publish(message("t", "m", 2))).hasMessage("dunlin.mqtt.maximum-qos is 1");
      assertThatThrownBy(() -> node.publish(retained("t", "m"))).hasMessageContaining("dunlin.mqtt.retain-available");
      assertThatThrownBy(() -> node.subscribe("t/+", _ -> {})).hasMessageContaining("dunlin.mqtt.wildcard-subscription-available");
      assertThat(node.publish(message("t", "m", 1)).join()).isFalse();
    }
  }

  @Test
  void clientsAreListedAndDisconnected() {
    try (var broker = TestBroker.on(data, SETTINGS);
        var client = RawClient.connected(broker.port(), Connect.of("van-1"))) {
      RawClient.connected(broker.port(), Connect.of("van-2")).disconnect();
      await().atMost(TestBroker.SOON)
          .untilAsserted(
              () ->
                  assertThat(broker.node().clients("van-", "", 10)).extracting(Client::clientId, Client::connected)
                      .containsExactly(tuple("van-1", true), tuple("van-2", false)));
      assertThat(broker.node().disconnect("van-1")).isTrue();
      assertThat(client.expect(RawClient.DISCONNECT).reason()).isEqualTo(0x98);
      assertThat(broker.node().disconnect("van-2")).isFalse();
    }
  }

  @Test
  void aConnectionListenerGetsConnectsTakeoversAndDisconnects() {
    var told = new LinkedBlockingQueue<ConnectionEvent>();
    try (var node = Dunlin.builder().inMemory().tcpPort(0).connectionListener(told::add).build()) {
      var first = RawClient.connected(node.tcpPort(), Connect.of("van"));
      var connected = (ConnectionEvent.Connected) next(told);
      assertThat(connected.clientId()).isEqualTo("van");
      assertThat(connected.tenant()).isEqualTo("default");
      assertThat(connected.listener()).isEqualTo("tcp");
      assertThat(connected.version()).isEqualTo(5);
      assertThat(connected.sessionPresent()).isFalse();

      var second = RawClient.connected(node.tcpPort(), Connect.of("van"));
      var events = List.of(next(told), next(told), next(told));
      assertThat(events).hasAtLeastOneElementOfType(ConnectionEvent.Connected.class);
      assertThat(events).filteredOn(ConnectionEvent.TakenOver.class::isInstance).singleElement()
          .satisfies(event -> assertThat(((ConnectionEvent.TakenOver) event).from()).isEqualTo(connected.connection()));
      assertThat(events).filteredOn(ConnectionEvent.Disconnected.class::isInstance).singleElement()
          .satisfies(
              event -> {
                assertThat(((ConnectionEvent.Disconnected) event).connection()).isEqualTo(connected.connection());
                assertThat(((ConnectionEvent.Disconnected) event).reason()).isEqualTo("session-taken-over");
              });
      first.close();
      second.disconnect();
      assertThat(((ConnectionEvent.Disconnected) next(told)).reason()).isEqualTo("disconnect");
      RawClient.connected(node.tcpPort(), Connect.of("last"));
      next(told);
    }
    assertThat(((ConnectionEvent.Disconnected) next(told)).clientId()).as("told before close() has returned").isEqualTo("last");
  }

  @Test
  void theApplicationsRegistryHasTheNodesMetersWhileItRuns() {
    var registry = new SimpleMeterRegistry();
    registry.counter("applications.own").increment();
    try (var node = Dunlin.builder().inMemory().tcpPort(0).meterRegistry(registry).build();
        var _ = RawClient.connected(node.tcpPort(), Connect.of("c"))) {
      await().atMost(TestBroker.SOON).until(() -> registry.get("dunlin.connections.opened").counter().count() == 1);
    }
    assertThat(registry.getMeters()).extracting(meter -> meter.getId().getName()).containsExactly("applications.own");
    assertThat(registry.isClosed()).isFalse();
  }

  @Test
  void afterCloseCallsAreRefused() {
    var broker = TestBroker.on(data, SETTINGS);
    var node = broker.node();
    broker.close();
    assertThatThrownBy(() -> node.publish(message("t", "m", 1))).isInstanceOf(IllegalStateException.class).hasMessage("this node has been closed");
    assertThatThrownBy(() -> node.subscribe("t", _ -> {})).hasMessage("this node has been closed");
    assertThatThrownBy(() -> node.clients("", "", 1)).hasMessage("this node has been closed");
    assertThatThrownBy(() -> node.disconnect("c")).hasMessage("this node has been closed");
  }
}

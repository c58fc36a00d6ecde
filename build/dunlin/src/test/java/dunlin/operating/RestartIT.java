package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Packet;
import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.paho.client.mqttv3.IMqttDeliveryToken;
import org.eclipse.paho.client.mqttv3.MqttAsyncClient;
import org.eclipse.paho.client.mqttv3.MqttCallback;
import org.eclipse.paho.client.mqttv3.MqttConnectOptions;
import org.eclipse.paho.client.mqttv3.MqttException;
import org.eclipse.paho.client.mqttv3.MqttMessage;
import org.eclipse.paho.client.mqttv3.MqttPersistenceException;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The shipped broker, killed and restarted on its data: everything acknowledged is there. */
class RestartIT {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final int KILLS = 3;
  private static final int IN_FLIGHT = 128;

  @TempDir Path directory;

  @Test
  @Tag("MQTT-3.1.2-7")
  @Tag("MQTT-3.1.2-8")
  @Tag("MQTT-3.1.2-23")
  void durableDataSurvivesAKill() {
    try (var broker = BrokerProcess.start(directory)) {
      RawClient.connected(broker.port(), Connect.of("offline"))
          .disconnectAfter(
              each -> {
                each.subscribe("queued/+", 2);
                each.subscribe("wills/#", 1);
              });
      var online = RawClient.connected(broker.port(), Connect.of("online").will("wills/online", "killed", 1, 0));
      online.subscribe("queued/#", 1);
      RawClient.connected(broker.port(), Connect.of("delayed").will("wills/delayed", "late", 1, 4)).close();
      RawClient.connected(broker.port(), Connect.of("gone")).disconnect(0);
      try (var publisher = RawClient.connected(broker.port(), Connect.of("publisher"))) {
        for (int i = 1; i <= 200; i++) publisher.publish("queued/" + i % 2, "" + i, 1 + i % 2, 1_000 + i, false);
        List<Packet> answers = new ArrayList<>();
        while (answers.size() < 200) answers.add(publisher.read());
        assertThat(answers).allMatch(each -> each.reason() == 0);
        for (int i = 0; i < 10; i++) publisher.publishAndWait("retained/" + i, "first " + i, true);
        publisher.publishAndWait("retained/0", "second 0", true);
        publisher.publishAndWait("retained/1", "", true);
        List<Packet> first = online.next(10, RawClient.PUBLISH);
        for (int i = 0; i < 10; i += 2) online.puback(first.get(i).packetId());
        broker.kill();
      }
      online.close();
    }

    try (var broker = BrokerProcess.start(directory)) {
      try (var offline = RawClient.connected(broker.port(), Connect.of("offline"))) {
        assertThat(offline.sessionPresent()).isTrue();
        List<Packet> arrived = offline.next(202, RawClient.PUBLISH);
        List<Packet> queued = arrived.stream().filter(each -> each.topic().startsWith("queued/")).toList();
        assertThat(queued).extracting(Packet::text).containsExactlyElementsOf(numbers(1, 200));
        assertThat(queued).allMatch(each -> each.qos() == 1 + Integer.parseInt(each.text()) % 2);
        assertThat(queued).noneMatch(Packet::retain);
        assertThat(arrived).filteredOn(each -> each.topic().startsWith("wills/")).extracting(Packet::text)
            .containsExactlyInAnyOrder("killed", "late");
      }
      try (var online = RawClient.connected(broker.port(), Connect.of("online"))) {
        assertThat(online.sessionPresent()).isTrue();
        List<String> left = new ArrayList<>(numbers(1, 200));
        // Acknowledged positions are recorded a little later: a kill may lose some.
        List<String> arrived = new ArrayList<>();
        while (!arrived.contains("200")) {
          Packet packet = online.read();
          if (Integer.parseInt(packet.text()) <= 10) assertThat(packet.duplicate()).isTrue();
          arrived.add(packet.text());
        }
        left.removeAll(arrived);
        assertThat(List.of("1", "3", "5", "7", "9")).containsAll(left);
        assertThat(arrived).isEqualTo(numbers(1, 200).stream().filter(each -> !left.contains(each)).toList());
        assertThat(online.publishAndWait("queued/by itself", "the route is there")).isZero();
        assertThat(online.read().text()).isEqualTo("the route is there");
      }
      try (var publisher = RawClient.connected(broker.port(), Connect.of("publisher"))) {
        assertThat(publisher.sessionPresent()).isTrue();
        publisher.publish("queued/1", "1", 2, 1_001, true); // its PUBREC had been received
        publisher.next(RawClient.PUBREC);
        publisher.subscribe("retained/#", 0);
        assertThat(publisher.next(9, RawClient.PUBLISH)).allMatch(Packet::retain).extracting(Packet::text)
            .contains("second 0", "first 2").doesNotContain("first 0", "first 1");
        assertThat(publisher.untilPong()).isEmpty();
      }
      try (var gone = RawClient.connected(broker.port(), Connect.of("gone"))) {
        assertThat(gone.sessionPresent()).isFalse();
      }
      assertThat(broker.err()).isEmpty();
    }
  }

  private static List<String> numbers(int from, int to) {
    List<String> numbers = new ArrayList<>();
    for (int i = from; i <= to; i++) numbers.add("" + i);
    return numbers;
  }

  @Test
  @Tag("MQTT3-4.5.0-1")
  void nothingAcknowledgedIsLostByKillsUnderLoad() throws Exception {
    long seed = System.nanoTime();
    System.out.println("RestartIT seed " + seed);
    Random random = new Random(seed);
    String port = "dunlin.listeners.tcp.port=" + FreePort.any(); // no outgoing connection takes it while the broker is away
    BrokerProcess broker = BrokerProcess.start(directory, port);
    Queue<String> once = new ConcurrentLinkedQueue<>();
    Queue<String> exactly = new ConcurrentLinkedQueue<>();
    ConcurrentLinkedQueue<String> acknowledged = new ConcurrentLinkedQueue<>();
    Mqtt5AsyncClient subscriber = hiveMq(broker.port(), "subscriber 1", once);
    subscriber.subscribeWith().topicFilter("one").qos(MqttQos.AT_LEAST_ONCE).send().get(60, TimeUnit.SECONDS);
    RawClient.connected(broker.port(), Connect.of("offline")).disconnectAfter(each -> each.subscribe("one", 1));
    RawClient.connected(broker.port(), Connect.of("offline 2")).disconnectAfter(each -> each.subscribe("two", 1));
    try (var exactlySubscriber = new PahoThatComesBack(broker.port(), "subscriber 2", exactly);
        var exactlyPublisher = new PahoThatComesBack(broker.port(), "publisher 2", new ConcurrentLinkedQueue<>())) {
      exactlySubscriber.subscribe("two");
      Mqtt5AsyncClient publisher = hiveMq(broker.port(), "publisher 1", new ConcurrentLinkedQueue<>());
      AtomicBoolean stop = new AtomicBoolean();
      AtomicInteger sent = new AtomicInteger();
      Thread first = Thread.ofPlatform().start(() -> publish(publisher, stop, sent, acknowledged));
      Thread second = Thread.ofPlatform().start(() -> exactlyPublisher.publish("two", stop));
      int killed = 0;
      while (killed++ < KILLS) {
        int enough = acknowledged.size() + 200 + random.nextInt(2_000);
        await().atMost(SOON).until(() -> acknowledged.size() >= enough);
        broker.kill();
        broker = BrokerProcess.start(directory, port);
      }
      int end = acknowledged.size() + 200;
      await().atMost(SOON).until(() -> acknowledged.size() >= end);
      stop.set(true);
      first.join();
      second.join();
      await("all are acknowledged").atMost(SOON).until(() -> acknowledged.size() == sent.get());
      await("all have come").atMost(SOON).until(() -> new LinkedHashSet<>(once).size() == sent.get());
      exactlyPublisher.awaitDelivered();
      await("all have come once").atMost(SOON).until(() -> new HashSet<>(exactly).containsAll(exactlyPublisher.sent));
      publisher.disconnect().get(60, TimeUnit.SECONDS);
      subscriber.disconnect().get(60, TimeUnit.SECONDS);
      System.out.printf("RestartIT: %d messages of QoS 1, %d of QoS 2%n", sent.get(), exactly.size());

      List<String> all = numbers(1, sent.get());
      assertThat(new LinkedHashSet<>(once)).as("online, seed %d", seed).containsExactlyElementsOf(all);
      List<String> exactlyOnline = List.copyOf(exactly);
      List<String> later = inbox(broker.port(), "offline", "last of one", "one");
      assertThat(new LinkedHashSet<>(later)).as("offline, seed %d", seed).containsExactlyElementsOf(all);
      List<String> exactlyLater = inbox(broker.port(), "offline 2", "last of two", "two");
      assertExactlyOnce(exactlyLater, exactlyPublisher, "QoS 2 offline, seed " + seed);
      assertExactlyOnce(exactlyOnline, exactlyPublisher, "QoS 2, seed " + seed);
    } finally {
      broker.close();
    }
  }

  /** All waiting messages of a session, up to a last message that is published here. */
  private static List<String> inbox(int port, String clientId, String last, String topic) {
    RawClient.connected(port, Connect.of("last").expiry(0)).disconnectAfter(each -> each.publishAndWait(topic, last));
    List<String> payloads = new ArrayList<>();
    try (var client = RawClient.connected(port, Connect.of(clientId).receiveMaximum(1_000))) {
      for (Packet packet = client.read(); !packet.text().equals(last); packet = client.read()) {
        payloads.add(packet.text());
        client.puback(packet.packetId());
      }
    }
    return payloads;
  }

  private static void assertExactlyOnce(List<String> arrived, PahoThatComesBack publisher, String description) {
    var left = new HashSet<>(publisher.sent);
    var seen = new HashSet<String>();
    int last = 0;
    List<String> wrong = new ArrayList<>();
    for (int i = 0; i < arrived.size(); i++) {
      String payload = arrived.get(i);
      if (!seen.add(payload)) wrong.add("twice " + payload + " behind " + last);
      else if (Integer.parseInt(payload) < last) wrong.add("late " + payload + " behind " + last);
      left.remove(payload);
      last = Math.max(last, Integer.parseInt(payload));
    }
    for (String payload : left) wrong.add("lost " + payload);
    assertThat(wrong).as(description).isEmpty();
  }

  /** Publishes with QoS 1, IN_FLIGHT at a time, through all reconnects of the client. */
  private static void publish(
      Mqtt5AsyncClient publisher, AtomicBoolean stop, AtomicInteger sent, ConcurrentLinkedQueue<String> acknowledged) {
    Semaphore window = new Semaphore(IN_FLIGHT);
    while (!stop.get()) {
      window.acquireUninterruptibly();
      String payload = Integer.toString(sent.incrementAndGet());
      var _ =
          publisher
              .publishWith()
              .topic("one")
              .qos(MqttQos.AT_LEAST_ONCE)
              .payload(payload.getBytes(StandardCharsets.UTF_8))
              .send()
              .whenComplete(
                  (result, failure) -> {
                    if (failure == null && result.getError().isEmpty()) acknowledged.add(payload);
                    window.release();
                  });
    }
  }

  private static Mqtt5AsyncClient hiveMq(int port, String clientId, Queue<String> arrived) throws Exception {
    Mqtt5AsyncClient client =
        MqttClient.builder()
            .useMqttVersion5()
            .identifier(clientId)
            .serverHost("127.0.0.1")
            .serverPort(port)
            .automaticReconnect()
            .initialDelay(50, TimeUnit.MILLISECONDS)
            .maxDelay(200, TimeUnit.MILLISECONDS)
            .applyAutomaticReconnect()
            .buildAsync();
    client.publishes(
        MqttGlobalPublishFilter.ALL, message -> arrived.add(new String(message.getPayloadAsBytes(), StandardCharsets.UTF_8)));
    client.connectWith().cleanStart(false).sessionExpiryInterval(3_600).send().get(60, TimeUnit.SECONDS);
    return client;
  }

  /** A client of MQTT 3 whose session state outlives its connections, as long as this object does. */
  private static final class PahoThatComesBack implements AutoCloseable {
    private final MqttAsyncClient client;

    /** Messages that the client accepted. One that it refused may have been sent all the same, if the connection broke just then. */
    private final Queue<String> sent = new ConcurrentLinkedQueue<>();

    PahoThatComesBack(int port, String clientId, Queue<String> arrived) throws MqttException {
      client = new MqttAsyncClient("tcp://127.0.0.1:" + port, clientId, new LastingMemory());
      client.setCallback(
          new MqttCallback() {
            @Override
            public void connectionLost(Throwable cause) {}

            @Override
            public void messageArrived(String topic, MqttMessage message) {
              arrived.add(new String(message.getPayload(), StandardCharsets.UTF_8));
            }

            @Override
            public void deliveryComplete(IMqttDeliveryToken token) {}
          });
      var options = new MqttConnectOptions();
      options.setMqttVersion(MqttConnectOptions.MQTT_VERSION_3_1_1);
      options.setCleanSession(false);
      options.setAutomaticReconnect(true);
      options.setMaxReconnectDelay(1_000);
      options.setMaxInflight(IN_FLIGHT);
      client.connect(options).waitForCompletion(60_000);
    }

    void subscribe(String filter) throws MqttException {
      client.subscribe(filter, 2).waitForCompletion(60_000);
    }

    /** Publishes with QoS 2 whenever there is a connection with room. */
    void publish(String topic, AtomicBoolean stop) {
      for (int number = 1; !stop.get(); number++) {
        try {
          String payload = Integer.toString(number);
          client.publish(topic, payload.getBytes(StandardCharsets.UTF_8), 2, false);
          sent.add(payload);
        } catch (MqttException notNow) {
          LockSupport.parkNanos(1_000_000); // no connection, or too many in flight
        }
      }
    }

    void awaitDelivered() {
      await("all of QoS 2 are acknowledged").atMost(SOON).until(() -> client.getPendingDeliveryTokens().length == 0);
    }

    @Override
    public void close() throws MqttException {
      client.disconnectForcibly(100, 100, true);
      client.close(true);
    }
  }

  /** A persistence in memory that survives close: Paho closes its persistence with each connection. */
  private static final class LastingMemory extends MemoryPersistence {
    private boolean opened;

    @Override
    public void open(String clientId, String serverUri) throws MqttPersistenceException {
      if (!opened) super.open(clientId, serverUri);
      opened = true;
    }

    @Override
    public void close() {}
  }

  @Test
  void sigtermStopsABusyBrokerInTime() throws Exception {
    try (var broker = BrokerProcess.start(directory)) {
      Mqtt5AsyncClient publisher = hiveMq(broker.port(), "publisher", new ConcurrentLinkedQueue<>());
      try (var subscriber = RawClient.connected(broker.port(), Connect.of("subscriber"))) {
        subscriber.subscribe("one", 1); // and reads nothing
        AtomicBoolean stop = new AtomicBoolean();
        ConcurrentLinkedQueue<String> acknowledged = new ConcurrentLinkedQueue<>();
        Thread.ofPlatform().daemon().start(() -> publish(publisher, stop, new AtomicInteger(), acknowledged));
        await().atMost(SOON).until(() -> acknowledged.size() > 500);
        broker.terminate();
        assertThat(broker.awaitExit(Duration.ofSeconds(60))).isIn(0, 143);
        stop.set(true);
        assertThat(broker.err()).isEmpty();
        assertThat(broker.out()).noneMatch(line -> line.startsWith("\tat "));

        List<Packet> read = subscriber.awaitClosed();
        assertThat(read.getLast().type()).isEqualTo(RawClient.DISCONNECT);
        assertThat(read.getLast().reason()).isEqualTo(0x8B);
      }
    }
  }
}

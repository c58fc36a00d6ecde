package dunlin.sessions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.ClientKind.Client;
import dunlin.harness.ClientKind.Options;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.ClientKind;
import dunlin.harness.RawClient;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A client identifier that connects again while it is connected; MQTT 5, section 3.1.4. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TakeoverIT {
  private static final int SESSION_TAKEN_OVER = 0x8E;
  private static final int TAKEOVERS = 50;

  private TestBroker broker;

  TakeoverIT(@TempDir Path data) {
    broker = TestBroker.on(data);
  }

  @BeforeAll
  void listens() {
    assertThat(broker.port()).isPositive();
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  @ParameterizedTest(name = "expiry {0}, then clean start {1}, expiry {2}: session present {3}")
  @Tag("pitfall-10")
  @Tag("pitfall-17")
  @CsvSource({
    "3600, false, 3600, true",
    "3600, false, 0, true",
    "3600, true, 3600, false",
    "0, false, 3600, false",
    "0, true, 0, false"
  })
  @Tag("MQTT-3.1.4-3")
  @Tag("MQTT-3.2.2-2")
  @Tag("MQTT-3.2.2-3")
  void theOldConnectionGetsDisconnectAndIsClosed(long expiry, boolean cleanStart, long newExpiry, boolean present) {
    Connect connect = Connect.of(name());
    try (var old = RawClient.connected(broker.port(), connect.expiry(expiry))) {
      old.subscribe(connect.clientId(), 1);
      Connect again = cleanStart ? connect.clean() : connect;
      try (var next = RawClient.connected(broker.port(), again.expiry(newExpiry))) {
        assertThat(next.sessionPresent()).isEqualTo(present);
        assertThat(old.awaitClosed())
            .singleElement()
            .satisfies(
                last -> {
                  assertThat(last.type()).isEqualTo(RawClient.DISCONNECT);
                  assertThat(last.reason()).isEqualTo(SESSION_TAKEN_OVER);
                });
        next.publish(connect.clientId(), "to myself", 0, 0, false);
        assertThat(next.untilPong()).hasSizeLessThanOrEqualTo(1).allMatch(each -> present);
        if (!present) next.subscribe(connect.clientId(), 1);
        int matched = next.publishAndWait(connect.clientId(), "to myself");
        assertThat(matched).isZero();
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  @Tag("MQTT-3.1.4-3")
  @Tag("MQTT3-3.1.4-2")
  void theOldClientOfAnyLibraryIsDisconnected(ClientKind kind) throws Exception {
    Options options = Options.of(name());
    Client old = kind.connect(broker.port(), options, _ -> {});
    Client next = kind.connect(broker.port(), options, _ -> {});
    assertThat(next.sessionPresent()).isTrue();
    await().atMost(TestBroker.SOON).until(() -> !old.connected());
    assertThat(next.connected()).isTrue();
    next.disconnect();
  }

  @Test
  @Tag("pitfall-12")
  @Tag("pitfall-20")
  @Tag("MQTT-4.3.3-6")
  @Tag("MQTT-4.6.0-5")
  void noMessageIsLostRepeatedOrReorderedWhileASubscriberIsTakenOver() throws Exception {
    long seed = System.nanoTime();
    System.out.println("TakeoverIT subscriber seed " + seed);
    Random random = new Random(seed);
    Connect connect = Connect.of(name()).receiveMaximum(20);
    AtomicBoolean stop = new AtomicBoolean();
    ConcurrentLinkedQueue<String> acknowledged = new ConcurrentLinkedQueue<>();
    Receiver receiver = new Receiver();
    RawClient client = RawClient.connected(broker.port(), connect.clean());
    client.subscribe(connect.clientId() + "/#", 2);
    Thread publishing = Thread.ofPlatform().start(() -> publishUntil(stop, connect.clientId(), acknowledged));

    List<RawClient> old = new ArrayList<>();
    for (int i = 0; i < TAKEOVERS; i++) {
      receiver.receive(client, random.nextInt(60));
      old.add(client);
      client = RawClient.connected(broker.port(), connect);
      assertThat(client.sessionPresent()).isTrue();
    }
    stop.set(true);
    publishing.join();
    while (receiver.first.size() < acknowledged.size()) receiver.receive(client, 1);
    assertThat(client.untilPong()).filteredOn(each -> each.type() == RawClient.PUBLISH && !each.duplicate()).isEmpty();
    client.close();

    assertThat(receiver.first).as("seed %d", seed).containsAll(acknowledged);
    assertThat(receiver.twice).as("QoS 2 twice, seed %d", seed).isEmpty();
    for (String qos : List.of("1:", "2:")) {
      assertThat(receiver.first.stream().filter(each -> each.startsWith(qos)).map(each -> Integer.valueOf(each.substring(2))))
          .as("seed %d", seed)
          .isSorted();
    }
    for (RawClient each : old) {
      assertThat(each.awaitClosed().getLast().reason()).isEqualTo(SESSION_TAKEN_OVER);
    }
  }

  /** Publishes with QoS 1 and 2 in windows, and records what was acknowledged. */
  private void publishUntil(AtomicBoolean stop, String topic, ConcurrentLinkedQueue<String> acknowledged) {
    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      for (int begin = 0; !stop.get(); begin += 20) {
        for (int i = 1; i <= 20; i++) {
          int qos = 1 + i % 2;
          publisher.publish(topic + "/" + qos, qos + ":" + (begin + i), qos, i, false);
        }
        for (int i = 1; i <= 30; i++) { // 10 PUBACK, 10 PUBREC, 10 PUBCOMP
          Packet answer = publisher.read();
          int id = answer.packetId();
          assertThat(answer.reason()).isZero();
          if (answer.type() != RawClient.PUBCOMP) acknowledged.add((1 + id % 2) + ":" + (begin + id));
          if (answer.type() == RawClient.PUBREC) publisher.pubrel(id);
        }
      }
    }
  }

  /** The receiver's half of QoS 1 and 2, with state that outlives its connections. */
  private static final class Receiver {
    private final Set<String> first = new LinkedHashSet<>();
    private final List<String> twice = new ArrayList<>();
    private final Set<Integer> unreleased = new HashSet<>();

    void receive(RawClient client, int packets) {
      for (int i = 0; i < packets; i++) {
        Packet packet = client.read();
        switch (packet.type()) {
          case RawClient.PUBLISH -> {
            if (packet.qos() == 1) {
              first.add(packet.text());
              client.puback(packet.packetId());
            } else {
              boolean isNew = unreleased.add(packet.packetId());
              if (isNew && !first.add(packet.text())) twice.add(packet.text());
              client.pubrec(packet.packetId());
            }
          }
          case RawClient.PUBREL -> {
            unreleased.remove(packet.packetId());
            client.pubcomp(packet.packetId());
          }
          default -> throw new AssertionError("not expected: " + packet);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void noMessageIsLostOrReorderedWhileAPublisherIsTakenOver(int qos) {
    long seed = System.nanoTime();
    System.out.println("TakeoverIT publisher seed " + seed);
    Random random = new Random(seed);
    Connect connect = Connect.of(name());
    try (var subscriber = RawClient.connected(broker.port(), Connect.of(name()))) {
      subscriber.subscribe(connect.clientId(), 1);
      Map<Integer, Integer> unacknowledged = new LinkedHashMap<>(); // by packet identifier, in the order of sending
      Set<Integer> unreleased = new LinkedHashSet<>();
      List<Integer> acknowledged = new ArrayList<>();
      RawClient publisher = RawClient.connected(broker.port(), connect.clean());
      int next = 0;
      for (int i = 0; i <= TAKEOVERS; i++) {
        for (int j = random.nextInt(40); j > 0; j--) {
          next++;
          unacknowledged.put(next, next);
          publisher.publish(connect.clientId(), "" + next, qos, next, false);
        }
        boolean last = i == TAKEOVERS;
        int answers = last ? Integer.MAX_VALUE : random.nextInt(unacknowledged.size() + 1);
        for (int j = 0; j < answers && !(unacknowledged.isEmpty() && unreleased.isEmpty()); j++) {
          Packet answer = publisher.read();
          assertThat(answer.reason()).as("%s, seed %d", answer, seed).isZero();
          if (answer.type() != RawClient.PUBCOMP) {
            acknowledged.add(unacknowledged.remove(answer.packetId()));
            if (qos == 2) {
              unreleased.add(answer.packetId());
              publisher.pubrel(answer.packetId());
            }
          } else {
            unreleased.remove(answer.packetId());
          }
        }
        if (last) break;
        publisher = RawClient.connected(broker.port(), connect);
        assertThat(publisher.sessionPresent()).isTrue();
        for (int id : unreleased) publisher.pubrel(id);
        for (int released = unreleased.size(); released > 0; released--) publisher.next(RawClient.PUBCOMP);
        unreleased.clear();
        for (var each : unacknowledged.entrySet()) {
          publisher.publish(connect.clientId(), "" + each.getValue(), qos, each.getKey(), true);
        }
      }
      publisher.close();
      List<Integer> arrived = new ArrayList<>();
      while (!arrived.contains(next)) {
        Packet packet = subscriber.read();
        subscriber.puback(packet.packetId());
        arrived.add(Integer.valueOf(packet.text()));
      }
      subscriber.untilPong().forEach(each -> arrived.add(Integer.valueOf(each.text())));

      List<Integer> all = IntStream.rangeClosed(1, next).boxed().toList();
      assertThat(acknowledged).hasSameElementsAs(all);
      if (qos == 2) assertThat(arrived).as("seed %d", seed).isEqualTo(all);
      else assertThat(new LinkedHashSet<>(arrived)).as("seed %d", seed).containsExactlyElementsOf(all);
    }
  }

  @ParameterizedTest(name = "session expiry {0} s, will delay {1} s, clean start {2}: published {3}")
  @Tag("pitfall-18")
  @CsvSource({
    "3600, 0, false, true", "3600, 0, true, true", "3600, 1, false, false", "3600, 1, true, true", "0, 0, false, true",
    "0, 3600, false, true", "0, 3600, true, true"
  })
  @Tag("MQTT-3.1.2-8")
  @Tag("MQTT-3.1.3-9")
  void theWillOfTheOldConnection(long expiry, long delaySeconds, boolean cleanStart, boolean published) {
    Connect connect = Connect.of(name()).expiry(expiry);
    try (var watcher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      watcher.subscribe(connect.clientId(), 1);
      try (var old = RawClient.connected(broker.port(), connect.will(connect.clientId(), "will", 1, delaySeconds))) {
        try (var next = RawClient.connected(broker.port(), cleanStart ? connect.clean() : connect)) {
          assertThat(old.awaitClosed()).hasSize(1);
          if (published) {
            assertThat(watcher.read().text()).isEqualTo("will");
          } else {
            await().pollDelay(Duration.ofSeconds(delaySeconds).plusMillis(700)).until(() -> true);
          }
          assertThat(watcher.untilPong()).isEmpty();
          next.disconnect();
        }
      }
    }
  }

  /** What the client sends on the displaced connection has no effect any more. */
  @ParameterizedTest
  @ValueSource(longs = {0, 3_600})
  @Tag("pitfall-19")
  void theLateEndOfADisplacedConnectionHasNoEffect(long expiry) {
    Connect connect = Connect.of(name()).expiry(expiry);
    try (var watcher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      watcher.subscribe(connect.clientId() + "/will", 1);
      for (int round = 0; round < 20; round++) {
        var old = RawClient.connected(broker.port(), connect.will(connect.clientId() + "/old", "old", 1, 0));
        try (var next = RawClient.connected(broker.port(), connect.will(connect.clientId() + "/will", "will " + round, 1, 0))) {
          next.subscribe(connect.clientId(), 1);
          if (round % 2 == 0) old.close();
          else old.reset();
          assertThat(next.untilPong()).isEmpty();
          assertThat(next.publishAndWait(connect.clientId(), "to myself")).isZero();
          next.puback(next.message().packetId());
          assertThat(watcher.untilPong()).as("round %d", round).isEmpty();
        }
        assertThat(watcher.message().text()).isEqualTo("will " + round);
      }
    }
  }

  /** In MQTT 3 there is no packet to tell the old connection. */
  @ParameterizedTest
  @CsvSource({"3, 3", "4, 4", "4, 5", "5, 4"})
  @Tag("pitfall-17")
  @Tag("MQTT3-3.1.4-2")
  void theOldConnectionIsClosedWhateverTheVersions(int level, int nextLevel) {
    String clientId = name().substring(0, 18);
    try (var old = RawClient.connected(broker.port(), RawClient.connect(level, true, 0, clientId, RawClient.noProperties()));
        var next = RawClient.connected(broker.port(), RawClient.connect(nextLevel, true, 0, clientId, RawClient.noProperties()))) {
      assertThat(old.awaitClosed()).hasSize(level == 5 ? 1 : 0);
      next.ping();
    }
  }

  @Test
  @Tag("MQTT-3.1.4-3")
  void ofManyAtOnceExactlyOneRemains(@TempDir Path data) throws Exception {
    // A long timeout, so that a late CONNECT on a busy machine does not look like a takeover.
    try (var alone = TestBroker.on(data, Map.of("dunlin.mqtt.connect-timeout", "5m", "dunlin.store.fsync", "false"))) {
      ofManyAtOnceExactlyOneRemains(alone);
    }
  }

  private static void ofManyAtOnceExactlyOneRemains(TestBroker broker) throws InterruptedException {
    Connect connect = Connect.of(name());
    RawClient.connected(broker.port(), connect).disconnectAfter(each -> each.subscribe(connect.clientId(), 1));
    CountDownLatch go = new CountDownLatch(1);
    Map<RawClient, Thread> clients = new HashMap<>();
    List<RawClient> refused = Collections.synchronizedList(new ArrayList<>());
    for (int i = 0; i < 30; i++) {
      RawClient client = new RawClient(broker.port());
      Runnable connecting =
          () -> {
            try {
              go.await();
              client.connect(connect);
            } catch (InterruptedException | UncheckedIOException | AssertionError e) {
              refused.add(client); // taken over before its CONNACK was read
            }
          };
      clients.put(client, Thread.ofPlatform().start(connecting));
    }
    go.countDown();
    for (Thread each : clients.values()) each.join();
    await().atMost(Duration.ofMinutes(1)).until(() -> broker.frontend().connectionCount() == 1);

    try (var publisher = RawClient.connected(broker.port(), Connect.of(name()).expiry(0))) {
      assertThat(publisher.publishAndWait(connect.clientId(), "to the one")).isZero();
    }
    List<RawClient> live = new ArrayList<>();
    List<Packet> received = new ArrayList<>();
    for (RawClient each : clients.keySet()) {
      try {
        received.addAll(each.untilPong());
        live.add(each);
      } catch (RawClient.EndedError | UncheckedIOException closed) { // the end shows when reading or writing
        each.close();
      }
    }
    assertThat(live).hasSize(1);
    RawClient left = live.getFirst();
    if (received.isEmpty()) received.add(left.read()); // PUBACK only means that it is stored; it may be sent later
    received.addAll(left.untilPong());
    assertThat(received).extracting(Packet::text).containsExactly("to the one");
    left.close();
  }

  private static String name() {
    return UUID.randomUUID().toString();
  }
}

package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Message;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Publishers of QoS 2 with durable sessions, whose connections end or are taken over in the middle of their exchanges; {@code
 * -Ddunlin.test.seed=n} repeats the choices of one run.
 */
class ExactlyOnceIT {
  private static final int PUBLISHERS = 4;
  private static final int CONNECTIONS = 60;
  private static final int BURST = 12;
  private static final int IDENTIFIERS = 40;
  private static final int PACKET_IDENTIFIER_NOT_FOUND = 0x92;

  /** Sends its messages, reconnects in between, and resends what it must; MQTT 5, section 4.4. */
  private static final class Publisher implements Callable<Integer> {
    private final TestBroker broker;
    private final Random random;
    private final Connect connect;
    private final String topic;
    private final List<RawClient> displaced = new ArrayList<>();

    private final Map<Integer, Integer> unacknowledged = new LinkedHashMap<>(); // by packet identifier, in the order of sending
    private final Set<Integer> unreleased = new LinkedHashSet<>();
    private RawClient client;
    private int published;

    Publisher(TestBroker broker, long seed, int number) {
      this.broker = broker;
      this.random = new Random(seed);
      this.connect = Connect.of("publisher" + number);
      this.topic = "race/" + number;
      this.client = RawClient.connected(broker.port(), connect.clean());
    }

    @Override
    public Integer call() {
      for (int i = 0; i < CONNECTIONS; i++) {
        for (int left = random.nextInt(BURST); left >= 0; left--) publish();
        for (int left = random.nextInt(2 * BURST); left > 0 && busy(); left--) answered(client.read());
        connectAnew();
      }
      publish();
      while (busy()) answered(client.read());
      client.disconnect();
      for (RawClient each : displaced) each.awaitClosed();
      return published;
    }

    private boolean busy() {
      return !unacknowledged.isEmpty() || !unreleased.isEmpty();
    }

    private void publish() {
      int free = random.nextInt(IDENTIFIERS) + 1;
      if (unacknowledged.containsKey(free) || unreleased.contains(free)) return;
      unacknowledged.put(free, ++published);
      send(free, published, false);
    }

    private void send(int packetId, int number, boolean duplicate) {
      client.publish(topic, "" + number, 2, packetId, duplicate, number % 4 == 0);
    }

    private void answered(Packet answer) {
      int packetId = answer.packetId();
      if (answer.type() == RawClient.PUBCOMP) {
        // The previous connection may have released it without an answer.
        assertThat(answer.reason()).as("%s", answer).isIn(0, PACKET_IDENTIFIER_NOT_FOUND);
        assertThat(unreleased.remove(packetId)).as("%s", answer).isTrue();
        return;
      }
      assertThat(answer.type()).isEqualTo(RawClient.PUBREC);
      assertThat(answer.reason()).as("%s", answer).isZero();
      assertThat(unacknowledged.remove(packetId)).as("%s", answer).isNotNull();
      unreleased.add(packetId);
      client.pubrel(packetId);
    }

    private void connectAnew() {
      switch (random.nextInt(5)) {
        case 0 -> client.close();
        case 1 -> client.reset();
        case 2 -> client.halfClose();
        default -> displaced.add(client); // it is taken over while the last packets are in flight
      }
      client = RawClient.connected(broker.port(), connect);
      assertThat(client.sessionPresent()).isTrue();
      for (int packetId : unreleased) client.pubrel(packetId);
      unacknowledged.forEach((packetId, number) -> send(packetId, number, true));
    }
  }

  /** Takes messages until every publisher has sent its last one; returns each one's numbers in the order of arrival. */
  private static Map<String, List<Integer>> takeAll(RawClient subscriber) {
    Map<String, List<Integer>> numbers = new HashMap<>();
    for (int ends = 0; ends < PUBLISHERS; ) {
      Message message = subscriber.take();
      if (message.text().equals("end")) ends++;
      else numbers.computeIfAbsent(message.topic(), _ -> new ArrayList<>()).add(Integer.valueOf(message.text()));
    }
    return numbers;
  }

  @Test
  @Tag("pitfall-20")
  @Tag("MQTT-4.3.3-10")
  @Tag("MQTT-4.6.0-5")
  void everySubscriberGetsEachMessageOnceAndInItsOrder() throws Exception {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    System.out.println("ExactlyOnceIT seed " + seed);
    try (TestBroker broker = TestBroker.inMemory();
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        RawClient online = RawClient.connected(broker.port(), Connect.of("online").expiry(0));
        RawClient durable = RawClient.connected(broker.port(), Connect.of("durable"));
        RawClient member = RawClient.connected(broker.port(), Connect.of("member").expiry(0))) {
      online.subscribe("race/+", 2);
      durable.subscribe("race/+", 2);
      member.subscribe("$share/group/race/+", 2);
      Map<String, Future<Map<String, List<Integer>>>> taking = new LinkedHashMap<>();
      taking.put("online", threads.submit(() -> takeAll(online)));
      taking.put("durable", threads.submit(() -> takeAll(durable)));
      taking.put("member", threads.submit(() -> takeAll(member)));
      List<Future<Integer>> publishing = new ArrayList<>();
      for (int i = 0; i < PUBLISHERS; i++) publishing.add(threads.submit(new Publisher(broker, seed + i, i)));

      Map<String, List<Integer>> expected = new HashMap<>();
      for (int i = 0; i < PUBLISHERS; i++) {
        expected.put("race/" + i, IntStream.rangeClosed(1, publishing.get(i).get()).boxed().toList());
      }
      try (RawClient end = RawClient.connected(broker, "end")) {
        for (int i = 0; i < PUBLISHERS; i++) end.publishAndWait("race/" + i, "end");
      }

      for (var each : taking.entrySet()) {
        assertThat(each.getValue().get()).as("%s, seed %d", each.getKey(), seed).isEqualTo(expected);
      }
    }
  }
}

package dunlin.sessions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Many connections of one client identifier at once, from several threads, while another client publishes to it. */
class TakeoverRaceIT {
  private static final int CONNECTIONS = 60;
  private static final int SESSION_TAKEN_OVER = 0x8E;

  /** One of the connections, from CONNECT to its end. */
  private record Seen(String will, RawClient client, boolean accepted, List<Packet> packets, boolean ended) {}

  @ParameterizedTest(name = "durable session {0}")
  @ValueSource(booleans = {false, true})
  @Tag("pitfall-17")
  @Tag("pitfall-18")
  @Tag("pitfall-20")
  @Tag("MQTT-3.1.4-3")
  void oneRemainsTheOthersAreDisplacedAndNothingIsLost(boolean durable) throws Exception {
    Connect connect = Connect.of("contested").expiry(durable ? 60 : 0);
    try (TestBroker broker = TestBroker.inMemory();
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        RawClient watcher = RawClient.connected(broker.port(), Connect.of("watcher"))) {
      watcher.subscribe("will/+", 1);
      if (durable) RawClient.connected(broker.port(), connect).disconnectAfter(each -> each.subscribe("t", 1));
      AtomicBoolean stop = new AtomicBoolean();
      Future<Integer> publishing = threads.submit(() -> publishUntil(broker, stop));
      CountDownLatch go = new CountDownLatch(1);
      List<Future<Seen>> connecting = new ArrayList<>();
      List<RawClient> clients = new ArrayList<>();
      for (int i = 0; i < CONNECTIONS; i++) {
        String will = "will/" + i;
        RawClient client = new RawClient(broker.port());
        clients.add(client);
        Callable<Seen> converse =
            () -> {
              go.await();
              client.send(connect.will(will, "x", 1, 0).packet());
              return untilTheEndOrPong(will, client);
            };
        connecting.add(threads.submit(converse));
      }
      go.countDown();
      // The publisher, the watcher, and the last connection.
      await().atMost(TestBroker.SOON).until(() -> broker.frontend().connectionCount() == 3);
      stop.set(true);
      int published = publishing.get();
      for (RawClient each : clients) each.sendLeniently(RawClient.packet(RawClient.PINGREQ));
      List<Seen> all = new ArrayList<>();
      for (Future<Seen> each : connecting) all.add(each.get());

      List<Seen> left = all.stream().filter(each -> !each.ended()).toList();
      assertThat(left).hasSize(1);
      Set<String> willsDue = new HashSet<>();
      for (Seen each : all) {
        if (!each.ended() || !each.accepted()) continue;
        assertThat(each.packets().getLast().type()).isEqualTo(RawClient.DISCONNECT);
        assertThat(each.packets().getLast().reason()).isEqualTo(SESSION_TAKEN_OVER);
        willsDue.add(each.will());
      }
      if (durable) assertThat(numbers(left.getFirst(), published)).containsExactlyElementsOf(IntStream.rangeClosed(1, published).boxed().toList());
      left.getFirst().client().disconnect();
      assertWills(broker, watcher, willsDue, left.getFirst().will());
    }
  }

  /** No connection has acknowledged anything, so the last one gets all messages, in order, those that others had received first. */
  private static List<Integer> numbers(Seen last, int published) {
    List<Integer> numbers = new ArrayList<>();
    for (Packet packet : last.packets()) if (packet.type() == RawClient.PUBLISH) numbers.add(Integer.valueOf(packet.text()));
    while (numbers.size() < published) numbers.add(Integer.valueOf(last.client().message().text()));
    return numbers;
  }

  /** Each displaced connection had a will, which is sent once; the one that disconnects sends none. */
  private static void assertWills(TestBroker broker, RawClient watcher, Set<String> due, String ofTheLast) {
    Map<String, Integer> wills = new HashMap<>();
    while (!wills.keySet().containsAll(due)) wills.merge(watcher.take().topic(), 1, Integer::sum);
    try (RawClient end = new RawClient(broker.port())) {
      end.connect(Connect.of("end").expiry(0).will("will/end", "x", 1, 0));
    }
    while (!wills.containsKey("will/end")) wills.merge(watcher.take().topic(), 1, Integer::sum);
    assertThat(wills).doesNotContainKey(ofTheLast);
    assertThat(wills.values()).containsOnly(1);
  }

  /** Reads until the connection ends, or until PINGRESP: the last connection is pinged at the end. */
  private static Seen untilTheEndOrPong(String will, RawClient client) {
    List<Packet> packets = new ArrayList<>();
    boolean ended = false;
    try {
      do packets.add(client.read());
      while (packets.getLast().type() != RawClient.PINGRESP);
    } catch (RawClient.EndedError closed) {
      ended = true;
    }
    boolean accepted = !packets.isEmpty() && packets.getFirst().reason() == 0;
    return new Seen(will, client, accepted, packets, ended);
  }

  private static int publishUntil(TestBroker broker, AtomicBoolean stop) {
    try (RawClient publisher = RawClient.connected(broker, "publisher")) {
      int number = 0;
      while (!stop.get()) publisher.publishAndWait("t", "" + ++number);
      return number;
    }
  }
}

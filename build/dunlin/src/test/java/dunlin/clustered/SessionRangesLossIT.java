package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.BrokerProcess;
import dunlin.harness.ClusterClients;
import dunlin.harness.FreePort;
import dunlin.harness.MovingClient;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three brokers with three ranges of sessions, each a process of its own, of which one after the other is killed and started again. */
class SessionRangesLossIT {
  private static final int NODES = 3;
  private static final int RANGES = 3;
  private static final int CLIENTS = 6;
  private static final int MESSAGES = 10;
  private static final int EXACTLY_ONCE = 2;
  private static final String END = "end";
  private static final Duration LONG = Duration.ofMinutes(2);

  @TempDir private Path directory;
  private final int[] ports = IntStream.generate(FreePort::any).limit(2 * NODES).toArray();
  private final List<BrokerProcess> brokers = new CopyOnWriteArrayList<>();

  private BrokerProcess launch(int node) {
    return BrokerProcess.launchFounder(directory, node, ports, "dunlin.inbox.ranges=" + RANGES, "dunlin.cluster.lease=10s", "dunlin.cluster.down-after=12s");
  }

  @AfterEach
  void stopAll() {
    brokers.forEach(BrokerProcess::close);
  }

  private void subscribeAndLeave(String client, String filter) {
    try (RawClient absent = ClusterClients.connected(brokers.getFirst().port(), Connect.of(client))) {
      absent.subscribe(filter, EXACTLY_ONCE);
      absent.disconnect();
    }
  }

  /** Repeats the exchange at other brokers until it is over. */
  private static void publishOnce(MovingClient publisher, String text, int packet) {
    var again = new AtomicBoolean();
    publisher.tries(
        "PUBREC of " + text,
        to -> {
          to.publish("t", text, EXACTLY_ONCE, packet, again.getAndSet(true));
          return to.next(RawClient.PUBREC).reason() < 0x80 ? to : null;
        });
    publisher.tries(
        "PUBCOMP of " + text,
        to -> {
          to.pubrel(packet);
          return to.next(RawClient.PUBCOMP);
        });
  }

  /** What a client receives until it has all of these, with what it receives twice. */
  private static List<String> received(RawClient resumed, List<String> published) {
    List<String> received = new ArrayList<>();
    while (!received.containsAll(published)) received.add(resumed.take().text());
    return received;
  }

  private RawClient resumed(String client) {
    RawClient resumed = ClusterClients.connected(brokers.getFirst().port(), Connect.of(client));
    assertThat(resumed.sessionPresent()).as(client).isTrue();
    return resumed;
  }

  @Test
  void whatIsPublishedOnceIsStoredOnceInAllRangesWhileEachBrokerIsKilled() {
    for (int node = 0; node < NODES; node++) brokers.add(launch(node));
    for (var broker : brokers) broker.awaitStarted(LONG).awaitReplicas(NODES);
    List<String> sessions = IntStream.range(0, CLIENTS).mapToObj(i -> "session-" + i).toList();
    List<String> members = IntStream.range(0, CLIENTS).mapToObj(i -> "member-" + i).toList();
    sessions.forEach(client -> subscribeAndLeave(client, "t"));
    members.forEach(client -> subscribeAndLeave(client, "$share/work/t"));

    List<String> published = new ArrayList<>();
    try (var publisher = new MovingClient(brokers, Connect.of("publisher"), 1)) {
      for (int node = 0; node < NODES; node++) {
        for (int i = 0; i < MESSAGES; i++) {
          if (i == MESSAGES / 2) brokers.get(node).kill();
          published.add(node + "." + i);
          publishOnce(publisher, published.getLast(), published.size());
        }
        brokers.set(node, launch(node));
        brokers.get(node).awaitStarted(LONG);
      }
    }

    for (String client : sessions) {
      try (RawClient resumed = resumed(client)) {
        assertThat(received(resumed, published)).as(client).containsExactlyElementsOf(published);
      }
    }
    try (RawClient member = resumed(members.getFirst());
        RawClient last = ClusterClients.connected(brokers.getLast().port(), Connect.of("last").clean().expiry(0))) {
      assertThat(received(member, published)).as("one member gets what waits in all ranges").containsExactlyInAnyOrderElementsOf(published);
      assertThat(last.publishAndWait("t", END)).isZero();
      assertThat(member.before(END)).as("more than was published").isEmpty();
    }
  }
}

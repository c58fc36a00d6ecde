package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.BrokerProcess;
import dunlin.harness.FreePort;
import dunlin.harness.MovingClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.StayingClients;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three brokers of one cluster, each a process of its own, of which one after the other is killed and started again. */
class BrokerLossIT {
  private static final int NODES = 3;
  private static final int MESSAGES = 20;
  private static final Duration LONG = Duration.ofMinutes(2);

  @TempDir Path directory;
  private final int[] ports = IntStream.generate(FreePort::any).limit(2 * NODES).toArray();
  private final List<BrokerProcess> brokers = new CopyOnWriteArrayList<>();

  @BeforeEach
  void startAll() {
    for (int i = 0; i < NODES; i++) brokers.add(launch(i));
    // A range with two replicas, of which one is killed, has no majority.
    for (var broker : brokers) broker.awaitStarted(LONG).awaitReplicas(NODES);
  }

  private BrokerProcess launch(int node) {
    return BrokerProcess.launchFounder(directory, node, ports, "dunlin.cluster.lease=10s", "dunlin.cluster.down-after=12s");
  }

  @AfterEach
  void stopAll() {
    brokers.forEach(BrokerProcess::close);
  }

  @Test
  void acknowledgedMessagesSurviveTheLossOfAnyBroker() {
    var subscriber = new MovingClient(brokers, Connect.of("subscriber"), 0);
    subscriber.subscribe("t");
    var publisher = new MovingClient(brokers, Connect.of("publisher").clean().expiry(0), 1);
    var published = new ArrayList<String>();
    var received = new LinkedHashSet<String>();
    for (int node = 0; node < NODES; node++) {
      for (int i = 0; i < MESSAGES; i++) {
        if (i == MESSAGES / 2) brokers.get(node).kill();
        String text = node + "." + i;
        publisher.publish("t", text, false);
        published.add(text);
      }
      while (received.size() < published.size()) received.add(subscriber.receive());
      assertThat(received).containsExactlyElementsOf(published);
      if (node == NODES - 1) break;
      brokers.set(node, launch(node));
      brokers.get(node).awaitStarted(LONG);
    }
    subscriber.close();
    publisher.close();
  }

  @Test
  void aDeadBrokersClientsHoldUpNoPublisher() {
    var clean = new MovingClient(brokers, Connect.of("clean").clean().expiry(0), 0, 0);
    clean.subscribe("t");
    var publisher = new MovingClient(brokers, Connect.of("publisher").clean().expiry(0), 1);
    publisher.publish("t", "before", false);
    brokers.get(0).kill();

    // The others learn from its host, which refuses connections, that messages for its clients have no receiver; they do not wait for down-after.
    var subscriber = new MovingClient(brokers, Connect.of("subscriber").clean(), 2);
    subscriber.subscribe("t");
    publisher.publish("t", "after", false);
    assertThat(subscriber.receive()).isEqualTo("after");
    await("what the leader has logged")
        .atMost(LONG)
        .until(() -> brokers.subList(1, NODES).stream().anyMatch(each -> each.out().stream().anyMatch(line -> line.contains("its host refuses connections"))));
    for (MovingClient each : List.of(clean, subscriber, publisher)) each.close();
  }

  private int leaderOfSessions() {
    return await("a leader of the sessions")
        .atMost(LONG)
        .pollInterval(Duration.ofMillis(200))
        .ignoreExceptions() // of a process that is too busy to answer
        .until(() -> IntStream.range(0, NODES).filter(node -> brokers.get(node).hasBean("Sessions")).findFirst().orElse(-1), node -> node >= 0);
  }

  @Test
  void clientsOfOtherBrokersStayConnectedWhenTheLeaderOfTheSessionsIsLost() {
    for (int loss = 0; ; loss++) {
      int leader = leaderOfSessions();
      int one = brokers.get((leader + 1) % NODES).port();
      int two = brokers.get((leader + 2) % NODES).port();
      try (var clients = new StayingClients("loss " + loss, one, two)) {
        for (int i = 0; i < MESSAGES; i++) clients.publish();
        brokers.get(leader).kill();
        for (int i = 0; i < MESSAGES; i++) clients.publish();
        clients.check();
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("the leader was %d; %s".formatted(leader, brokers), e);
      }
      if (loss == 1) break;
      brokers.set(leader, launch(leader));
      brokers.get(leader).awaitStarted(LONG).awaitReplicas(NODES);
    }
  }
}

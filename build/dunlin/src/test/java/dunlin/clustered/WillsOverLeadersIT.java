package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import dunlin.TestBroker;
import dunlin.broker.access.AccessAction;
import dunlin.broker.access.AccessRule;
import dunlin.broker.access.Policy;
import dunlin.broker.access.Subject;
import dunlin.broker.auth.Authorizer;
import dunlin.broker.auth.Peer;
import dunlin.harness.EmbeddedCluster;
import dunlin.harness.LoggedLines;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.StayingClients;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A will whose sending is held at the leader of the sessions, until another one has sent it, and goes on then. */
class WillsOverLeadersIT {
  private static final int NODES = 3;
  private static final String DYING = "dying";

  /** Allows everything, but holds its first answer about the will of a client. */
  private static final class Holding implements Authorizer {
    private final AtomicInteger asked = new AtomicInteger();
    private final CompletableFuture<Void> gate = new CompletableFuture<>();

    @Override
    public CompletionStage<Policy> authorize(Subject client, Optional<Peer> peer) {
      var policy = Policy.of(client, List.of(AccessRule.of(true, Set.of(AccessAction.values()), "#")));
      boolean holds = peer.isEmpty() && client.clientId().equals(DYING) && asked.getAndIncrement() == 0;
      return holds ? gate.thenApply(_ -> policy) : CompletableFuture.completedFuture(policy);
    }
  }

  private static boolean isAnyWillOnItsWay(EmbeddedCluster cluster) {
    return cluster.brokers().stream().anyMatch(broker -> TestBroker.frontend(broker).publishes().inFlight() > 0);
  }

  @Test
  void aWillThatTwoLeadersSendComesOnce(@TempDir Path directory) {
    var holding = new Holding();
    try (var agreements = new LoggedLines("dunlin.tiers.Agreement", Level.INFO);
        var cluster = EmbeddedCluster.start(directory, NODES, Map.of("dunlin.auth.timeout", "5m"), (broker, _) -> broker.authorizer(holding))) {
      await("all nodes know that all others record wills").atMost(TestBroker.SOON).until(() -> agreements.all().stream().filter(line -> line.startsWith("All nodes know the record of wills") && line.endsWith("(2 others)")).count() == NODES);
      var durable = cluster.connected(0, Connect.of("durable").clean());
      var online = cluster.connected(1, Connect.of("online").clean().expiry(0));
      for (var subscriber : List.of(durable, online)) subscriber.subscribe("wills", 1);
      cluster.connected(2, Connect.of(DYING).clean().will("wills", "gone", 1, 0)).reset();
      await("the first leader sends it").atMost(TestBroker.SOON).until(() -> holding.asked.get() == 1);

      EmbeddedCluster.moveLeaders(cluster.operations(), "sessions");
      for (var subscriber : List.of(durable, online)) assertThat(StayingClients.received(subscriber)).isEqualTo("gone");
      assertThat(holding.asked).as("by the next leader").hasValueGreaterThan(1);
      holding.gate.complete(null);
      await("what the first leader has sent has come to its end").atMost(TestBroker.SOON).until(() -> !isAnyWillOnItsWay(cluster));

      try (var publisher = cluster.connected(2, Connect.of("publisher").clean())) {
        assertThat(publisher.publishAndWait("wills", "the next message")).isZero();
        publisher.disconnect();
      }
      for (var subscriber : List.of(durable, online)) {
        assertThat(StayingClients.received(subscriber)).isEqualTo("the next message");
        subscriber.close();
      }
    }
  }
}

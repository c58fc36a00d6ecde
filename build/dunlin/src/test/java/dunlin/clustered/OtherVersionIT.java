package dunlin.clustered;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterWire;
import dunlin.harness.BrokerProcess;
import dunlin.harness.ClusterClients;
import dunlin.harness.FreePort;
import dunlin.harness.RawClient.Connect;
import dunlin.store.remote.RangeService;
import dunlin.store.remote.RemoteCalls;
import dunlin.store.settings.RangeServiceSettings;
import dunlin.store.snapshot.LocalSnapshots;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process of this version and one that speaks another version of the calls between nodes: each says so in a sentence, and the cluster goes on. */
class OtherVersionIT {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final byte OTHER = 99;

  @TempDir Path directory;

  @Test
  void aNodeWhoseSeedIsOfAnotherVersionEndsWithASentence() {
    int seed = FreePort.any();
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), seed);
    try (var _ =
            RangeService.start(
                address, UUID.randomUUID(), _ -> Optional.empty(), LocalSnapshots.none(), (_, _) -> new byte[] {OTHER, 1, 1}, List.of(), RangeServiceSettings.defaults(), null,
                new SimpleMeterRegistry(), System::nanoTime);
        var joining =
            BrokerProcess.launchMember(
                directory, FreePort.any(), FreePort.any(), "127.0.0.1:" + seed, "dunlin.roles=frontend", "dunlin.cluster.join-timeout=5s")) {
      assertThat(joining.awaitExit(LONG)).as("exit code; %s", joining).isEqualTo(1);
      assertThat(joining.err()).singleElement().asString().startsWith("dunlin: ").contains("seed 127.0.0.1:" + seed, "answer of format " + OTHER);
    }
  }

  @Test
  void aClusterThatANodeOfAnotherVersionCallsGoesOn() throws IOException {
    int seed = FreePort.any();
    try (var member = BrokerProcess.launchMember(directory, seed, FreePort.any(), "127.0.0.1:" + seed).awaitStarted(LONG);
        var calls = new RemoteCalls(null, new SimpleMeterRegistry())) {
      byte[] answer = calls.call("127.0.0.1", seed, "127.0.0.1", new byte[] {OTHER, 0, 1}, LONG);

      assertThat(ClusterWire.answer(answer)).isInstanceOfSatisfying(ClusterAnswer.Refused.class, refused -> assertThat(refused.sentence()).contains("call of format " + OTHER));
      await().atMost(LONG).until(() -> member.out().stream().anyMatch(line -> line.contains("may be of a node of another version")));
      try (var client = ClusterClients.connected(member.port(), Connect.of("client").clean())) {
        client.subscribe("t", 1);
        assertThat(client.publishAndWait("t", "still here")).isZero();
        assertThat(client.take().text()).isEqualTo("still here");
      }
    }
  }
}

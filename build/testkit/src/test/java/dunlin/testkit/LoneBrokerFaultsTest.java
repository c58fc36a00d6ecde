package dunlin.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.Dunlin;
import dunlin.Message;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.eclipse.paho.mqttv5.client.MqttClient;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The faults of one broker. */
@DunlinTest(scope = DunlinTest.Scope.METHOD)
class LoneBrokerFaultsTest {
  private static final Duration SOON = Duration.ofMinutes(2);

  /** Leaves a session that lasts a minute, with a message in it. */
  private static void leaveSession(DunlinCluster cluster) throws Exception {
    try (var client = new PahoSession(cluster.uri(0), "durable", 60)) {
      client.subscribe("t");
    }
    assertThat(cluster.node(0).publish(Message.of("t", "waiting".getBytes(StandardCharsets.UTF_8), 1)).get(60, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void aSessionOutlivesAStop(DunlinCluster cluster) throws Exception {
    leaveSession(cluster);
    int port = cluster.port(0);
    cluster.stop(0);
    assertThat(cluster.isRunning(0)).isFalse();
    assertThatThrownBy(() -> cluster.node(0)).isInstanceOf(IllegalStateException.class).hasMessageContaining("node 0 does not run");
    assertThat(cluster.missing()).isEqualTo("no node runs");
    assertThatThrownBy(() -> new Socket(InetAddress.getLoopbackAddress(), port)).isInstanceOf(IOException.class);

    cluster.start(0);
    cluster.awaitReady(SOON);
    assertThat(cluster.port(0)).isEqualTo(port);
    try (var client = new PahoSession(cluster.uri(0), "durable", 60)) {
      assertThat(client.sessionPresent()).isTrue();
      assertThat(client.receive()).isEqualTo("waiting");
    }
    assertThatThrownBy(() -> cluster.start(0)).isInstanceOf(IllegalStateException.class).hasMessage("node 0 runs already");
  }

  @Test
  void aSessionEndsWhileTheBrokerIsStoppedByTheWallClock(DunlinCluster cluster) throws Exception {
    leaveSession(cluster);
    cluster.stop(0);
    cluster.stepClock(0, Duration.ofMinutes(10));
    cluster.start(0);
    try (var client = new PahoSession(cluster.uri(0), "durable", 60)) {
      assertThat(client.sessionPresent()).isFalse();
    }
  }

  @Test
  void aRunningBrokerWarnsOfAStepOfTheWallClockAndKeepsTheSession(DunlinCluster cluster, BrokerEvents events) throws Exception {
    leaveSession(cluster);
    cluster.stepClock(0, Duration.ofMinutes(10));
    events.await(each -> each instanceof BrokerEvent.Line line && line.node() == 0 && line.text().startsWith("The wall clock was moved by "), SOON);
    try (var client = new PahoSession(cluster.uri(0), "durable", 60)) {
      assertThat(client.sessionPresent()).isTrue();
      assertThat(client.receive()).isEqualTo("waiting");
    }
  }

  @Test
  void clientsOfAKilledBrokerAreDisconnectedWithoutAPacket(DunlinCluster cluster) throws Exception {
    leaveSession(cluster);
    try (var client = new PahoSession(cluster.uri(0), "connected", 0)) {
      cluster.kill(0);
      assertThat(client.disconnection()).as("the reason code, of a DISCONNECT").isEmpty();
      assertThatThrownBy(() -> new PahoSession(cluster.uri(0), "another", 0)).isInstanceOf(MqttException.class);
    }
    cluster.kill(0); // has no effect
    cluster.start(0);
    try (var client = new PahoSession(cluster.uri(0), "durable", 60)) {
      assertThat(client.receive()).isEqualTo("waiting");
    }
  }

  @Test
  void clientsOfAStoppedBrokerGetAPacket(DunlinCluster cluster) throws Exception {
    try (var client = new PahoSession(cluster.uri(0), "connected", 0)) {
      cluster.stop(0);
      assertThat(client.disconnection()).hasValue(0x8B);
    }
  }

  @Test
  void aSlowDiskDelaysAcknowledgements(DunlinCluster cluster, Dunlin broker) throws Exception {
    leaveSession(cluster);
    var slower = Duration.ofMillis(700);
    cluster.slowDisk(0, slower);
    long start = System.nanoTime();
    broker.publish(Message.of("t", new byte[1], 1)).get(60, TimeUnit.SECONDS);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(slower);

    cluster.slowDisk(0, Duration.ZERO);
    long best = Long.MAX_VALUE;
    for (int i = 0; i < 20; i++) {
      start = System.nanoTime();
      broker.publish(Message.of("t", new byte[1], 1)).get(60, TimeUnit.SECONDS);
      best = Math.min(best, System.nanoTime() - start);
    }
    assertThat(Duration.ofNanos(best)).isLessThan(slower);
  }

  @Test
  void refusesWhatCannotBe(DunlinCluster cluster) {
    assertThatThrownBy(() -> cluster.port(1)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> cluster.kill(-1)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> cluster.cut(0, 0)).isInstanceOf(IllegalArgumentException.class).hasMessage("node 0 cannot be cut off from itself");
    assertThatThrownBy(() -> cluster.delay(0, Duration.ofMillis(-1))).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> cluster.slowDisk(0, Duration.ofMillis(-1))).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> cluster.slowDisk(0, Duration.ofMillis(5_001))).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aSecondClusterUsesOtherPortsAndAKeptDirectory(DunlinCluster cluster, @TempDir Path directory) throws Exception {
    try (var other = DunlinCluster.builder().nodes(1).directory(directory).start()) {
      assertThat(other.port(0)).isNotEqualTo(cluster.port(0));
      leaveSession(other);
    }
    assertThat(directory).as("is kept").isNotEmptyDirectory();
    try (var again = DunlinCluster.builder().nodes(1).directory(directory).start();
        var client = new PahoSession(again.uri(0), "durable", 60)) {
      assertThat(client.receive()).isEqualTo("waiting");
    }
  }

  @Test
  void aClosedClusterLeavesNoDirectoryAndMayBeClosedAgain(DunlinCluster cluster) {
    assertThat(cluster.directory()).isNotEmptyDirectory();
    cluster.close();
    assertThat(cluster.directory()).doesNotExist();
    cluster.close();
  }

  @Test
  void theBuilderRefusesWhatTheKitSetsItselfAndNodesThatThereAreNot() {
    var builder = DunlinCluster.builder().nodes(2);
    assertThatThrownBy(() -> builder.set("dunlin.listeners.tcp.port", "1883")).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("set by the test kit");
    assertThatThrownBy(() -> builder.nodes(0)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> builder.nodes(8)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> builder.startWithin(Duration.ZERO)).isInstanceOf(IllegalArgumentException.class);
    builder.set(2, "dunlin.node.name", "third");
    assertThatThrownBy(builder::start).isInstanceOf(IllegalArgumentException.class).hasMessage("there are settings for nodes [2] of 2 nodes");
  }
}

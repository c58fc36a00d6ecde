package dunlin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.broker.auth.PasswordFile;
import dunlin.harness.RawClient;
import dunlin.runtime.SettingException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The owner of a session: a client of one user cannot take over a session of another user. */
class SessionOwnerIT {
  private static final int USER_AND_PASSWORD = 0xC0;
  private static final int CLEAN = 0x02;

  @TempDir Path directory;

  /** A broker with users alice and bob, whose passwords are their names; anonymous clients are accepted, too. */
  private TestBroker broker(Map<String, String> more) throws IOException {
    Path file = directory.resolve("passwords");
    for (String user : new String[] {"alice", "bob"}) {
      PasswordFile.put(file, user, user.getBytes(StandardCharsets.UTF_8), 4_096);
    }
    Map<String, String> settings = new HashMap<>(more);
    settings.put("dunlin.auth.password-file", file.toString());
    settings.put("dunlin.auth.anonymous", "true");
    return TestBroker.on(directory.resolve("data"), settings);
  }

  private static byte[] as(String user, int level, boolean clean, String clientId) {
    byte[] properties = level == 5 ? RawClient.properties(RawClient.sessionExpiry(3_600)) : RawClient.noProperties();
    if (user.isEmpty()) return RawClient.connect(level, clean, 0, clientId, properties);
    return RawClient.connect(level, (clean ? CLEAN : 0) | USER_AND_PASSWORD, 0, properties, clientId, user, user);
  }

  /** The code of the CONNACK that refuses a CONNECT. */
  private static int refusal(TestBroker broker, byte[] connect) {
    try (var client = new RawClient(broker.port())) {
      client.send(connect);
      int code = client.expect(RawClient.CONNACK).at(1);
      client.expectClosed();
      return code;
    }
  }

  private static int code(TestBroker broker, byte[] connect) {
    try (var client = new RawClient(broker.port())) {
      client.send(connect);
      return client.expect(RawClient.CONNACK).at(1);
    }
  }

  @ParameterizedTest
  @CsvSource({"4, 5", "5, 0x87"})
  void waitingMessagesAreForTheSessionsUserOnly(int level, String refused) throws IOException {
    int code = Integer.decode(refused);
    try (var broker = broker(Map.of())) {
      try (var alice = new RawClient(broker.port())) {
        alice.connect(as("alice", level, false, "sensor"));
        alice.subscribe("secrets", 1);
      }
      try (var publisher = new RawClient(broker.port())) {
        publisher.connect(as("bob", level, true, "publisher"));
        publisher.publish("secrets", 1, 1, "for alice");
      }

      for (String other : new String[] {"bob", ""}) {
        assertThat(refusal(broker, as(other, level, false, "sensor"))).as(other).isEqualTo(code);
        assertThat(refusal(broker, as(other, level, true, "sensor"))).as(other).isEqualTo(code);
      }

      try (var alice = new RawClient(broker.port())) {
        alice.connect(as("alice", level, false, "sensor"));
        assertThat(alice.take().text()).isEqualTo("for alice");
      }
    }
  }

  @Test
  void aConnectedClientIsNotDisplacedByAnotherUsers() throws IOException {
    try (var broker = broker(Map.of()); var alice = new RawClient(broker.port())) {
      alice.connect(RawClient.connect(5, CLEAN | USER_AND_PASSWORD, 0, RawClient.noProperties(), "sensor", "alice", "alice"));
      alice.subscribe("topic", 1);

      assertThat(refusal(broker, as("bob", 5, true, "sensor"))).isEqualTo(0x87);
      assertThat(refusal(broker, as("", 5, false, "sensor"))).isEqualTo(0x87);

      alice.publish("topic", 1, 1, "still here");
      assertThat(alice.take().text()).isEqualTo("still here");
    }
  }

  @Test
  void anIdentifierIsFreeOnceItsSessionHasEnded() throws IOException {
    try (var broker = broker(Map.of())) {
      try (var alice = new RawClient(broker.port())) {
        alice.connect(as("alice", 5, true, "sensor"));
        assertThat(refusal(broker, as("bob", 5, true, "sensor"))).isEqualTo(0x87);
      }
      try (var alice = new RawClient(broker.port())) { // ends the session, which its owner may do
        alice.connect(RawClient.connect(5, CLEAN | USER_AND_PASSWORD, 0, RawClient.noProperties(), "sensor", "alice", "alice"));
        alice.send(RawClient.DISCONNECT, 0);
        alice.expectClosed();
      }
      await("the session's end has been recorded").atMost(TestBroker.SOON).until(() -> code(broker, as("bob", 5, false, "sensor")) == 0);
      assertThat(refusal(broker, as("alice", 5, true, "sensor"))).isEqualTo(0x87);
    }
  }

  @Test
  void anOperatorSeesTheUserOfASession() throws IOException {
    try (var broker = broker(Map.of()); var alice = new RawClient(broker.port()); var anonymous = new RawClient(broker.port())) {
      alice.connect(as("alice", 5, false, "sensor"));
      alice.subscribe("topic/+", 1);
      anonymous.connect(as("", 5, false, "lamp"));
      anonymous.subscribe("topic/+", 1);
    }

    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    Path data = directory.resolve("data");
    // On a busy machine a node releases its directory only after close() has returned.
    await().atMost(TestBroker.SOON).until(() -> repairList(data, out, err) == Repair.DONE);

    assertThat(out.toString(StandardCharsets.UTF_8))
        .contains("Most subscriptions:")
        .contains("  1: client \"sensor\" of tenant default, user \"alice\"\n")
        .contains("  1: client \"lamp\" of tenant default\n");
  }

  private static int repairList(Path data, ByteArrayOutputStream out, ByteArrayOutputStream err) {
    return Repair.run(
        List.of(data.toString(), "list"), new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8));
  }

  @Test
  void aTemplateRestrictsTheIdentifiersOfAUser() throws IOException {
    try (var broker = broker(Map.of("dunlin.auth.client-ids", "%u-*"))) {
      assertThat(code(broker, as("alice", 5, true, "alice-1"))).isZero();
      assertThat(code(broker, as("alice", 4, true, "alice-2"))).isZero();
      assertThat(refusal(broker, as("alice", 5, true, "bob-1"))).isEqualTo(0x85);
      assertThat(refusal(broker, as("alice", 4, true, "bob-1"))).isEqualTo(2);
      assertThat(refusal(broker, as("alice", 3, true, "bob-1"))).isEqualTo(2);
      assertThat(refusal(broker, as("", 5, true, "alice-1"))).isEqualTo(0x85);
      assertThat(refusal(broker, as("", 5, true, ""))).isEqualTo(0x85);
      try (var assigned = new RawClient(broker.port())) {
        var connack = assigned.connect(as("bob", 5, true, ""));
        assertThat(new String(connack.body(), StandardCharsets.UTF_8)).contains("bob-");
      }
    }
  }

  @Test
  void anInvalidTemplateStopsTheStart() {
    assertThatThrownBy(() -> broker(Map.of("dunlin.auth.client-ids", "%c")))
        .isInstanceOf(SettingException.class)
        .hasMessageContaining("dunlin.auth.client-ids");
  }

  @Test
  void theOwnerSurvivesARestart() throws IOException {
    try (var broker = broker(Map.of()); var alice = new RawClient(broker.port())) {
      alice.connect(as("alice", 5, false, "sensor"));
    }
    try (var broker = broker(Map.of())) {
      assertThat(refusal(broker, as("bob", 5, true, "sensor"))).isEqualTo(0x87);
      try (var alice = new RawClient(broker.port())) {
        assertThat(alice.connect(as("alice", 5, false, "sensor")).sessionPresent()).isTrue();
      }
    }
  }
}

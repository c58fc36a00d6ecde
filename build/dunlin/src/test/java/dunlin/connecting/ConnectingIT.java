package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Accepted and refused CONNECTs, and Session Present in CONNACK; MQTT 5, sections 3.1 and 3.2. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ConnectingIT {
  private static final byte[] NONE = RawClient.noProperties();

  private final TestBroker broker;

  ConnectingIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  static Stream<Arguments> refused() {
    List<Arguments> all = new ArrayList<>();
    for (int level : new int[] {3, 4, 5}) {
      if (level > 3) all.add(refused(level, "the reserved flag", 0x03, "c"));
      all.add(refused(level, "a will with QoS 3", 0x1E, "c", will(level)));
      all.add(refused(level, "Will QoS without a will", 0x0A, "c"));
      all.add(refused(level, "Will Retain without a will", 0x22, "c"));
      all.add(refused(level, "a will flag and no will", 0x06, "c"));
      all.add(refused(level, "a will and no flag", 0x02, "c", will(level)));
      all.add(refused(level, "a user name and no flag", 0x02, "c", "user"));
      if (level > 3) all.add(refused(level, "a user name flag and no user name", 0x82, "c"));
      if (level == 4) all.add(refused(level, "a password without a user name", 0x42, "c", "password"));
      for (String topic : List.of("", "a/+", "#", "a\0")) {
        all.add(refused(level, "a will on a topic that is none", 0x06, "c", level == 5 ? NONE : new byte[0], topic, "will"));
      }
      all.add(refused(level, "an identifier that is not UTF-8", 0x02, RawClient.u16(1), 0xFF));
    }
    for (byte[] property :
        List.of(
            RawClient.receiveMaximum(0), RawClient.maximumPacketSize(0), RawClient.bytes(0x17, 2), RawClient.bytes(0x19, 2),
            RawClient.bytes(0x16, "data"), RawClient.bytes(0x17, 1, 0x17, 1), RawClient.bytes(0x0B, 1))) {
      all.add(
          Arguments.of(
              "property " + property[0], 5, RawClient.connect(5, 2, 0, RawClient.properties(property), "c")));
    }
    return all.stream();
  }

  private static byte[] will(int level) {
    return RawClient.bytes(level == 5 ? NONE : new byte[0], "t", "will");
  }

  private static Arguments refused(int level, String what, int flags, Object... payload) {
    return Arguments.of(what, level, RawClient.connect(level, flags, 0, NONE, payload));
  }

  /** An error is reported in a CONNACK if the version has a code for it, never in DISCONNECT, and then the connection ends. */
  @ParameterizedTest(name = "{0}, level {1}")
  @MethodSource("refused")
  @Tag("pitfall-3")
  @Tag("pitfall-4")
  @Tag("pitfall-8")
  @Tag("pitfall-9")
  @Tag("pitfall-14")
  @Tag("pitfall-15")
  @Tag("pitfall-29")
  @Tag("pitfall-37")
  @Tag("MQTT-3.2.2-7")
  @Tag("MQTT-3.14.0-1")
  void aConnectThatBreaksARuleIsRefused(String what, int level, byte[] connect) {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(RawClient.bytes(connect, RawClient.packet(RawClient.PINGREQ)));
      List<Packet> answers = client.awaitClosed();
      assertThat(answers).hasSizeLessThanOrEqualTo(1);
      if (level == 5) assertThat(answers).hasSize(1);
      for (Packet answer : answers) {
        assertThat(answer.type()).isEqualTo(RawClient.CONNACK);
        assertThat(answer.reason()).isGreaterThanOrEqualTo(level == 5 ? 0x80 : 1);
      }
    }
  }

  /** Also when there is a session that a valid CONNECT would have resumed. */
  @Test
  @Tag("pitfall-9")
  @Tag("MQTT-3.2.2-6")
  @Tag("MQTT-3.2.2-7")
  void aRefusalNeverSaysSessionPresentAndTheSessionStays() {
    Connect connect = Connect.of(name());
    RawClient.connected(broker.port(), connect).disconnect();
    for (byte[] wrong :
        List.of(
            RawClient.bytes(0x21, RawClient.u16(0)), RawClient.bytes(0x15, "a method that nobody knows"), RawClient.bytes(0x16, "data"))) {
      try (RawClient client = new RawClient(broker.port())) {
        client.send(RawClient.connect(5, false, 0, connect.clientId(), RawClient.properties(wrong)));
        Packet connack = client.expect(RawClient.CONNACK);
        assertThat(connack.sessionPresent()).isFalse();
        assertThat(connack.reason()).isGreaterThanOrEqualTo(0x80);
        client.expectClosed();
      }
    }
    try (RawClient client = RawClient.connected(broker.port(), connect)) {
      assertThat(client.sessionPresent()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 4, 5})
  @Tag("pitfall-7")
  @Tag("MQTT-3.1.3-5")
  void identifiersOfLettersAndDigitsAreAccepted(int level) {
    String all = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int length = 1; length <= 23; length++) {
      for (int from = 0; from + length <= all.length(); from += 23) {
        byte[] connect = RawClient.connect(level, true, 0, all.substring(from, from + length), NONE);
        try (RawClient client = RawClient.connected(broker.port(), connect)) {
          client.ping();
        }
      }
    }
  }

  @Test
  @Tag("pitfall-7")
  void theOldVersionHasItsOwnName() {
    try (RawClient client = new RawClient(broker.port())) {
      client.connect(RawClient.packet(RawClient.CONNECT, "MQIsdp", 3, 2, RawClient.u16(0), "c"));
      client.subscribe("t", 2);
      client.publish("t", 2, 1, "x");
      assertThat(client.take().text()).isEqualTo("x");
    }
    for (byte[] wrong :
        List.of(
            RawClient.packet(RawClient.CONNECT, "MQTT", 3, 2, RawClient.u16(0), "c"),
            RawClient.packet(RawClient.CONNECT, "MQIsdp", 4, 2, RawClient.u16(0), "c"),
            RawClient.packet(RawClient.CONNECT, "MQTT", 0x84, 2, RawClient.u16(0), "c"))) {
      try (RawClient client = new RawClient(broker.port())) {
        client.send(wrong);
        assertThat(client.expect(RawClient.CONNACK).reason()).isEqualTo(1);
        client.expectClosed();
      }
    }
  }

  @Test
  @Tag("pitfall-8")
  @Tag("MQTT3-3.1.2-22")
  void aPasswordWithoutAUserNameIsForMqtt5Only() {
    try (RawClient client = new RawClient(broker.port())) {
      assertThat(client.connect(RawClient.connect(5, 0x42, 0, NONE, "c", "password")).reason()).isZero();
      client.ping();
    }
    try (RawClient client = new RawClient(broker.port())) {
      client.send(RawClient.connect(4, 0x42, 0, NONE, "c", "password"));
      assertThat(client.awaitClosed()).allMatch(answer -> answer.reason() != 0);
    }
  }

  /** Its session is found by the assigned identifier, like any other. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  @Tag("pitfall-6")
  @Tag("MQTT-3.1.3-6")
  @Tag("MQTT-3.1.3-7")
  @Tag("MQTT-3.2.2-16")
  void anEmptyIdentifierIsAcceptedInMqtt5AlsoWithoutACleanStart(boolean cleanStart) {
    List<String> assigned = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      try (RawClient client = new RawClient(broker.port())) {
        Packet connack =
            client.connect(RawClient.connect(5, cleanStart, 0, "", RawClient.properties(RawClient.sessionExpiry(60))));
        assertThat(connack.sessionPresent()).isFalse();
        connack.properties().stream().filter(each -> each.id() == 0x12).forEach(each -> assigned.add(each.text()));
      }
    }
    assertThat(assigned).hasSize(2).doesNotHaveDuplicates();
    try (RawClient client = RawClient.connected(broker.port(), Connect.of(assigned.getFirst()))) {
      assertThat(client.sessionPresent()).isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 5})
  @Tag("pitfall-10")
  @Tag("MQTT-3.2.2-2")
  @Tag("MQTT-3.2.2-3")
  @Tag("MQTT3-3.2.2-1")
  @Tag("MQTT3-3.2.2-2")
  @Tag("MQTT3-3.2.2-3")
  void sessionPresentSaysWhetherStateWasResumed(int level) {
    String clientId = name();
    assertThat(present(level, clientId, false)).as("never seen").isFalse();
    assertThat(present(level, clientId, false)).as("kept").isTrue();
    assertThat(present(level, clientId, true)).as("clean").isFalse();
    // A clean session of MQTT 3 leaves no session; a clean start of MQTT 5 begins one that may be durable.
    assertThat(present(level, clientId, false)).as("after a clean one").isEqualTo(level == 5);
    try (RawClient old = connected(level, clientId, false);
        RawClient next = connected(level, clientId, false);
        RawClient clean = connected(level, clientId, true)) {
      assertThat(old.sessionPresent()).isTrue();
      assertThat(next.sessionPresent()).as("taken over").isTrue();
      assertThat(clean.sessionPresent()).as("taken over by a clean start").isFalse();
      clean.ping();
    }
  }

  private boolean present(int level, String clientId, boolean clean) {
    try (RawClient client = connected(level, clientId, clean)) {
      boolean present = client.sessionPresent();
      client.disconnect();
      return present;
    }
  }

  private RawClient connected(int level, String clientId, boolean clean) {
    byte[] properties = RawClient.properties(RawClient.sessionExpiry(60));
    return RawClient.connected(broker.port(), RawClient.connect(level, clean, 0, clientId, properties));
  }

  private static String name() {
    return UUID.randomUUID().toString();
  }
}

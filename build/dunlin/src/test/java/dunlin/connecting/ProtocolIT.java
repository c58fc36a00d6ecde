package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Message;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Conversations byte by byte, mostly with clients that break the rules, while a correct client must not be affected.
 *
 * <p>The class is long: a table of conversations with one shared broker.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ProtocolIT {
  private static final int RECEIVE_MAXIMUM = 20;
  private static final int PACKET_MAX = 4_096;

  private final TestBroker broker;
  private RawClient innocent;
  private int told;

  ProtocolIT(@TempDir Path data) {
    broker =
        TestBroker.on(
            data,
            Map.of(
                "dunlin.mqtt.receive-maximum", Integer.toString(RECEIVE_MAXIMUM),
                "dunlin.mqtt.packet-max", Integer.toString(PACKET_MAX),
                "dunlin.mqtt.connect-packet-max", "1024",
                "dunlin.mqtt.topic-alias-maximum", "5",
                "dunlin.mqtt.keep-alive-max", "60s",
                "dunlin.store.fsync", "false"));
    innocent = RawClient.connected(broker, "innocent");
  }

  @BeforeEach
  void aCorrectClientIsConnected() {
    innocent.close();
    innocent = RawClient.connected(broker, "innocent");
    innocent.subscribe("innocent", 1);
  }

  @AfterEach
  void theCorrectClientIsStillServed() {
    innocent.publish("innocent", 1, 7, "message " + ++told);
    assertThat(innocent.take().text()).isEqualTo("message " + told);
  }

  @AfterAll
  void closes() {
    innocent.close();
    broker.close();
  }

  static Stream<Arguments> malformed() {
    byte[] none = RawClient.noProperties();
    byte[] id = RawClient.u16(1);
    return Stream.of(
        broken("PUBLISH with QoS 3", 0x81, 0x36, "t", id, none),
        broken("PUBLISH with DUP and QoS 0", 0x81, 0x38, "t", none),
        broken("PUBLISH to a wildcard", 0x90, 0x30, "t/#", none),
        broken("PUBLISH to no topic", 0x82, 0x30, "", none),
        broken("PUBLISH with packet identifier 0", 0x82, 0x32, "t", RawClient.u16(0), none),
        broken("PUBLISH with a NUL in the topic", 0x81, 0x30, "a\0b", none),
        broken("PUBLISH with a topic that is not UTF-8", 0x81, 0x30, RawClient.u16(2), new byte[] {(byte) 0xC0, (byte) 0x80}, none),
        broken("PUBLISH with a topic longer than the packet", 0x81, 0x30, RawClient.u16(9), new byte[] {'t'}),
        broken("SUBSCRIBE with flags 0", 0x81, 0x80, id, none, "t", 0),
        broken("SUBSCRIBE without a filter", 0x82, 0x82, id, none),
        broken("SUBSCRIBE with packet identifier 0", 0x82, 0x82, RawClient.u16(0), none, "t", 0),
        broken("SUBSCRIBE with QoS 3", 0x81, 0x82, id, none, "t", 3),
        broken("SUBSCRIBE with reserved bits", 0x81, 0x82, id, none, "t", 0xC0),
        broken("UNSUBSCRIBE without a filter", 0x82, 0xA2, id, none),
        broken("UNSUBSCRIBE with a filter cut off", 0x81, 0xA2, id, none, RawClient.u16(5), new byte[] {'t'}),
        broken("PUBREL with flags 0", 0x81, 0x60, id),
        broken("PUBACK with packet identifier 0", 0x82, 0x40, RawClient.u16(0)),
        broken("PUBACK of one byte", 0x81, 0x40, 1),
        broken("PINGREQ with a body", 0x81, 0xC0, 0),
        broken("CONNACK", 0x82, 0x20, 0, 0),
        broken("SUBACK", 0x82, 0x90, id, 0),
        broken("PINGRESP", 0x82, 0xD0),
        broken("the reserved type 0", 0x81, 0x00));
  }

  private static Arguments broken(String what, int reason, int first, Object... parts) {
    return Arguments.of(what, reason, RawClient.packet(first, parts), RawClient.packet(first, without5(parts)));
  }

  /** The same for MQTT 3, which has no properties. */
  @SuppressWarnings("ReferenceEquality") // this constant is meant, not any empty part
  private static Object[] without5(Object[] parts) {
    return Arrays.stream(parts).filter(part -> part != RawClient.noProperties()).toArray();
  }

  @ParameterizedTest(name = "{0}")
  @Tag("pitfall-34")
  @Tag("pitfall-37")
  @Tag("pitfall-38")
  @Tag("pitfall-39")
  @MethodSource("malformed")
  @Tag("MQTT-3.3.2-1")
  @Tag("MQTT-3.14.4-1")
  @Tag("MQTT-3.14.4-2")
  @Tag("MQTT-4.13.1-1")
  @Tag("MQTT-4.13.2-1")
  @Tag("MQTT3-1.5.3-1")
  @Tag("MQTT3-1.5.3-2")
  @Tag("MQTT3-2.2.2-2")
  @Tag("MQTT3-3.3.1-4")
  @Tag("MQTT3-3.3.2-1")
  @Tag("MQTT3-3.8.3-4")
  @Tag("MQTT3-4.8.0-1")
  void aMalformedPacketEndsThatConnectionWithItsReason(String what, int reason, byte[] packet, byte[] packet3) {
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.send(RawClient.bytes(packet, RawClient.packet(RawClient.PINGREQ)));
      client.expectDisconnect(reason);
    }
    for (int level : new int[] {3, 4}) {
      try (RawClient client = new RawClient(broker.port())) {
        client.connect(RawClient.connect(level, true, 0, "c", RawClient.noProperties()));
        client.send(RawClient.bytes(packet3, RawClient.packet(RawClient.PINGREQ)));
        client.expectClosed();
      }
    }
  }

  static Stream<Arguments> broken5() {
    byte[] none = RawClient.noProperties();
    byte[] id = RawClient.u16(1);
    return Stream.of(
        Arguments.of("AUTH", 0x82, RawClient.packet(0xF0, 0x18, RawClient.properties(RawClient.bytes(0x15, "m")))),
        Arguments.of("No Local on a shared subscription", 0x82, RawClient.packet(0x82, id, none, "$share/g/t", 4)),
        Arguments.of("retain handling 3", 0x81, RawClient.packet(0x82, id, none, "t", 0x30)),
        Arguments.of(
            "subscription identifier 0", 0x82,
            RawClient.packet(0x82, id, RawClient.properties(RawClient.subscriptionIdentifier(0)), "t", 0)),
        Arguments.of(
            "subscription identifier in PUBLISH", 0x82,
            RawClient.packet(0x30, "t", RawClient.properties(RawClient.subscriptionIdentifier(1)))),
        Arguments.of(
            "response topic with a wildcard", 0x82,
            RawClient.packet(0x30, "t", RawClient.properties(RawClient.bytes(RawClient.RESPONSE_TOPIC, "a/+")))),
        Arguments.of(
            "a property twice", 0x82,
            RawClient.packet(
                0x30, "t",
                RawClient.properties(RawClient.bytes(RawClient.PAYLOAD_FORMAT, 0), RawClient.bytes(RawClient.PAYLOAD_FORMAT, 0)))),
        Arguments.of("properties past the end", 0x81, RawClient.packet(0x30, "t", 100)),
        Arguments.of("topic alias 0", 0x94, RawClient.packet(0x30, "t", RawClient.properties(RawClient.topicAlias(0)))),
        Arguments.of(
            "topic alias above the maximum", 0x94, RawClient.packet(0x30, "t", RawClient.properties(RawClient.topicAlias(6)))),
        Arguments.of(
            "topic alias that stands for nothing", 0x82,
            RawClient.packet(0x30, "", RawClient.properties(RawClient.topicAlias(1)))),
        Arguments.of("DISCONNECT that brings an expiry", 0x82,
            RawClient.packet(0xE0, 0, RawClient.properties(RawClient.sessionExpiry(9)))));
  }

  @ParameterizedTest(name = "{0}")
  @Tag("pitfall-16")
  @Tag("pitfall-22")
  @Tag("pitfall-40")
  @Tag("pitfall-41")
  @Tag("pitfall-42")
  @Tag("pitfall-58")
  @Tag("pitfall-62")
  @Tag("pitfall-66")
  @MethodSource("broken5")
  void protocolErrorsOfMqtt5EndTheConnectionWithTheirReason(String what, int reason, byte[] packet) {
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.send(packet);
      client.expectDisconnect(reason);
    }
  }

  @ParameterizedTest
  @Tag("pitfall-1")
  @ValueSource(ints = {0x20, 0x30, 0x82, 0xC0, 0xE0, 0x00, 0xF0, 0x16, 0x47})
  @Tag("MQTT-3.1.0-1")
  @Tag("MQTT-3.14.0-1")
  @Tag("MQTT3-3.1.0-1")
  void aFirstPacketThatIsNotConnectClosesTheConnection(int first) {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(new byte[] {(byte) first});
      client.expectClosed();
    }
  }

  @ParameterizedTest
  @Tag("pitfall-2")
  @ValueSource(ints = {3, 4, 5})
  @Tag("MQTT-3.1.0-2")
  @Tag("MQTT-3.2.0-2")
  @Tag("MQTT3-3.1.0-2")
  void aSecondConnectEndsTheConnection(int level) {
    try (RawClient client = new RawClient(broker.port())) {
      byte[] connect = RawClient.connect(level, true, 0, "c", RawClient.noProperties());
      client.connect(connect);
      client.send(connect);
      if (level == 5) client.expectDisconnect(0x82);
      else client.expectClosed();
    }
  }

  @ParameterizedTest(name = "{0} level {1}")
  @Tag("pitfall-5")
  @CsvSource({"MQTT, 6", "MQTT, 0", "MQTT, 3", "MQIsdp, 4", "MQTT, 132"})
  @Tag("MQTT-3.1.2-2")
  @Tag("MQTT3-3.1.2-2")
  @Tag("MQTT3-3.2.2-4")
  @Tag("MQTT3-3.2.2-5")
  void anUnknownVersionIsRefusedInTheFormOfMqtt3(String name, int level) {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(RawClient.CONNECT, name, level, 2, RawClient.u16(0), RawClient.noProperties(), "c");
      assertThat(client.expect(RawClient.CONNACK).body()).containsExactly(0, 1);
      client.expectClosed();
    }
  }

  @Test
  @Tag("MQTT-3.1.2-1")
  @Tag("MQTT3-3.1.2-1")
  void anUnknownProtocolClosesTheConnection() {
    for (byte[] bytes :
        List.of(
            RawClient.packet(RawClient.CONNECT, "MQTX", 4, 2, RawClient.u16(0), "c"),
            "GET / HTTP/1.1\r\nHost: broker\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
            new byte[] {0x16, 3, 1, 2, 0, 1, 0, 1, (byte) 0xFC, 3, 3})) {
      try (RawClient client = new RawClient(broker.port())) {
        client.send(bytes);
        client.expectClosed();
      }
    }
  }

  @Test
  void anInvalidFilterInUnsubscribeIsAnsweredAsTheVersionAllows() {
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.send(RawClient.UNSUBSCRIBE, RawClient.u16(1), RawClient.noProperties(), "a+", "$share/g", "a");
      assertThat(client.expect(RawClient.UNSUBACK).body()).startsWith(0, 1).endsWith(0x8F, 0x8F, 0x11);
      client.send(RawClient.UNSUBSCRIBE, RawClient.u16(1), RawClient.noProperties(), "");
      client.expectDisconnect(0x81);
    }
    try (RawClient client = RawClient.connected3(broker, "c")) {
      client.send(RawClient.UNSUBSCRIBE, RawClient.u16(1), "a+");
      client.expectClosed();
    }
  }

  @Test
  @Tag("pitfall-6")
  @Tag("MQTT3-3.1.3-6")
  @Tag("MQTT3-3.1.3-7")
  @Tag("MQTT3-3.1.3-8")
  @Tag("MQTT3-3.1.3-9")
  void anEmptyClientIdentifierNeedsACleanSessionInMqtt3() {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(RawClient.connect(4, false, 0, "", RawClient.noProperties()));
      assertThat(client.expect(RawClient.CONNACK).body()).containsExactly(0, 2);
      client.expectClosed();
    }
    try (RawClient client = new RawClient(broker.port());
        RawClient other = new RawClient(broker.port())) {
      byte[] empty = RawClient.connect(4, true, 0, "", RawClient.noProperties());
      client.connect(empty);
      other.connect(empty);
      client.ping();
      other.ping();
    }
  }

  @Test
  @Tag("pitfall-6")
  @Tag("MQTT-3.1.3-6")
  @Tag("MQTT-3.1.3-7")
  @Tag("MQTT-3.2.2-16")
  void connackHasTheAssignedIdentifierAndTheLimits() {
    try (RawClient client = new RawClient(broker.port());
        RawClient again = new RawClient(broker.port())) {
      Packet connack = client.connect(RawClient.connect(5, true, 0, "", RawClient.properties(RawClient.sessionExpiry(60))));
      Map<Integer, Object> said = connackProperties(connack);

      assertThat(said.get(0x13)).isEqualTo(60L); // keep alive 0 is not granted here
      assertThat(said.get(0x21)).isEqualTo((long) RECEIVE_MAXIMUM);
      assertThat(said.get(0x22)).isEqualTo(5L);
      assertThat(said.get(0x27)).isEqualTo((long) PACKET_MAX);
      String clientId = String.valueOf(said.get(0x12));
      assertThat(clientId).isNotEmpty();
      client.send(RawClient.DISCONNECT);
      client.expectClosed();
      Packet resumed = again.connect(RawClient.connect(5, false, 30, clientId, RawClient.noProperties()));
      assertThat(resumed.at(0)).isEqualTo(1);
      assertThat(connackProperties(resumed)).doesNotContainKeys(0x12, 0x13);
    }
  }

  private static Map<Integer, Object> connackProperties(Packet connack) {
    byte[] body = connack.body();
    Map<Integer, Object> said = new HashMap<>();
    int at = 3;
    assertThat(connack.at(2)).isEqualTo(body.length - 3);
    while (at < body.length) {
      int id = body[at++];
      switch (id) {
        case 0x24, 0x25, 0x28, 0x29, 0x2A -> said.put(id, (long) body[at++]);
        case 0x13, 0x21, 0x22 -> {
          said.put(id, (long) (connack.at(at) << 8 | connack.at(at + 1)));
          at += 2;
        }
        case 0x11, 0x27 -> {
          said.put(id, (long) connack.at(at) << 24 | connack.at(at + 1) << 16 | connack.at(at + 2) << 8 | connack.at(at + 3));
          at += 4;
        }
        case 0x12 -> {
          int length = connack.at(at) << 8 | connack.at(at + 1);
          said.put(id, new String(body, at + 2, length, StandardCharsets.UTF_8));
          at += 2 + length;
        }
        default -> throw new AssertionError("property " + id + " in " + connack);
      }
    }
    return said;
  }

  @Test
  @Tag("pitfall-15")
  @Tag("MQTT-4.12.0-1")
  void enhancedAuthenticationIsRefused() {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(RawClient.connect(5, true, 0, "c", RawClient.properties(RawClient.bytes(0x15, "SCRAM"))));
      assertThat(client.expect(RawClient.CONNACK).at(1)).isEqualTo(0x8C);
      client.expectClosed();
    }
  }

  @Test
  @Tag("pitfall-55")
  @Tag("MQTT-3.3.4-7")
  void morePublishesThanTheReceiveMaximumEndTheConnection() {
    String topic = UUID.randomUUID().toString();
    try (RawClient client = RawClient.connected(broker, "c")) {
      for (int i = 1; i <= RECEIVE_MAXIMUM; i++) {
        client.publish(topic, 2, i, "x");
        client.expect(RawClient.PUBREC);
      }
      // A repetition does not count as new, and a released one makes room.
      client.send(RawClient.PUBLISH | 0x0C, topic, RawClient.u16(1), RawClient.noProperties(), new byte[] {'x'});
      assertThat(client.expect(RawClient.PUBREC).packetId()).isEqualTo(1);
      client.send(RawClient.PUBREL, RawClient.u16(1));
      assertThat(client.expect(RawClient.PUBCOMP).packetId()).isEqualTo(1);
      client.publish(topic, 1, 99, "x");
      client.expect(RawClient.PUBACK);
      client.publish(topic, 0, 0, "x");
      client.publish(topic, 2, 98, "x");
      client.expect(RawClient.PUBREC);
      client.publish(topic, 1, 97, "x");
      client.expectDisconnect(0x93);
    }
  }

  @Test
  @Tag("pitfall-33")
  void aClientOfMqtt3WithoutReceiveMaximumIsHeldBack() {
    try (RawClient client = RawClient.connected3(broker, "c")) {
      client.subscribe("mine", 0);
      int messages = 10 * RECEIVE_MAXIMUM;
      byte[][] all = new byte[messages][];
      for (int i = 0; i < messages; i++) all[i] = RawClient.publishing(4, "mine", 1 + i % 2, i + 1, Integer.toString(i));
      client.send(RawClient.bytes((Object[]) all));

      Set<String> arrived = new HashSet<>();
      while (arrived.size() < messages) arrived.add(client.take().text());
    }
  }

  @Test
  @Tag("pitfall-42")
  @Tag("MQTT-3.3.2-12")
  void aTopicAliasStandsForItsTopicOnItsConnectionUntilItIsPointedElsewhere() {
    String root = UUID.randomUUID().toString();
    try (RawClient client = RawClient.connected(broker, "c");
        RawClient other = RawClient.connected(broker, "other")) {
      other.subscribe(root + "/#", 0);
      byte[] alias = RawClient.properties(RawClient.bytes(RawClient.USER_PROPERTY, "k", "v"), RawClient.topicAlias(5));
      client.send(RawClient.PUBLISH, root + "/a", alias, new byte[] {'1'});
      client.send(RawClient.PUBLISH, "", alias, new byte[] {'2'});
      client.send(RawClient.PUBLISH, root + "/b", alias, new byte[] {'3'});
      client.send(RawClient.PUBLISH, "", alias, new byte[] {'4'});

      for (String expected : List.of("a1", "a2", "b3", "b4")) {
        Message message = other.take();
        assertThat(message.topic().substring(root.length() + 1) + message.text()).isEqualTo(expected);
        assertThat(message.texts(RawClient.USER_PROPERTY)).containsExactly("k=v");
      }
      other.send(RawClient.PUBLISH, "", alias);
      other.expectDisconnect(0x82);
    }
  }

  @Test
  @Tag("pitfall-36")
  @Tag("MQTT-3.2.2-15")
  void aPacketLargerThanAllowedIsRefusedByItsHeader() {
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.send(RawClient.bytes(0x30, RawClient.varint(PACKET_MAX - 2), "t"));
      client.expectDisconnect(0x95);
    }
    try (RawClient client = RawClient.connected3(broker, "c")) {
      client.send(RawClient.bytes(0x30, RawClient.varint(268_435_455)));
      client.expectClosed();
    }
    try (RawClient client = new RawClient(broker.port())) {
      client.send(RawClient.bytes(RawClient.CONNECT, RawClient.varint(1_022)));
      client.expectClosed();
    }
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.send(new byte[] {0x30, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF, (byte) 0xFF, 1});
      client.expectDisconnect(0x81);
    }
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.subscribe("t", 0);
      client.publish("t", 0, 0, "x".repeat(PACKET_MAX - 3 - 3 - 1));
      assertThat(client.take().payload()).hasSize(PACKET_MAX - 7);
    }
  }

  @Test
  @Tag("pitfall-56")
  @Tag("MQTT-3.1.2-24")
  @Tag("MQTT-3.1.2-25")
  void aMessageLargerThanTheClientAcceptsIsDroppedAndLaterOnesArrive() {
    String topic = UUID.randomUUID().toString();
    for (long expiry : new long[] {0, 60}) {
      try (RawClient subscriber =
              RawClient.connected(
                  broker, UUID.randomUUID().toString(), RawClient.maximumPacketSize(200), RawClient.sessionExpiry(expiry),
                  RawClient.receiveMaximum(2));
          Hive publisher = Hive.connected(broker, false)) {
        subscriber.subscribe(topic, 2);
        for (int qos = 0; qos <= 2; qos++) {
          for (int i = 0; i < 5; i++) publisher.publish(topic, qos, "x".repeat(300)).join();
          publisher.publish(topic, qos, "fits").join();
          assertThat(subscriber.take().text()).isEqualTo("fits");
        }
      }
    }
  }

  @Test
  @Tag("MQTT-3.1.2-24")
  void anAnswerLargerThanTheClientAcceptsEndsItsConnection() {
    try (RawClient client = RawClient.connected(broker, "c", RawClient.maximumPacketSize(24))) {
      Object[] filters = new Object[22];
      for (int i = 0; i < filters.length; i++) filters[i] = "f" + i;
      client.send(RawClient.UNSUBSCRIBE, RawClient.u16(1), RawClient.noProperties(), RawClient.bytes(filters));
      client.expectDisconnect(0x95);
    }
  }

  @Test
  @Tag("pitfall-76")
  @Tag("MQTT-3.1.2-22")
  @Tag("MQTT-3.2.2-22")
  @Tag("MQTT3-3.1.2-24")
  void aClientThatIsSilentForTooLongIsDisconnected() {
    try (RawClient client = new RawClient(broker.port());
        RawClient old = new RawClient(broker.port());
        RawClient alive = new RawClient(broker.port())) {
      // KeepAliveIT tries what keeps a connection with a short keep alive open. Here a machine that stands still for a moment must not end it.
      alive.connect(RawClient.connect(5, true, 60, "alive", RawClient.noProperties()));
      long begun = System.nanoTime();
      client.connect(RawClient.connect(5, true, 1, "silent", RawClient.noProperties()));
      old.connect(RawClient.connect(4, true, 1, "silent 3", RawClient.noProperties()));
      while (!client.hasInput()) alive.ping();
      assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThanOrEqualTo(Duration.ofMillis(1_450));
      client.expectDisconnect(0x8D);
      old.expectClosed();
      alive.ping();
    }
  }

  /** A broker that waits for CONNECT for half a second. A correct client may come too late for it. */
  private static TestBroker hurried(Path data) {
    return TestBroker.on(data, Map.of("dunlin.mqtt.connect-timeout", "500ms", "dunlin.store.fsync", "false"));
  }

  @Test
  void aConnectionThatSendsNoConnectIsClosed(@TempDir Path data) {
    try (TestBroker hurried = hurried(data);
        RawClient nothing = new RawClient(hurried.port());
        RawClient half = new RawClient(hurried.port())) {
      half.send(Arrays.copyOf(RawClient.connect(5, true, 0, "c", RawClient.noProperties()), 9));
      nothing.expectClosed();
      half.expectClosed();
    }
  }

  /** A connection that sends its CONNECT slowly must not live longer than the timeout. */
  @Test
  void aConnectThatComesTooSlowlyIsClosed(@TempDir Path data) {
    try (TestBroker hurried = hurried(data);
        RawClient slow = new RawClient(hurried.port());
        RawClient clock = RawClient.connected(broker, "clock")) {
      byte[] connect = RawClient.connect(5, true, 0, "c".repeat(900), RawClient.noProperties());
      int sent = 0;
      while (!slow.ended()) {
        assertThat(sent).as("bytes that a connection was allowed to take its time for").isLessThan(connect.length - 1);
        slow.sendLeniently(connect[sent++]);
        for (int i = 0; i < 20; i++) clock.ping();
      }
    }
  }

  @ParameterizedTest
  @Tag("pitfall-11")
  @ValueSource(ints = {3, 4, 5})
  void packetsAfterConnectAreHandledOnceItIsAnswered(int level) {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(conversation(level));
      expectConversation(client, level);
    }
  }

  @ParameterizedTest
  @Tag("pitfall-33")
  @ValueSource(ints = {3, 4, 5})
  @Tag("MQTT-4.2.0-1")
  @Tag("MQTT3-7.1.1-1")
  void packetsMayComeByteByByte(int level) {
    try (RawClient client = new RawClient(broker.port())) {
      for (byte b : conversation(level)) client.send(new byte[] {b});
      expectConversation(client, level);
    }
  }

  private static byte[] conversation(int level) {
    byte[] none = level == 5 ? RawClient.noProperties() : new byte[0];
    return RawClient.bytes(
        RawClient.connect(level, true, 30, "pipelining", RawClient.noProperties()),
        RawClient.packet(RawClient.SUBSCRIBE, RawClient.u16(1), none, "own", 2),
        RawClient.packet(RawClient.PINGREQ),
        RawClient.publishing(level, "nobody's", 1, 2, "1"),
        RawClient.publishing(level, "nobody's", 2, 3, "2"),
        RawClient.packet(RawClient.PUBREL, RawClient.u16(3)),
        RawClient.packet(RawClient.UNSUBSCRIBE, RawClient.u16(4), none, "other"),
        RawClient.packet(RawClient.PINGREQ));
  }

  private static void expectConversation(RawClient client, int level) {
    Packet connack = client.expect(RawClient.CONNACK);
    assertThat(connack.at(1)).isZero();
    List<Integer> types = new ArrayList<>();
    for (int i = 0; i < 7; i++) types.add(client.read().first());
    // SUBACK waits for a store; the others are answered at once and in order.
    assertThat(types).containsExactlyInAnyOrder(
        RawClient.SUBACK, RawClient.PINGRESP, RawClient.PUBACK, RawClient.PUBREC, RawClient.PUBCOMP, RawClient.UNSUBACK,
        RawClient.PINGRESP);
    assertThat(types.indexOf(RawClient.PUBACK)).isLessThan(types.indexOf(RawClient.PUBREC));
    client.send(RawClient.publishing(level, "nobody's", 1, 9, ""));
    client.expect(RawClient.PUBACK);
  }

  @Test
  @Tag("pitfall-11")
  @Tag("MQTT3-3.1.4-5")
  void packetsAfterARefusedConnectHaveNoEffect() {
    try (RawClient client = new RawClient(broker.port())) {
      client.send(
          RawClient.bytes(
              RawClient.connect(4, false, 0, "", RawClient.noProperties()),
              RawClient.publishing(4, "innocent", 0, 0, "must not arrive")));
      assertThat(client.expect(RawClient.CONNACK).at(1)).isEqualTo(2);
      client.expectClosed();
    }
  }

  @Test
  @Tag("MQTT-3.14.4-1")
  void packetsAfterDisconnectHaveNoEffect() {
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.send(
          RawClient.bytes(
              RawClient.packet(RawClient.DISCONNECT), RawClient.publishing(5, "innocent", 0, 0, "must not arrive")));
      client.expectClosed();
    }
  }

  @ParameterizedTest(name = "MQTT level {0}, durable session {1}")
  @Tag("pitfall-51")
  @CsvSource({"4, false", "4, true", "5, false", "5, true"})
  @Tag("MQTT-4.3.3-11")
  void acknowledgementsOfNothingAreAnsweredOrIgnored(int level, boolean durable) {
    try (RawClient client = new RawClient(broker.port())) {
      byte[] properties = RawClient.properties(RawClient.sessionExpiry(durable ? 60 : 0));
      client.connect(RawClient.connect(level, !durable || level == 5, 0, UUID.randomUUID().toString(), properties));
      byte[] unknown = RawClient.u16(4_711);
      client.send(RawClient.PUBACK, unknown);
      client.ping();
      client.send(RawClient.PUBCOMP, unknown);
      client.ping();
      client.send(RawClient.PUBREL, unknown);
      Packet pubcomp = client.expect(RawClient.PUBCOMP);
      assertThat(pubcomp.packetId()).isEqualTo(4_711);
      assertThat(pubcomp.reason()).isEqualTo(level == 5 ? 0x92 : 0);
      client.send(RawClient.PUBREC, unknown);
      Packet pubrel = client.expect(RawClient.PUBREL);
      assertThat(pubrel.packetId()).isEqualTo(4_711);
      assertThat(pubrel.reason()).isEqualTo(level == 5 ? 0x92 : 0);
      client.ping();
    }
  }

  /** An acknowledgement of the wrong type is ignored: the message stays in flight until the right one comes. */
  @ParameterizedTest(name = "durable session {0}")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT-4.3.2-3")
  @Tag("MQTT-4.3.3-3")
  void acknowledgementsOfTheWrongTypeAreIgnored(boolean durable) {
    String topic = UUID.randomUUID().toString();
    try (RawClient client =
            RawClient.connected(
                broker, UUID.randomUUID().toString(), RawClient.receiveMaximum(1), RawClient.sessionExpiry(durable ? 60 : 0));
        Hive publisher = Hive.connected(broker, false)) {
      client.subscribe(topic, 2);
      publisher.publish(topic, 1, "one").join();
      publisher.publish(topic, 2, "two").join();
      publisher.publish(topic, 1, "three").join();

      Message one = client.message();
      client.send(RawClient.PUBCOMP, RawClient.u16(one.packetId()));
      client.ping();
      client.send(RawClient.PUBACK, RawClient.u16(one.packetId()));
      Message two = client.message();
      client.send(RawClient.PUBACK, RawClient.u16(two.packetId()));
      client.ping();
      client.send(RawClient.PUBCOMP, RawClient.u16(two.packetId()));
      client.ping();
      client.send(RawClient.PUBREC, RawClient.u16(two.packetId()));
      assertThat(client.expect(RawClient.PUBREL).packetId()).isEqualTo(two.packetId());
      client.send(RawClient.PUBREC, RawClient.u16(two.packetId()));
      assertThat(client.expect(RawClient.PUBREL).packetId()).isEqualTo(two.packetId());
      client.send(RawClient.PUBCOMP, RawClient.u16(two.packetId()));
      assertThat(client.message().text()).isEqualTo("three");
    }
  }

  /** PUBREC with an error ends the exchange, without PUBREL. */
  @Test
  @Tag("pitfall-50")
  @Tag("MQTT-4.3.3-4")
  @Tag("MQTT-4.4.0-2")
  void aClientMayRefuseAMessage() {
    String topic = UUID.randomUUID().toString();
    try (RawClient client = RawClient.connected(broker, "c", RawClient.receiveMaximum(1));
        Hive publisher = Hive.connected(broker, false)) {
      client.subscribe(topic, 2);
      publisher.publish(topic, 2, "refused").join();
      publisher.publish(topic, 1, "next").join();
      Message refused = client.message();
      client.send(RawClient.PUBREC, RawClient.u16(refused.packetId()), 0x97);
      assertThat(client.message().text()).isEqualTo("next");
    }
  }

  /** The client's Receive Maximum holds for QoS 1 and 2 together, and QoS 0 passes by. */
  @ParameterizedTest(name = "durable session {0}")
  @Tag("pitfall-55")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT-3.3.4-9")
  @Tag("MQTT-3.3.4-10")
  @Tag("MQTT-4.9.0-1")
  @Tag("MQTT-4.9.0-2")
  @Tag("MQTT-4.9.0-3")
  void theClientsReceiveMaximumIsKept(boolean durable) {
    String topic = UUID.randomUUID().toString();
    try (RawClient client =
            RawClient.connected(
                broker, UUID.randomUUID().toString(), RawClient.receiveMaximum(3), RawClient.sessionExpiry(durable ? 60 : 0));
        Hive publisher = Hive.connected(broker, false)) {
      client.subscribe(topic, 2);
      for (int i = 0; i < 10; i++) publisher.publish(topic, 1 + i % 2, Integer.toString(i)).join();
      publisher.publish(topic, 0, "passes by").join();

      List<Message> sent = new ArrayList<>();
      for (int i = 0; i < 4; i++) sent.add(client.message());
      assertThat(sent).extracting(Message::text).containsExactlyInAnyOrder("0", "1", "2", "passes by");
      client.ping();
      for (Message message : sent) if (message.qos() == 1) client.send(RawClient.PUBACK, RawClient.u16(message.packetId()));
      assertThat(List.of(client.message().text(), client.message().text())).containsExactly("3", "4");
      client.ping();
    }
  }
}

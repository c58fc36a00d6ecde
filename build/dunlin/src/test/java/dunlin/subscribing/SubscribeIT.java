package dunlin.subscribing;

import static dunlin.harness.RawClient.noProperties;
import static dunlin.harness.RawClient.PUBACK;
import static dunlin.harness.RawClient.PUBCOMP;
import static dunlin.harness.RawClient.PUBREC;
import static dunlin.harness.RawClient.PUBREL;
import static dunlin.harness.RawClient.SUBACK;
import static dunlin.harness.RawClient.SUBSCRIBE;
import static dunlin.harness.RawClient.UNSUBACK;
import static dunlin.harness.RawClient.UNSUBSCRIBE;
import static dunlin.harness.RawClient.connect;
import static dunlin.harness.RawClient.connected;
import static dunlin.harness.RawClient.connected3;
import static dunlin.harness.RawClient.properties;
import static dunlin.harness.RawClient.sessionExpiry;
import static dunlin.harness.RawClient.u16;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Message;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Subscribing and unsubscribing, above all by clients of MQTT 3.1.1; MQTT 3.1.1, sections 3.8 to 3.11. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SubscribeIT {
  private final TestBroker broker;

  SubscribeIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  @ParameterizedTest(name = "MQTT level {0}")
  @ValueSource(ints = {4, 5})
  @Tag("MQTT-2.2.1-6")
  @Tag("MQTT-3.8.4-1")
  @Tag("MQTT-3.8.4-2")
  @Tag("MQTT-3.8.4-5")
  @Tag("MQTT-3.8.4-6")
  @Tag("MQTT-3.8.4-7")
  @Tag("MQTT-3.9.3-1")
  @Tag("MQTT3-2.3.1-7")
  @Tag("MQTT3-3.8.4-1")
  @Tag("MQTT3-3.8.4-2")
  @Tag("MQTT3-3.8.4-4")
  @Tag("MQTT3-3.8.4-5")
  @Tag("MQTT3-3.9.3-1")
  @Tag("MQTT3-3.9.3-2")
  void oneSubscribeIsAnsweredFilterByFilter(int level) {
    String root = id();
    for (boolean durable : new boolean[] {false, true}) {
      try (RawClient client = client(level, durable);
          RawClient publisher = connected(broker, id())) {
        client.send(
            SUBSCRIBE, u16(0xABCD), none(level), root + "/2", 2, "a#", 1, root + "/0", 0, root + "/1", 1, "a/+b", 2, root + "/2",
            1);
        byte[] body = client.expect(SUBACK).body();
        byte invalid = (byte) (level == 5 ? 0x8F : 0x80);
        byte[] codes = {2, invalid, 0, 1, invalid, 1};
        assertThat(body).startsWith(u16(0xABCD)).endsWith(codes);
        if (level != 5) assertThat(body).hasSize(2 + codes.length);

        for (int granted = 0; granted <= 2; granted++) {
          publisher.publish(root + "/" + granted, 1, 1, "x");
          publisher.expect(PUBACK);
          assertThat(client.take().qos()).isEqualTo(Math.min(granted, 1));
          client.ping(); // no second copy
        }
      }
    }
  }

  @ParameterizedTest(name = "MQTT level {0}, durable session {1}")
  @CsvSource({"4, false", "4, true", "5, false", "5, true"})
  @Tag("MQTT-2.2.1-6")
  @Tag("MQTT-3.10.4-1")
  @Tag("MQTT-3.10.4-2")
  @Tag("MQTT-3.10.4-4")
  @Tag("MQTT-3.10.4-5")
  @Tag("MQTT-3.10.4-6")
  @Tag("MQTT3-2.3.1-7")
  @Tag("MQTT3-3.10.4-1")
  @Tag("MQTT3-3.10.4-2")
  @Tag("MQTT3-3.10.4-4")
  @Tag("MQTT3-3.10.4-5")
  @Tag("MQTT3-3.10.4-6")
  void unsubscribingComparesFiltersCharacterByCharacter(int level, boolean durable) {
    String root = id();
    try (RawClient client = client(level, durable);
        RawClient publisher = connected(broker, id())) {
      for (String filter : List.of("/a/+", "/+/b", "/A", "/\u00e4")) client.subscribe(root + filter, 1);
      client.subscribe(root + "/end", 1);

      client.send(UNSUBSCRIBE, u16(0x1234), none(level), root + "/a/b", root + "/a", root + "/a\u0308", root + "/#");
      byte[] nothing = level == 5 ? new byte[] {0, 0x11, 0x11, 0x11, 0x11} : new byte[0];
      assertThat(client.expect(UNSUBACK).body()).isEqualTo(RawClient.bytes(u16(0x1234), nothing));
      for (String topic : List.of("/a/x", "/x/b", "/A", "/\u00e4")) {
        publisher.publish(root + topic, 1, 1, topic);
        publisher.expect(PUBACK);
        assertThat(client.take().text()).isEqualTo(topic);
      }

      client.send(UNSUBSCRIBE, u16(0x1235), none(level), root + "/+/b", root + "/A", root + "/A");
      byte[] two = level == 5 ? new byte[] {0, 0, 0, 0x11} : new byte[0];
      assertThat(client.expect(UNSUBACK).body()).isEqualTo(RawClient.bytes(u16(0x1235), two));
      for (String topic : List.of("/x/b", "/A", "/\u00e4", "/a/b", "/end")) {
        publisher.publish(root + topic, 1, 1, topic);
        publisher.expect(PUBACK);
      }
      assertThat(client.before("/end")).extracting(Message::text).containsExactly("/\u00e4", "/a/b");
    }
  }

  /** Exchanges that have begun continue after their subscription has ended. */
  @ParameterizedTest(name = "MQTT level {0}, durable session {1}")
  @CsvSource({"4, false", "4, true", "5, false", "5, true"})
  @Tag("MQTT-3.10.4-3")
  @Tag("MQTT3-3.10.4-3")
  void exchangesAreCompletedAfterUnsubscribing(int level, boolean durable) {
    String clientId = id();
    byte[] connect = connect(level, !durable, 0, clientId, properties(sessionExpiry(durable ? 60 : 0)));
    try (RawClient client = new RawClient(broker.port());
        RawClient publisher = connected(broker, id())) {
      client.connect(connect);
      client.subscribe(clientId, 2);
      for (int i = 1; i <= 3; i++) {
        publisher.publish(clientId, i == 1 ? 1 : 2, i, Integer.toString(i));
        publisher.expect(i == 1 ? PUBACK : PUBREC);
      }
      Message one = client.message();
      Message two = client.message();
      Message three = client.message();
      client.send(UNSUBSCRIBE, u16(4), none(level), clientId);
      client.expect(UNSUBACK);

      client.send(PUBREC, u16(two.packetId()));
      assertThat(client.expect(PUBREL).packetId()).isEqualTo(two.packetId());
      client.send(PUBCOMP, u16(two.packetId()));
      client.ping();
      if (!durable) return;
      try (RawClient back = new RawClient(broker.port())) {
        back.connect(connect(level, false, 0, clientId, properties(sessionExpiry(0))));
        assertThat(back.take().packetId()).isEqualTo(one.packetId());
        assertThat(back.message().packetId()).isEqualTo(three.packetId());
        back.send(PUBREC, u16(three.packetId()));
        assertThat(back.expect(PUBREL).packetId()).isEqualTo(three.packetId());
        back.send(PUBCOMP, u16(three.packetId()));
        back.ping();
      }
    }
  }

  @ParameterizedTest(name = "durable session {0}")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT3-3.8.4-3")
  void subscribingAgainReplacesTheSubscriptionOfAClientOfMqtt3(boolean durable) {
    String topic = id();
    try (RawClient client = client(4, durable);
        RawClient publisher = connected3(broker, id())) {
      publisher.send(RawClient.PUBLISH | 3, topic, u16(1), new byte[] {'r'});
      publisher.expect(PUBACK);
      for (int qos : new int[] {1, 0, 1}) {
        client.subscribe(topic, qos);
        Message retained = client.take();
        assertThat(retained.retain()).isTrue();
        publisher.publish(topic, 1, 2, "live");
        publisher.expect(PUBACK);
        Message live = client.take();
        assertThat(live.text()).isEqualTo("live");
        assertThat(live.retain()).isFalse();
        assertThat(live.qos()).isEqualTo(qos);
        client.ping(); // no second copy
      }
    }
  }

  @ParameterizedTest(name = "durable session {0}")
  @ValueSource(booleans = {false, true})
  @Tag("MQTT3-3.3.2-3")
  @Tag("MQTT3-3.3.5-1")
  void overlappingSubscriptionsOfMqtt3DeliverWithTheHighestQosAmongThem(boolean durable) {
    String root = id();
    try (RawClient client = client(4, durable);
        RawClient publisher = connected(broker, id())) {
      client.subscribe(root + "/#", 0);
      client.subscribe(root + "/+", 2);
      client.subscribe(root + "/a", 1);
      for (String topic : List.of("", "/a", "/a/b")) {
        publisher.publish(root + topic, 2, 1, topic);
        publisher.expect(PUBREC);
        publisher.send(PUBREL, u16(1));
        publisher.expect(PUBCOMP);
        Message message = client.take();
        assertThat(message.topic()).isEqualTo(root + topic);
        assertThat(message.qos()).isEqualTo(topic.equals("/a") ? 2 : 0);
        finish(client, message);
      }
      publisher.publish("elsewhere/" + root, 1, 1, "matches nothing");
      publisher.expect(PUBACK);
      client.ping();
    }
  }

  private static void finish(RawClient client, Message message) {
    if (message.qos() < 2) return;
    client.expect(PUBREL);
    client.send(PUBCOMP, u16(message.packetId()));
  }

  private RawClient client(int level, boolean durable) {
    RawClient client = new RawClient(broker.port());
    client.connect(connect(level, !durable, 0, id(), properties(sessionExpiry(durable ? 60 : 0))));
    return client;
  }

  private static byte[] none(int level) {
    return level == 5 ? noProperties() : new byte[0];
  }

  private static String id() {
    return UUID.randomUUID().toString();
  }
}

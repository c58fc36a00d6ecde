package dunlin.connecting;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.AnswerProperties;
import dunlin.harness.RawClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** A broker whose settings turn features off announces that in CONNACK and enforces it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CapabilitiesIT {
  private final TestBroker broker;

  CapabilitiesIT(@TempDir Path data) {
    broker =
        TestBroker.on(
            data,
            Map.of(
                "dunlin.mqtt.maximum-qos", "1",
                "dunlin.mqtt.retain-available", "false",
                "dunlin.mqtt.wildcard-subscription-available", "false",
                "dunlin.mqtt.subscription-identifiers-available", "false",
                "dunlin.mqtt.shared-subscription-available", "false",
                "dunlin.mqtt.payload-format-check", "true",
                "dunlin.mqtt.response-information", "responses/",
                "dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  @Test
  @Tag("MQTT-3.1.2-28")
  @Tag("MQTT-3.2.2-9")
  void unavailableFeaturesAreAnnouncedInConnack() {
    try (RawClient client = new RawClient(broker.port())) {
      Packet connack = client.connect(RawClient.connect(5, true, 0, "c", RawClient.noProperties()));
      assertThat(AnswerProperties.of(connack).all())
          .containsEntry(0x24, 1L)
          .containsEntry(0x25, 0L)
          .containsEntry(0x28, 0L)
          .containsEntry(0x29, 0L)
          .containsEntry(0x2A, 0L)
          .doesNotContainKey(AnswerProperties.RESPONSE_INFORMATION);
    }
  }

  @Test
  void availableFeaturesAreOmitted(@TempDir Path data) {
    try (TestBroker all = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
        RawClient client = new RawClient(all.port())) {
      byte[] asks = RawClient.properties(new byte[] {0x19, 1});
      Packet connack = client.connect(RawClient.connect(5, true, 0, "c", asks));
      assertThat(AnswerProperties.of(connack).all())
          .doesNotContainKeys(0x24, 0x25, 0x28, 0x29, 0x2A, AnswerProperties.RESPONSE_INFORMATION);
    }
  }

  @Test
  void responseInformationIsATopicOfTheClientsOwn() {
    for (var name : Map.of("plain", "responses/plain", "a/b+#%", "responses/a%2Fb%2B%23%25").entrySet()) {
      try (RawClient client = new RawClient(broker.port())) {
        byte[] asks = RawClient.properties(new byte[] {0x19, 1});
        Packet connack = client.connect(RawClient.connect(5, true, 0, name.getKey(), asks));
        assertThat(AnswerProperties.of(connack).all()).containsEntry(AnswerProperties.RESPONSE_INFORMATION, name.getValue());
        client.subscribe(name.getValue(), 1);
        client.publish(name.getValue(), 1, 1, "answer");
        assertThat(client.take().text()).isEqualTo("answer");
      }
    }
  }

  @Test
  @Tag("MQTT-3.2.2-11")
  @Tag("MQTT-3.2.2-14")
  void aPublishBeyondTheCapabilitiesEndsTheConnection() {
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.publish("t", 2, 1, "x");
      Packet disconnect = client.expect(RawClient.DISCONNECT);
      assertThat(disconnect.reason()).isEqualTo(0x9B);
      assertThat(AnswerProperties.of(disconnect).reasonString()).contains("dunlin.mqtt.maximum-qos");
      client.expectClosed();
    }
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.send(RawClient.PUBLISH | 1, "t", RawClient.noProperties());
      client.expectDisconnect(0x9A);
    }
    try (RawClient client = RawClient.connected3(broker, "c")) {
      client.publish("t", 2, 1, "x");
      client.expectClosed();
    }
  }

  @Test
  @Tag("MQTT-3.2.2-12")
  @Tag("MQTT-3.2.2-13")
  void aWillBeyondTheCapabilitiesIsRefused() {
    int[][] cases = {{0x16, 0x9B}, {0x26, 0x9A}};
    for (int[] each : cases) {
      try (RawClient client = new RawClient(broker.port())) {
        client.send(RawClient.connect(5, each[0], 0, RawClient.noProperties(), "c", RawClient.noProperties(), "t", "x"));
        assertThat(client.expect(RawClient.CONNACK).at(1)).isEqualTo(each[1]);
        client.expectClosed();
      }
      try (RawClient client = new RawClient(broker.port())) {
        client.send(RawClient.connect(4, each[0], 0, RawClient.noProperties(), "c", "t", "x"));
        assertThat(client.expect(RawClient.CONNACK).body()).containsExactly(0, 5);
        client.expectClosed();
      }
    }
  }

  @Test
  @Tag("MQTT-3.2.2-10")
  @Tag("MQTT-3.9.3-2")
  @Tag("MQTT3-3.8.3-2")
  void subscriptionsAreGrantedTheMaximumQosOrRefusedWithAReason() {
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.send(RawClient.SUBSCRIBE, RawClient.u16(1), RawClient.noProperties(), "a", 2, "a/+", 2, "$share/g/a", 1, "b", 0);
      Packet suback = client.expect(RawClient.SUBACK);
      byte[] body = suback.body();
      assertThat(new int[] {suback.at(body.length - 4), suback.at(body.length - 3), suback.at(body.length - 2), body[body.length - 1]})
          .containsExactly(1, 0xA2, 0x9E, 0);
      assertThat(AnswerProperties.of(suback).reasonString())
          .isEqualTo("topic filter 2: wildcards are switched off (dunlin.mqtt.wildcard-subscription-available)");
      client.publish("a", 1, 1, "x");
      assertThat(client.take().qos()).isEqualTo(1);
    }
    try (RawClient client = RawClient.connected3(broker, "c")) {
      client.send(RawClient.SUBSCRIBE, RawClient.u16(1), "a", 2, "#", 2);
      assertThat(client.expect(RawClient.SUBACK).body()).containsExactly(0, 1, 1, 0x80);
    }
  }

  @Test
  void aSubscriptionIdentifierEndsTheConnectionWhereTheyAreOff() {
    try (RawClient client = RawClient.connected(broker, "c")) {
      byte[] identified = RawClient.properties(RawClient.subscriptionIdentifier(1));
      client.send(RawClient.SUBSCRIBE, RawClient.u16(1), identified, "a", 0);
      client.expectDisconnect(0xA1);
    }
  }

  @Test
  void aPayloadThatIsNotUtf8AsAnnouncedIsRefused() {
    byte[] text = RawClient.properties(new byte[] {RawClient.PAYLOAD_FORMAT, 1});
    byte[] notText = {'a', (byte) 0xC3, 'b'};
    try (RawClient client = RawClient.connected(broker, "c")) {
      client.subscribe("format", 1);
      client.send(RawClient.PUBLISH | 2, "format", RawClient.u16(1), text, notText);
      client.send(RawClient.PUBLISH | 2, "format", RawClient.u16(2), text, "gr\u00fcn".getBytes(StandardCharsets.UTF_8));
      client.send(RawClient.PUBLISH | 2, "format", RawClient.u16(3), RawClient.noProperties(), notText);
      Packet puback = client.expect(RawClient.PUBACK);
      assertThat(puback.packetId()).isEqualTo(1);
      assertThat(puback.reason()).isEqualTo(0x99);
      assertThat(AnswerProperties.of(puback).reasonString()).contains("UTF-8");
      assertThat(client.take().text()).isEqualTo("gr\u00fcn");
      assertThat(client.take().payload()).isEqualTo(notText);
      client.send(RawClient.PUBLISH, "format", text, notText);
      while (client.nextIsMessage()) throw new AssertionError("delivered: " + client.message());
      client.expectDisconnect(0x99);
    }
    try (RawClient client = new RawClient(broker.port())) {
      client.send(RawClient.connect(5, 6, 0, RawClient.noProperties(), "c", text, "t", RawClient.u16(3), notText));
      assertThat(client.expect(RawClient.CONNACK).at(1)).isEqualTo(0x99);
      client.expectClosed();
    }
  }
}

package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.AnswerProperties;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Packet identifiers that a client uses twice at the same time. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PacketIdentifierIT {
  private static final byte[] NONE = RawClient.noProperties();
  private static final byte[] ID = RawClient.u16(7);

  private final TestBroker broker;

  PacketIdentifierIT(@TempDir Path data) {
    broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  private static void beginExchange(RawClient client, String topic) {
    client.publish(topic, 2, 7, "begun");
    assertThat(client.expect(RawClient.PUBREC).packetId()).isEqualTo(7);
  }

  @Test
  @Tag("MQTT-2.2.1-3")
  void anIdentifierInUseIsRefusedInMqtt5() {
    try (RawClient client = RawClient.connected(broker, "c")) {
      beginExchange(client, "in-use");
      client.send(RawClient.SUBSCRIBE, ID, NONE, "a", 0, "b", 0);
      Packet suback = client.expect(RawClient.SUBACK);
      assertThat(suback.packetId()).isEqualTo(7);
      assertThat(suback.at(suback.body().length - 1)).isEqualTo(0x91);
      assertThat(suback.at(suback.body().length - 2)).isEqualTo(0x91);
      assertThat(AnswerProperties.of(suback).reasonString()).isEqualTo("packet identifier 7 is in use");
      client.send(RawClient.UNSUBSCRIBE, ID, NONE, "a");
      Packet unsuback = client.expect(RawClient.UNSUBACK);
      assertThat(unsuback.at(unsuback.body().length - 1)).isEqualTo(0x91);
      client.publish("in-use", 1, 7, "another");
      assertThat(client.expect(RawClient.PUBACK).reason()).isEqualTo(0x91);

      client.publish("a", 0, 0, "nobody has subscribed");
      client.send(RawClient.PUBREL, ID);
      assertThat(client.expect(RawClient.PUBCOMP).packetId()).isEqualTo(7);
      client.send(RawClient.SUBSCRIBE, ID, NONE, "a", 0);
      assertThat(client.expect(RawClient.SUBACK).reason()).isZero();
    }
  }

  /** A client that has lost its state would be closed at each reconnect, so it is served. */
  @Test
  void anIdentifierInUseIsAcceptedInMqtt3() {
    try (RawClient client = RawClient.connected3(broker, "c3")) {
      beginExchange(client, "in-use-3");
      client.send(RawClient.SUBSCRIBE, ID, "a", 0);
      assertThat(client.expect(RawClient.SUBACK).body()).containsExactly(0, 7, 0);
      client.publish("in-use-3", 1, 7, "another");
      client.expect(RawClient.PUBACK);
      client.send(RawClient.PUBREL, ID);
      client.expect(RawClient.PUBCOMP);
    }
  }

  @Test
  void anIdentifierOfQos1UsedAgainIsAnotherMessage() {
    try (RawClient client = RawClient.connected(broker, "twice");
        RawClient subscriber = RawClient.connected(broker, "s")) {
      subscriber.subscribe("twice", 1);
      byte[] one = RawClient.publishing(5, "twice", 1, 7, "one");
      byte[] two = RawClient.publishing(5, "twice", 1, 7, "two");
      client.send(RawClient.bytes(one, two));
      for (int i = 0; i < 2; i++) assertThat(client.expect(RawClient.PUBACK).packetId()).isEqualTo(7);
      assertThat(subscriber.take().text()).isEqualTo("one");
      assertThat(subscriber.take().text()).isEqualTo("two");
    }
  }
}

package dunlin.connecting;

import static dunlin.harness.RawClient.CONNACK;
import static dunlin.harness.RawClient.PUBACK;
import static dunlin.harness.RawClient.SUBACK;
import static dunlin.harness.RawClient.SUBSCRIBE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import dunlin.TestBroker;
import dunlin.harness.AnswerProperties;
import dunlin.harness.LoggedLines;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.harness.RawClient.Packet;
import dunlin.harness.RuledBroker;
import dunlin.runtime.DropReason;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Limits of tenants before a broker: what the clients of one have to bear, and those of another do not notice. */
class TenantLimitsIT {
  @TempDir Path directory;

  /** A broker whose listener {@code tcp} is for the tenant blue, and {@code other} for the tenant green. */
  private TestBroker broker(String limitsOfBlue, String... settings) {
    return broker(directory, limitsOfBlue, settings);
  }

  static TestBroker broker(Path directory, String limitsOfBlue, String... settings) {
    var all = new HashMap<>(Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
    all.putAll(Map.of("dunlin.listeners.tcp.tenant", "blue", "dunlin.listeners.other.port", "0", "dunlin.listeners.other.tenant", "green"));
    all.putAll(Map.of("dunlin.tenants.blue.limits", limitsOfBlue, "dunlin.tenants.metrics", "blue"));
    for (int i = 0; i < settings.length; i += 2) all.put(settings[i], settings[i + 1]);
    return TestBroker.on(directory.resolve("data"), all);
  }

  static int green(TestBroker broker) {
    return broker.frontend().port("other");
  }

  static byte[] connecting(int level) {
    return RawClient.connect(level, true, 0, UUID.randomUUID().toString(), RawClient.noProperties());
  }

  private static int answer(int port, byte[] connect) {
    try (RawClient client = new RawClient(port)) {
      client.send(connect);
      return client.expect(CONNACK).at(1);
    }
  }

  /** How often it was hit by any tenant. */
  static int limited(TestBroker broker, String limit) {
    return RuledBroker.metric(broker, "dunlin_tenants_limited_total", "limit=\"" + limit + "\"");
  }

  @Test
  void tenantsShareNothing() {
    try (TestBroker broker = broker("qos=2");
        RawClient blue = RawClient.connected(broker.port(), Connect.of("c").clean());
        RawClient green = RawClient.connected(green(broker), Connect.of("c").clean())) {
      green.subscribe("#", 1);
      blue.subscribe("#", 1);
      blue.publish("t", 1, 7, "of blue");
      assertThat(blue.next(RawClient.PUBLISH).message().text()).isEqualTo("of blue");
      green.ping();
      assertThat(RuledBroker.metric(broker, "dunlin_tenants_received_messages_total", "tenant=\"blue\"")).isEqualTo(1);
      assertThat(RuledBroker.metric(broker, "dunlin_tenants_sent_messages_total", "tenant=\"blue\"")).isEqualTo(1);
    }
  }

  @Test
  void aConnectionTooManyIsRefusedUntilAnotherHasEnded() {
    try (var events = new LoggedLines("dunlin.events", Level.INFO);
        TestBroker broker = broker("connections=1")) {
      try (RawClient _ = RawClient.connected(broker.port(), connecting(5))) {
        assertThat(answer(broker.port(), connecting(5))).isEqualTo(0x97);
        assertThat(answer(broker.port(), connecting(4))).as("MQTT 3.1.1").isEqualTo(3);
        assertThat(answer(green(broker), connecting(5))).as("another tenant").isZero();
        assertThat(limited(broker, "connections")).isEqualTo(2);
        assertThat(RuledBroker.metric(broker, "dunlin_tenants_connections", "tenant=\"blue\"")).isEqualTo(1);
        assertThat(events.of("tenant-limited")).as("once a minute").singleElement().asString().contains("tenant=blue limit=connections max=1");
      }
      await().atMost(TestBroker.SOON).until(() -> answer(broker.port(), connecting(5)) == 0);
    }
  }

  @Test
  void aDurableSessionTooManyIsRefusedUntilAnotherHasEnded() {
    try (TestBroker broker = broker("sessions=2")) {
      for (String client : List.of("a", "b")) RawClient.connected(broker.port(), Connect.of(client)).disconnect();
      assertThat(answer(broker.port(), Connect.of("c").packet())).isEqualTo(0x97);
      assertThat(answer(broker.port(), RawClient.connect(4, false, 0, "c", RawClient.noProperties()))).as("MQTT 3.1.1").isEqualTo(3);
      assertThat(answer(broker.port(), connecting(5))).as("a session that ends with its connection").isZero();
      assertThat(answer(green(broker), Connect.of("c").packet())).as("another tenant").isZero();
      try (RawClient back = RawClient.connected(broker.port(), Connect.of("a"))) {
        assertThat(back.sessionPresent()).isTrue();
        back.disconnect(0);
      }
      await().atMost(TestBroker.SOON).until(() -> answer(broker.port(), Connect.of("c").packet()) == 0);
      assertThat(answer(broker.port(), Connect.of("b").clean().packet())).as("one that begins anew").isZero();
      assertThat(answer(broker.port(), Connect.of("d").packet())).isEqualTo(0x97);
      assertThat(limited(broker, "sessions")).isPositive();
    }
  }

  /** All of them are sent before an answer is waited for. */
  @Test
  void connectsBeyondTheRateAreRefused() {
    try (TestBroker broker = broker("connect-rate=1")) {
      var clients = new ArrayList<RawClient>();
      for (int i = 0; i < 20; i++) clients.add(new RawClient(broker.port()));
      for (RawClient client : clients) client.send(connecting(5));
      List<Integer> answers = clients.stream().map(client -> client.expect(CONNACK).at(1)).toList();
      assertThat(answers).containsOnly(0, 0x9F).contains(0x9F);
      assertThat(limited(broker, "connect-rate")).isPositive();
      assertThat(answer(green(broker), connecting(5))).isZero();
      clients.forEach(RawClient::close);
    }
  }

  @Test
  @Tag("MQTT-3.2.2-9")
  @Tag("MQTT-3.2.2-11")
  @Tag("MQTT-3.2.2-12")
  void whatIsLimitedIsAnnouncedAndRefused() {
    try (TestBroker broker = broker("packet=1KiB,qos=1,wildcards=no,shared=no,subscriptions=2")) {
      try (RawClient client = new RawClient(broker.port())) {
        Packet connack = client.connect(connecting(5));
        assertThat(AnswerProperties.of(connack).all()).containsEntry(0x27, 1_024L).containsEntry(0x24, 1L).containsEntry(0x28, 0L).containsEntry(0x2A, 0L);
        client.subscribe("a", 1);
        assertThat(subscribing(client, "b", 2)).as("a lower QoS is granted").isEqualTo(1);
        assertThat(subscribing(client, "c", 1)).isEqualTo(0x97);
        assertThat(subscribing(client, "+/c", 1)).isEqualTo(0xA2);
        assertThat(subscribing(client, "$share/g/c", 1)).isEqualTo(0x9E);
        assertThat(client.publishAndWait("a", "x")).isZero();
        client.publish("a", 2, 9, "x");
        assertThat(client.next(RawClient.PUBLISH).message().text()).isEqualTo("x");
        client.expectDisconnect(0x9B);
      }
      try (RawClient client = RawClient.connected(broker.port(), connecting(5))) {
        client.publish("a", 0, 0, "x".repeat(1_024));
        client.expectDisconnect(0x95);
      }
      assertThat(answer(broker.port(), Connect.of("w").will("a", "x", 2, 0).packet())).isEqualTo(0x9B);
      for (String limit : List.of("packet", "wildcards", "shared", "subscriptions")) assertThat(limited(broker, limit)).as(limit).isEqualTo(1);
      assertThat(limited(broker, "qos")).isEqualTo(2);
      try (RawClient other = new RawClient(green(broker))) {
        assertThat(AnswerProperties.of(other.connect(connecting(5))).all()).doesNotContainKeys(0x24, 0x28, 0x2A);
        other.subscribe("+/c", 2);
      }
    }
  }

  static int subscribing(RawClient client, String filter, int qos) {
    client.send(SUBSCRIBE, RawClient.u16(100), RawClient.noProperties(), filter, qos);
    return client.next(SUBACK).reason();
  }

  /** All messages come at once, so the second one is beyond the rate. */
  @Test
  void aTenantThatPublishesTooMuchIsSlowedAndLosesNothing() {
    try (TestBroker broker = broker("messages-in=1");
        RawClient publisher = RawClient.connected(broker.port(), connecting(5));
        RawClient neighbour = RawClient.connected(green(broker), connecting(5))) {
      byte[] all = new byte[0];
      for (int i = 1; i <= 4; i++) all = RawClient.bytes(all, RawClient.publishing(5, "t", 1, i, "x"));
      publisher.send(all);
      for (int i = 0; i < 20; i++) assertThat(neighbour.publishAndWait("t", "x")).isNotEqualTo(0x97);
      assertThat(publisher.next(4, PUBACK)).extracting(Packet::packetId).containsExactly(1, 2, 3, 4);
      publisher.ping();
      assertThat(limited(broker, "messages-in")).isPositive();
    }
  }

  @Test
  void aTenantThatSendsTooManyBytesIsSlowedAndLosesNothing() {
    try (TestBroker broker = broker("bytes-in=1KiB");
        RawClient publisher = RawClient.connected(broker.port(), connecting(5))) {
      assertThat(publisher.publishAndWait("t", "x".repeat(3_000))).isNotEqualTo(0x97);
      publisher.ping();
      assertThat(limited(broker, "bytes-in")).isPositive();
    }
  }

  @Test
  void aTenantIsSentNoMoreThanItsRateAndGetsAllThatIsAcknowledged() {
    try (TestBroker broker = broker("messages-out=1");
        RawClient subscriber = RawClient.connected(broker.port(), connecting(5));
        RawClient durable = RawClient.connected(broker.port(), Connect.of("durable"));
        RawClient publisher = RawClient.connected(broker.port(), connecting(5))) {
      subscriber.subscribe("t", 1);
      durable.subscribe("t", 1);
      for (int i = 0; i < 3; i++) assertThat(publisher.publishAndWait("t", "m" + i)).isZero();
      for (RawClient each : List.of(subscriber, durable)) for (int i = 0; i < 3; i++) assertThat(each.take().text()).isEqualTo("m" + i);
      assertThat(limited(broker, "messages-out")).isPositive();
    }
  }

  /** QoS 0 for which there is no room in the rate is dropped, as for a socket that is not writable, and counted. */
  @Test
  void qos0BeyondTheRateIsDroppedAndCounted() {
    try (TestBroker broker = broker("bytes-out=1KiB");
        RawClient subscriber = RawClient.connected(broker.port(), connecting(5));
        RawClient publisher = RawClient.connected(broker.port(), connecting(5))) {
      subscriber.subscribe("t", 0);
      byte[] all = new byte[0];
      for (int i = 0; i < 20; i++) all = RawClient.bytes(all, RawClient.publishing(5, "t", 0, 0, "x".repeat(2_000)));
      publisher.send(all);
      publisher.ping();
      var copies = broker.frontend().copies();
      await().atMost(TestBroker.SOON).until(() -> copies.received() == 20 && copies.inFlight() == 0);
      assertThat(copies.delivered()).isPositive();
      assertThat(copies.dropped(DropReason.NOT_WRITABLE)).isPositive();
      assertThat(copies.delivered() + copies.dropped(DropReason.NOT_WRITABLE)).isEqualTo(20);
      assertThat(subscriber.message().text()).hasSize(2_000);
    }
  }

  @Test
  void limitsOfAllAreThoseOfTenantsWithoutOthers() {
    try (TestBroker broker = broker("connections=none", "dunlin.tenants.limits", "connections=1")) {
      try (RawClient _ = RawClient.connected(broker.port(), connecting(5));
          RawClient _ = RawClient.connected(broker.port(), connecting(5));
          RawClient _ = RawClient.connected(green(broker), connecting(5))) {
        assertThat(answer(broker.port(), connecting(5))).isZero();
        assertThat(answer(green(broker), connecting(5))).isEqualTo(0x97);
      }
    }
  }

  @Test
  void unknownTenantsAreRefusedIfASettingSaysSo() {
    try (TestBroker broker = broker("qos=2", "dunlin.tenants.unknown", "refuse")) {
      assertThat(answer(broker.port(), connecting(5))).isZero();
      assertThat(answer(green(broker), connecting(5))).isEqualTo(0x87);
      assertThat(answer(green(broker), connecting(4))).isEqualTo(5);
    }
  }
}

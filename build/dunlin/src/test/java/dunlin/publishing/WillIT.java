package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;

import com.hivemq.client.mqtt.mqtt5.message.disconnect.Mqtt5DisconnectReasonCode;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5Publish;
import dunlin.harness.RawClient.Message;
import dunlin.TestBroker;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.eclipse.paho.client.mqttv3.MqttAsyncClient;
import org.eclipse.paho.client.mqttv3.MqttConnectOptions;
import org.eclipse.paho.client.mqttv3.persist.MemoryPersistence;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When wills are sent and when not, and their contents. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@SuppressWarnings("try") // the end of a connection is what is tested
class WillIT {
  private static final int CLEAN = 0x02;
  private static final int WILL = 0x04;
  private static final int RETAIN = 0x20;

  private final TestBroker broker;

  WillIT(@TempDir Path data) {
    broker = TestBroker.on(data);
  }

  @AfterAll
  void closes() {
    broker.close();
  }

  /** How a connection may end. */
  enum End {
    CLOSED(true) {
      @Override
      void end(RawClient client, int level) {
        client.close();
      }
    },
    RESET(true) {
      @Override
      void end(RawClient client, int level) {
        client.reset();
      }
    },
    SILENT(true) {
      @Override
      void end(RawClient client, int level) {}
    },
    SECOND_CONNECT(true) {
      @Override
      void end(RawClient client, int level) {
        client.send(RawClient.connect(level, true, 0, "x", RawClient.noProperties()));
      }
    },
    MALFORMED(true) {
      @Override
      void end(RawClient client, int level) {
        client.send(0x36, "a"); // QoS 3
      }
    },
    HALF_A_PACKET(true) {
      @Override
      void end(RawClient client, int level) {
        client.send(new byte[] {0x30, 20, 0, 1});
        client.close();
      }
    },
    DISCONNECTED(false) {
      @Override
      void end(RawClient client, int level) {
        client.send(RawClient.DISCONNECT);
        client.expectClosed();
      }
    },
    DISCONNECTED_AND_RESET(false) {
      @Override
      void end(RawClient client, int level) {
        client.send(RawClient.DISCONNECT);
        client.expectClosed();
        client.reset();
      }
    };

    final boolean sendsWill;

    End(boolean sendsWill) {
      this.sendsWill = sendsWill;
    }

    abstract void end(RawClient client, int level);
  }

  @ParameterizedTest
  @Tag("pitfall-25")
  @EnumSource(End.class)
  @Tag("MQTT-3.1.2-8")
  @Tag("MQTT-3.1.2-10")
  @Tag("MQTT-3.14.4-3")
  @Tag("MQTT3-3.1.2-8")
  @Tag("MQTT3-3.1.2-10")
  @Tag("MQTT3-3.14.4-3")
  void aWillIsSentUnlessTheConnectionEndsWithDisconnect(End end) {
    for (int level : new int[] {3, 4, 5}) {
      for (boolean durable : new boolean[] {false, true}) {
        if (end == End.SILENT && level == 3) continue; // the same as level 4, and slow
        String topic = UUID.randomUUID().toString();
        try (Hive subscriber = Hive.connected(broker, false).subscribe(topic, 2);
            RawClient client = new RawClient(broker.port())) {
          byte[] properties = RawClient.properties(RawClient.sessionExpiry(durable ? 60 : 0));
          int flags = WILL | 1 << 3 | (level < 5 && durable ? 0 : CLEAN);
          client.connect(
              willing(level, flags, end == End.SILENT ? 1 : 0, properties, shortId(), RawClient.noProperties(), topic, "will"));

          end.end(client, level);

          String what = "MQTT level %d, durable %s".formatted(level, durable);
          if (end.sendsWill) assertThat(Hive.text(subscriber.next())).as(what).isEqualTo("will");
          else assertNoWill(subscriber, topic, what);
        }
      }
    }
  }

  @Test
  @Tag("pitfall-25")
  void aClientOfMqtt5MayDisconnectAndHaveItsWillSent() {
    for (Mqtt5DisconnectReasonCode reason :
        List.of(Mqtt5DisconnectReasonCode.DISCONNECT_WITH_WILL_MESSAGE, Mqtt5DisconnectReasonCode.UNSPECIFIED_ERROR)) {
      String topic = UUID.randomUUID().toString();
      try (Hive subscriber = Hive.connected(broker, false).subscribe(topic, 1)) {
        Hive client =
            Hive.connected(
                broker,
                shortId(),
                with -> with.willPublish().topic(topic).payload("will".getBytes(StandardCharsets.UTF_8)).applyWillPublish());
        client.client().disconnectWith().reasonCode(reason).send().join();

        assertThat(Hive.text(subscriber.next())).isEqualTo("will");
      }
    }
  }

  @Test
  @Tag("MQTT3-3.1.2-8")
  void pahosWillIsSentWhenItsSocketBreaks() throws Exception {
    String topic = UUID.randomUUID().toString();
    try (Hive subscriber = Hive.connected(broker, false).subscribe(topic, 1);
        var client = new MqttAsyncClient(broker.uri(), shortId(), new MemoryPersistence())) {
      var options = new MqttConnectOptions();
      options.setWill(topic, "will".getBytes(StandardCharsets.UTF_8), 1, false);
      client.connect(options).waitForCompletion();
      client.disconnectForcibly(0, 1, false);

      assertThat(Hive.text(subscriber.next())).isEqualTo("will");
    }
  }

  @ParameterizedTest(name = "QoS {0}, retained {1}, durable session {2}")
  @Tag("pitfall-28")
  @CsvSource({"0, false, false", "1, false, true", "2, true, false", "0, true, true", "1, true, false", "2, false, true"})
  @Tag("MQTT-3.1.2-14")
  @Tag("MQTT-3.1.2-15")
  void aWillHasItsQosAndRetainFlag(int qos, boolean retained, boolean durable) {
    String topic = UUID.randomUUID().toString();
    try (RawClient subscriber = RawClient.connected(broker, shortId());
        RawClient client = new RawClient(broker.port())) {
      subscriber.subscribe(topic, 2 | 8);
      client.connect(
          willing(
              5, WILL | qos << 3 | (retained ? RETAIN : 0) | CLEAN, 0,
              RawClient.properties(RawClient.sessionExpiry(durable ? 60 : 0)), shortId(), RawClient.noProperties(), topic, "will"));
      client.close();

      Message will = subscriber.take();
      assertThat(will.text()).isEqualTo("will");
      assertThat(will.qos()).isEqualTo(qos);
      assertThat(will.retain()).isEqualTo(retained);
      try (RawClient later = RawClient.connected(broker, shortId())) {
        later.subscribe(topic, 2);
        if (retained) assertThat(later.take().text()).isEqualTo("will");
        later.publish(topic, 0, 0, "end");
        assertThat(later.before("end")).isEmpty();
      }
    }
  }

  @Test
  @Tag("pitfall-27")
  @Tag("MQTT-3.1.3-10")
  void aWillHasItsPropertiesInTheirOrderButNotItsDelay() {
    String topic = UUID.randomUUID().toString();
    byte[] properties =
        RawClient.properties(
            RawClient.bytes(RawClient.USER_PROPERTY, "z", "1"),
            RawClient.bytes(0x18, RawClient.u32(0)),
            RawClient.bytes(RawClient.CONTENT_TYPE, "text/plain"),
            RawClient.bytes(RawClient.USER_PROPERTY, "a", "2"),
            RawClient.bytes(RawClient.MESSAGE_EXPIRY, RawClient.u32(500)),
            RawClient.bytes(RawClient.RESPONSE_TOPIC, "answer/here"),
            RawClient.bytes(RawClient.PAYLOAD_FORMAT, 1),
            RawClient.bytes(RawClient.CORRELATION_DATA, "data"),
            RawClient.bytes(RawClient.USER_PROPERTY, "z", "1"));
    try (RawClient subscriber = RawClient.connected(broker, shortId());
        RawClient client = new RawClient(broker.port())) {
      subscriber.subscribe(topic, 2);
      client.connect(willing(5, WILL | CLEAN, 0, RawClient.noProperties(), shortId(), properties, topic, ""));
      client.close();

      Message will = subscriber.take();
      assertThat(will.payload()).isEmpty();
      assertThat(will.texts(RawClient.USER_PROPERTY)).containsExactly("z=1", "a=2", "z=1");
      assertThat(will.texts(RawClient.CONTENT_TYPE)).containsExactly("text/plain");
      assertThat(will.texts(RawClient.RESPONSE_TOPIC)).containsExactly("answer/here");
      assertThat(will.texts(RawClient.CORRELATION_DATA)).containsExactly("data");
      assertThat(will.numbers(RawClient.PAYLOAD_FORMAT)).containsExactly(1L);
      assertThat(will.numbers(RawClient.MESSAGE_EXPIRY)).hasSize(1);
      assertThat(will.numbers(RawClient.MESSAGE_EXPIRY).getFirst()).isBetween(490L, 500L);
      assertThat(will.propertyList()).hasSize(8);
    }
  }

  @Test
  @Tag("pitfall-26")
  @Tag("MQTT-3.1.3-9")
  void aDelayedWillWaitsAndIsCancelledByAReturnInTime() {
    String topic = UUID.randomUUID().toString();
    String returning = shortId();
    try (Hive subscriber = Hive.connected(broker, false).subscribe(topic, 1);
        RawClient away = new RawClient(broker.port());
        RawClient back = new RawClient(broker.port());
        RawClient again = new RawClient(broker.port())) {
      back.connect(delayed(60, 5, returning, topic, "of the one who returns"));
      back.close();
      away.connect(delayed(60, 6, shortId(), topic, "of the one who stays away"));
      long left = System.nanoTime();
      away.close();
      again.connect(
          RawClient.connect(5, false, 0, returning, RawClient.properties(RawClient.sessionExpiry(60))));

      assertThat(Hive.text(subscriber.next())).isEqualTo("of the one who stays away");
      assertThat(Duration.ofNanos(System.nanoTime() - left)).isGreaterThanOrEqualTo(Duration.ofMillis(5_900));
      again.send(RawClient.DISCONNECT);
      again.expectClosed();
      assertNoWill(subscriber, topic, "cancelled");
    }
  }

  @Test
  void aReturnWithACleanStartEndsTheSessionAndSoSendsTheDelayedWill() {
    String topic = UUID.randomUUID().toString();
    String returning = shortId();
    try (Hive subscriber = Hive.connected(broker, false).subscribe(topic, 1);
        RawClient client = new RawClient(broker.port())) {
      client.connect(delayed(60, 3_600, returning, topic, "will"));
      client.close();
      RawClient.connected(broker, returning).close();

      assertThat(Hive.text(subscriber.next())).isEqualTo("will");
    }
  }

  @ParameterizedTest(name = "session expiry {0} s")
  @Tag("pitfall-26")
  @ValueSource(ints = {0, 1})
  void theEndOfTheSessionCutsTheDelayShort(int expiry) {
    String topic = UUID.randomUUID().toString();
    try (Hive subscriber = Hive.connected(broker, false).subscribe(topic, 1);
        RawClient client = new RawClient(broker.port())) {
      client.connect(delayed(expiry, 3_600, shortId(), topic, "will"));
      long left = System.nanoTime();
      client.close();

      assertThat(Hive.text(subscriber.next())).isEqualTo("will");
      assertThat(Duration.ofNanos(System.nanoTime() - left)).isGreaterThanOrEqualTo(Duration.ofMillis(expiry * 950L));
    }
  }

  @Test
  void disconnectMayShortenTheSessionAndWithItTheDelay() {
    String topic = UUID.randomUUID().toString();
    try (Hive subscriber = Hive.connected(broker, false).subscribe(topic, 1);
        RawClient client = new RawClient(broker.port())) {
      client.connect(delayed(3_600, 3_600, shortId(), topic, "will"));
      client.send(RawClient.DISCONNECT, 0x04, RawClient.properties(RawClient.sessionExpiry(0)));

      assertThat(Hive.text(subscriber.next())).isEqualTo("will");
    }
  }

  @Test
  void aClientsNextConnectionHasAWillOfItsOwnOrNone() {
    String topic = UUID.randomUUID().toString();
    String clientId = shortId();
    try (Hive subscriber = Hive.connected(broker, false).subscribe(topic, 1)) {
      for (String will : List.of("first", "second")) {
        try (RawClient client = new RawClient(broker.port())) {
          client.connect(delayed(60, 0, clientId, topic, will));
        }
        assertThat(Hive.text(subscriber.next())).isEqualTo(will);
      }
      try (RawClient client = new RawClient(broker.port())) {
        client.connect(RawClient.connect(5, false, 0, clientId, RawClient.properties(RawClient.sessionExpiry(60))));
      }
      assertNoWill(subscriber, topic, "none");
    }
  }

  /** The will of a durable session waits in the store, and so survives a restart. */
  @Test
  @Tag("MQTT-3.1.2-7")
  void aDelayedWillIsSentAfterARestart(@TempDir Path data) {
    String clientId = shortId();
    try (TestBroker first = TestBroker.on(data);
        Hive subscriber = Hive.connected(first, clientId, with -> with.sessionExpiryInterval(60));
        RawClient client = new RawClient(first.port())) {
      subscriber.subscribe("t", 1);
      client.connect(
          willing(
              5, WILL | 1 << 3 | CLEAN, 0, RawClient.properties(RawClient.sessionExpiry(60)), shortId(),
              RawClient.properties(RawClient.bytes(0x18, RawClient.u32(1))), "t", "will"));
    }
    try (TestBroker second = TestBroker.on(data);
        Hive subscriber = Hive.connected(second, clientId, with -> with.cleanStart(false).sessionExpiryInterval(60))) {
      Mqtt5Publish will = subscriber.next();
      assertThat(Hive.text(will)).isEqualTo("will");
      assertThat(will.getQos().getCode()).isEqualTo(1);
    }
  }

  /** Two clients disconnect one after the other: when their wills have arrived, an earlier one would have, too. */
  @Test
  void aFullInboxRefusesAWillForItselfOnly(@TempDir Path data) {
    var little = Map.of("dunlin.inbox.messages-max", "1", "dunlin.inbox.overflow", "reject");
    try (TestBroker small = TestBroker.on(data, little);
        RawClient publisher = connected(small, "publisher", 0)) {
      for (String name : List.of("full", "absent")) {
        try (RawClient durable = connected(small, name, 60)) {
          durable.subscribe("wills", 1);
          if (name.equals("full")) durable.subscribe("filling", 1);
        }
      }
      try (RawClient online = connected(small, "online", 0);
          RawClient durable = connected(small, "durable", 60)) {
        online.subscribe("wills", 1);
        durable.subscribe("wills", 1);
        assertThat(publisher.publishAndWait("filling", "first")).isZero();
        try (RawClient dying = new RawClient(small.port())) {
          byte[] properties = RawClient.properties(RawClient.sessionExpiry(60));
          dying.connect(willing(5, WILL | 1 << 3 | CLEAN, 0, properties, shortId(), RawClient.noProperties(), "wills", "will"));
        }

        assertThat(online.take().text()).isEqualTo("will");
        assertThat(durable.take().text()).isEqualTo("will");
      }
      try (RawClient absent = connected(small, "absent", 60)) {
        assertThat(absent.take().text()).isEqualTo("will");
      }
      try (RawClient full = connected(small, "full", 60)) {
        assertThat(full.take().text()).isEqualTo("first");
      }
    }
  }

  private static RawClient connected(TestBroker broker, String clientId, int expiry) {
    var client = new RawClient(broker.port());
    client.connect(RawClient.connect(5, false, 0, clientId, RawClient.properties(RawClient.sessionExpiry(expiry))));
    return client;
  }

  private void assertNoWill(Hive subscriber, String topic, String what) {
    for (String text : List.of("another's", "a third one's")) {
      try (RawClient client = new RawClient(broker.port())) {
        client.connect(willing(5, WILL | CLEAN, 0, RawClient.noProperties(), shortId(), RawClient.noProperties(), topic, text));
      }
      assertThat(Hive.text(subscriber.next())).as(what).isEqualTo(text);
    }
  }

  private static byte[] delayed(int sessionExpiry, int delay, String clientId, String topic, String payload) {
    return willing(
        5, WILL, 0, RawClient.properties(RawClient.sessionExpiry(sessionExpiry)), clientId,
        RawClient.properties(RawClient.bytes(0x18, RawClient.u32(delay))), topic, payload);
  }

  private static byte[] willing(
      int level, int flags, int keepAlive, byte[] properties, String clientId, byte[] willProperties, String topic, String payload) {
    return RawClient.connect(
        level, flags, keepAlive, properties, clientId, level == 5 ? willProperties : new byte[0], topic, payload);
  }

  /** An identifier of at most 23 characters, as MQTT 3.1 requires. */
  private static String shortId() {
    return UUID.randomUUID().toString().substring(0, 18);
  }
}

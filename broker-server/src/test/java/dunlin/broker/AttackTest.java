package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dunlin.broker.codec.PacketLimits;
import dunlin.broker.codec.Wire;
import dunlin.broker.listen.IoTransport;
import dunlin.broker.listen.ListenerSettings;
import dunlin.broker.listen.ListeningSettings;
import dunlin.broker.loop.FrontendSettings;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Attacks that have broken other brokers, on connections over real tiers; docs/security.md lists them all. */
@SuppressWarnings("NullAway") // fields that the lifecycle methods set
class AttackTest {
  private static final int RECEIVE_MAXIMUM = 100;
  private static RealTiers broker;

  private final UnpooledByteBufAllocator buffers = new UnpooledByteBufAllocator(false);
  private final List<WatchedClient> clients = new ArrayList<>();

  @BeforeAll
  static void opens(@TempDir Path data) {
    broker =
        new RealTiers(
            data,
            new FrontendSettings(
                new ListeningSettings(List.of(ListenerSettings.tcp("tcp", "127.0.0.1", 0)), IoTransport.AUTO, 65_536),
                new PacketLimits(65_536, 4_096, 1_024, 32, 8, 1_000, 64, 1_024),
                FrontendSettings.Features.all(),
                new FrontendSettings.Connections(Duration.ofSeconds(10), Duration.ZERO, RECEIVE_MAXIMUM, 4, 0, ""),
                new FrontendSettings.Sessions(FrontendSettings.NEVER, FrontendSettings.NEVER, 1_000, 1_000, 1_000, 1_000_000),
                new FrontendSettings.Lanes(2, 1_000, 10_000_000, 1_024),
                new FrontendSettings.GroupWaits(Duration.ofMillis(50), Duration.ofMillis(50), 65_536)));
  }

  @AfterAll
  static void closes() {
    broker.close();
  }

  @AfterEach
  void nothingOfTheAttackIsLeft() {
    clients.forEach(WatchedClient::close);
    await("connections are gone").until(() -> broker.frontend.connectionCount() == 0);
    await("books balance")
        .until(() -> broker.frontend.publishes().balanced() && broker.frontend.publishes().inFlight() == 0);
    clients.forEach(WatchedClient::receive);
    assertThat(broker.count("dunlin.frontend.unexpected")).isZero();
    await("buffers are released")
        .until(() -> buffers.metric().usedHeapMemory() + buffers.metric().usedDirectMemory() == 0);
  }

  private static ConditionFactory await(String what) {
    return Awaitility.await(what).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1));
  }

  private WatchedClient client() {
    WatchedClient client = WatchedClient.open(broker, clients.size() % 2, buffers);
    clients.add(client);
    return client;
  }

  private WatchedClient connected(int version, String clientId) {
    WatchedClient client = client();
    client.says(version, 65_535, 0);
    client.send(connect(version, clientId), 0);
    await("CONNACK").until(client::receive);
    assertThat(client.taken()).as("CONNACK").singleElement().satisfies(packet -> assertThat(packet[3]).isZero());
    return client;
  }

  private static byte[] takeOne(WatchedClient client) {
    await("a packet").until(() -> client.receive() && client.hasTaken());
    List<byte[]> packets = client.taken();
    assertThat(packets).hasSize(1);
    return packets.getFirst();
  }

  private static byte[] connect(int version, String clientId) {
    byte[] properties = version == 5 ? Wire.properties() : new byte[0];
    return Wire.packet(0x10, version == 3 ? "MQIsdp" : "MQTT", version, 2, Wire.u16(0), properties, clientId);
  }

  private static byte[] publish(int version, String topic, int qos, int packetId) {
    byte[] properties = version == 5 ? Wire.properties() : new byte[0];
    return Wire.packet(0x30 | qos << 1, topic, qos == 0 ? new byte[0] : Wire.u16(packetId), properties, new byte[] {'x'});
  }

  /** The state of a connection when a packet arrives. */
  enum State {
    AWAITING_CONNECT,
    OPENING,
    LIVE_3_1_1,
    LIVE_5,
    REFUSED,
    LEFT
  }

  /**
   * The first byte of the answer to each packet type of a live client, 0 for none; and whether the connection stays
   * open.
   */
  private record Answer(int first, boolean goesOn) {}

  private static Answer expected(int type, int version) {
    int disconnect = version == 5 ? 0xE0 : 0;
    return switch (type) {
      case 3 -> new Answer(0x40, true);
      case 4, 7 -> new Answer(0, true);
      case 5 -> new Answer(0x62, true);
      case 6 -> new Answer(0x70, true);
      case 8 -> new Answer(0x90, true);
      case 10 -> new Answer(0xB0, true);
      case 12 -> new Answer(0xD0, true);
      case 14 -> new Answer(0, false);
      default -> new Answer(disconnect, false);
    };
  }

  private static byte[] packet(int type, int version) {
    byte[] properties = version == 5 ? Wire.properties() : new byte[0];
    return switch (type) {
      case 1 -> connect(version, "again");
      case 2 -> Wire.packet(0x20, 0, 0, properties);
      case 3 -> publish(version, "a", 1, 7);
      case 4, 5, 7 -> Wire.packet(type << 4, Wire.u16(7));
      case 6 -> Wire.packet(0x62, Wire.u16(7));
      case 8 -> Wire.packet(0x82, Wire.u16(7), properties, "f", 0);
      case 9 -> Wire.packet(0x90, Wire.u16(7), properties, 0);
      case 10 -> Wire.packet(0xA2, Wire.u16(7), properties, "f");
      case 11 -> Wire.packet(0xB0, Wire.u16(7), properties);
      case 15 -> Wire.packet(0xF0, 0x18, Wire.properties(0x15, "method"));
      default -> Wire.packet(type << 4);
    };
  }

  @ParameterizedTest
  @EnumSource(State.class)
  @Tag("MQTT-3.1.0-1")
  @Tag("MQTT-3.1.0-2")
  @Tag("MQTT3-3.1.0-1")
  @Tag("MQTT3-3.1.0-2")
  void everyPacketTypeInEveryStateHasOneAnswer(State state) {
    WatchedClient witness = connected(5, "witness");
    for (int type = 0; type < 16; type++) {
      int version = state == State.LIVE_3_1_1 ? 4 : 5;
      WatchedClient client = client();
      client.says(version, 65_535, 0);
      String what = "type " + type + " in " + state;
      byte[] packet = packet(type, version);
      switch (state) {
        case AWAITING_CONNECT -> {
          client.send(packet, 0);
          await(what).until(client::receive);
          List<byte[]> answers = client.taken();
          if (type == 1) assertThat(answers).as(what).singleElement().satisfies(one -> assertThat(one[0]).isEqualTo((byte) 0x20));
          else assertThat(answers).as(what).isEmpty();
          assertThat(client.isOpen()).as(what).isEqualTo(type == 1);
        }
        case OPENING -> {
          client.send(Wire.join(connect(5, "client"), packet), 0);
          await(what).until(client::receive);
          answered(client, type, version, what, 1);
        }
        case LIVE_3_1_1, LIVE_5 -> {
          client.send(connect(version, "client"), 0);
          await(what).until(client::receive);
          client.send(packet, 0);
          answered(client, type, version, what, 1);
        }
        case REFUSED -> {
          byte[] refused = Wire.packet(0x10, "MQTT", 5, 2, Wire.u16(0), Wire.properties(0x15, "no such method"), "client");
          client.send(Wire.join(refused, packet), 0);
          await(what).until(() -> client.receive() && !client.isOpen());
          assertThat(client.taken()).as(what).singleElement().satisfies(one -> assertThat(one[3]).isEqualTo((byte) 0x8C));
        }
        case LEFT -> {
          client.send(connect(5, "client"), 0);
          await(what).until(client::receive);
          client.send(Wire.join(Wire.packet(0xE0), packet), 0);
          await(what).until(() -> client.receive() && !client.isOpen());
          assertThat(client.taken()).as(what).hasSize(1);
        }
      }
      client.close();
    }
    witness.send(Wire.packet(0xC0), 0);
    takeOne(witness);
  }

  private static void answered(WatchedClient client, int type, int version, String what, int before) {
    Answer expected = expected(type, version);
    int packets = before + (expected.first == 0 ? 0 : 1);
    List<byte[]> all = new ArrayList<>();
    await(what)
        .untilAsserted(
            () -> {
              client.feed();
              client.receive();
              all.addAll(client.taken());
              assertThat(all).as(what).hasSize(packets);
              assertThat(client.isOpen()).as(what).isEqualTo(expected.goesOn);
            });
    if (expected.first != 0) assertThat(all.getLast()[0] & 0xFF).as(what).isEqualTo(expected.first);
    if (expected.first == 0xE0) assertThat(all.getLast()[2] & 0xFF).as(what).isEqualTo(type == 0 ? 0x81 : 0x82);
    if (!expected.goesOn) return;
    client.send(Wire.packet(0xC0), 0);
    takeOne(client);
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 5})
  void aPacketHiddenBehindAMalformedOneIsNeverCarriedOut(int version) {
    long before = broker.frontend.publishes().received();
    byte[] hidden = publish(version, "a", 0, 0);
    for (byte[] malformed :
        List.of(
            Wire.bytes(0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01),
            Wire.bytes(0x30, 0x80, 0x80, 0x80, 0x80, 0x01),
            Wire.bytes(0x30, 0x80, 0x00),
            Wire.packet(0x36, "a", Wire.u16(1)),
            Wire.packet(0x30, "a/#"),
            Wire.packet(0x82, Wire.u16(0)),
            Wire.packet(0xC0, 0))) {
      WatchedClient client = connected(version, "smuggler");
      client.send(Wire.join(malformed, hidden, hidden), 0);
      client.sendRaw(hidden);
      await("the connection ends").until(() -> client.receive() && !client.isOpen());
    }
    assertThat(broker.frontend.publishes().received()).isEqualTo(before);
  }

  @ParameterizedTest(name = "{0} at QoS {1}, MQTT {2}")
  @CsvSource({"$SYS, 1, 5", "$SYS/broker/version, 1, 5", "$SYS/broker/version, 2, 5", "$SYS/broker/version, 1, 4", "$SYS/x, 0, 5", "$SYS/x, 0, 3"})
  void nobodySpeaksForTheServer(String topic, int qos, int version) {
    WatchedClient listener = connected(5, "listener");
    listener.send(Wire.packet(0x82, Wire.u16(1), Wire.properties(), "$SYS/#", 0), 0);
    takeOne(listener);
    long before = broker.frontend.publishes().received();
    WatchedClient client = connected(version, "liar");

    client.send(publish(version, topic, qos, 7), 0);
    if (version == 5 && qos > 0) {
      byte[] answer = takeOne(client);
      assertThat(answer[0]).isEqualTo((byte) (qos == 1 ? 0x40 : 0x50));
      assertThat(answer[4]).isEqualTo((byte) 0x87);
    } else {
      await("the connection ends: there is no other answer").until(() -> client.receive() && !client.isOpen());
      if (version == 5) assertThat(takeOne(client)[2]).isEqualTo((byte) 0x87);
    }
    assertThat(broker.frontend.publishes().received()).isEqualTo(before);
    listener.send(Wire.packet(0xC0), 0);
    assertThat(takeOne(listener)[0]).as("what the listener got").isEqualTo((byte) 0xD0);
  }

  @Test
  void aWillDoesNotSpeakForTheServer() {
    WatchedClient client = client();
    client.says(5, 65_535, 0);
    byte[] properties = Wire.properties();
    client.send(Wire.packet(0x10, "MQTT", 5, 6, Wire.u16(0), properties, "liar", properties, "$SYS/broker/version", "9"), 0);
    await("CONNACK").until(() -> client.receive() && !client.isOpen());
    assertThat(client.taken()).singleElement().satisfies(connack -> assertThat(connack[3]).isEqualTo((byte) 0x87));
  }

  /**
   * A topic with `$` that has no meaning for the server is an ordinary topic, except that leading wildcards do not
   * match it.
   */
  @ParameterizedTest
  @ValueSource(strings = {"$", "$x", "$SYSTEM/x", "$sys/x", "$/SYS"})
  @Tag("MQTT-4.7.2-1")
  void topicsWithADollarAreKeptFromWildcardsInFront(String topic) {
    WatchedClient client = connected(5, "client");
    client.send(Wire.packet(0x82, Wire.u16(1), Wire.properties(), "#", 0, "+/x", 0, topic, 0), 0);
    takeOne(client);
    client.send(publish(5, topic, 1, 1), 0);
    client.send(Wire.packet(0xC0), 0);
    List<byte[]> all = new ArrayList<>();
    await("PUBLISH, PUBACK and PINGRESP")
        .until(
            () -> {
              client.receive();
              all.addAll(client.taken());
              return all.size() == 3;
            });
    assertThat(all.stream().filter(packet -> (packet[0] & 0xF0) == 0x30)).as("copies").hasSize(1);
  }

  @Test
  @Tag("MQTT-3.3.4-9")
  void exchangesThatAreNeverReleasedAreBoundedByReceiveMaximum() {
    WatchedClient client = connected(5, "hoarder");
    for (int packetId = 1; packetId <= RECEIVE_MAXIMUM; packetId++) client.send(publish(5, "hoard", 2, packetId), 0);
    List<byte[]> all = new ArrayList<>();
    await("PUBRECs")
        .until(
            () -> {
              client.feed();
              client.receive();
              all.addAll(client.taken());
              return all.size() == RECEIVE_MAXIMUM;
            });
    client.send(publish(5, "hoard", 2, RECEIVE_MAXIMUM + 1), 0);
    await("DISCONNECT").until(() -> client.receive() && !client.isOpen());
    assertThat(client.taken()).singleElement().satisfies(p -> assertThat(p[2]).isEqualTo((byte) 0x93));
  }

  /**
   * MQTT 3 has no Receive Maximum: there are 65,535 packet identifiers, which take one bit each, and no message is
   * kept.
   */
  @Test
  void exchangesThatAreNeverReleasedCostAClientOfMqtt3OneBitEach() {
    WatchedClient client = connected(4, "hoarder");
    long before = broker.frontend.publishes().received();
    int last = 65_535;
    for (int round = 0; round < 2; round++) {
      for (int from = 1; from <= last; from += 1_000) {
        byte[][] some = new byte[Math.min(1_000, last - from + 1)][];
        for (int i = 0; i < some.length; i++) some[i] = publish(4, "hoard", 2, from + i);
        client.send(Wire.join(some), 0);
        int[] answers = {0};
        await("PUBRECs")
            .until(
                () -> {
                  client.feed();
                  client.receive();
                  answers[0] += client.taken().size();
                  return answers[0] == some.length;
                });
      }
    }
    assertThat(broker.frontend.publishes().received() - before).as("messages taken, each once").isEqualTo(last);
    assertThat(buffers.metric().usedHeapMemory() + buffers.metric().usedDirectMemory()).as("bytes held").isLessThan(65_536);
  }

  @ParameterizedTest
  @ValueSource(strings = {"\r\n2026 ERROR forged", "\u001B[2J", "a\u0000b", "\u007F", "\u0085"})
  void identifiersThatWouldForgeALineAreMalformed(String clientId) {
    WatchedClient client = client();
    client.says(5, 65_535, 0);
    client.send(connect(5, clientId), 0);
    await("the end").until(() -> client.receive() && !client.isOpen());
    assertThat(client.taken()).singleElement().satisfies(connack -> assertThat(connack[3]).isEqualTo((byte) 0x81));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "<script>alert(1)</script>", "${jndi:ldap://127.0.0.1/x}", "{}", "%n%s", "../../etc/passwd", "#", "+/+", "$SYS", "a,b=c*?\"",
        "\u202Etxt.exe", "\u2028ERROR forged", "\uFEFF"
      })
  void strangeIdentifiersAreNamesAndNothingElse(String clientId) {
    var log = (Logger) LoggerFactory.getLogger("dunlin");
    Level level = log.getLevel();
    var seen = new ListAppender<ILoggingEvent>();
    seen.start();
    log.addAppender(seen);
    log.setLevel(Level.DEBUG);
    try {
      WatchedClient client = connected(5, clientId);
      client.send(Wire.packet(0x82, Wire.u16(1), Wire.properties(), "t", 0), 0);
      takeOne(client);
      client.send(Wire.packet(0x30, "a/#/" + clientId.replace('\u0000', ' '), Wire.properties()), 0);
      await("the end").until(() -> client.receive() && !client.isOpen());
    } finally {
      log.setLevel(level);
      log.detachAppender(seen);
    }
    List<String> lines = seen.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    assertThat(lines).as("lines about it").anySatisfy(line -> assertThat(line).contains("closed with"));
    assertThat(lines)
        .allSatisfy(line -> assertThat(line.chars().allMatch(AttackTest::isHarmless)).as(line).isTrue());
    assertThat(lines).noneSatisfy(line -> assertThat(line.toLowerCase(Locale.ROOT)).contains("forged\n"));
  }

  private static boolean isHarmless(int c) {
    return switch (Character.getType(c)) {
      case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR, Character.SURROGATE -> false;
      default -> true;
    };
  }

  @ParameterizedTest
  @CsvSource({"0, 148", "5, 148", "65535, 148", "3, 130"})
  @Tag("MQTT-3.3.2-8")
  @Tag("MQTT-3.3.2-9")
  void aTopicAliasThatStandsForNothingEndsTheConnection(int alias, int reason) {
    WatchedClient client = connected(5, "client");
    client.send(Wire.packet(0x30, "", Wire.properties(0x23, Wire.u16(alias))), 0);
    await("DISCONNECT").until(() -> client.receive() && !client.isOpen());
    assertThat(client.taken()).singleElement().satisfies(p -> assertThat(p[2] & 0xFF).isEqualTo(reason));
  }

  @Test
  void subscriptionsOfOneClientAreBounded() {
    WatchedClient client = connected(5, "collector");
    int granted = 0;
    for (int packet = 0; packet < 5; packet++) {
      byte[] filters = {};
      for (int i = 0; i < 500; i++) filters = Wire.join(filters, Wire.bytes("f/" + packet + '/' + i, 0));
      client.send(Wire.packet(0x82, Wire.u16(1), Wire.properties(), filters), 0);
      byte[] suback = takeOne(client);
      for (int i = suback.length - 500; i < suback.length; i++) {
        if (suback[i] == 0) granted++;
        else assertThat(suback[i]).isEqualTo((byte) 0x97);
      }
    }
    assertThat(granted).isEqualTo(1_000);
  }
}

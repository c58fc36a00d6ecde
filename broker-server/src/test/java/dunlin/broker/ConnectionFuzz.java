package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.codec.Wire;
import dunlin.broker.loop.FrontendSettings;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Fuzz target: up to three concurrent connections that send arbitrary packets in any order, stall, and disconnect.
 *
 * <p>The bytes of an input choose what happens next, so that most packets are valid but arrive in the wrong state. The
 * frontend is a real one on two event loops, with real tiers behind it. The checks are: the rules for packets that a
 * server sends ({@link WatchedClient}); no unexpected failure inside; at the end, the ledgers of both hops balance, and
 * no connection and no buffer is left.
 */
public final class ConnectionFuzz {
  private static final int CONNECTIONS = 3;
  private static final int STEPS_MAX = 96;
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(25);
  private static final String[] TOPICS = {"a", "a/b", "$x/a", "b", "/", ""};
  private static final String[] FILTERS = {
    "a", "a/+", "#", "+/b", "$share/g/a", "$share/g/#", "$oshare/h/+", "$x/#", "b", "a/#/b", "$share//a", "+"
  };

  /** One broker for all inputs of a run: to start one takes longer than a thousand inputs. */
  private static final class Broker {
    static final RealTiers TIERS = start();

    private static RealTiers start() {
      try {
        Path directory = Files.createTempDirectory("dunlin-fuzz");
        var tiers = new RealTiers(directory, settings());
        Runtime.getRuntime()
            .addShutdownHook(
                new Thread(
                    () -> {
                      tiers.close();
                      delete(directory);
                    }));
        return tiers;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static void delete(Path directory) {
      try (Stream<Path> files = Files.walk(directory)) {
        files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private final RealTiers broker = Broker.TIERS;
  private final UnpooledByteBufAllocator buffers = new UnpooledByteBufAllocator(false);
  private final Choices choices;
  private final String names;
  private final @Nullable WatchedClient[] clients = new @Nullable WatchedClient[CONNECTIONS];
  private final List<WatchedClient> all = new ArrayList<>();

  private ConnectionFuzz(byte[] input) {
    choices = new Choices(input);
    // Each input uses its own names, so that what it leaves behind does not affect another one.
    names = Long.toHexString(System.nanoTime()) + '/';
  }

  private static FrontendSettings settings() {
    return OpenFrontend.settings(
        new FrontendSettings.Connections(Duration.ofSeconds(10), Duration.ZERO, 4, 4, 4, ""),
        new FrontendSettings.Sessions(FrontendSettings.NEVER, FrontendSettings.NEVER, 4, 1_000, 4, 65_536),
        new FrontendSettings.Lanes(2, 16, 1_000_000, 1_024),
        new FrontendSettings.GroupWaits(Duration.ofMillis(50), Duration.ofMillis(50), 65_536));
  }

  /** Jazzer's driver calls this by name, once and without a time limit. */
  public static void fuzzerInitialize() {
    assertThat(Broker.TIERS.frontend.connectionCount()).isZero();
  }

  /** Jazzer's driver calls this by name. */
  public static void fuzzerTestOneInput(byte[] input) {
    new ConnectionFuzz(input).run();
  }

  private void run() {
    for (int step = 0; step < STEPS_MAX && choices.more(); step++) step();
    all.forEach(WatchedClient::close);
    forgetSessions();
    await("connections are gone", () -> broker.frontend.connectionCount() == 0);
    await("books balance: " + books(), () -> balanced(broker));
    all.forEach(WatchedClient::receive);
    all.forEach(WatchedClient::checkClosed);
    assertThat(broker.count("dunlin.frontend.unexpected")).as("unexpected failures").isZero();
    await("buffers are released", () -> buffers.metric().usedHeapMemory() + buffers.metric().usedDirectMemory() == 0);
  }

  private String books() {
    Frontend f = broker.frontend;
    return "publish %d = %d + %d + %d, session %d = %d + %d + %d + %d"
        .formatted(
            f.publishes().received(), f.publishes().delivered(), f.publishes().dropped(), f.publishes().inFlight(),
            f.copies().received(), f.copies().delivered(), f.copies().returned(), f.copies().dropped(), f.copies().inFlight());
  }

  private static boolean balanced(RealTiers broker) {
    Frontend frontend = broker.frontend;
    return frontend.publishes().inFlight() == 0
        && frontend.publishes().balanced()
        && frontend.copies().inFlight() == 0
        && frontend.copies().balanced();
  }

  private static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + PATIENCE_NANOS;
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as(what).isLessThan(deadline);
      LockSupport.parkNanos(50_000);
    }
  }

  private void step() {
    int which = choices.below(CONNECTIONS);
    int what = choices.below(20);
    WatchedClient client = clients[which];
    if (client == null || !client.isOpen()) {
      client = open(which % 2);
      clients[which] = client;
      connect(client);
      return;
    }
    switch (what) {
      case 0, 1, 2, 3 -> client.send(publish(client), choices.below(4) == 3 ? 1 + choices.below(9) : 0);
      case 4, 5 -> client.send(subscribe(client), 0);
      case 6 -> client.send(unsubscribe(client), 0);
      case 7, 8, 9 -> {
        client.receive();
        byte[] answer = client.answer();
        if (answer != null) client.send(answer, 0);
      }
      case 10 -> {
        int first = choices.of(0x40, 0x50, 0x62, 0x70);
        int packetId = packetId();
        client.acknowledges(first, packetId);
        client.send(Wire.packet(first, Wire.u16(packetId)), 0);
      }
      case 11 -> client.send(Wire.packet(0xC0), 0);
      case 12 -> client.send(disconnect(client), 0);
      case 13 -> client.send(Wire.packet(0xF0, choices.of(0x18, 0x19, 0), Wire.properties(0x15, "method")), 0);
      case 14 -> client.sendRaw(choices.bytes(choices.below(24)));
      case 15 -> client.close();
      case 16 -> client.stall(choices.yes());
      case 17 -> connect(client);
      default -> settle();
    }
    client.feed();
    client.receive();
  }

  private WatchedClient open(int loop) {
    WatchedClient client = WatchedClient.open(broker, loop, buffers);
    all.add(client);
    return client;
  }

  private void settle() {
    for (int round = 0; round < 40 && !balanced(broker); round++) LockSupport.parkNanos(50_000);
    for (WatchedClient client : clients) {
      if (client == null) continue;
      client.feed();
      client.receive();
    }
  }

  private void connect(WatchedClient client) {
    int version = choices.of(5, 4, 3);
    int flags = choices.of(2, 0);
    String clientId = names + choices.of("x", "y", "z");
    byte[] properties = {};
    int receiveMaximum = 65_535;
    long packetMax = 0;
    if (version == 5) {
      receiveMaximum = choices.of(65_535, 1, 2);
      packetMax = choices.of(0L, 0L, 40L);
      properties =
          Wire.properties(
              choices.yes() ? Wire.bytes(0x11, Wire.u32(60)) : new byte[0],
              receiveMaximum < 65_535 ? Wire.bytes(0x21, Wire.u16(receiveMaximum)) : new byte[0],
              packetMax > 0 ? Wire.bytes(0x27, Wire.u32(packetMax)) : new byte[0]);
    }
    byte[] will = {};
    if (choices.below(3) == 1) {
      flags |= 4 | choices.below(3) << 3 | (choices.yes() ? 0x20 : 0);
      byte[] willProperties = version == 5 ? Wire.properties() : new byte[0];
      will = Wire.bytes(willProperties, topic(), Wire.text("will"));
    }
    client.says(version, receiveMaximum, packetMax);
    byte[] name = Wire.text(version == 3 ? "MQIsdp" : "MQTT");
    client.send(Wire.packet(0x10, name, version, flags, Wire.u16(choices.of(0, 60)), properties, clientId, will), 0);
    if (choices.below(4) > 0) await("an answer to CONNECT", client::receive);
  }

  private String topic() {
    String topic = choices.of(TOPICS);
    // In a separate part of the topic tree, unless it begins with $ or is empty.
    return topic.isEmpty() || topic.startsWith("$") ? topic : names + topic;
  }

  private String filter() {
    String filter = choices.of(FILTERS);
    if (filter.startsWith("$share/g/") || filter.startsWith("$oshare/h/")) {
      int group = filter.indexOf('/', 8) + 1;
      return filter.substring(0, group) + names + filter.substring(group);
    }
    return filter.startsWith("$") ? filter : names + filter;
  }

  private int packetId() {
    return choices.of(1, 2, 3, 4, 5, 65_535, 0);
  }

  private byte[] publish(WatchedClient client) {
    int qos = choices.of(1, 2, 0, 1, 2, 3);
    int flags = qos << 1 | (choices.below(4) == 3 ? 1 : 0) | (choices.below(4) == 3 ? 8 : 0);
    byte[] properties = {};
    if (client.version() == 5) {
      properties =
          switch (choices.below(5)) {
            case 1 -> Wire.properties(0x23, Wire.u16(choices.below(6)));
            case 2 -> Wire.properties(0x02, Wire.u32(choices.below(2)));
            case 3 -> Wire.properties(0x26, "name", "value");
            default -> Wire.properties();
          };
    }
    byte[] packetId = qos == 0 ? new byte[0] : Wire.u16(packetId());
    return Wire.packet(0x30 | flags, topic(), packetId, properties, new byte[choices.below(64)]);
  }

  private byte[] subscribe(WatchedClient client) {
    boolean mqtt5 = client.version() == 5;
    byte[] properties = !mqtt5 ? new byte[0] : choices.yes() ? Wire.properties(0x0B, 1 + choices.below(200)) : Wire.properties();
    byte[] filters = {};
    for (int i = choices.below(3); i >= 0; i--) {
      filters = Wire.join(filters, Wire.bytes(filter(), choices.below(mqtt5 ? 0x40 : 4)));
    }
    return Wire.packet(0x82, Wire.u16(packetId()), properties, filters);
  }

  private byte[] unsubscribe(WatchedClient client) {
    byte[] properties = client.version() == 5 ? Wire.properties() : new byte[0];
    return Wire.packet(0xA2, Wire.u16(packetId()), properties, filter());
  }

  private byte[] disconnect(WatchedClient client) {
    if (client.version() != 5) return Wire.packet(0xE0);
    return choices.yes()
        ? Wire.packet(0xE0, choices.of(0, 4, 0x80), Wire.properties(0x11, Wire.u32(choices.of(0, 60))))
        : Wire.packet(0xE0);
  }

  /** Takes over each session that this input may have left, to end it, and clears retained messages. */
  private void forgetSessions() {
    for (String clientId : new String[] {"x", "y", "z"}) {
      WatchedClient last = open(0);
      last.says(4, 65_535, 0);
      last.send(Wire.packet(0x10, "MQTT", 4, 2, Wire.u16(0), names + clientId), 0);
      await("an answer to the last CONNECT", last::receive);
      if (clientId.equals("z")) {
        for (String topic : TOPICS) {
          if (!topic.isEmpty()) last.send(Wire.packet(0x31, topic.startsWith("$") ? topic : names + topic), 0);
        }
      }
      last.send(Wire.packet(0xE0), 0);
      last.close();
    }
  }
}

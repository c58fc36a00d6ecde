package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.harness.RawClient.Message;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.RawClient;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** More messages for one client than there are packet identifiers. */
class IdentifierExhaustionIT {
  private static final int IDENTIFIERS = 65_535;
  private static final int MESSAGES = IDENTIFIERS + 3_000;
  private static final int ROUND = 500;

  /** The client receives as many messages as there are identifiers, acknowledges none, and then all in random order. */
  @ParameterizedTest(name = "durable session {0}")
  @ValueSource(booleans = {false, true})
  @Tag("pitfall-53")
  @Tag("pitfall-55")
  @Tag("MQTT-2.2.1-4")
  @Tag("MQTT-3.3.4-9")
  @Tag("MQTT3-2.3.1-4")
  void identifiersAreUniqueUntilAllAreUsedAndAreThenReused(boolean durable, @TempDir Path data) {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    try (TestBroker broker =
            TestBroker.on(
                data,
                Map.of(
                    "dunlin.store.fsync", "false",
                    "dunlin.session.queue-messages-max", "100000",
                    "dunlin.mqtt.in-flight-max", "65535"));
        RawClient client = RawClient.connected(broker, "client", RawClient.sessionExpiry(durable ? 60 : 0));
        RawClient publisher = RawClient.connected(broker, "publisher")) {
      client.subscribe("t", 1);
      CompletableFuture<Void> published = CompletableFuture.runAsync(() -> publishAll(publisher));
      BitSet inUse = new BitSet();
      List<Integer> unacknowledged = new ArrayList<>();
      for (int i = 1; i <= IDENTIFIERS; i++) take(client, i, inUse, unacknowledged);
      published.join();
      assertThat(inUse.get(0)).isFalse();
      assertThat(client.untilPong()).as("more than there are identifiers").isEmpty();

      // The free identifiers decide what can be sent, so all are acknowledged before anything is expected.
      Collections.shuffle(unacknowledged, random);
      acknowledge(client, unacknowledged, inUse);
      for (int i = IDENTIFIERS + 1; i <= MESSAGES; i++) take(client, i, inUse, unacknowledged);
      assertThat(client.untilPong()).as("seed %d", seed).isEmpty();
      Collections.shuffle(unacknowledged, random);
      acknowledge(client, unacknowledged, inUse);
      client.ping();
    }
  }

  private static void take(RawClient client, int number, BitSet inUse, List<Integer> unacknowledged) {
    Message message = client.message();
    int packetId = message.packetId();
    if (!message.text().equals(Integer.toString(number)) || inUse.get(packetId)) {
      throw new AssertionError("message " + number + ", identifier in use " + inUse.get(packetId) + ": " + message);
    }
    inUse.set(packetId);
    unacknowledged.add(packetId);
  }

  private static void acknowledge(RawClient client, List<Integer> packetIds, BitSet inUse) {
    byte[][] pubacks = new byte[packetIds.size()][];
    for (int i = 0; i < pubacks.length; i++) pubacks[i] = RawClient.packet(RawClient.PUBACK, RawClient.u16(packetIds.get(i)));
    client.send(RawClient.bytes((Object[]) pubacks));
    packetIds.clear();
    inUse.clear();
  }

  private static void publishAll(RawClient publisher) {
    for (int from = 1; from <= MESSAGES; from += ROUND) {
      int count = Math.min(ROUND, MESSAGES - from + 1);
      byte[][] round = new byte[count][];
      for (int i = 0; i < count; i++) round[i] = RawClient.publishing(5, "t", 1, 1 + i, Integer.toString(from + i));
      publisher.send(RawClient.bytes((Object[]) round));
      for (Packet puback : publisher.next(count, RawClient.PUBACK)) assertThat(puback.reason()).isZero();
    }
  }
}

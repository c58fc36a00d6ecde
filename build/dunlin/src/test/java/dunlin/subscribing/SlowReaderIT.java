package dunlin.subscribing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.harness.RawClient.Message;
import dunlin.harness.RawClient.Packet;
import dunlin.TestBroker;
import dunlin.harness.Hive;
import dunlin.harness.RawClient;
import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Clients that do not keep up: buffered messages are bounded, dropped ones are counted, and others are not affected. */
@SuppressWarnings("try") // the end of a client is part of some tests
class SlowReaderIT {
  private static final String NO_SYNC = "dunlin.store.fsync";
  private static final int KIB = 1_024;

  @Test
  void qos0ToAClientThatDoesNotReadIsDroppedAndCounted(@TempDir Path data) {
    int messages = 8_000;
    String padding = "x".repeat(2 * KIB);
    try (TestBroker broker =
            TestBroker.on(
                data,
                Map.of(NO_SYNC, "false", "dunlin.session.outbound-max", "64KiB", "dunlin.session.queue-messages-max", "1000000"));
        RawClient slow = new RawClient(broker.port(), 4 * KIB);
        Hive quick = Hive.connected(broker, false);
        Hive publisher = Hive.connected(broker, false)) {
      slow.connect(RawClient.connect(5, true, 0, "slow", RawClient.noProperties()));
      slow.subscribe("t", 0);
      quick.subscribe("t", 1);
      publishAll(publisher, messages, padding);

      assertNumbersOf(quick, 0, messages);
      long dropped = copies(broker).dropped(DropReason.NOT_WRITABLE);
      // On top of the 64 KiB, the operating system buffers on both sides.
      assertThat(messages - dropped).as("messages held for the slow one").isLessThan(8L * KIB * KIB / padding.length());
      for (long left = messages - dropped; left > 0; left--) slow.take();
      publisher.publish("t", 1, "end").join();
      assertThat(slow.before("end")).isEmpty();
    }
  }

  @ParameterizedTest(name = "queue of {0} messages and {1}")
  @CsvSource({"100, 16MiB, 110", "10000, 16KiB, 26"})
  void qos1ToAClientThatDoesNotAcknowledgeIsDroppedAndCountedWhenItsQueueIsFull(
      int queueMessages, String queueBytes, int kept, @TempDir Path data) {
    int messages = 1_000;
    String padding = "x".repeat(KIB - 5);
    try (TestBroker broker =
            TestBroker.on(
                data,
                Map.of(
                    NO_SYNC, "false",
                    "dunlin.session.queue-messages-max", Integer.toString(queueMessages),
                    "dunlin.session.queue-bytes-max", queueBytes));
        RawClient slow = RawClient.connected(broker, "slow", RawClient.receiveMaximum(10));
        Hive quick = Hive.connected(broker, false);
        Hive publisher = Hive.connected(broker, false)) {
      slow.subscribe("t", 1);
      quick.subscribe("t", 1);
      List<CompletableFuture<Integer>> reasons = new ArrayList<>();
      for (int i = 0; i < messages; i++) {
        reasons.add(publisher.reason("t", 1, i + padding));
        // The fast one has no more room than the slow one, so its pace is waited for.
        if (i % 10 == 9) assertNumbersOf(quick, i - 9, i + 1);
      }
      assertThat(reasons).allSatisfy(reason -> assertThat(reason.join()).isZero());
      long dropped = copies(broker).dropped(DropReason.QUEUE_FULL);
      assertThat(dropped).isBetween(messages - kept - 1L, messages - kept + 1L);

      // The oldest are kept, in order, and then there is room again.
      for (int i = 0; i < messages - dropped; i++) assertThat(number(slow.take().text())).isEqualTo(i);
      publisher.publish("t", 1, "end").join();
      assertThat(slow.before("end")).isEmpty();
    }
  }

  @Test
  void aDurableSubscriberThatDoesNotReadGetsEverythingInOrderLater(@TempDir Path data) {
    int messages = 15_000;
    String padding = "x".repeat(KIB);
    try (TestBroker broker = TestBroker.on(data, Map.of(NO_SYNC, "false", "dunlin.session.outbound-max", "64KiB"));
        RawClient slow = new RawClient(broker.port(), 4 * KIB);
        Hive publisher = Hive.connected(broker, false)) {
      slow.connect(RawClient.connect(5, true, 0, "slow", RawClient.properties(RawClient.sessionExpiry(60))));
      slow.subscribe("t", 1);
      publishAll(publisher, messages, padding);
      assertThat(copies(broker).inFlight()).as("messages taken from the inbox ahead of the client").isLessThan(messages / 2);

      for (int i = 0; i < messages; i++) assertThat(number(slow.take().text())).isEqualTo(i);
      publisher.publish("t", 1, "end").join();
      assertThat(slow.before("end")).isEmpty();
      assertThat(copies(broker).dropped()).isZero();
    }
  }

  /** Flooded without waiting for PUBACKs, the broker stops reading instead of queueing, and acknowledged messages are not lost. */
  @Test
  void aFloodOfQos1ToADurableSubscriberIsHeldBackWithoutLoss(@TempDir Path data) {
    int messages = 5_000;
    int publishers = 4;
    try (TestBroker broker =
            TestBroker.on(
                data,
                Map.of("dunlin.lane.messages-max", "64", "dunlin.mqtt.receive-maximum", "200", "dunlin.inbox.messages-max", "1000000"));
        Hive subscriber = Hive.connected(broker, true)) {
      subscriber.subscribe("t/+", 1);
      List<RawClient> clients = IntStream.range(0, publishers).mapToObj(i -> RawClient.connected3(broker, "p" + i)).toList();
      long inFlightMost = 0;
      List<CompletableFuture<Void>> floods = new ArrayList<>();
      for (int p = 0; p < publishers; p++) {
        RawClient client = clients.get(p);
        String topic = "t/" + p;
        floods.add(
            CompletableFuture.runAsync(
                () -> {
                  for (int i = 0; i < messages; i++) client.publish(topic, 1, 1 + i % 65_535, Integer.toString(i));
                }));
      }
      for (int i = 0; i < messages; i++) {
        for (RawClient client : clients) {
          Packet puback = client.expect(RawClient.PUBACK);
          assertThat(puback.packetId()).isEqualTo(1 + i % 65_535);
        }
        inFlightMost = Math.max(inFlightMost, broker.frontend().publishes().inFlight());
      }
      floods.forEach(CompletableFuture::join);
      clients.forEach(RawClient::close);

      int[] next = new int[publishers];
      for (int i = 0; i < messages * publishers; i++) {
        var message = subscriber.next();
        int publisher = Integer.parseInt(message.getTopic().toString().substring(2));
        assertThat(Hive.text(message)).isEqualTo(Integer.toString(next[publisher]++));
      }
      assertThat(inFlightMost).isBetween(1L, publishers * 200L);
    }
  }

  /** A client that sends and never reads is no longer read from once too much waits for it. */
  @Test
  void aClientThatDoesNotReadItsAnswersIsNotReadFrom(@TempDir Path data) {
    try (TestBroker broker = TestBroker.on(data, Map.of(NO_SYNC, "false", "dunlin.session.outbound-max", "64KiB"));
        RawClient deaf = new RawClient(broker.port(), 4 * KIB);
        RawClient other = RawClient.connected(broker, "other")) {
      deaf.connect(RawClient.connect(5, true, 0, "deaf", RawClient.noProperties()));
      byte[] one = RawClient.packet(RawClient.PUBREL, RawClient.u16(1));
      byte[] many = new byte[64 * KIB];
      for (int i = 0; i < many.length; i++) many[i] = one[i % one.length];
      AtomicLong sent = new AtomicLong();
      AtomicBoolean enough = new AtomicBoolean();
      CompletableFuture<Void> flood =
          CompletableFuture.runAsync(
              () -> {
                while (!enough.get()) {
                  deaf.send(many);
                  sent.addAndGet(many.length);
                }
              });
      long[] before = {-1};
      await()
          .atMost(TestBroker.SOON)
          .pollInterval(Duration.ofMillis(300))
          .until(
              () -> {
                long now = sent.get();
                boolean stuck = now == before[0];
                before[0] = now;
                return stuck;
              });
      // Far less than it wants to send: the operating system's buffers in both directions, on top of the 64 KiB.
      assertThat(sent.get()).isBetween(1L, 32L * KIB * KIB);
      other.ping();

      // When it reads at last, it is served again.
      enough.set(true);
      for (long answers = 0; !flood.isDone() || answers < sent.get() / one.length; answers++) {
        deaf.expect(RawClient.PUBCOMP);
      }
      deaf.ping();
    }
  }

  /** Messages of a shared lane pass subscribers that do not acknowledge: others still get theirs. */
  @Test
  void manySubscribersThatDoNotAcknowledgeDoNotDelayAnother(@TempDir Path data) {
    int messages = 2_000;
    List<RawClient> silent = new ArrayList<>();
    try (TestBroker broker =
            TestBroker.on(data, Map.of(NO_SYNC, "false", "dunlin.session.queue-messages-max", "500", "dunlin.lane.messages-max", "64"));
        Hive quick = Hive.connected(broker, true);
        Hive publisher = Hive.connected(broker, false)) {
      for (int i = 0; i < 20; i++) {
        RawClient client = RawClient.connected(broker, "silent " + i, RawClient.receiveMaximum(1), RawClient.sessionExpiry(i % 2 * 60L));
        client.subscribe("t", 2);
        silent.add(client);
      }
      quick.subscribe("t", 1);
      publishAll(publisher, messages, "");

      assertNumbersOf(quick, 0, messages);
      assertThat(copies(broker).dropped(DropReason.QUEUE_FULL)).isEqualTo(10 * (messages - 501L));
      for (RawClient client : silent) {
        Message first = client.message();
        assertThat(first.text()).isEqualTo("0");
        client.close();
      }
    }
  }

  private static void publishAll(Hive publisher, int messages, String padding) {
    List<CompletableFuture<?>> sent = new ArrayList<>();
    for (int i = 0; i < messages; i++) sent.add(publisher.publish("t", 1, i + padding));
    sent.forEach(CompletableFuture::join);
  }

  private static void assertNumbersOf(Hive subscriber, int from, int to) {
    for (int i = from; i < to; i++) assertThat(number(Hive.text(subscriber.next()))).isEqualTo(i);
  }

  private static int number(String text) {
    int end = text.indexOf('x');
    return Integer.parseInt(end < 0 ? text : text.substring(0, end));
  }

  private static HopLedger copies(TestBroker broker) {
    return broker.frontend().copies();
  }
}

package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.connect.ConnectionView;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.session.ClientConnection;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.SessionView;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every acknowledgement that a lane gets is answered exactly once, whatever the QoS and the fate of the message. Uses
 * the lane, session tier, fan-out and groups of a node, with subscribers that never acknowledge, cannot be written to,
 * connect and disconnect.
 */
class AnswersTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final int LOOPS = 2;
  private static final int WIDE = 2;
  private static final int STEPS = 250;
  private static final List<String> FILTERS =
      List.of("plain", "wide", "$share/g/group", "$share/h/group", "$oshare/g/ordered", "$share/g/durable", "$oshare/g/durable");
  private static final List<String> TOPICS = List.of("plain", "wide", "group", "ordered", "durable", "nobody");

  private static FrontendSettings settings() {
    var waits = new FrontendSettings.GroupWaits(Duration.ofMillis(60), Duration.ofMillis(30), 2_000);
    return OpenFrontend.settings(
        new FrontendSettings.Connections(Duration.ofSeconds(60), Duration.ZERO, 100, 0, 0, ""),
        new FrontendSettings.Sessions(FrontendSettings.NEVER, FrontendSettings.NEVER, 100, 1, 2, 1_000),
        new FrontendSettings.Lanes(LOOPS, 1_000, 1_000_000, WIDE),
        waits);
  }

  /** Completes once, with the last answer; a surplus answer fails an assertion on the answering loop. */
  private static final class Counted extends Acknowledgement {
    final String what;
    final AtomicInteger completions = new AtomicInteger();

    Counted(String what) {
      this.what = what;
    }

    @Override
    protected void complete(ReasonCode reason) {
      completions.incrementAndGet();
    }
  }

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 3) : LongStream.of(seed);
  }

  static LongStream moreSeeds() {
    return LongStream.range(3, 8);
  }

  @ParameterizedTest(name = "seed {0}")
  @Tag("thorough")
  @MethodSource("moreSeeds")
  void everyAcknowledgementIsAnsweredExactlyOnceWithMoreSeeds(long seed, @TempDir Path data) {
    everyAcknowledgementIsAnsweredExactlyOnce(seed, data);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void everyAcknowledgementIsAnsweredExactlyOnce(long seed, @TempDir Path data) {
    try (RealTiers node = new RealTiers(data, settings())) {
      var schedule = new Schedule(node, new Random(seed));
      List<Counted> handedOut = schedule.run();

      await()
          .atMost(SOON)
          .untilAsserted(
              () ->
                  assertThat(handedOut)
                      .as("answered never or twice with seed %d", seed)
                      .filteredOn(each -> each.completions.get() != 1)
                      .extracting(each -> each.what)
                      .isEmpty());
      for (int i = 0; i < LOOPS; i++) {
        int loop = i;
        await().atMost(SOON).until(() -> node.on(loop, () -> node.frontend.loop(loop).window().messages()) == 0);
      }
      await().atMost(SOON).until(() -> node.frontend.groupWaiting() == 0);
      schedule.leave();
      assertThat(node.count("dunlin.frontend.unexpected")).as("errors with seed %d", seed).isZero();
    }
  }

  /** The actions of clients and publishers, from a seed. */
  private static final class Schedule {
    private final RealTiers node;
    private final Random random;
    private final List<@Nullable LoopClient> clients = new ArrayList<>();
    private final List<Counted> handedOut = new ArrayList<>();

    Schedule(RealTiers node, Random random) {
      this.node = node;
      this.random = random;
      for (int i = 0; i < 10; i++) clients.add(null);
    }

    List<Counted> run() {
      for (int i = 0; i < clients.size(); i++) comeOrGo(i);
      for (int step = 0; step < STEPS; step++) {
        switch (random.nextInt(12)) {
          case 0 -> comeOrGo(random.nextInt(clients.size()));
          case 1 -> writability(random.nextBoolean());
          default -> publish(step);
        }
      }
      return handedOut;
    }

    private void comeOrGo(int index) {
      LoopClient present = clients.get(index);
      if (present != null) {
        present.heard();
        present.close();
        clients.set(index, null);
        return;
      }
      boolean durable = index < 3;
      LoopClient client = LoopClient.connected(node.frontend, index % LOOPS, (char) ('a' + index), durable ? 60 : 0);
      clients.set(index, client);
      for (int i = 0; i < 3; i++) subscribe(client, i + 1, FILTERS.get(random.nextInt(FILTERS.size())));
    }

    void leave() {
      for (int i = 0; i < clients.size(); i++) if (clients.get(i) != null) comeOrGo(i);
    }

    private void subscribe(LoopClient client, int packetId, String filter) {
      byte[] name = filter.getBytes(StandardCharsets.UTF_8);
      String body = "%04x00%04x".formatted(packetId, name.length) + HexFormat.of().formatHex(name) + "0" + random.nextInt(3);
      client.send("82%02x".formatted(body.length() / 2) + body);
      await()
          .atMost(SOON)
          .until(() -> client.heard().contains("9004%04x00".formatted(packetId)));
    }

    /** Sets whether the sockets of a loop's clients accept QoS 0. */
    private void writability(boolean writable) {
      int loop = random.nextInt(LOOPS);
      node.on(
          loop,
          () -> {
            for (ClientConnection each : ConnectionView.all(node.connections(loop))) {
              var buffer = each.context().channel().unsafe().outboundBuffer();
              Objects.requireNonNull(buffer).setUserDefinedWritability(1, writable);
            }
            ConnectionView.sessions(node.connections(loop)).forEach(SessionView::updateLoad);
            return true;
          });
    }

    private void publish(int step) {
      int loop = random.nextInt(LOOPS);
      QoS qos = QoS.of(random.nextInt(3));
      String topic = TOPICS.get(random.nextInt(TOPICS.size()));
      int size = random.nextInt(4) == 0 ? 900 : random.nextInt(100);
      var by = new Publisher(Publisher.DEFAULT_TENANT, "a");
      var plain = Publication.of(by, topic, qos, false, System.currentTimeMillis(), new byte[size]);
      Publication message = qos == QoS.EXACTLY_ONCE && random.nextBoolean() ? inExchange(plain, 1_000 + step) : plain;
      var counted = new Counted(step + ": " + message + (message.exchange() == null ? "" : " in an exchange"));
      handedOut.add(counted);
      node.on(
          loop,
          () -> {
            node.frontend.loop(loop).lane().append(message, null, counted);
            counted.answer(ReasonCode.SUCCESS);
            return true;
          });
    }

    /**
     * A message in an exchange of the durable client "a"; it is refused if the session does not exist or has another
     * epoch.
     */
    private Publication inExchange(Publication message, int packetId) {
      long epoch =
          node.on(
              0,
              () -> {
                for (LiveSession session : ConnectionView.sessions(node.connections(0))) {
                  if (session.clientId().equals("a")) return SessionView.epoch(session);
                }
                return 1L;
              });
      return new Publication(
          message.publisher(), message.qos(), false, message.acceptedAtMillis(), Publication.NEVER_EXPIRES, -1, message.topicLength(), 0,
          message.body(), new Publication.Exchange(epoch, packetId));
    }
  }
}

package dunlin.losses;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.WiredTiers;
import dunlin.harness.ApiCalls;
import dunlin.harness.Counted;
import dunlin.harness.Followed;
import dunlin.harness.Followed.Line;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import dunlin.runtime.DropReason;
import dunlin.transport.lane.LinkAccount;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Trace.Event;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is lost between processes, and what is sent again there: real clients, and tiers with links between them that are lost again and again. */
class LinkLossIT {
  private static final String REPEATED = "reason=\"repeated\"";
  private static final int ROUND = 300;
  private static final Duration ROUNDS = Duration.ofMillis(5);

  private final long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
  private final WiredTiers connections = WiredTiers.overQueues(seed);

  @TempDir Path data;

  // --------------------------------------------------------------------------------------------- QoS 0 that is lost with its link

  @Test
  @Tag("drop:lane:unreachable")
  void onTheWayToTheRoutes() {
    loses("lane", WiredTiers::laneDrops, WiredTiers::loseLanes, Connect.of("subscriber").expiry(0));
  }

  @Test
  @Tag("drop:delivery:unreachable")
  void onTheWayFromTheRoutesToClients() {
    loses("delivery", WiredTiers::deliveryDrops, WiredTiers::loseDeliveries, Connect.of("subscriber").expiry(0));
  }

  @Test
  @Tag("drop:push:unreachable")
  void onTheWayFromTheSessionsToTheirClients() {
    loses("push", WiredTiers::pushDrops, WiredTiers::loseSessions, Connect.of("subscriber"));
  }

  /** Publishes with QoS 0 while links are lost, until messages are; the counter and the trace say the same. */
  private void loses(String hop, Function<WiredTiers, UnacknowledgedDrops> counted, Consumer<WiredTiers> lose, Connect subscriber) {
    try (TestBroker broker = TestBroker.over(connections, data);
        var client = RawClient.connected(broker.port(), subscriber);
        var publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0))) {
      client.subscribe("lossy", 0);
      Trace trace = connections.tracer().begin("t", "default", "publisher", "lossy", "", Duration.ofMinutes(10));
      UnacknowledgedDrops drops = counted.apply(connections);
      await()
          .atMost(TestBroker.SOON)
          .pollInterval(ROUNDS)
          .until(
              () -> {
                for (int i = 0; i < ROUND; i++) publisher.publish("lossy", 0, 0, "payload");
                lose.accept(connections); // no links yet in the first round, maybe
                publisher.untilPong();
                client.untilPong();
                return drops.unreachable() > 0;
              });
      await("all may have been lost until now")
          .atMost(TestBroker.SOON)
          .pollInterval(ROUNDS)
          .until(
              () -> {
                publisher.publish("lossy", 0, 0, "payload");
                publisher.untilPong();
                client.untilPong();
                return hop.equals("push") || drops.account().delivered() > 0;
              });

      await()
          .atMost(TestBroker.SOON)
          .untilAsserted(
              () -> {
                List<Event> lost = trace.read(0, 10_000).events().stream().filter(event -> event.hop().equals(hop)).toList();
                assertThat(lost).hasSize((int) drops.unreachable());
                assertThat(lost).allMatch(event -> event.step().equals("dropped") && event.reason().equals(DropReason.UNREACHABLE.tag()), "dropped unreachable");
                assertThat(lost).extracting(Event::topic).containsOnly("lossy");
                assertThat(lost).extracting(Event::publisher).containsOnly("publisher");
                if (!hop.equals("push")) assertThat(drops.account()).matches(LinkAccount::balanced).matches(account -> account.dropped() > 0 && account.delivered() > 0);
              });
    } catch (AssertionError e) {
      throw new AssertionError("-Ddunlin.test.seed=" + seed, e);
    }
  }

  // ------------------------------------------------------------------------------ what must not come twice, and might when it is sent again

  @Test
  @Tag("drop:session:repeated")
  void aMessageThatIsSentAgainDoesNotComeToAConnectedSubscriptionWithQoS0() {
    repeats("session", "dunlin_messages_dropped_total", Connect.of("subscriber").expiry(0));
  }

  @Test
  @Tag("drop:inbox:repeated")
  void aMessageThatIsSentAgainDoesNotComeToADurableSubscriptionWithQoS0() {
    repeats("inbox", "dunlin_inbox_dropped_total", Connect.of("subscriber"));
  }

  /** Publishes with QoS 1 while links are lost, until a subscription with QoS 0 is not sent a repetition; the counter and the trace say the same. */
  private void repeats(String hop, String counter, Connect subscriber) {
    List<String> labels = hop.equals("session") ? List.of("hop=\"session\"", REPEATED) : List.of(REPEATED);
    try (TestBroker broker = TestBroker.over(connections, data, Map.of("dunlin.store.fsync", "false", "dunlin.admin.port", "0"));
        ApiCalls api = ApiCalls.of(data);
        var client = RawClient.connected(broker.port(), subscriber);
        var publisher = RawClient.connected(broker.port(), Connect.of("publisher").expiry(0));
        Followed trace = Followed.by(api, "client", "subscriber")) {
      client.subscribe("again", 0);
      await()
          .atMost(TestBroker.SOON)
          .pollInterval(ROUNDS)
          .until(
              () -> {
                for (int i = 1; i <= 10; i++) publisher.publish("again", 1, i, "payload");
                connections.loseLanes();
                for (int i = 1; i <= 10; i++) publisher.next(RawClient.PUBACK);
                client.untilPong();
                return Counted.of(api, counter, labels) > 0;
              });

      await()
          .atMost(TestBroker.SOON)
          .untilAsserted(
              () -> {
                List<Line> lines = trace.lines().stream().filter(line -> line.hop().equals(hop) && line.step().equals("dropped")).toList();
                assertThat(lines).isNotEmpty().extracting(Line::reason, Line::client).containsOnly(tuple("repeated", "subscriber"));
              });
    } catch (AssertionError e) {
      throw new AssertionError("-Ddunlin.test.seed=" + seed, e);
    }
  }
}

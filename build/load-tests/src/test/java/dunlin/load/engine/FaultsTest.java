package dunlin.load.engine;

import static dunlin.load.Plans.closed;
import static dunlin.load.Plans.count;
import static dunlin.load.Plans.lost;
import static dunlin.load.Plans.open;
import static dunlin.load.Plans.plan;
import static dunlin.load.Plans.pool;
import static dunlin.load.Plans.run;
import static dunlin.load.Plans.to;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.load.FaultyBroker;
import dunlin.load.FaultyBroker.Fault;
import dunlin.load.count.Codes;
import dunlin.load.count.Count;
import dunlin.load.mqtt.Version;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Step;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests with a broker that injects faults: the tool reports exactly these faults. */
class FaultsTest {
  static Stream<Arguments> versionsAndQos() {
    return Stream.of(Version.values()).flatMap(version -> Stream.of(0, 1, 2).map(qos -> Arguments.of(version, qos)));
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @MethodSource("versionsAndQos")
  void aCorrectBrokerHasNoFaults(Version version, int qos) {
    try (var broker = new FaultyBroker()) {
      Result result = run(plan(pool("sub", 4, broker.port(), version, List.of(to("t/#", qos)), List.of()), pool("pub", 5, broker.port(), version, List.of(), List.of(open("t/%i", qos, 400))), 1_000));

      assertThat(count(result, Count.published(qos))).isEqualTo(1_000);
      assertThat(count(result, Count.received(qos))).isEqualTo(4_000);
      assertThat(lost(result)).isZero();
      assertThat(count(result, Count.duplicated(qos), Count.outOfOrder(qos), Count.FOREIGN, Count.PROTOCOL_ERRORS, Count.QUEUE_DROPPED, Count.UNACKNOWLEDGED)).isZero();
      assertThat(result.snapshot().deliveries().getTotalCount()).isEqualTo(4_000);
    }
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @MethodSource("versionsAndQos")
  void countsEachFaultExactly(Version version, int qos) {
    var random = new Random(17);
    try (var broker = new FaultyBroker()) {
      broker.fault =
          _ ->
              switch (random.nextInt(13)) {
                case 0 -> Fault.DROP;
                case 1 -> Fault.DOUBLE;
                case 2 -> Fault.SWAP;
                default -> Fault.NONE;
              };
      Result result = run(plan(pool("sub", 3, broker.port(), version, List.of(to("t/+", qos)), List.of()), pool("pub", 1, broker.port(), version, List.of(), List.of(open("t/%i", qos, 2_000))), 2_000));

      assertThat(broker.dropped.get()).isPositive();
      assertThat(broker.doubled.get()).isPositive();
      assertThat(broker.swapped.get()).isPositive();
      // A delivery that waits for a next one that never comes is held back forever.
      int held = 6_000 - broker.delivered.get() - broker.dropped.get() + broker.doubled.get();
      assertThat(lost(result)).isEqualTo(broker.dropped.get() + held);
      assertThat(result.tally().lost()[qos]).isEqualTo(lost(result));
      assertThat(count(result, Count.duplicated(qos))).isEqualTo(broker.doubled.get());
      assertThat(count(result, Count.outOfOrder(qos))).isEqualTo(broker.swapped.get());
      assertThat(count(result, Count.received(qos))).isEqualTo(broker.delivered.get());
    }
  }

  @Test
  void lossIsReportedByPublisherAndReceiver() {
    try (var broker = new FaultyBroker()) {
      broker.fault = n -> n == 7 ? Fault.DROP : Fault.NONE;
      Result result = run(plan(pool("sub", 1, broker.port(), Version.V5, List.of(to("t/#", 1)), List.of()), pool("pub", 1, broker.port(), Version.V5, List.of(), List.of(open("t/x", 1, 500))), 100));

      assertThat(result.tally().losses()).singleElement().satisfies(loss -> {
        assertThat(loss.publisher()).isEqualTo("pub-0");
        assertThat(loss.receiver()).isEqualTo("sub-0");
        assertThat(loss.sent()).isEqualTo(100);
        assertThat(loss.lost()).isEqualTo(1);
      });
    }
  }

  @Test
  void theLastMessagesCountAsLostToo() {
    try (var broker = new FaultyBroker()) {
      broker.fault = n -> n >= 90 ? Fault.DROP : Fault.NONE;
      Result result = run(plan(pool("sub", 1, broker.port(), Version.V5, List.of(to("t/#", 0)), List.of()), pool("pub", 1, broker.port(), Version.V5, List.of(), List.of(open("t/x", 0, 1_000))), 100));

      assertThat(lost(result)).isEqualTo(10);
    }
  }

  @Test
  void aReceiverWithoutMessagesHasLostEverything() {
    try (var broker = new FaultyBroker()) {
      broker.fault = _ -> Fault.DROP;
      Result result = run(plan(pool("sub", 2, broker.port(), Version.V5, List.of(to("t/#", 0)), List.of()), pool("pub", 1, broker.port(), Version.V5, List.of(), List.of(open("t/x", 0, 1_000))), 100));

      assertThat(lost(result)).isEqualTo(200);
    }
  }

  @Test
  void aSharedGroupIsCountedAsOneReceiver() {
    try (var broker = new FaultyBroker()) {
      broker.fault = n -> n % 100 == 3 ? Fault.DROP : n % 100 == 5 ? Fault.DOUBLE : Fault.NONE;
      Result result = run(plan(pool("sub", 3, broker.port(), Version.V5, List.of(to("$share/g/t/#", 1)), List.of()), pool("pub", 4, broker.port(), Version.V5, List.of(), List.of(open("t/%i", 1, 250))), 1_000));

      assertThat(lost(result)).isEqualTo(10);
      assertThat(count(result, Count.DUPLICATED_1)).isEqualTo(10);
      assertThat(count(result, Count.OUT_OF_ORDER_1)).isZero();
      assertThat(count(result, Count.RECEIVED_1)).isEqualTo(1_000);
    }
  }

  @Test
  void aRefusedMessageIsNotLost() {
    try (var broker = new FaultyBroker()) {
      broker.refusesPublish = n -> n % 10 == 4;
      Result result = run(plan(pool("sub", 1, broker.port(), Version.V5, List.of(to("t/#", 1)), List.of()), pool("pub", 2, broker.port(), Version.V5, List.of(), List.of(open("t/%i", 1, 250))), 500));

      assertThat(count(result, Count.PUBLISH_REFUSED)).isEqualTo(50);
      assertThat(result.snapshot().reasons(Codes.PUBLISH)).containsExactly(java.util.Map.entry("0x97 quota exceeded", 50L));
      assertThat(count(result, Count.ACKNOWLEDGED_1)).isEqualTo(450);
      assertThat(lost(result)).isZero();
    }
  }

  @Test
  void anUnacknowledgedMessageIsNotLost() {
    try (var broker = new FaultyBroker()) {
      broker.swallowsPublish = n -> n == 20 || n == 499;
      Result result = run(plan(pool("sub", 1, broker.port(), Version.V5, List.of(to("t/#", 1)), List.of()), pool("pub", 2, broker.port(), Version.V5, List.of(), List.of(open("t/%i", 1, 500))), 500));

      assertThat(count(result, Count.UNACKNOWLEDGED)).isEqualTo(2);
      assertThat(lost(result)).isZero();
    }
  }

  @ParameterizedTest
  @Execution(ExecutionMode.CONCURRENT)
  @MethodSource("versionsAndQos")
  void aClosedLoopSendsExactlyItsMessages(Version version, int qos) {
    try (var broker = new FaultyBroker()) {
      Result result = run(plan(pool("sub", 2, broker.port(), version, List.of(to("t/#", qos)), List.of()), pool("pub", 3, broker.port(), version, List.of(), List.of(closed("t/%i", qos, 7))), 1_000));

      assertThat(count(result, Count.published(qos))).isEqualTo(1_000);
      assertThat(count(result, Count.received(qos))).isEqualTo(2_000);
      assertThat(lost(result)).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aPhaseOfSomeMessagesEndsWithoutOneOfItsClients(boolean inClosedLoop) {
    try (var broker = new FaultyBroker()) {
      broker.refusesConnect = n -> n == 0;
      Pool senders = pool("pub", 2, broker.port(), Version.V5, List.of(), List.of(inClosedLoop ? closed("t/%i", 1, 5) : open("t/%i", 1, 100)));
      var publish = new Step.Traffic("publish", List.of(new Step.Flow("pub", null, null, 40)), List.of(), Step.FOREVER);
      var plan = new Plan("test", List.of(senders), List.of(new Step.Connect("connect", List.of("pub"), null), publish), List.of(), 2, Duration.ofSeconds(10), Duration.ofSeconds(1));

      Result result = run(plan);

      assertThat(count(result, Count.CONNECT_REFUSED)).isEqualTo(1);
      assertThat(count(result, Count.PUBLISHED_1)).isEqualTo(20);
      assertThat(count(result, Count.QUEUE_DROPPED)).isEqualTo(inClosedLoop ? 0 : 20);
    }
  }

  @Test
  void refusedConnectsAreCountedByReason() {
    try (var broker = new FaultyBroker()) {
      broker.refusesConnect = n -> n < 3;
      Result five = run(plan(List.of(pool("c", 5, broker.port(), Version.V5, List.of(), List.of())), List.of(new dunlin.load.plan.Step.Connect("connect", List.of("c"), null))));

      assertThat(five.snapshot().reasons(Codes.CONNACK_5)).containsExactly(java.util.Map.entry("0x87 not authorized", 3L));
      assertThat(count(five, Count.CONNECT_REFUSED)).isEqualTo(3);
      assertThat(count(five, Count.CONNECTED)).isEqualTo(2);
      assertThat(count(five, Count.CONNECT_FAILED, Count.CONNECTION_LOST)).isZero();
    }
  }

  @Test
  void disconnectsAreCountedByReason() {
    try (var broker = new FaultyBroker()) {
      broker.endsAfterPublish = n -> n == 3;
      Result result = run(plan(pool("sub", 1, broker.port(), Version.V5, List.of(to("t/#", 0)), List.of()), pool("pub", 1, broker.port(), Version.V5, List.of(), List.of(open("t/x", 0, 100))), 4));

      assertThat(result.snapshot().reasons(Codes.DISCONNECT)).containsExactly(java.util.Map.entry("0x98 administrative action", 1L));
      assertThat(count(result, Count.CONNECTION_LOST)).isZero();
    }
  }

  @Test
  void anUnreachableBrokerCountsAsANetworkFailure() {
    int port;
    try (var broker = new FaultyBroker()) {
      port = broker.port();
    }

    Result result = run(plan(List.of(pool("c", 5, port, Version.V5, List.of(), List.of())), List.of(new dunlin.load.plan.Step.Connect("connect", List.of("c"), null))));

    assertThat(count(result, Count.CONNECT_FAILED)).isEqualTo(5);
    assertThat(result.snapshot().failures()).containsExactly(java.util.Map.entry("connection refused", 5L));
  }
}

package dunlin.load.remote;

import static dunlin.load.Plans.count;
import static dunlin.load.Plans.lost;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.load.FaultyBroker;
import dunlin.load.FaultyBroker.Fault;
import dunlin.load.client.Tally.Loss;
import dunlin.load.count.Count;
import dunlin.load.engine.Result;
import dunlin.load.engine.Run;
import dunlin.load.plan.Endpoint;
import dunlin.load.plan.Plan;
import dunlin.load.scenario.Scenarios;
import java.io.PrintWriter;
import java.io.Writer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Several workers with a broker that injects faults: together they report exactly these faults. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WorkersTest {
  private final List<WorkerServer> workers = new ArrayList<>();

  WorkersTest() {
    for (int i = 0; i < 3; i++) {
      workers.add(
          new WorkerServer(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), new WorkerSecurity.PlainText(false), Path.of(""), List.of(), new PrintWriter(Writer.nullWriter())));
    }
  }

  @AfterAll
  void stop() {
    for (WorkerServer worker : workers) worker.close();
  }

  private Result run(FaultyBroker broker, int of, String scenario) {
    var variables = Map.of("port", Integer.toString(broker.port()));
    var source = new Scenarios.Source("test.yaml", scenario, Path.of(""));
    Plan plan = source.plan(variables, List.of(), 2);
    List<Endpoint> addresses = workers.subList(0, of).stream().map(worker -> new Endpoint("127.0.0.1", worker.port())).toList();
    var job = new RemoteCrew.Job(source, variables, 2, true);
    return new Run(plan, (all, audience) -> new RemoteCrew(all, audience, addresses, new WorkerSecurity.PlainText(false), job, _ -> {}), null, (_, _) -> {}).execute();
  }

  /** A scenario in which adjacent receivers and senders are in different workers. */
  private static String scenario(int receivers, String filter, int senders, int qos, String rate, int messages) {
    return """
        broker: {host: "127.0.0.1", port: "${port}"}
        pools:
          sub: {clients: %d, client-id: sub-%%i, version: 5, subscribe: {filter: "%s", qos: %d}}
          pub: {clients: %d, client-id: pub-%%i, version: 5, queue: 10000, publish: {topic: t/%%i, qos: %d, rate: %s, size: 32}}
        phases:
          - connect: sub
          - connect: pub
          - publish: {pool: pub, messages: %d}
          - drain: 1s
        """
        .formatted(receivers, filter, qos, senders, qos, rate, messages);
  }

  private static FaultyBroker faulty(long seed) {
    System.out.println("seed " + seed);
    var random = new Random(seed);
    var broker = new FaultyBroker();
    broker.fault =
        _ ->
            switch (random.nextInt(13)) {
              case 0 -> Fault.DROP;
              case 1 -> Fault.DOUBLE;
              case 2 -> Fault.SWAP;
              default -> Fault.NONE;
            };
    return broker;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void messagesBetweenWorkersAreCountedExactly(int qos) {
    try (var broker = faulty(31 + qos)) {
      Result result = run(broker, 2, scenario(3, "t/+", 1, qos, "2000/s", 2_000));

      int held = 6_000 - broker.delivered.get() - broker.dropped.get() + broker.doubled.get();
      assertThat(broker.dropped.get()).isPositive();
      assertThat(lost(result)).isEqualTo(broker.dropped.get() + held);
      assertThat(result.tally().lost()[qos]).isEqualTo(lost(result));
      assertThat(count(result, Count.duplicated(qos))).isEqualTo(broker.doubled.get());
      assertThat(count(result, Count.outOfOrder(qos))).isEqualTo(broker.swapped.get());
      assertThat(count(result, Count.published(qos))).isEqualTo(2_000);
      assertThat(count(result, Count.received(qos))).isEqualTo(broker.delivered.get());
      assertThat(result.snapshot().deliveries().getTotalCount()).isEqualTo(broker.delivered.get() - broker.doubled.get());
      assertThat(result.missing()).isEmpty();
    }
  }

  @Test
  void lossBetweenWorkersIsReportedByPublisherAndReceiver() {
    try (var broker = new FaultyBroker()) {
      broker.fault = n -> n >= 95 ? Fault.DROP : Fault.NONE;
      Result result = run(broker, 2, scenario(1, "t/1", 2, 1, "500/s", 200));

      assertThat(result.tally().losses()).containsExactly(new Loss("pub-1", "t/1", "sub-0", 1, 100, 5));
    }
  }

  @Test
  void aGroupInSeveralWorkersIsCountedAsOneReceiver() {
    try (var broker = new FaultyBroker()) {
      broker.fault = n -> n % 100 == 3 ? Fault.DROP : n % 100 == 5 ? Fault.DOUBLE : Fault.NONE;
      Result result = run(broker, 3, scenario(7, "$share/g/t/#", 4, 1, "250/s", 1_000));

      assertThat(lost(result)).isEqualTo(10);
      assertThat(result.tally().losses()).allSatisfy(loss -> assertThat(loss.receiver()).isEqualTo("$share/g/t/#"));
      assertThat(count(result, Count.DUPLICATED_1)).isEqualTo(10);
      assertThat(count(result, Count.OUT_OF_ORDER_1)).isZero();
      assertThat(count(result, Count.RECEIVED_1)).isEqualTo(1_000);
    }
  }

  @Test
  void aMessageToMembersInTwoWorkersIsADuplicate() {
    try (var broker = new FaultyBroker()) {
      broker.givesToTwo = n -> n % 100 == 7;
      Result result = run(broker, 2, scenario(2, "$share/g/t/#", 3, 2, "250/s", 600));

      assertThat(lost(result)).isZero();
      assertThat(count(result, Count.DUPLICATED_2)).isEqualTo(6);
      assertThat(count(result, Count.RECEIVED_2)).isEqualTo(606);
    }
  }

  @Test
  void refusedAndUnansweredMessagesOfAnotherWorkerAreNotLost() {
    try (var broker = new FaultyBroker()) {
      broker.refusesPublish = n -> n % 10 == 4;
      broker.swallowsPublish = n -> n == 20 || n == 499;
      Result result = run(broker, 2, scenario(1, "t/#", 4, 1, "250/s", 500));

      assertThat(count(result, Count.PUBLISH_REFUSED)).isEqualTo(50);
      assertThat(count(result, Count.UNACKNOWLEDGED)).isEqualTo(2);
      assertThat(lost(result)).isZero();
    }
  }

  @Test
  void clientsHaveTheSameNumbersAsInOneProcess() {
    var names = new HashSet<String>();
    try (var broker = new FaultyBroker()) {
      broker.connecting = names::add;
      Result result = run(broker, 3, scenario(4, "t/#", 3, 0, "100/s", 30));

      assertThat(names).containsExactlyInAnyOrder("sub-0", "sub-1", "sub-2", "sub-3", "pub-0", "pub-1", "pub-2");
      assertThat(count(result, Count.CONNECTED)).isEqualTo(7);
      assertThat(count(result, Count.RECEIVED_0)).isEqualTo(120);
      assertThat(result.notes()).singleElement().asString().startsWith("3 of 3 workers. Times between workers are corrected by their clocks, and may be wrong by ");
    }
  }

  @Test
  void aClosedLoopThatWaitsForAnotherWorkerIsRefused() {
    try (var broker = new FaultyBroker()) {
      String scenario = scenario(1, "t/#", 2, 0, "100/s", 30).replace("rate: 100/s", "window: 5");

      var refused = org.assertj.core.api.Assertions.assertThatThrownBy(() -> run(broker, 2, scenario));

      refused.hasMessageContaining("worker 127.0.0.1:%d ".formatted(workers.get(1).port())).hasMessageContaining("a closed loop of QoS 0 to \"t/1\" has receivers in another worker");
      assertThat(lost(run(broker, 1, scenario))).isZero(); // the workers are idle again
    }
  }
}

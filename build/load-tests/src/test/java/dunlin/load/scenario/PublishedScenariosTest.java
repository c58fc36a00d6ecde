package dunlin.load.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.Dunlin;
import dunlin.load.count.Count;
import dunlin.load.engine.LocalCrew;
import dunlin.load.engine.Result;
import dunlin.load.engine.Run;
import dunlin.load.plan.Plan;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Each published scenario at a small scale, against Dunlin in this JVM. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PublishedScenariosTest {
  private final Dunlin broker = Dunlin.builder().inMemory().tcpPort(0).build();

  @AfterAll
  void stop() {
    broker.close();
  }

  static Stream<Arguments> scenarios() {
    return Stream.of(
        Arguments.of("ramp", Map.of("clients", "200", "hold", "1s"), 0L),
        Arguments.of("broadcast", Map.of("groups", "2", "publishers-in-group", "2", "subscribers-in-group", "10", "for", "1s"), 2L * 2 * 20 * 10),
        Arguments.of("one-to-one-qos0", Map.of("pairs", "50", "for", "1s"), 500L),
        Arguments.of("one-to-one-qos1", Map.of("pairs", "50", "for", "1s"), 500L),
        Arguments.of("wildcards", Map.of("pairs", "100", "rate", "1/s", "for", "1s"), 100L),
        Arguments.of("shared-fan-in", Map.of("publishers", "100", "members", "10", "for", "1s"), 1_000L),
        Arguments.of("population", Map.of("population", "100", "churners", "50", "churn", "50/s", "pairs", "10", "rate", "10/s", "for", "1s"), 100L),
        Arguments.of("reconnect-storm", Map.of("clients", "100", "storms", "2", "pause", "500ms"), 0L),
        Arguments.of("offline-queues", Map.of("sessions", "20", "messages-each", "10", "rate", "50/s", "drain", "20s"), 200L));
  }

  @ParameterizedTest
  @MethodSource("scenarios")
  void meetsItsExpectations(String name, Map<String, String> scale, long deliveries) {
    var given = new HashMap<>(scale);
    given.put("port", Integer.toString(broker.tcpPort()));
    Plan plan = Scenarios.read(name, given, List.of(), 2);

    Result result = new Run(plan, LocalCrew::all, null, (_, _) -> {}).execute();

    assertThat(result.isGood()).as(() -> result.verdicts() + " " + result.snapshot().codes() + result.snapshot().failures()).isTrue();
    assertThat(result.received()).isEqualTo(deliveries);
    assertThat(result.snapshot().get(Count.CONNECTED)).isGreaterThanOrEqualTo(plan.clients());
    assertThat(result.interrupted()).isFalse();
  }

  @Test
  void allPublishedOnesAreTested() {
    assertThat(scenarios().map(scenario -> scenario.get()[0])).containsExactlyElementsOf(Scenarios.PUBLISHED);
  }
}

package dunlin.load.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.Dunlin;
import dunlin.load.count.Count;
import dunlin.load.engine.LocalCrew;
import dunlin.load.engine.Result;
import dunlin.load.engine.Run;
import dunlin.load.plan.Plan;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
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

/** Runs each published scenario at a small scale against Dunlin in this JVM. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PublishedScenariosTest {
  private final Dunlin broker = Dunlin.builder().inMemory().tcpPort(0).build();

  @AfterAll
  void stop() {
    broker.close();
  }

  /** Read from the same file as build/load-tests/run does. */
  static Stream<Arguments> scenarios() throws IOException {
    try (InputStream in = PublishedScenariosTest.class.getResourceAsStream("small-scale.txt")) {
      if (in == null) throw new AssertionError("there is no small-scale.txt");
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().filter(line -> !line.startsWith("#")).map(PublishedScenariosTest::scenario);
    }
  }

  private static Arguments scenario(String line) {
    List<String> words = List.of(line.split(" "));
    var scale = new HashMap<String, String>();
    for (String variable : words.subList(2, words.size())) scale.put(variable.split("=", 2)[0], variable.split("=", 2)[1]);
    return Arguments.of(words.get(0), scale, Long.parseLong(words.get(1)));
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
  void allPublishedScenariosAreTested() throws IOException {
    assertThat(scenarios().map(scenario -> scenario.get()[0])).containsExactlyElementsOf(Scenarios.PUBLISHED);
  }
}

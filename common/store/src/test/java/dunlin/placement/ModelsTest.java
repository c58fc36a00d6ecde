package dunlin.placement;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The TLA+ models in src/test/tla: TLC finds nothing wrong with them, and finds each mutant. */
class ModelsTest {
  private static final Path MODELS = Path.of("src", "test", "tla").toAbsolutePath();

  @TempDir Path directory;

  @ParameterizedTest
  @Tag("thorough")
  @CsvSource({"Fencing, Fencing", "Exchanges, Exchanges", "Exchanges, ExchangesLate", "Exchanges, ExchangesHomeFirst"})
  void everyModelHoldsInEveryState(String model, String config) throws Exception {
    theModelHoldsInEveryState(model, config);
  }

  @ParameterizedTest
  @CsvSource("Split, Split")
  void theModelHoldsInEveryState(String model, String config) throws Exception {
    holds(model, config(config));
  }

  /** An instance with a few thousand states, in which each rule counts as well; everyModelHoldsInEveryState has larger ones. */
  @ParameterizedTest
  @CsvSource({"Fencing, Fencing", "Exchanges, ExchangesLate", "Exchanges, ExchangesHomeFirst"})
  void theModelHoldsInEveryStateOfASmallInstance(String model, String config) throws Exception {
    holds(model, small(config));
  }

  private void holds(String model, String config) throws Exception {
    assertThat(check(model, config))
        .contains("Model checking completed. No error has been found.")
        .contains(" 0 states left on queue.");
  }

  @ParameterizedTest
  @Tag("thorough")
  @CsvSource({
    "Split, Split, KeepsChild, ReplicasAgree",
    "Fencing, Fencing, ChecksEpoch, NothingWrong",
    "Fencing, Fencing, ChecksIncarnation, NothingWrong",
    "Exchanges, Exchanges, RecordsLast, AtLeastOnce",
    "Exchanges, Exchanges, Remembers, AtMostOnce",
    "Exchanges, Exchanges, ForgetsFirst, AtLeastOnce",
    "Exchanges, ExchangesLate, ChecksEpoch, AtMostOnce",
    "Exchanges, ExchangesLate, ChecksForgets, AtMostOnce",
    "Exchanges, ExchangesHomeFirst, Redelivers, AtLeastOnce",
    "Exchanges, ExchangesHomeFirst, Remembers, AtMostOnce",
    "Exchanges, ExchangesHomeFirst, ForgetsFirst, AtLeastOnce",
    "Exchanges, ExchangesHomeFirst, ChecksEpoch, AtMostOnce",
    "Exchanges, ExchangesHomeFirst, ChecksForgets, AtMostOnce"
  })
  void everyRuleThatIsLeftOutIsFound(String model, String configured, String rule, String invariant) throws Exception {
    aRuleThatIsLeftOutIsFound(model, configured, rule, invariant);
  }

  @ParameterizedTest
  @CsvSource("Split, Split, ChecksEpoch, OwnEpochOnly")
  void aRuleThatIsLeftOutIsFound(String model, String configured, String rule, String invariant) throws Exception {
    finds(model, config(configured), rule, invariant);
  }

  @ParameterizedTest
  @CsvSource({
    "Fencing, Fencing, ChecksEpoch, NothingWrong",
    "Exchanges, ExchangesLate, ChecksEpoch, AtMostOnce",
    "Exchanges, ExchangesHomeFirst, Redelivers, AtLeastOnce",
    "Exchanges, ExchangesHomeFirst, ChecksForgets, AtMostOnce"
  })
  void aRuleThatIsLeftOutIsFoundInASmallInstance(String model, String configured, String rule, String invariant) throws Exception {
    finds(model, small(configured), rule, invariant);
  }

  private void finds(String model, String config, String rule, String invariant) throws Exception {
    String mutant = config.replace(rule + " = TRUE", rule + " = FALSE");
    assertThat(mutant).as("the switch is there").isNotEqualTo(config);

    assertThat(check(model, mutant)).contains("Invariant " + invariant + " is violated.");
  }

  @Test
  void anInvalidModelIsNoSuccess() throws Exception {
    assertThat(check("Split", "SPECIFICATION Nonsense")).doesNotContain("No error has been found");
  }

  private static String config(String name) throws IOException {
    return Files.readString(MODELS.resolve(name + ".cfg"));
  }

  /** With two messages, crashes, epochs or lives instead of three. */
  private static String small(String name) throws IOException {
    String config = config(name);
    String small = config.replace("Max = 3", "Max = 2");
    assertThat(small).as("it has bounds").isNotEqualTo(config);
    return small;
  }

  /** Runs TLC in a process of its own, since it keeps state in static fields; returns its output. */
  private String check(String model, String config) throws IOException, InterruptedException, URISyntaxException {
    Files.copy(MODELS.resolve(model + ".tla"), directory.resolve(model + ".tla"));
    Files.writeString(directory.resolve(model + ".cfg"), config);
    var tools = Path.of(tlc2.TLC.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    var said = directory.resolve("said.txt");
    var process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-Djava.io.tmpdir=" + directory,
                "-cp", tools.toString(), "tlc2.TLC", "-workers", "1", "-metadir", directory.resolve("states").toString(), model)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(said.toFile())
            .start();
    try {
      assertThat(process.waitFor(10, TimeUnit.MINUTES)).as("TLC has ended").isTrue();
    } finally {
      process.destroyForcibly();
    }
    return Files.readString(said, StandardCharsets.UTF_8);
  }
}

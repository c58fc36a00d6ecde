package dunlin.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The faults that need neither root nor a C compiler nor much time, against three real processes. */
class ChaosIT {
  @TempDir Path directory;

  @Test
  void nothingIsLostOrDoubledByProcessesThatAreKilledOrStandStill() throws IOException {
    long seed = new Random().nextLong(1_000_000);

    var results = Chaos.run(Chaos.parse(List.of("--short", "--out", directory.toString()), seed));

    assertThat(results).hasSize(3);
    assertThat(results).allMatch(result -> result.verdict() == Result.Verdict.PASSED, Report.markdown(seed, results));
  }
}

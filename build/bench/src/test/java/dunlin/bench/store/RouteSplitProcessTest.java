package dunlin.bench.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The measurement itself, with few routes: each step has an answer of each asker. */
class RouteSplitProcessTest {
  @TempDir Path directory;

  @Test
  void measuresEachStep() throws Exception {
    try (var process = new RouteSplitProcess(new Arguments(Map.of("data", directory.toString(), "routes", "100")))) {
      var results = process.run(0);

      assertThat(results).extracting(result -> result.get("step")).isEqualTo(List.of("nothing", "split", "move", "move", "move"));
      assertThat(results).allSatisfy(result -> assertThat(result).containsKeys("ms", "match_lower_gap_ms", "match_upper_gap_ms", "change_lower_gap_ms", "change_upper_gap_ms"));
    }
  }
}

package dunlin.model;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Runs the inputs that fuzzing has found, in every build; docs/fuzzing.md. */
class MatcherFuzzTest {
  static List<Path> inputs() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("src/test/resources/fuzz/matcher"))) {
      return files.sorted().toList();
    }
  }

  @ParameterizedTest
  @MethodSource("inputs")
  void holdsForTheInput(Path input) throws IOException {
    MatcherFuzz.fuzzerTestOneInput(Files.readAllBytes(input));
  }
}

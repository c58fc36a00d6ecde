package dunlin.broker;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Replays, in every build, inputs that fuzzing has found; docs/fuzzing.md. */
class ConnectionFuzzTest {
  static List<Path> inputs() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("src/test/resources/fuzz/connection"))) {
      return files.sorted().toList();
    }
  }

  @ParameterizedTest
  @MethodSource("inputs")
  void holdsForTheInput(Path input) throws IOException {
    ConnectionFuzz.fuzzerTestOneInput(Files.readAllBytes(input));
  }
}

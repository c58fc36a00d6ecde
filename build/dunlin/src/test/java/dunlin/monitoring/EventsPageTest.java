package dunlin.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** docs/events.md has every event that the code writes, with its level and exactly its fields. */
class EventsPageTest {
  private static final Path ROOT = Path.of("../..");

  /** A line from where it begins to where it is written. */
  private static final Pattern LINE = Pattern.compile("EventLine\\.of\\(\\w+, Level\\.(\\w+), \"([a-z-]+)\"\\)(.*?)\\.write\\(\\)", Pattern.DOTALL);

  private static final Pattern FIELD = Pattern.compile("\\.(?:word|text|parts|number|flag)\\(\\s*\"([a-z-]+)\"");
  private static final Pattern HEADING = Pattern.compile("### ([a-z-]+), ([A-Z]+)");
  private static final Pattern ROW = Pattern.compile("\\| `([a-z-]+)` \\| .+ \\|");

  /** The fields of each event, by {@code "name, LEVEL"}. */
  private static SortedMap<String, SortedSet<String>> written() throws IOException {
    var written = new TreeMap<String, SortedSet<String>>();
    int begun = 0;
    int read = 0;
    for (String module : List.of("common", "dist-worker", "retain-store", "inbox-store", "broker-server", "build/dunlin")) {
      try (var files = Files.walk(ROOT.resolve(module))) {
        for (Path file : files.filter(each -> each.toString().endsWith(".java") && each.toString().contains("/src/main/java/")).toList()) {
          if (file.endsWith("EventLine.java")) continue;
          String source = Files.readString(file);
          begun += source.split("EventLine\\.of\\(", -1).length - 1;
          for (var lines = LINE.matcher(source); lines.find(); read++) {
            var fields = written.computeIfAbsent(lines.group(2) + ", " + lines.group(1), _ -> new TreeSet<>());
            for (var field = FIELD.matcher(lines.group(3)); field.find(); ) fields.add(field.group(1));
          }
        }
      }
    }
    assertThat(read).as("lines whose name and fields can be read from the code").isEqualTo(begun).isPositive();
    return written;
  }

  private static SortedMap<String, SortedSet<String>> documented() throws IOException {
    var documented = new TreeMap<String, SortedSet<String>>();
    SortedSet<String> fields = new TreeSet<>();
    for (String line : Files.readAllLines(ROOT.resolve("docs/events.md"))) {
      var heading = HEADING.matcher(line);
      var row = ROW.matcher(line);
      if (heading.matches()) {
        fields = new TreeSet<>();
        documented.put(heading.group(1) + ", " + heading.group(2), fields);
      } else if (row.matches()) {
        fields.add(row.group(1));
      }
    }
    return documented;
  }

  @Test
  void thePageHasEveryEventWithItsFields() throws IOException {
    assertThat(documented()).isEqualTo(written());
  }

  /** What is not an {@code EventLine} has no place in the page, and its fields none in JSON. */
  @Test
  void noEventIsWrittenInAnotherWay() throws IOException {
    for (String module : List.of("common", "dist-worker", "retain-store", "inbox-store", "broker-server", "build/dunlin")) {
      try (var files = Files.walk(ROOT.resolve(module))) {
        for (Path file : files.filter(each -> each.toString().endsWith(".java") && each.toString().contains("/src/main/java/")).toList()) {
          assertThat(Files.readString(file)).as("%s", file).doesNotContain("\"event=");
        }
      }
    }
  }
}

package dunlin;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * The rules of MQTT that brokers often get wrong are listed, with a number each, in rules-often-got-wrong.txt; a test that
 * proves one says so with a tag.
 */
class RulesOftenGotWrongTest {
  private static final Pattern TAG = Pattern.compile("^ *@Tag\\(\"pitfall-(\\d+)\"\\)$", Pattern.MULTILINE);

  @Test
  void eachRuleHasATest() throws IOException {
    List<String> rules = rules();
    for (int i = 0; i < rules.size(); i++) assertThat(rules.get(i)).as("line %d", i + 1).matches((i + 1) + " \\S.*");

    Set<Integer> tagged = tagged();
    assertThat(rules).filteredOn(rule -> !tagged.contains(numberOf(rule))).as("rules without a test").isEmpty();
    assertThat(tagged).as("numbers of rules that tests claim to prove").allMatch(number -> number >= 1 && number <= rules.size());
  }

  private static int numberOf(String rule) {
    return Integer.parseInt(rule.substring(0, rule.indexOf(' ')));
  }

  private static List<String> rules() throws IOException {
    try (var in = requireNonNull(RulesOftenGotWrongTest.class.getResourceAsStream("rules-often-got-wrong.txt"))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    }
  }

  /** The numbers in the tags of all tests of all modules. */
  private static Set<Integer> tagged() throws IOException {
    List<Path> sources = new ArrayList<>();
    for (String modules : List.of("common", ".", "build")) {
      try (Stream<Path> directories = Files.list(root().resolve(modules))) {
        directories.map(each -> each.resolve("src/test/java")).filter(Files::isDirectory).forEach(sources::add);
      }
    }
    Set<Integer> numbers = new TreeSet<>();
    for (Path source : sources) {
      try (Stream<Path> files = Files.walk(source)) {
        for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
          for (Matcher found = TAG.matcher(Files.readString(file)); found.find(); ) numbers.add(Integer.valueOf(found.group(1)));
        }
      }
    }
    return numbers;
  }

  /** The folder of the whole project; a test runs in that of its module. */
  private static Path root() {
    Path directory = Path.of("").toAbsolutePath();
    while (!Files.isDirectory(directory.resolve("broker-server"))) directory = requireNonNull(directory.getParent(), "no root");
    return directory;
  }
}

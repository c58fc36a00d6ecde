package dunlin.documents;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.documents.Specification.Statement;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every normative statement that a server can break is proven by a test, which docs/conformance.md names. */
class ConformanceTest {
  private static final Path ROOT = Path.of("../..");
  private static final Path PAGE = ROOT.resolve("docs/conformance.md");

  private static List<TaggedTest> tests = List.of();

  @BeforeAll
  static void readTheTests() throws IOException {
    tests = TaggedTest.inModulesBelow(ROOT).stream().filter(test -> test.tag().startsWith("MQTT")).toList();
  }

  /** To rewrite the page after tests have changed: {@code -Ddocs.write=true}. */
  @Test
  void thePageMatchesTheListsAndTheTests() throws IOException {
    String page = ConformancePage.render(tests);
    if (Boolean.getBoolean("docs.write")) Files.writeString(PAGE, page);

    assertThat(Files.readString(PAGE)).isEqualTo(page);
  }

  @ParameterizedTest
  @EnumSource
  void everyStatementOfOursHasATest(Specification specification) {
    Set<String> tags = new TreeSet<>();
    for (TaggedTest test : tests) tags.add(test.tag());

    assertThat(specification.statements())
        .filteredOn(Statement::ours)
        .extracting(specification::tag)
        .filteredOn(tag -> !tags.contains(tag))
        .as("statements that nothing proves")
        .isEmpty();
  }

  @Test
  void everyTagNamesAStatement() {
    Set<String> known = new TreeSet<>();
    for (Specification specification : Specification.values()) {
      for (Statement statement : specification.statements()) known.add(specification.tag(statement));
    }

    assertThat(tests)
        .isNotEmpty()
        .filteredOn(test -> !known.contains(test.tag()))
        .as("tags that name no statement of the lists")
        .isEmpty();
  }

  @Test
  void everyTaggedTestIsRun() {
    assertThat(tests).filteredOn(test -> !test.runs()).as("tags on what the build does not run").isEmpty();
  }

  /** The specifications number the statements of a section from 1; only one number is missing. */
  @ParameterizedTest
  @EnumSource
  void noStatementIsMissing(Specification specification) {
    Map<String, List<Integer>> numbers = new HashMap<>();
    for (Statement statement : specification.statements()) {
      numbers.computeIfAbsent(statement.section(), _ -> new ArrayList<>()).add(statement.number());
    }

    numbers.forEach(
        (section, given) -> {
          int first = specification == Specification.MQTT_5 && section.equals("2.2.1") ? 2 : 1;
          List<Integer> expected = new ArrayList<>();
          for (int number = first; number < first + given.size(); number++) expected.add(number);
          assertThat(given).as("section " + section).isEqualTo(expected);
        });
    assertThat(specification.statements()).hasSize(specification == Specification.MQTT_5 ? 251 : 141);
  }
}

package dunlin.documents;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Rules of MQTT that brokers often get wrong are listed with numbers in rules-often-got-wrong.txt; a tag on a test
 * names the rule that it proves.
 */
class RulesOftenGotWrongTest {
  private static final String PREFIX = "pitfall-";

  @Test
  void eachRuleHasATestAndEachTagARule() throws IOException {
    List<String> rules = rules();
    for (int i = 0; i < rules.size(); i++) assertThat(rules.get(i)).as("line %d", i + 1).matches((i + 1) + " \\S.*");

    Set<String> tags = new HashSet<>();
    for (TaggedTest test : TaggedTest.inModulesBelow(Path.of("../.."))) {
      if (test.runs() && test.tag().startsWith(PREFIX)) tags.add(test.tag());
    }
    assertThat(rules).filteredOn(rule -> !tags.remove(tagOf(rule))).as("rules without a test").isEmpty();
    assertThat(tags).as("tags of rules that are not listed").isEmpty();
  }

  private static String tagOf(String rule) {
    return PREFIX + rule.substring(0, rule.indexOf(' '));
  }

  private static List<String> rules() throws IOException {
    try (var in = requireNonNull(RulesOftenGotWrongTest.class.getResourceAsStream("rules-often-got-wrong.txt"))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    }
  }
}

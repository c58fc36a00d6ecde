package dunlin.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The Java of docs/testing.md is the Java of the package example, which is compiled and run. */
class ExamplesTest {
  private static final Pattern BLOCK = Pattern.compile("(?m)(?:^ {4}.*\\n|^\\n(?= {4}))+");

  @Test
  void everyExampleIsTested() throws IOException {
    String sources = sources();
    var examples = blocks(Files.readString(Path.of("../../docs/testing.md"))).stream().filter(block -> !block.startsWith("<")).toList();
    assertThat(examples).hasSizeGreaterThanOrEqualTo(4);
    for (String example : examples) assertThat(sources).contains(example);
  }

  /** Indented blocks, without their indentation. */
  private static List<String> blocks(String document) {
    var blocks = new ArrayList<String>();
    var found = BLOCK.matcher(document);
    while (found.find()) {
      String block = found.group().replaceAll("(?m)^ {4}", "").strip();
      if (!block.isEmpty()) blocks.add(block);
    }
    return blocks;
  }

  private static String sources() throws IOException {
    try (var files = Files.list(Path.of("src/test/java/example"))) {
      var all = new StringBuilder();
      for (Path file : files.toList()) all.append(Files.readString(file));
      return all.toString();
    }
  }
}

package dunlin.documents;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Names in documents exist: linked documents, classes, and the tests for rows of docs/security.md. */
class DocumentsTest {
  private static final Path ROOT = Path.of("../..");
  private static final Pattern LINK = Pattern.compile("]\\(([^)#:]+)[^)]*\\)");
  private static final Pattern TEST = Pattern.compile("`([A-Z]\\w*(?:Test|IT|Fuzz))?(?:\\.([a-z]\\w*)(…)?)?`");

  private static final Pattern DECLARED = Pattern.compile("\\b(?:class|interface|record|enum) (\\w+)");

  /** A class name of at least two words. */
  private static final Pattern CLASS = Pattern.compile("`([A-Z][a-z0-9]+(?:[A-Z]\\w*)+)(?:\\.([a-z]\\w*))?[`…(]");

  private static final Set<String> FOREIGN = Set.of("DropwizardMeterRegistry", "IllegalStateException", "NoClassDefFoundError", "SslHandler");

  /** The documents of the distribution. */
  private static List<Path> documents() throws IOException {
    try (var files = Files.walk(ROOT.resolve("docs"))) {
      var all = new ArrayList<>(files.filter(file -> file.toString().endsWith(".md")).toList());
      for (String top : List.of("README.md", "SECURITY.md", "CHANGELOG.md")) all.add(ROOT.resolve(top));
      return all;
    }
  }

  @Test
  void everyLinkedDocumentExists() throws IOException {
    for (Path document : documents()) {
      var links = LINK.matcher(Files.readString(document));
      while (links.find()) {
        if (!links.group(1).startsWith("http")) assertThat(document.resolveSibling(links.group(1))).as("in %s", document).exists();
      }
    }
  }

  /** Also a method or nested type that is named with it. */
  @Test
  void everyClassNamedInADocumentExists() throws IOException {
    Map<String, String> sources = declared(sources("/java/"));
    int named = 0;
    for (Path document : documents()) {
      if (document.endsWith("CHANGELOG.md")) continue; // it names former classes
      var classes = CLASS.matcher(Files.readString(document));
      for (; classes.find(); named++) {
        String type = classes.group(1);
        if (FOREIGN.contains(type)) continue;
        String source = sources.getOrDefault(type, "");
        assertThat(source).as("%s in %s", type, document).isNotEmpty();
        if (classes.group(2) != null) assertThat(source).as("%s.%s in %s", type, classes.group(2), document).contains(classes.group(2));
      }
    }
    assertThat(named).isGreaterThan(100);
  }

  /** The sources by the types that they declare, including nested ones. One that is named like its file is found there. */
  private static Map<String, String> declared(Map<String, String> sources) {
    var declared = new HashMap<>(sources);
    for (String source : sources.values()) {
      for (var types = DECLARED.matcher(source); types.find(); ) declared.putIfAbsent(types.group(1), source);
    }
    return declared;
  }

  /** Documents may link to files in docs and to each other; the archive contains that folder and these files. */
  @Test
  void theArchiveHasEveryDocumentThatTheReadmeNames() throws IOException {
    String assembly = Files.readString(Path.of("src/main/assembly/directory.xml"));
    var links = LINK.matcher(Files.readString(ROOT.resolve("README.md")));
    int count = 0;
    for (; links.find(); count++) {
      String name = links.group(1);
      String taken = name.startsWith("docs/") ? "docs/**" : name;
      assertThat(assembly).as(name).contains("<include>" + taken + "</include>");
    }
    assertThat(count).isGreaterThan(7);
    assertThat(assembly).contains("<include>NOTICE</include>", "<include>SECURITY.md</include>", "sbom.json", "THIRD-PARTY.txt");
  }

  @Test
  void everyTestNamedOnTheSecurityPageExists() throws IOException {
    Map<String, String> sources = sources("/src/test/java/");
    int rows = 0;
    for (String line : Files.readAllLines(ROOT.resolve("docs/security.md"))) {
      if (!line.startsWith("| ") || line.startsWith("| Attack")) continue;
      rows++;
      String proof = line.substring(line.lastIndexOf('|', line.length() - 3));
      var tests = TEST.matcher(proof);
      String type = "";
      int named = 0;
      for (; tests.find(); named++) {
        if (tests.group(1) != null) type = tests.group(1);
        assertThat(sources).as(line).containsKey(type);
        if (tests.group(2) == null) continue;
        String beginning = "void " + tests.group(2) + (tests.group(3) == null ? "(" : "");
        assertThat(sources.get(type)).as("%s.%s", type, tests.group(2)).contains(beginning);
      }
      assertThat(named).as("a row has a test: %s", line).isPositive();
    }
    assertThat(rows).isGreaterThan(30);
  }

  /** The BOM has no parent, so only this test keeps the versions equal. */
  @Test
  void theBomHasTheVersionsOfTheBuild() throws IOException {
    String build = Files.readString(ROOT.resolve("pom.xml"));
    String bom = Files.readString(ROOT.resolve("build/bom/pom.xml"));
    for (var tag : List.of(Pattern.compile("<version>([^<]+)</version>"), Pattern.compile("<netty.version>([^<]+)</netty.version>"))) {
      var here = tag.matcher(build);
      var there = tag.matcher(bom);
      assertThat(here.find() && there.find()).as("%s", tag).isTrue();
      assertThat(there.group(1)).as("%s", tag).isEqualTo(here.group(1));
    }
  }

  private static Map<String, String> sources(String within) throws IOException {
    var sources = new HashMap<String, String>();
    try (var files = Files.find(ROOT, 12, (file, _) -> file.toString().contains(within) && file.toString().endsWith(".java"))) {
      for (Path file : files.toList()) sources.put(file.getFileName().toString().replace(".java", ""), Files.readString(file));
    }
    return sources;
  }
}

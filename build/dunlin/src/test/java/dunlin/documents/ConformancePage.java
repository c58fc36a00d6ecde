package dunlin.documents;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;

import dunlin.documents.Specification.Section;
import dunlin.documents.Specification.Statement;
import java.util.List;
import java.util.Map;

/** Writes docs/conformance.md from the lists of statements and the tags of the tests. */
final class ConformancePage {
  private final StringBuilder page = new StringBuilder();
  private final Map<String, List<TaggedTest>> byTag;

  private ConformancePage(List<TaggedTest> tests) {
    byTag = tests.stream().collect(groupingBy(TaggedTest::tag));
  }

  static String render(List<TaggedTest> tests) {
    ConformancePage page = new ConformancePage(tests);
    page.line(Specification.resource("introduction.md")).line("");
    page.counts();
    page.line("").line(Specification.resource("choices.md"));
    for (Specification specification : Specification.values()) page.tables(specification);
    return page.page.toString();
  }

  private ConformancePage line(String text) {
    page.append(text).append('\n');
    return this;
  }

  private List<TaggedTest> proofs(Specification specification, Statement statement) {
    return byTag.getOrDefault(specification.tag(statement), List.of());
  }

  private void counts() {
    line("| | statements | ours to prove | proven | a client's alone, or not applicable |");
    line("|---|---:|---:|---:|---:|");
    for (Specification specification : Specification.values()) {
      List<Statement> all = specification.statements();
      List<Statement> ours = all.stream().filter(Statement::ours).toList();
      long proven = ours.stream().filter(each -> !proofs(specification, each).isEmpty()).count();
      line(
          "| %s | %d | %d | %d | %d |"
              .formatted(specification.title(), all.size(), ours.size(), proven, all.size() - ours.size()));
    }
  }

  private void tables(Specification specification) {
    line("").line("## " + specification.title());
    for (Section section : specification.sections()) {
      line("").line("### " + section.heading()).line("");
      line("| | statement | duty of | proven by |").line("|---|---|---|---|");
      for (Statement statement : section.statements()) row(specification, statement);
    }
  }

  private void row(Specification specification, Statement statement) {
    List<TaggedTest> proofs = proofs(specification, statement);
    String proof = proofs.stream().map(ConformancePage::link).distinct().collect(joining(", "));
    if (proofs.isEmpty() && statement.ours()) proof = "**nothing**";
    if (!statement.ours()) proof = proofs.isEmpty() ? statement.noTest() : statement.noTest() + " Nevertheless: " + proof;
    line("| %s | %s | %s | %s |".formatted(statement.id(), statement.wording(), statement.duty().text(), proof));
  }

  private static String link(TaggedTest test) {
    return "[%s](../%s)".formatted(test.name(), test.file().toString().replace('\\', '/'));
  }
}

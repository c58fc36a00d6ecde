package dunlin.documents;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxDropReason;
import dunlin.runtime.DropReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Every reason for a drop has a test that makes it happen and finds that reason in the counter and in a trace, and so has {@code explain} for those that it knows
 * in advance. A test says so by a tag: {@code drop:session:expired}, {@code explain:session:queue-full}.
 */
class DropReasonsTest {
  private static final Path ROOT = Path.of("../..");
  private static final String INBOX = "inbox";

  /**
   * What {@code explain} finds in the state of the broker. All others depend on what happens later, on another connection of the client, on the size of the
   * message, or on other members of a group.
   */
  private static final Set<String> EXPLAINED =
      Set.of(
          "publish:not-authorized", "publish:retained-full", "session:not-authorized", "session:queue-full", "session:not-writable", "inbox:oldest", "inbox:newest", "inbox:rejected",
          "inbox:offline");

  private static List<TaggedTest> tests = List.of();

  @BeforeAll
  static void readTheTests() throws IOException {
    tests = TaggedTest.inModulesBelow(ROOT).stream().filter(test -> test.tag().startsWith("drop:") || test.tag().startsWith("explain:")).toList();
  }

  /** As hop and reason, with the names that traces and {@code dunlin_inbox_dropped_total} give inboxes. */
  private static Set<String> drops() {
    Set<String> all = new TreeSet<>();
    for (DropReason reason : DropReason.values()) {
      for (String hop : reason.hops()) if (!hop.equals(INBOX)) all.add(hop + ":" + reason.tag());
    }
    for (InboxDropReason reason : InboxDropReason.values()) all.add(INBOX + ":" + reason.label());
    return all;
  }

  private static Set<String> tags(String kind) {
    Set<String> tags = new TreeSet<>();
    for (TaggedTest test : tests) if (test.tag().startsWith(kind)) tags.add(test.tag().substring(kind.length()));
    return tags;
  }

  @Test
  void everyDropHasATest() {
    assertThat(tags("drop:")).isEqualTo(drops());
  }

  @Test
  void everyDropThatCanBeExplainedHasATestOfIt() {
    assertThat(tags("explain:")).isEqualTo(new TreeSet<>(EXPLAINED));
    assertThat(drops()).containsAll(EXPLAINED);
  }

  @Test
  void everyTaggedTestIsRun() {
    assertThat(tests).filteredOn(test -> !test.runs()).as("tags on what the build does not run").isEmpty();
  }

  @Test
  void inboxesDropForTheReasonsThatAreTheirs() {
    Set<DropReason> common = new TreeSet<>();
    for (InboxDropReason reason : InboxDropReason.values()) common.add(reason.common());

    assertThat(common).isEqualTo(new TreeSet<>(Arrays.stream(DropReason.values()).filter(reason -> reason.hops().contains(INBOX)).toList()));
  }

  @Test
  void thePageAboutTracesNamesEveryReason() throws IOException {
    String page = Files.readString(ROOT.resolve("docs/tracing.md"));

    for (String drop : drops()) assertThat(page).contains("`" + drop.substring(drop.indexOf(':') + 1) + "`");
  }
}

package dunlin.documents;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxDropReason;
import dunlin.runtime.DropReason;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Every reason for a drop has a test that makes it happen and finds that reason in the counter and in a trace, and so has {@code explain} unless the reason cannot
 * be known in advance. A test says so by a tag: {@code drop:session:expired}, {@code explain:session:queue-full}.
 */
class DropReasonsTest {
  private static final Path ROOT = Path.of("../..");
  private static final String INBOX = "inbox";

  /** Why {@code explain} does not know a drop in advance. All others it knows. */
  private static final Map<String, String> UNFORESEEN =
      Map.ofEntries(
          entry("publish:session-ended", "the publisher connects again while its message is on its way"),
          entry("publish:overloaded", "a tier's queue is full for milliseconds, and publishers are held back before that"),
          entry("session:session-ended", "the subscriber's connection ends while the message is on its way"),
          entry("session:repeated", "a message is sent again within the cluster after a link was lost"),
          entry("session:overloaded", "an event loop falls behind what the session tier pushes, for milliseconds"),
          entry("inbox:session-ended", "the session is deleted, or expires because its client does not come back"),
          entry("inbox:group-ended", "the last member of the group leaves later"),
          entry("inbox:repeated", "a message is sent again within the cluster after a link was lost"),
          entry("lane:overloaded", "a link between nodes is half full for milliseconds"),
          entry("lane:unreachable", "a link between nodes is lost while the message is on it"),
          entry("delivery:overloaded", "a link between nodes is half full for milliseconds"),
          entry("delivery:unreachable", "a link between nodes is lost while the message is on it"),
          entry("push:overloaded", "a link between nodes is half full for milliseconds"),
          entry("push:unreachable", "a link between nodes is lost while the message is on it"));

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
  void everyDropThatCanBeForeseenHasATestOfIt() {
    Set<String> foreseen = drops();
    foreseen.removeAll(UNFORESEEN.keySet());

    assertThat(tags("explain:")).isEqualTo(foreseen);
    assertThat(drops()).as("no reason that is gone").containsAll(UNFORESEEN.keySet());
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

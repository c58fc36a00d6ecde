package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.browser.Chromium.Accessible;
import dunlin.harness.RawClient;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What a screen reader is given of each view: the accessibility tree that the browser makes of it. */
class ScreenReaderPageIT extends PageOfBroker {
  private static final Set<String> INTERACTIVE =
      Set.of("button", "link", "textbox", "searchbox", "combobox", "listbox", "option", "checkbox", "radio", "switch", "slider", "spinbutton", "menuitem", "tab", "treeitem");

  /** What is announced without a delay, and what waits until the reader has finished. */
  private static final String ASSERTIVE = "alert";
  private static final Set<String> POLITE = Set.of("status", "log");

  private static final Set<String> NAMED = Set.of("table", "region", "navigation", "main", "dialog", "image", "heading", "columnheader", "rowheader");

  /** Of a broker that this test starts. */
  private static final Set<String> WITHOUT_ROWS = Set.of("blocks", "operators", "loggers", "messages", "explain/present/default", "clients/never/default", "tenants/blue");

  private static final Set<String> WITH_PAYLOADS = Set.of("sessions/absent/default", "retained");

  @Override
  Map<String, String> settings() {
    return Map.of("dunlin.auth.users.enabled", "true");
  }

  private RawClient alice(String clientId) {
    return RawClient.connected(broker.port(), RawClient.connect(5, 0xC0, 0, RawClient.properties(RawClient.sessionExpiry(3_600)), clientId, "alice", "secret"));
  }

  private static void ruled() throws Exception {
    List<Accessible> tree = browser().accessibilityTree();
    assertThat(tree).as("the tree is there").hasSizeGreaterThan(10);
    assertThat(tree)
        .as("what can be reached or used has a name, and so has what structures the view")
        .filteredOn(node -> INTERACTIVE.contains(node.role()) || NAMED.contains(node.role()) || node.properties().getOrDefault("focusable", "").equals("true"))
        .isNotEmpty()
        .allSatisfy(node -> assertThat(node.name()).as("%s", node).isNotBlank())
        .allSatisfy(node -> assertThat(node.role()).as("%s", node).isNotIn("", "generic", "none", "paragraph", "Section"));
    headingsAreInOrder(tree.stream().filter(node -> node.role().equals("heading")).map(node -> Integer.valueOf(node.properties().get("level"))).toList());
    assertThat(tree)
        .as("what changes by itself is announced politely; only what is refused interrupts")
        .filteredOn(node -> node.properties().containsKey("live"))
        .isNotEmpty()
        .allSatisfy(node -> assertThat(node.properties().get("live")).as("%s", node).isEqualTo(POLITE.contains(node.role()) ? "polite" : "assertive"))
        .filteredOn(node -> !POLITE.contains(node.role()))
        .allSatisfy(node -> assertThat(node.role()).as("%s", node).isEqualTo(ASSERTIVE))
        .hasSizeLessThan(2);
    assertThat(js("document.querySelectorAll('[role=status][hidden], [role=alert][hidden]').length")).as("announces its first text only if it was there before").isEqualTo("0");
    assertThat(js("(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(each => each.id))")).as("identifiers that are there twice").isEqualTo("0");
  }

  private static void headingsAreInOrder(List<Integer> levels) {
    assertThat(levels).as("levels of headings").startsWith(1).containsOnlyOnce(1);
    for (int i = 1; i < levels.size(); i++) assertThat(levels.get(i)).as("in %s", levels).isLessThanOrEqualTo(levels.get(i - 1) + 1);
  }

  @Test
  void everyViewHasNamesRolesAndHeadings() throws Exception {
    put("/roles/all", "{\"rules\":\"allow all #\"}");
    put("/users/alice", "{\"password\":\"secret\",\"roles\":\"all\"}");
    put("/tenants/blue", "{\"limits\":\"qos=1\"}");
    put("/bans/user/mallory", "{\"reason\":\"loud\"}");
    alice("absent").disconnectAfter(
        client -> {
          client.subscribe("to/#", 1);
          client.subscribe("$share/workers/jobs/#", 1);
        });
    String trace = api.post("/traces", "{\"topic\":\"to/#\"}").member("trace");
    Map<String, String> wrong = new LinkedHashMap<>();
    try (RawClient client = alice("present")) {
      client.subscribe("news", 1);
      client.publishAndWait("to/absent", "hello", true);
      browser().open(api.address() + "/");
      await("the form", () -> focused().equals("token"));
      ruled();
      signIn(api.token());
      for (String hash :
          List.of(
              "overview", "clients", "clients/present/default", "clients/never/default", "sessions", "sessions/absent/default", "topics", "retained", "messages", "explain/present/default", "traces",
              "traces/" + trace, "top", "users", "roles", "bans/user", "tenants", "tenants/blue", "blocks", "cluster", "doctor", "listeners", "settings", "loggers", "operators")) {
        js("location.hash = '#/" + hash + "'");
        String link = hash.replaceFirst("/.*", "");
        await(hash, () -> js("document.querySelector('[aria-current=page]').getAttribute('href')").equals("#/" + link));
        await(hash, () -> js("document.getElementById('view').childElementCount").compareTo("0") > 0);
        if (!WITHOUT_ROWS.contains(hash)) await(hash, () -> rows() > 0);
        if (WITH_PAYLOADS.contains(hash)) {
          press("button.topic");
          await("the payload", () -> js("document.querySelectorAll('#view pre').length").equals("1"));
        }
        try {
          ruled();
        } catch (AssertionError failed) {
          wrong.put(hash, String.valueOf(failed.getMessage()));
        }
      }
    }
    assertThat(wrong).as("views with what is wrong in them").isEmpty();
  }

  private static Stream<String> texts(String role) throws Exception {
    return browser().accessibilityTree().stream().filter(node -> node.role().equals(role)).map(Accessible::text);
  }

  @Test
  void aQuestionIsADialogWithAName() throws Exception {
    put("/tenants/blue", "{}");
    signIn(api.token());
    view("tenants/blue", "Tenants");
    awaitShown("State\nactive");
    press("#delete");
    await("the question", () -> focused().equals("question-name"));

    List<Accessible> tree = browser().accessibilityTree();

    assertThat(tree)
        .filteredOn(node -> node.role().equals("dialog"))
        .singleElement()
        .satisfies(node -> assertThat(node.name()).startsWith("Delete the tenant blue"))
        .satisfies(node -> assertThat(node.properties()).containsEntry("modal", "true"));
    assertThat(tree).as("nothing beside it can be reached").filteredOn(node -> INTERACTIVE.contains(node.role())).extracting(Accessible::name).containsExactly("Type the name to confirm", "Delete", "Cancel");
    escape();
  }

  /** A region that comes together with its text is not announced. */
  @Test
  void whatWasDoneAndWhatWasRefusedIsSaidInRegionsThatWereThereBefore() throws Exception {
    signIn(api.token());
    view("messages", "Messages");
    js("window.regions = ['done', 'trouble'].map(id => document.getElementById(id))");
    fill("topic", "news");
    press("#publish");
    await("what was done", () -> texts("status").anyMatch(text -> text.startsWith("Published; ")));
    fill("topic", "news/#");
    press("#publish");
    await("why not", () -> texts("alert").anyMatch(text -> !text.isEmpty()));
    assertThat(texts("status").noneMatch(text -> text.startsWith("Published"))).as("what was done before is gone").isTrue();
    assertThat(js("window.regions.every(each => each.isConnected && each.checkVisibility())")).isEqualTo("true");
  }
}

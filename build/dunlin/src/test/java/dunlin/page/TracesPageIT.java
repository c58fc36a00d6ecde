package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import org.junit.jupiter.api.Test;

/** Traces that are started on the page, followed, and ended. */
class TracesPageIT extends PageOfBroker {
  private static final int ROWS_OF_PAGE = 100;

  @Test
  void aTraceIsStartedFollowedAndEnded() throws Exception {
    try (var client = RawClient.connected(broker.port(), Connect.of(HOSTILE))) {
      client.subscribe("news/#", 1);
      signIn(Role.OPERATOR);
      view("traces", "Traces");
      fill("traced-topic", "news/#");
      press("#start-trace");
      await("it runs", () -> browser().text("trace-state").equals("The trace runs; its lines come by themselves."));

      publish("news/" + HOSTILE, "hello", 1);
      client.take();

      await("all hops", () -> browser().text("lines").matches("(?s).*publish\\s+received.*routes\\s+forwarded.*session\\s+delivered.*"));
      assertThat(browser().text("lines")).contains("news/" + HOSTILE, "publisher", HOSTILE).doesNotContain("hello");
      nothingBecameMarkup();
      press("#end-trace");
      awaitDone("The trace has been ended. Its lines can still be read.");
      await("the state", () -> browser().text("trace-state").equals("The trace has ended."));
      assertThat(api.get("/traces").members("running")).containsExactly("false");
      assertThat(browser().text("lines")).contains("news/");

      view("traces", "Traces");
      press("#view tbody a");
      await("its lines again", () -> browser().text("lines").contains("forwarded"));
      assertThat(browser().text("trace")).contains("topic news/#", "has ended");
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }

  private static int lines() throws Exception {
    return Integer.parseInt(js("document.querySelectorAll('#lines tbody tr').length"));
  }

  @Test
  void ofManyLinesAPageIsInTheDocumentAndTheLastOnesAreInSight() throws Exception {
    String trace = api.post("/traces", "{\"topic\":\"#\"}").member("trace");
    publish("first", "x", 1);
    publish("many", "x", 150);
    publish("the/end", "x", 1);
    signIn(Role.VIEWER);

    view("traces/" + trace, "Traces");

    await("the last message", () -> browser().text("lines").contains("the/end"));
    assertThat(lines()).isEqualTo(ROWS_OF_PAGE);
    assertThat(browser().text("lines")).doesNotContain("first");
    js("document.querySelector('#lines input').focus()");
    browser().type("first");
    await("the filter", () -> lines() < 10 && browser().text("lines").contains("received"));
    assertThat(js("document.getElementById('end-trace').hidden")).as("a viewer ends no trace").isEqualTo("true");
  }

  @Test
  void theLossLedgerIsBesideTheTraces() throws Exception {
    try (var small = RawClient.connected(broker, "small", RawClient.maximumPacketSize(100))) {
      small.subscribe("large", 0);
      publish("large", "x".repeat(200), 1);
      signIn(Role.VIEWER);
      view("traces", "Traces");
      await("the drop", () -> browser().text("ledger").matches("(?s).*session\\s+[0-9a-f]{8}\\s+1\\s+0\\s+0\\s+0\\s+1\\s+0\\s+packet-too-large 1.*"));

      js("document.getElementById('ledger-of-all').click()");
      await("of all nodes, which is this one", () -> browser().text("ledger").contains("packet-too-large 1"));
      publish("large", "x".repeat(200), 1);
      press("#read-ledger");
      await("both", () -> browser().text("ledger").contains("packet-too-large 2"));
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }

  @Test
  void whatCannotBeTracedIsRefusedWithASentence() throws Exception {
    signIn(Role.OPERATOR);
    view("traces/new/meter-7/default", "Traces");
    assertThat(js("document.getElementById('traced-client').value")).isEqualTo("meter-7");
    fill("traced-topic", "$share/g/a");
    press("#start-trace");
    await("the reason", () -> browser().text("trouble").contains("hared"));
    js("document.getElementById('traced-topic').value = ''");
    fill("traced-address", "not an address");
    press("#start-trace");
    await("another reason", () -> browser().text("trouble").contains("address"));
    assertThat(api.get("/traces").members("trace")).isEmpty();

    view("traces/00000000", "Traces");
    await("no such trace", () -> browser().text("trace-state").contains("There is no such trace"));
  }

  @Test
  void aViewerStartsNone() throws Exception {
    signIn(Role.VIEWER);
    view("traces", "Traces");
    awaitShown("To start a trace needs the role operator.");
    assertThat(js("document.querySelectorAll('#view form').length")).isEqualTo("0");
  }
}

package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.admin.api.Role;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The operations page as a whole, and its views of the node, in a browser. */
class AdminPageInChromiumIT extends PageOfBroker {
  private static final int ROWS_OF_PAGE = 100;

  @Test
  void theOverviewFollowsTheNode() throws Exception {
    signIn(api.token());
    await("no connection", () -> browser().text("connections").equals("0"));
    assertThat(browser().text("healthy")).isEqualTo("alive");
    assertThat(browser().text("ready")).isEqualTo("ready for clients");
    assertThat(browser().text("no-drops")).isEqualTo("No message was dropped.");
    assertThat(browser().text("role")).isEqualTo("admin");

    List<RawClient> clients = new ArrayList<>();
    try {
      for (int i = 0; i < 3; i++) clients.add(RawClient.connected(broker.port(), Connect.of("meter-" + i)));
      await("three connections", () -> browser().text("connections").equals("3"));
      clients.getFirst().subscribe("a", 1);
      await(
          "messages a second",
          () -> {
            clients.getLast().publishAndWait("a", "payload");
            return browser().text("publishes-in").matches("[1-9].*") && browser().text("publishes-out").matches("[1-9].*");
          });
      await("times", () -> shown().matches("(?s).*publish to acknowledgement\\s+[1-9][0-9,]*\\s+≤ [0-9.]+ m?s.*"));
      await("lines", () -> js("document.querySelector('polyline.line-0').getAttribute('points')").contains(" "));
      clients.removeLast().close();
      await("two connections", () -> browser().text("connections").equals("2"));
      clients.getFirst().disconnectAfter(_ -> {});
    } finally {
      clients.forEach(RawClient::close);
    }

    api.put("/drain", "{}");
    await("not ready", () -> browser().text("ready").equals("draining"));
    nothingWasAskedOfOthersAndNothingFailed();
  }

  @Test
  void aNodeThatHasStoppedIsSaid() throws Exception {
    signIn(api.token());
    await("events", () -> browser().text("connections").equals("0"));

    broker.close();

    await("the reason", () -> browser().text("stream-trouble").startsWith("The node "));
    assertThat(browser().text("connections")).as("what was known is still there").isEqualTo("0");
  }

  @Test
  void aTokenThatIsNotValidIsRefusedAndOneThatEndsSignsOut() throws Exception {
    String viewer = tokenOf(Role.VIEWER);
    browser().open(api.address() + "/");
    await("the field", () -> focused().equals("token"));
    browser().type("wrong");
    browser().press("Enter");
    await("the reason", () -> browser().text("sign-in-trouble").contains("needs a valid token"));
    assertThat(js("sessionStorage.length")).isEqualTo("0");

    browser().type(viewer);
    browser().press("Enter");
    await("signed in", () -> browser().text("role").equals("viewer"));
    assertThat(js("Object.keys(localStorage).length + document.cookie.length")).isEqualTo("0");
    assertThat(js("location.href")).doesNotContain(viewer);

    noTokenIsValidAnyMore();
    await("signed out", () -> focused().equals("token"));
    assertThat(js("sessionStorage.length")).isEqualTo("0");
    assertThat(js("document.getElementById('view').childElementCount")).isEqualTo("0");
  }

  @Test
  void namesOfClientsAreTextWhateverTheySay() throws Exception {
    String turned = "turn\u202Earound";
    try (var client = RawClient.connected(broker.port(), Connect.of(HOSTILE));
        var other = RawClient.connected(broker.port(), Connect.of(turned))) {
      client.publishAndWait("topic/" + HOSTILE, HOSTILE, true);
      other.publishAndWait("</td><script>window.hit='yes'</script>", "x", true);
      signIn(api.token());

      view("sessions", "Sessions");
      await("the client", () -> shown().contains(HOSTILE));
      assertThat(shown()).contains("turn\\u{202e}around").doesNotContain("\u202E");
      press("#view tbody tr:first-child a");
      await("the client's own view", () -> browser().text("client-id").equals(HOSTILE));

      view("retained", "Retained messages");
      await("the topics", () -> shown().contains("topic/" + HOSTILE) && shown().contains("</td><script>"));
      js("[...document.querySelectorAll('button.topic')].find(each => each.textContent.startsWith('topic/')).click()");
      await("the payload", () -> browser().text("payload").equals(HOSTILE));

      view("messages", "Messages");
      press("#watch");
      await("watched", () -> browser().text("watch-state").equals("Watches #."));
      await(
          "a message",
          () -> {
            client.publishAndWait("live/" + HOSTILE, HOSTILE);
            return browser().text("seen").contains("live/" + HOSTILE);
          });

      assertThat(js("document.querySelectorAll('#view img, #view script').length")).isEqualTo("0");
      assertThat(js("typeof window.hit")).isEqualTo("undefined");
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }

  @Test
  void theBrowserItselfRefusesMarkupFromTextAndScriptsFromOutside() throws Exception {
    signIn(api.token());
    assertThat(js("(() => { try { document.body.innerHTML = '<b>x</b>'; return 'done'; } catch (e) { return e.name; } })()")).isEqualTo("TypeError");
    js("document.head.append(Object.assign(document.createElement('style'), {textContent: 'body { color: red }'}))");
    assertThat(js("getComputedStyle(document.body).color")).isNotEqualTo("rgb(255, 0, 0)");
    assertThat(browser().errors()).anyMatch(error -> error.contains("Content Security Policy"));
  }

  @Test
  void sessionsAreFilteredPagedDisconnectedAndDeleted() throws Exception {
    int meters = 230;
    for (int i = 0; i < meters; i++) RawClient.connected(broker.port(), Connect.of("meter-%03d".formatted(i))).disconnectAfter(_ -> {});
    try (var van = RawClient.connected(broker.port(), Connect.of("van/1 +ü"))) {
      signIn(api.token());
      view("sessions", "Sessions");
      await("a page", () -> rows() == ROWS_OF_PAGE);
      assertThat(shown()).contains("1 to 100", "meter-099").doesNotContain("meter-100");
      js("[...document.querySelectorAll('#view button')].find(each => each.textContent === 'Next page').click()");
      await("the next page", () -> shown().contains("101 to 200"));
      js("[...document.querySelectorAll('#view button')].find(each => each.textContent === 'Next page').click()");
      await("the last page", () -> shown().contains("201 to 231"));
      assertThat(js("[...document.querySelectorAll('#view button')].find(each => each.textContent === 'Next page').disabled")).isEqualTo("true");
      js("[...document.querySelectorAll('#view button')].find(each => each.textContent === 'Previous page').click()");
      await("the page before", () -> shown().contains("101 to 200"));

      js("document.querySelector('#view input').focus()");
      browser().type("van");
      browser().press("Enter");
      await("the filter", () -> rows() == 1 && shown().contains("van/1 +ü"));
      press("#view tbody a");
      await("one session", () -> browser().text("session").contains("Connected\nyes"));
      press("#disconnect");
      press("#question-yes");
      await("disconnected", () -> browser().text("done").startsWith("The client was disconnected."));
      assertThat(van.expect(RawClient.DISCONNECT).reason()).isEqualTo(0x98);

      press("#delete");
      await("a question", () -> js("document.getElementById('question').open").equals("true"));
      browser().press("Escape");
      await("no deletion", () -> js("document.getElementById('question').open").equals("false"));
      assertThat(api.get("/sessions/van%2F1%20+%C3%BC").status()).isEqualTo(200);
      press("#delete");
      press("#question-yes");
      await("deleted", () -> browser().text("done").equals("The session was deleted."));
      assertThat(api.get("/sessions/van%2F1%20+%C3%BC").status()).isEqualTo(404);
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }

  @Test
  void settingsAreFilteredAndOnlyAPageOfThemIsInTheDocument() throws Exception {
    signIn(api.token());
    view("settings", "Settings");
    await("a page", () -> rows() == ROWS_OF_PAGE);
    assertThat(shown()).contains("1 to 100 of ");

    js("document.querySelector('#view input').focus()");
    browser().type("the builder");

    await("by their source", () -> rows() < 20 && rows() > 2);
    assertThat(shown()).contains("dunlin.store.fsync").doesNotContain("\tdefault");
  }

  @Test
  void theViewsOfANodeThatRunsAloneAreThere() throws Exception {
    signIn(api.token());
    view("cluster", "Cluster");
    await("why there is no cluster", () -> shown().contains("This node belongs to no cluster."));
    await("replicas", () -> rows() > 0 && shown().contains("leader"));
    view("listeners", "Listeners");
    await("the listener", () -> shown().contains(":" + broker.port()));
    await("the drain", () -> browser().text("drain-state").equals("The node serves clients."));
    press("#drain");
    press("#question-yes");
    await("draining", () -> browser().text("drain-state").startsWith("The node sends its clients away."));
    press("#stop-drain");
    await("serving", () -> browser().text("drain-state").equals("The node serves clients."));
    assertThat(api.get("/status").member("readiness")).isEqualTo("ready");
    view("loggers", "Log levels");
    await("an embedded node has no levels of its own", () -> browser().text("trouble").contains("application that embeds this node"));
  }

  @Test
  void aListenerIsClosedAfterAQuestionAndOpened() throws Exception {
    signIn(api.token());
    view("listeners", "Listeners");
    press("button[aria-label='Close tcp']");
    await("a question", () -> js("document.getElementById('question').open").equals("true"));
    browser().press("Escape");
    await("no answer", () -> js("document.getElementById('question').open").equals("false"));
    assertThat(api.get("/listeners").members("accepting")).containsOnly("true");

    press("button[aria-label='Close tcp']");
    press("#question-yes");
    await("closed", () -> browser().text("done").equals("The listener accepts no new connections."));
    assertThat(api.get("/listeners").members("accepting")).containsOnly("false");

    press("button[aria-label='Open tcp']");
    await("open", () -> browser().text("done").equals("The listener accepts connections again."));
    RawClient.connected(broker.port(), Connect.of("c")).disconnect();
    nothingWasAskedOfOthersAndNothingFailed();
  }

  /** The ranges and operations are made up, since a cluster that has so many needs hours to grow; all else is the page as it is. */
  @Test
  void aThousandRangesAreShownByPagesAndFilteredAtOnce() throws Exception {
    signIn(api.token());
    js(
        """
        (() => {
          const node = n => `${n}`.padStart(8, '0') + '-0000-4000-8000-000000000000';
          const listings = {
            '/api/v1/cluster/nodes': [],
            '/api/v1/cluster/health': [],
            '/api/v1/cluster/operations': [
              {id: node(7), what: 'AddReplica', range: node(3), cancelled: false, step: 2, steps: 3, doing: 'node b catches up', left: 1234, unit: 'entries', seconds: 75, waiting: ''},
              {id: node(8), what: 'Split', range: node(4), cancelled: false, step: 0, steps: 0, doing: '', left: -1, unit: '', seconds: 0, waiting: ''},
            ],
            '/api/v1/cluster/ranges': Array.from({length: 1000}, (_, i) => ({id: node(i), kind: 'inbox', keys: 'all', epoch: i, leader: node(1), voters: [node(1), node(2), node(3)]})),
          };
          const real = window.fetch;
          window.fetch = async (address, options) => {
            const path = address.pathname;
            if (path === '/api/v1/cluster') return new Response(JSON.stringify({cluster: 'c', node: 'n', connected: true, mapVersion: 1}));
            if (path in listings) return new Response(JSON.stringify({items: listings[path], next: '', unanswered: []}));
            return real(address, options);
          };
        })()
        """);
    view("cluster", "Cluster");
    awaitShown("1 to 100 of 1,000");
    assertThat(shown()).contains("2 of 3: node b catches up", "1,234 entries", "not known");
    assertThat(rows()).as("with the replicas").isLessThan(ROWS_OF_PAGE + 20);

    js("window.field = [...document.querySelectorAll('#view label')].find(each => each.textContent === 'Filter by id, kind or node').querySelector('input')");
    String millis = js(
        """
        (() => {
          const times = ['00000995', '00000996', '00000997', '00000998', '00000999'].map(text => {
            const begun = performance.now();
            field.value = text;
            field.dispatchEvent(new Event('input'));
            return performance.now() - begun;
          });
          return Math.min(...times);
        })()
        """);

    awaitShown("1 to 1 of 1");
    assertThat(Double.parseDouble(millis)).as("milliseconds of the fastest of five").isLessThan(500);
  }

  @Test
  void anAddressThatNamesNothingIsSaid() throws Exception {
    signIn(api.token());
    js("location.hash = '#/clients/%E0%A4%A'");
    awaitTrouble("The address has an escape that stands for no character.");
    view("toString", "Overview");
    js("location.hash = '#/clients/..'");
    await("why it has no path", () -> browser().text("trouble").equals("An address cannot name what is called ... The MXBeans can."));
    view("sessions/..", "Sessions");
    await("the same of a session", () -> browser().text("trouble").contains("cannot name what is called"));
    assertThat(browser().requests()).as("nothing was asked that means something else").noneMatch(request -> request.contains("/api/v1/clients") || request.contains("/api/v1/sessions"));
  }

  @Test
  void messagesArePublishedAndWatched() throws Exception {
    try (var subscriber = RawClient.connected(broker.port(), Connect.of("s"))) {
      subscriber.subscribe("news", 1);
      signIn(api.token());
      view("messages", "Messages");
      js("document.getElementById('filter').value = 'news'");
      press("#watch");
      await("watched", () -> browser().text("watch-state").equals("Watches news."));

      js("document.getElementById('topic').focus()");
      browser().type("news");
      js("document.getElementById('text').focus()");
      browser().type("grüße");
      press("#publish");

      await("published", () -> browser().text("done").equals("Published; the answer is success."));
      assertThat(subscriber.next(RawClient.PUBLISH).text()).isEqualTo("grüße");
      await("seen", () -> browser().text("seen").contains("grüße"));
      assertThat(browser().text("watch-count")).startsWith("1 seen, 0 skipped");
      press("#stop");
      await("stopped", () -> browser().text("watch-state").equals("Nothing is watched."));

      js("document.getElementById('filter').value = 'a/#/b'");
      press("#watch");
      await("refused", () -> browser().text("watch-state").contains("a/#/b"));
    }
  }

  @Test
  void aViewerIsShownWhatItMayNotDo() throws Exception {
    try (var client = RawClient.connected(broker.port(), Connect.of("c"))) {
      client.publishAndWait("kept", "secret", true);
      signIn(tokenOf(Role.VIEWER));
      view("messages", "Messages");
      assertThat(shown()).contains("needs the role operator");
      assertThat(js("document.querySelectorAll('#view form').length")).isEqualTo("0");
      view("sessions", "Sessions");
      press("#view tbody a");
      await("the session", () -> browser().text("session").contains("Connected\nyes"));
      assertThat(js("document.querySelectorAll('#disconnect, #delete').length")).isEqualTo("0");
      assertThat(shown()).contains("Disconnecting needs the role operator, deleting admin.");
      view("retained", "Retained messages");
      await("the topic", () -> shown().contains("kept"));
      assertThat(js("document.querySelectorAll('button.topic').length")).isEqualTo("0");
      assertThat(shown()).contains("To see payloads needs the role operator.");
      nothingWasAskedOfOthersAndNothingFailed();
    }
  }

  @Test
  void everythingIsReachedByKeyboardAndHasAName() throws Exception {
    signIn(api.token());
    await("the title has the focus", () -> focused().equals("title"));
    js("(document.body.tabIndex = -1, document.body.focus())");
    browser().press("Tab");
    assertThat(focused()).isEqualTo("skip");
    browser().press("Enter");
    await("the content", () -> focused().equals("content"));
    js("document.querySelector('#views a').focus()");
    browser().press("Tab");
    assertThat(js("document.activeElement.textContent")).isEqualTo("Clients");
    assertThat(js("getComputedStyle(document.activeElement).outlineStyle")).isEqualTo("solid");
    browser().press("Enter");
    await("the view", () -> browser().text("title").equals("Clients"));
    await("its title has the focus", () -> focused().equals("title"));
    assertThat(js("document.title")).isEqualTo("Clients – Dunlin");
    assertThat(js("document.querySelector('[aria-current=page]').textContent")).isEqualTo("Clients");

    assertThat(js("['header', 'nav', 'main'].every(name => document.querySelector(name))")).isEqualTo("true");
    for (String hash :
        List.of(
            "overview", "clients", "sessions", "topics", "retained", "messages", "explain", "traces", "top", "users", "roles", "bans", "blocks", "cluster", "doctor", "listeners", "settings",
            "loggers")) {
      js("location.hash = '#/" + hash + "'");
      await(hash, () -> js("document.querySelector('[aria-current=page]').getAttribute('href')").equals("#/" + hash));
      await(hash, () -> js("document.getElementById('view').childElementCount").compareTo("0") > 0);
      assertThat(
              js(
                  "[...document.querySelectorAll('#view input, #view select, #view textarea')].filter(each => !each.labels.length && !each.ariaLabel).length"))
          .as(hash)
          .isEqualTo("0");
      assertThat(js("[...document.querySelectorAll('#view button')].filter(each => !each.textContent.trim()).length")).as(hash).isEqualTo("0");
      assertThat(js("[...document.querySelectorAll('#view table')].filter(each => !each.caption || !each.querySelector('th[scope=col]')).length")).as(hash).isEqualTo("0");
      assertThat(js("document.querySelectorAll('h1:not([hidden] *)').length")).as(hash).isEqualTo("1");
    }
  }

  @Test
  void thePageIsDarkForThoseWhoPreferIt() throws Exception {
    signIn(api.token());
    browser().prefer("light");
    String light = js("getComputedStyle(document.body).backgroundColor");
    assertThat(light).isEqualTo("rgb(255, 255, 255)");

    browser().prefer("dark");

    assertThat(js("getComputedStyle(document.body).backgroundColor")).isNotEqualTo(light);
    assertThat(js("getComputedStyle(document.body).color")).isEqualTo("rgb(228, 232, 239)");
    browser().prefer("light");
  }
}

package dunlin.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.UnixOperatingSystemMXBean;
import dunlin.harness.ApiCalls;
import dunlin.harness.BrokerProcess;
import dunlin.harness.RawClient;
import dunlin.harness.RawClient.Connect;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The page of a broker with ten thousand clients, and of a cluster with a thousand ranges: what is in the document, and what one interaction changes in it, is bounded, so that it is as quick as
 * with few.
 */
class ManyRowsPageIT extends PageInChromium {
  private static final int CLIENTS = 10_000;
  private static final int FILES_BESIDE = 500;
  private static final int CONNECTING = 16;
  private static final int RANGES = 1_000;
  private static final int NODES = 300;
  private static final int ROWS_OF_PAGE = 100;

  /** Of all kinds of nodes in the document; a page of clients has ten cells in each row, some with an element in them. */
  private static final int ELEMENTS_MAX = 4_000;

  @TempDir Path directory;

  private final ConcurrentLinkedQueue<RawClient> clients = new ConcurrentLinkedQueue<>();
  private BrokerProcess broker;

  @AfterEach
  void stop() {
    clients.forEach(RawClient::close);
    if (broker != null) broker.close();
  }

  /** A process of its own, so that it and its clients have file descriptors for themselves. */
  private void signInAtBroker() throws Exception {
    Path data = directory.resolve("data");
    broker = BrokerProcess.startWith("-Xmx512m", data, "dunlin.admin.port=0", "dunlin.store.fsync=false");
    try (ApiCalls api = ApiCalls.of(data)) {
      signIn(api.address(), api.token());
    }
  }

  private static String name(int client) {
    return "meter-%05d".formatted(client);
  }

  private void connect(int from) {
    for (int i = from; i < CLIENTS; i += CONNECTING) clients.add(RawClient.connected(broker.port(), Connect.of(name(i)).clean().expiry(0)));
  }

  private void connectAll() throws Exception {
    try (var threads = Executors.newFixedThreadPool(CONNECTING)) {
      List<Future<?>> connecting = new ArrayList<>();
      for (int i = 0; i < CONNECTING; i++) {
        int from = i;
        connecting.add(threads.submit(() -> connect(from)));
      }
      for (Future<?> each : connecting) each.get();
    }
  }

  private static int elements() throws Exception {
    return Integer.parseInt(js("document.querySelectorAll('*').length"));
  }

  private static void pressNamed(String button) throws Exception {
    js("[...document.querySelectorAll('#view button')].find(each => each.textContent === '%s').click()".formatted(button));
  }

  private static void filter(String text) throws Exception {
    js("(field.focus(), field.select())");
    browser().type(text);
  }

  private static void find(String prefix) throws Exception {
    js("(document.querySelector('#view input').focus(), document.querySelector('#view input').select())");
    browser().type(prefix);
    browser().press("Enter");
  }

  private interface Action {
    void run() throws Exception;
  }

  /** Does something in the page, and says how many nodes it has added to the view by the time that it shows these texts. */
  private static int addedBy(Action action, String... texts) throws Exception {
    js(
        """
        (() => {
          window.added = 0;
          window.observer?.disconnect();
          window.observer = new MutationObserver(records => records.forEach(record => record.addedNodes.forEach(node => window.added += 1 + (node.querySelectorAll?.('*').length ?? 0))));
          window.observer.observe(document.getElementById('view'), {childList: true, subtree: true});
        })()
        """);
    action.run();
    awaitShown(texts);
    return Integer.parseInt(js("window.added"));
  }

  @Test
  void tenThousandClientsAreListedPagedAndFilteredByABoundedDocument() throws Exception {
    long files = ManagementFactory.getPlatformMXBean(UnixOperatingSystemMXBean.class).getMaxFileDescriptorCount();
    assumeTrue(files >= CLIENTS + FILES_BESIDE, "This process may open %d files, which is too few for %d clients; see ulimit -Hn.".formatted(files, CLIENTS));
    signInAtBroker();
    connectAll();
    await("all of them are counted", () -> browser().text("connections").equals("10,000"));
    int empty = elements();
    clients.element().subscribe("news", 1);

    view("clients", "Clients");
    awaitShown("1 to 100", name(0), name(99));
    assertThat(rows()).isEqualTo(ROWS_OF_PAGE);
    assertThat(elements()).as("beside %d of the overview", empty).isLessThan(ELEMENTS_MAX);
    for (int page = 1; page < 5; page++) {
      int first = page * ROWS_OF_PAGE;
      assertThat(addedBy(() -> pressNamed("Next page"), "%d to %d".formatted(first + 1, first + ROWS_OF_PAGE), name(first))).isLessThan(ELEMENTS_MAX);
      assertThat(rows()).isEqualTo(ROWS_OF_PAGE);
    }
    assertThat(addedBy(() -> find("meter-0999"), "1 to 10", name(9_999))).isLessThan(ELEMENTS_MAX / 5);
    assertThat(rows()).isEqualTo(10);
    assertThat(elements()).isLessThan(ELEMENTS_MAX);

    press("#view tbody a");
    await("one of them", () -> browser().text("client-id").equals(name(9_990)));
    view("top", "Top");
    choose("clients-by", "subscriptions");
    await("the one of all that has a subscription", () -> browser().text("top-clients").contains("meter-"));
    assertThat(elements()).isLessThan(ELEMENTS_MAX);
    view("overview", "Overview");
    clients.remove().close();
    await("it still follows the node", () -> browser().text("connections").equals("9,999"));
    assertThat(browser().errors()).isEmpty();
  }

  /** The ranges are made up, since a cluster that has so many needs hours to grow; all else is the page as it is. */
  @Test
  void aThousandRangesAreShownByPagesAndFilteredByABoundedDocument() throws Exception {
    signInAtBroker();
    js(
        """
        (() => {
          const node = n => `${n}`.padStart(8, '0') + '-0000-4000-8000-000000000000';
          const listings = {
            '/api/v1/cluster/nodes': Array.from({length: %d}, (_, i) => ({id: node(i), host: 'host-' + i, region: '', zone: 'zone-' + i %% 3, state: 'JOINED', replicas: 10, roles: ['all']})),
            '/api/v1/cluster/health': [],
            '/api/v1/cluster/operations': [
              {id: node(7), what: 'AddReplica', range: node(3), cancelled: false, step: 2, steps: 3, doing: 'node b catches up', left: 1234, unit: 'entries', seconds: 75, waiting: ''},
              {id: node(8), what: 'Split', range: node(4), cancelled: false, step: 0, steps: 0, doing: '', left: -1, unit: '', seconds: 0, waiting: ''},
            ],
            '/api/v1/cluster/ranges': Array.from({length: %d}, (_, i) => ({id: node(i), kind: 'inbox', keys: 'all', epoch: i, leader: node(1), voters: [node(1), node(2), node(3)]})),
          };
          const real = window.fetch;
          window.fetch = async (address, options) => {
            const path = address.pathname;
            if (path === '/api/v1/cluster') return new Response(JSON.stringify({cluster: 'c', node: 'n', connected: true, mapVersion: 1, missingRoles: ['dist', 'inbox']}));
            if (path in listings) return new Response(JSON.stringify({items: listings[path], next: '', unanswered: []}));
            return real(address, options);
          };
        })()
        """
            .formatted(NODES, RANGES));
    view("cluster", "Cluster");
    awaitShown("1 to 100 of 1,000", "1 to 100 of 300");
    assertThat(shown()).contains("no node has: dist, inbox", "2 of 3: node b catches up", "1,234 entries", "not known");
    assertThat(rows()).as("a page of ranges, a page of nodes, the replicas").isLessThan(2 * ROWS_OF_PAGE + 20);
    assertThat(elements()).isLessThan(2 * ELEMENTS_MAX);

    js("window.field = [...document.querySelectorAll('#view label')].find(each => each.textContent === 'Filter by id, kind or node').querySelector('input')");
    // The first is in 00000099, too; the last in all of them, since node 1 has a replica of each.
    for (var step : List.of(Map.entry("0000099", "1 to 11 of 11"), Map.entry("00000999", "1 to 1 of 1"), Map.entry("00000001", "1 to 100 of 1,000"))) {
      assertThat(addedBy(() -> filter(step.getKey()), step.getValue())).as("one page at the most").isLessThan(ELEMENTS_MAX);
    }
    press("button[aria-label=\"Change replicas of 00000000\"]");
    await("all nodes but its voters", () -> js("document.getElementById('move-to').length").equals(Integer.toString(NODES - 3)));
    assertThat(browser().errors()).isEmpty();
  }
}

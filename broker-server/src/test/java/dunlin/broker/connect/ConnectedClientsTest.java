package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.broker.OpenFrontend;
import dunlin.broker.client.ClientFigure;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.client.ClientsMXBean.ClientRow;
import dunlin.broker.codec.Wire;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Listings of connected clients over their event loops. */
final class ConnectedClientsTest {
  private static final int CLIENTS = 10_000;
  private static final int PAGE = 1_000;

  private final OpenFrontend open = new OpenFrontend(2);
  private final ClientsMXBean clients = open.frontend().clients();

  @AfterEach
  void close() {
    open.close();
  }

  private void connect(String clientId) {
    open.client(Wire.packet(0x10, Wire.text("MQTT"), 5, 0x02, Wire.u16(60), 0, Wire.text(clientId)));
  }

  private List<String> connectMany() {
    List<String> names = new ArrayList<>(IntStream.range(0, CLIENTS).mapToObj("client-%05d"::formatted).toList());
    Collections.shuffle(names, new Random(1));
    names.forEach(this::connect);
    Collections.sort(names);
    return names;
  }

  private static List<String> names(List<ClientRow> rows) {
    return rows.stream().map(ClientRow::clientId).toList();
  }

  @Test
  void tenThousandClientsAreListedInPages() {
    List<String> names = connectMany();

    List<String> listed = new ArrayList<>();
    int pages = 0;
    String after = "";
    List<ClientRow> page;
    do {
      page = clients.list("default", "", "", "", after, PAGE);
      listed.addAll(names(page));
      if (!page.isEmpty()) after = page.getLast().clientId();
      pages++;
    } while (page.size() == PAGE);

    assertThat(listed).isEqualTo(names);
    assertThat(pages).isEqualTo(CLIENTS / PAGE + 1);
    assertThat(names(clients.list("default", "client-00", "", "", "client-00997", PAGE))).containsExactly("client-00998", "client-00999");
    assertThat(names(clients.list("default", "client-00", "", "", "a", 1))).containsExactly("client-00000");
    assertThat(clients.list("default", "client-00", "", "", "client-01", PAGE)).isEmpty();
    assertThat(clients.list("default", "cliend", "", "", "", PAGE)).isEmpty();
    assertThat(clients.list("another", "", "", "", "", PAGE)).isEmpty();
    assertThat(clients.list("defaulu", "", "", "", "", PAGE)).isEmpty();
    assertThat(clients.list("default", "", "somebody", "", "", PAGE)).isEmpty();
  }

  @Test
  void whatAllClientsAreComparedByIsReadWhileTheLoopServesOthers() {
    connectMany();
    AtomicInteger rounds = new AtomicInteger();
    AtomicBoolean stopped = new AtomicBoolean();
    open.loop(0).post(() -> countRounds(rounds, stopped));

    assertThat(clients.top(ClientFigure.QUEUED, 10)).isEmpty();
    stopped.set(true);

    assertThat(rounds.get()).as("rounds of the loop").isGreaterThan(CLIENTS / 256);
  }

  private void countRounds(AtomicInteger rounds, AtomicBoolean stopped) {
    rounds.incrementAndGet();
    if (!stopped.get()) open.loop(0).afterSockets(() -> countRounds(rounds, stopped));
  }

  @Test
  void aPageAsksOnlyTheLoopsOfItsClients() {
    connect("c");
    CountDownLatch busy = new CountDownLatch(1);
    open.keepBusy(1, busy);
    try {
      assertThat(names(clients.list("default", "", "", "", "", PAGE))).containsExactly("c");
      assertThat(clients.list("default", "", "somebody", "", "", PAGE)).isEmpty();
      assertThat(clients.get("default", "c")).hasSize(1);
      assertThat(clients.get("default", "none")).isEmpty();
      assertThat(clients.disconnect("default", "c")).isTrue();
    } finally {
      busy.countDown();
    }
  }

  @Test
  void theNewestConnectionOfAClientIsTheOneThatIsFound() {
    connect("c");
    assertThat(names(clients.list("default", "", "", "", "", 2))).containsExactly("c");
    connect("c");

    assertThat(names(clients.list("default", "", "", "", "", 2))).containsExactly("c");
    assertThat(clients.disconnect("default", "c")).isTrue();
    assertThat(clients.list("default", "", "", "", "", 2)).isEmpty();
  }

  @Test
  void clientsThatDisconnectWhileTheyAreListedDoNotEndTheListing() {
    IntStream.range(0, 4).forEach(i -> connect("c" + i));
    assertThat(names(clients.list("default", "", "", "", "", 2))).containsExactly("c0", "c1");

    assertThat(clients.disconnect("default", "c0")).isTrue();

    assertThat(names(clients.list("default", "", "", "", "", 2))).containsExactly("c1", "c2");
    assertThat(clients.disconnect("default", "c0")).isFalse();
    assertThat(clients.get("default", "c0")).isEmpty();
    assertThat(clients.get("default", "c1")).singleElement().satisfies(client -> assertThat(client.keepAliveSeconds()).isEqualTo(60));
  }

  @Test
  void anOperatorWhoIsInterruptedLeavesTheTurnToOthers() throws Exception {
    connect("c");
    CountDownLatch busy = new CountDownLatch(1);
    open.keepBusy(0, busy);
    FutureTask<List<ClientRow>> waiting = new FutureTask<>(() -> clients.list("default", "", "", "", "", 1));
    Thread operator = Thread.ofVirtual().start(waiting);

    operator.interrupt();

    assertThatThrownBy(() -> waiting.get(60, TimeUnit.SECONDS)).hasRootCauseInstanceOf(IllegalStateException.class).hasMessageContaining("interrupted");
    busy.countDown();
    assertThat(names(clients.list("default", "", "", "", "", 1))).containsExactly("c");
  }

  @Test
  void whatIsOutOfBoundsIsRefused() {
    assertThatThrownBy(() -> clients.list("default", "", "", "", "", 1_001)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> clients.list("default", "", "", "", "", 0)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> clients.top(ClientFigure.QUEUED, 101)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> clients.subscriptions("default", "c", "", 1_001)).isInstanceOf(IllegalArgumentException.class);
    assertThat(clients.top(ClientFigure.QUEUED, 100)).isEmpty();
    assertThat(clients.subscriptions("default", "none", "", 1)).isEmpty();
  }
}

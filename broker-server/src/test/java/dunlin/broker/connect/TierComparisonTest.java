package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.LoopClient;
import dunlin.broker.OpenFrontend;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.KeptConnections.Owner;
import dunlin.model.QoS;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The next session tier compares the connections that a frontend has kept with those that its sessions name. */
class TierComparisonTest {
  private static final int LOOPS = 2;

  /** More than a loop looks at, or has read, in one go. */
  private static final int MANY = 600;

  private final OpenFrontend broker = new OpenFrontend(LOOPS);

  @AfterEach
  void close() {
    broker.close();
  }

  /** The connection and the epoch of one of the CONNECTs. */
  private Owner owner(int connect) {
    return new Owner(broker.sessions.connects.get(connect).connection().number(), connect + 1L);
  }

  private List<Long> missing(Owner... owners) throws Exception {
    return broker.frontend().connections(0).missing(List.of(owners)).get(60, TimeUnit.SECONDS);
  }

  private void compares(Owner... there) throws Exception {
    broker.frontend().connections(0).comparing();
    assertThat(missing(there)).isEmpty();
    broker.frontend().connections(0).compared();
  }

  @Test
  void connectionsThatNoSessionNamesAreEndedAndTheOthersStay() throws Exception {
    var clients = new ArrayList<LoopClient>();
    for (int i = 0; i < MANY; i++) clients.add(LoopClient.connected(broker.frontend(), i % LOOPS, (char) ('a' + i % 26), 0));

    compares(IntStream.range(0, MANY).filter(i -> i % 3 != 0).mapToObj(this::owner).toArray(Owner[]::new));

    for (int i = 0; i < MANY; i += 3) clients.get(i).hears("e0..89.*");
    for (int i = 0; i < MANY; i += 3) clients.get(i).hearsTheEnd();
    await().until(() -> broker.sessions.disconnected.size() == MANY / 3);
    for (int i = 0; i < MANY; i++) if (i % 3 != 0) clients.get(i).hearsNothing();
  }

  /** The tier that was to tell so was replaced before it did. */
  @Test
  void oneWhoseSessionAnotherConnectionHasIsToldSo() throws Exception {
    LoopClient taken = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    LoopClient lost = LoopClient.connected(broker.frontend(), 0, 'b', 60);
    LoopClient unknown = LoopClient.connected(broker.frontend(), 1, 'c', 60);
    LoopClient named = LoopClient.connected(broker.frontend(), 1, 'd', 60);
    var later = new CompletableFuture<Boolean>();
    broker.sessions.takenOver.put(owner(0).epoch(), later);
    broker.sessions.takenOver.put(owner(2).epoch(), CompletableFuture.failedFuture(new StoreException("no answer")));

    compares(owner(3));

    lost.hears("e0..89.*");
    unknown.hears("e0..89.*");
    taken.hearsNothing();
    later.complete(true);
    taken.hears("e0..8e.*");
    taken.hearsTheEnd();
    named.hearsNothing();
    assertThat(broker.sessions.fetches).hasSize(1);
  }

  @Test
  void aComparisonConcernsTheConnectionsOfOneRange() throws Exception {
    LoopClient durable = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    LoopClient named = LoopClient.connected(broker.frontend(), 0, 'B', 60);
    LoopClient other = LoopClient.connected(broker.frontend(), 0, 'C', 60);
    broker.frontend().connections(0).comparing();
    assertThat(missing(owner(0))).isEmpty();

    var second = broker.frontend().connections(1);
    second.comparing();
    assertThat(second.missing(List.of(owner(1))).get(60, TimeUnit.SECONDS)).isEmpty();
    second.compared();

    other.hears("e0..89.*");
    await().until(() -> broker.sessions.fetches.size() == 1);
    durable.hearsNothing();
    named.hearsNothing();
    broker.frontend().connections(0).compared();
    await().until(() -> broker.sessions.fetches.size() == 2);
    durable.hearsNothing();
  }

  @Test
  void whatIsNotThereOrHasAnotherEpochIsMissing() throws Exception {
    LoopClient first = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    LoopClient second = LoopClient.connected(broker.frontend(), 1, 'b', 60);
    broker.frontend().connections(0).comparing();

    var another = new Owner(owner(1).connection(), owner(1).epoch() + 1);
    assertThat(missing(owner(0), another, new Owner(1_000, 1), new Owner(1_001, 1))).containsExactlyInAnyOrder(another.connection(), 1_000L, 1_001L);
    broker.frontend().connections(0).compared();

    second.hears("e0..89.*");
    first.hearsNothing();
  }

  @Test
  void oneWhoseEndIsStillToBeToldIsThere() throws Exception {
    LoopClient client = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    broker.sessions.refusesDisconnects = true;
    client.close();

    compares(owner(0));

    broker.sessions.refusesDisconnects = false;
    await().until(() -> broker.sessions.disconnected.contains(1L));
    broker.frontend().connections(0).comparing();
    await().untilAsserted(() -> assertThat(missing(owner(0))).containsExactly(owner(0).connection()));
  }

  @Test
  void whoIsBeingOpenedIsNotThereAndStaysWhenTheTierAnswersLater() throws Exception {
    broker.sessions.connectGate = new CompletableFuture<>();
    LoopClient client = LoopClient.connecting(broker.frontend(), 0, 'a', 0);
    client.hearsNothing();
    broker.frontend().connections(0).comparing();
    assertThat(missing(owner(0))).containsExactly(owner(0).connection());
    broker.frontend().connections(0).compared();
    client.hearsNothing();

    broker.sessions.connectGate.complete(null);

    client.hears("20.*");
    client.hearsNothing();
    compares(owner(0));
    client.hearsNothing();
  }

  @Test
  void aComparisonThatBeginsAgainKnowsNothingOfTheOneBefore() throws Exception {
    LoopClient client = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    LoopClient other = LoopClient.connected(broker.frontend(), 0, 'b', 60);
    broker.frontend().connections(0).comparing();
    assertThat(missing(owner(0), owner(1))).isEmpty();

    compares(owner(1));

    client.hears("e0..89.*");
    other.hearsNothing();
  }

  /** Messages are in flight, acknowledged, and on their way: each comes once, in its order, and what was acknowledged is acknowledged again. */
  @Test
  void aDurableOneReadsItsInboxAgain() throws Exception {
    LoopClient client = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    for (int sequence = 1; sequence <= 3; sequence++) push(message(sequence));
    client.hears(".*6d31.*6d32.*6d33");
    client.send("40020002");
    await().until(() -> broker.sessions.acknowledged.equals(List.of(2L)));

    compares(owner(0));

    await().until(() -> broker.sessions.fetches.size() == 1);
    assertThat(broker.sessions.fetches.getFirst().fromSequence()).isEqualTo(1);
    push(message(5));
    broker.sessions.fetches.getFirst().page().complete(new Page(List.of(message(1), message(2)), 3, false));
    await().until(() -> broker.sessions.fetches.size() == 2);
    assertThat(broker.sessions.fetches.get(1).fromSequence()).isEqualTo(3);
    broker.sessions.fetches.get(1).finds(message(3), message(4), message(5));
    client.hears("(?!.*6d3[123]).*6d34.*6d35");
    assertThat(broker.sessions.acknowledged).containsExactly(2L, 2L);
    client.send("40020001" + "40020003" + "40020004" + "40020005");
    await().until(() -> broker.sessions.acknowledged.equals(List.of(2L, 2L, 1L, 3L, 4L, 5L)));
    push(message(6));
    client.hears(".*6d36");
  }

  @Test
  void onlySoManyInboxesAreReadAgainAtATime() throws Exception {
    for (int i = 0; i < MANY; i++) LoopClient.connected(broker.frontend(), 0, (char) ('a' + i % 26), 60);
    compares(IntStream.range(0, MANY).mapToObj(this::owner).toArray(Owner[]::new));

    int read = 0;
    for (int expected : new int[] {256, 512, MANY}) {
      await().until(() -> broker.sessions.fetches.size() == expected);
      broker.on(0, () -> true);
      assertThat(broker.sessions.fetches).hasSize(expected);
      for (; read < expected; read++) broker.sessions.fetches.get(read).finds();
    }
    await().until(() -> broker.on(0, () -> broker.connections(0).sessions().readsAgain() == 0));
  }

  private void push(InboxMessage message) {
    broker.frontend().connections().push(broker.sessions.connects.getFirst().connection(), message);
  }

  private static InboxMessage message(long sequence) {
    return new InboxMessage(sequence, QoS.AT_LEAST_ONCE, false, false, false, new int[0], OpenFrontend.message("m" + sequence));
  }
}

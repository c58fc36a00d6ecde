package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.LoopClient;
import dunlin.broker.OpenFrontend;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A frontend that begins its next life ends all connections of the one before. */
class LivesTest {
  private static final int LOOPS = 2;

  /** More than a loop ends in one go. */
  private static final int MANY = 600;

  private final OpenFrontend broker = new OpenFrontend(LOOPS);

  @AfterEach
  void close() {
    broker.close();
  }

  private ConnectionId connection(int connect) {
    return broker.sessions.connects.get(connect).connection();
  }

  @Test
  void allConnectionsWithSessionsAreEnded() {
    var clients = new ArrayList<LoopClient>();
    for (int i = 0; i < MANY; i++) clients.add(LoopClient.connected(broker.frontend(), i % LOOPS, (char) ('a' + i % 26), i % 3 * 30));

    broker.frontend().sessionTierLost(0);

    for (LoopClient client : clients) client.hears("e0..89.*");
    for (LoopClient client : clients) client.hearsTheEnd();
    await().until(() -> broker.sessions.disconnected.size() == MANY);
  }

  @Test
  void whoComesLaterStaysAndBelongsToANewLife() {
    LoopClient before = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    long life = broker.frontend().sessionTierLost(0);
    LoopClient later = LoopClient.connected(broker.frontend(), 0, 'b', 60);
    before.hearsTheEnd();

    assertThat(connection(1).incarnation()).isEqualTo(life).isGreaterThan(connection(0).incarnation());
    assertThat(broker.frontend().life(0)).isEqualTo(life);
    later.hearsNothing();
    broker.frontend().connections().dismissed(connection(1));
    later.hears("e0..98.*");
  }

  @Test
  void theLossOfOneRangeLeavesTheClientsOfOthers() {
    var clients = new ArrayList<LoopClient>();
    var others = new ArrayList<LoopClient>();
    for (int i = 0; i < MANY; i++) clients.add(LoopClient.connected(broker.frontend(), i % LOOPS, (char) ('A' + i % 26), i % 3 * 30));
    for (int i = 0; i < 10; i++) others.add(LoopClient.connected(broker.frontend(), i % LOOPS, (char) ('a' + i), i % 3 * 30));
    long life = broker.frontend().life(0);
    assertThat(connection(0).incarnation()).isEqualTo(broker.frontend().life(1)).isNotEqualTo(life);

    long next = broker.frontend().sessionTierLost(1);

    for (LoopClient client : clients) client.hears("e0..89.*");
    await().until(() -> broker.sessions.disconnected.size() == MANY);
    for (LoopClient client : others) client.hearsNothing();
    assertThat(broker.frontend().life(0)).isEqualTo(life);
    LoopClient.connected(broker.frontend(), 0, 'Z', 60);
    LoopClient.connected(broker.frontend(), 0, 'z', 60);
    assertThat(connection(MANY + 10).incarnation()).isEqualTo(next).isEqualTo(broker.frontend().life(1));
    assertThat(connection(MANY + 11).incarnation()).isEqualTo(life);
    assertThat(broker.frontend().sessionTierLost(0)).as("no two ranges have the same life").isGreaterThan(next);
  }

  /** Its client has sent it while the process stood still, and goes on at another node, where later ones may have been delivered. */
  @Test
  void whatIsReadWithoutALeaseIsNotPublished() {
    LoopClient client = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    broker.leased = false;

    client.send(LoopClient.publish(0x32, 1, "late"));

    client.hears("e0..89.*");
    client.hearsTheEnd();
    assertThat(broker.dist.published).isEmpty();
  }

  /** It lay in the socket while the process stood still, and its client may have connected elsewhere since. */
  @Test
  void aConnectThatIsReadWithoutALeaseTakesNoSession() {
    broker.leased = false;

    LoopClient client = LoopClient.connecting(broker.frontend(), 1, 'a', 60);

    client.hears("20..0088.*");
    client.hearsTheEnd();
    assertThat(broker.sessions.connects).isEmpty();
  }

  /** The process stood still while its session was being opened, and the others have counted the connection as lost. */
  @Test
  void oneThatIsOpenedWithoutALeaseIsRefused() {
    broker.sessions.connectGate = new CompletableFuture<>();
    LoopClient client = LoopClient.connecting(broker.frontend(), 1, 'a', 60);
    client.hearsNothing();
    broker.leased = false;

    broker.sessions.connectGate.complete(null);

    client.hears("20..0088.*");
    client.hearsTheEnd();
    await().untilAsserted(() -> assertThat(broker.sessions.disconnected).containsExactly(1L));
  }

  /** Its call fails with the tier, and what the tier says later comes too late. */
  @Test
  void oneThatIsBeingOpenedIsRefused() {
    broker.sessions.connectGate = new CompletableFuture<>();
    LoopClient client = LoopClient.connecting(broker.frontend(), 1, 'a', 60);
    client.hearsNothing();

    broker.frontend().sessionTierLost(0);

    client.hears("20..0088.*");
    client.hearsTheEnd();
    broker.sessions.connectGate.complete(null);
    await().untilAsserted(() -> assertThat(broker.sessions.disconnected).containsExactly(1L));
  }

  @Test
  void pushesFindConnectionsOfThisProcessAlone() {
    LoopClient client = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    ConnectionId present = connection(0);
    var message =
        new InboxMessage(
            0, QoS.AT_MOST_ONCE, false, false, false, new int[0],
            Publication.of(new Publisher("default", "p"), "t", QoS.AT_MOST_ONCE, false, System.currentTimeMillis(), new byte[] {'x'}));

    for (var other : List.of(
        new ConnectionId("another", present.incarnation(), present.number()),
        new ConnectionId(present.frontend(), present.incarnation() + (1L << 20), present.number()),
        new ConnectionId(present.frontend(), 0, present.number()))) {
      broker.frontend().connections().push(other, message);
      broker.frontend().connections().displaced(other);
    }
    client.hearsNothing();
    broker.frontend().connections().push(present, message);
    client.hears("30.*");
  }

  @Test
  void oneThatIsBehindReadsItsInbox() {
    LoopClient client = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    broker.frontend().connections().behind(connection(0));
    await().until(() -> !broker.sessions.fetches.isEmpty());
    client.hearsNothing();
  }
}

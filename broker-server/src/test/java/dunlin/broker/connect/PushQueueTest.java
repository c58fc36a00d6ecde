package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import dunlin.broker.LoopClient;
import dunlin.broker.OpenFrontend;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.runtime.DropReason;
import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Trace.Event;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Stored messages in flight from the session tier to a busy event loop. */
class PushQueueTest {
  private final OpenFrontend broker = new OpenFrontend(2);
  private final CountDownLatch busy = new CountDownLatch(1);

  @AfterEach
  void closes() {
    busy.countDown();
    broker.close();
  }

  private static InboxMessage stored(long sequence, QoS qos, String payload) {
    var publisher = new Publisher(Publisher.DEFAULT_TENANT, "p");
    var message = Publication.of(publisher, "t", qos, false, 1, payload.getBytes(StandardCharsets.UTF_8));
    return new InboxMessage(sequence, qos, false, false, false, new int[0], message);
  }

  private static InboxMessage stored(long sequence) {
    return stored(sequence, QoS.AT_LEAST_ONCE, "m" + sequence);
  }

  private static String delivery(int packetId, int sequence) {
    return LoopClient.publish(0x32, packetId, "m" + sequence);
  }

  private ConnectionId connection(int number) {
    return broker.sessions.connects.get(number).connection();
  }

  @Test
  void aBusyLoopGetsOneTurnForAllThatIsPushedMeanwhile() {
    LoopClient one = LoopClient.connected(broker.frontend(), 1, 'a', 60);
    LoopClient two = LoopClient.connected(broker.frontend(), 1, 'b', 60);
    broker.keepBusy(1, busy);

    for (int i = 1; i <= 3; i++) {
      broker.frontend().connections().push(connection(0), stored(i));
      broker.frontend().connections().push(connection(1), stored(i));
    }
    assertThat(broker.loop(1).arrivalsWaiting()).isEqualTo(1);
    assertThat(broker.meters.get("dunlin.push.waiting").gauge().value()).isEqualTo(6);
    assertThat(broker.meters.get("dunlin.push.waiting.oldest").gauge().value()).isPositive();

    busy.countDown();
    one.hears(delivery(1, 1) + delivery(2, 2) + delivery(3, 3));
    two.hears(delivery(1, 1) + delivery(2, 2) + delivery(3, 3));
    assertThat(broker.meters.get("dunlin.push.waiting").gauge().value()).isZero();
    assertThat(broker.meters.get("dunlin.push.waiting.bytes").gauge().value()).isZero();
  }

  @Test
  void aConnectionThatMissedAPushIsNotifiedOnceAndReadsItsInbox() {
    LoopClient one = LoopClient.connected(broker.frontend(), 1, 'a', 60);
    LoopClient two = LoopClient.connected(broker.frontend(), 1, 'b', 60);
    var queue = new PushQueue(broker.connections(1), 2, 1_000);
    broker.keepBusy(1, busy);

    for (int i = 1; i <= 4; i++) queue.offer(connection(0).number(), stored(i));
    queue.offer(connection(1).number(), stored(1));
    assertThat(queue.messages()).isEqualTo(2);
    assertThat(queue.notes()).isEqualTo(2);
    busy.countDown();

    one.hears(delivery(1, 1) + delivery(2, 2));
    await().until(() -> broker.sessions.fetches.size() == 2);
    assertThat(broker.sessions.fetches.get(0).fromSequence()).isEqualTo(3);
    assertThat(broker.sessions.fetches.get(1).fromSequence()).isEqualTo(1);
    broker.sessions.fetches.get(0).finds(stored(3), stored(4));
    broker.sessions.fetches.get(1).finds(stored(1));
    one.hears(delivery(3, 3) + delivery(4, 4));
    two.hears(delivery(1, 1));

    queue.offer(connection(0).number(), stored(5));
    one.hears(delivery(5, 5));
    assertThat(broker.sessions.fetches).as("no connection is behind any more").hasSize(2);
    assertThat(queue.messages()).isZero();
    assertThat(queue.bytes()).isZero();
  }

  @Test
  void theBytesOfAMessageForManyCountOnceAndThoseOfManyAreBounded() {
    var queue = new PushQueue(broker.connections(1), 1_000, 1_000);
    broker.keepBusy(1, busy);
    InboxMessage large = stored(1, QoS.AT_LEAST_ONCE, "x".repeat(700));

    for (int i = 0; i < 10; i++) queue.offer(100 + i, large);
    assertThat(queue.bytes()).isBetween(700L, 800L);
    queue.offer(1, stored(2, QoS.AT_LEAST_ONCE, "y".repeat(700)));
    queue.offer(2, stored(3, QoS.AT_LEAST_ONCE, "z"));
    assertThat(queue.messages()).as("the last one found it full").isEqualTo(11);
    assertThat(queue.notes()).isEqualTo(1);

    busy.countDown();
    await().until(() -> queue.messages() == 0 && queue.bytes() == 0);
  }

  @Test
  @Tag("drop:session:overloaded")
  void qos0ThatFindsItFullIsDroppedCountedAndTraced() {
    LoopClient one = LoopClient.connected(broker.frontend(), 1, 'a', 60);
    var queue = new PushQueue(broker.connections(1), 1, 1_000);
    long dropped = broker.frontend().copies().dropped(DropReason.OVERLOADED);
    Trace trace = broker.tracer.begin("t", Publisher.DEFAULT_TENANT, "p", "t", "", Duration.ofMinutes(10));
    broker.keepBusy(1, busy);

    queue.offer(connection(0).number(), stored(1));
    queue.offer(connection(0).number(), stored(0, QoS.AT_MOST_ONCE, "q"));
    busy.countDown();

    one.hears(delivery(1, 1));
    await().until(() -> broker.frontend().copies().dropped(DropReason.OVERLOADED) == dropped + 1);
    assertThat(trace.read(0, 100).events())
        .filteredOn(event -> event.step().equals("dropped"))
        .extracting(Event::hop, Event::reason)
        .containsExactly(tuple("session", DropReason.OVERLOADED.tag()));
    assertThat(queue.notes()).isZero();
  }

  @Test
  void messagesPushedBeforeConnectIsAnsweredAreReadFromTheInbox() {
    broker.sessions.connectGate = new CompletableFuture<>();
    LoopClient client = LoopClient.connecting(broker.frontend(), 1, 'a', 60);
    await().until(() -> broker.sessions.connects.size() == 1);

    broker.frontend().connections().push(connection(0), stored(1));
    client.hearsNothing();
    assertThat(broker.sessions.fetches).isEmpty();
    broker.sessions.connectGate.complete(null);

    client.hears("20.*");
    await().until(() -> broker.sessions.fetches.size() == 1);
    broker.sessions.fetches.getFirst().finds(stored(1));
    client.hears(delivery(1, 1));
  }
}

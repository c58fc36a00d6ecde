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
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** QoS 0 messages for durable sessions, in flight from a publisher's lane to the loops of their connections. */
class DirectCopyTest {
  private final OpenFrontend broker = new OpenFrontend(2);
  private final CountDownLatch busy = new CountDownLatch(1);

  @AfterEach
  void closes() {
    busy.countDown();
    broker.close();
  }

  private static InboxMessage qos0(String payload) {
    var publisher = new Publisher(Publisher.DEFAULT_TENANT, "p");
    var message = Publication.of(publisher, "t", QoS.AT_MOST_ONCE, false, 1, payload.getBytes(StandardCharsets.UTF_8));
    return new InboxMessage(0, QoS.AT_MOST_ONCE, false, false, false, new int[0], message);
  }

  private ConnectionId lastConnection() {
    return broker.sessions.connects.getLast().connection();
  }

  @Test
  void holdsCreditOfTheLaneUntilTheOtherLoopHasIt() {
    LoopClient subscriber = LoopClient.connected(broker.frontend(), 1, 's', 60);
    ConnectionId connection = lastConnection();
    broker.keepBusy(1, busy);

    int messages = 3 * OpenFrontend.LANE_MESSAGES;
    StringBuilder expected = new StringBuilder();
    for (int i = 0; i < messages; i++) expected.append("3006000174").append("00").append("%02x%02x".formatted('a' + i / 26, 'a' + i % 26));
    broker.on(
        0,
        () -> {
          for (int i = 0; i < messages; i++) {
            broker.frontend().connections().push(connection, qos0("" + (char) ('a' + i / 26) + (char) ('a' + i % 26)));
          }
          assertThat(broker.loop(0).window().messages()).isEqualTo(messages);
          assertThat(broker.loop(0).window().exhausted()).isTrue();
          return true;
        });
    broker.on(0, () -> true);
    assertThat(broker.loop(1).arrivalsWaiting()).as("one batch of the round").isEqualTo(1);

    busy.countDown();
    subscriber.hears(expected.toString());
    await().until(() -> broker.on(0, () -> broker.loop(0).window().messages()) == 0);
  }

  @Test
  void aPublisherOfAnotherLoopIsNotReadFromUntilItsCopiesHaveArrived() {
    LoopClient subscriber = LoopClient.connected(broker.frontend(), 1, 's', 60);
    ConnectionId connection = lastConnection();
    LoopClient publisher = LoopClient.connected(broker.frontend(), 0, 'p', 0);
    broker.dist.onAppend = message -> broker.frontend().connections().push(connection, qos0(new String(message.payload(), StandardCharsets.UTF_8)));
    broker.keepBusy(1, busy);

    int messages = 2 * OpenFrontend.LANE_MESSAGES;
    publisher.send(("3006000174" + "00" + "6d6d").repeat(messages));
    assertThat(broker.dist.published).hasSize(OpenFrontend.LANE_MESSAGES);

    busy.countDown();
    await().untilAsserted(() -> assertThat(broker.dist.published).hasSize(messages));
    subscriber.hears(("3006000174" + "00" + "6d6d").repeat(messages));
    await().until(() -> broker.on(0, () -> broker.loop(0).window().messages()) == 0);
  }

  @Test
  void reachesAConnectionOfTheSameLoopAtOnceWithoutCredit() {
    LoopClient subscriber = LoopClient.connected(broker.frontend(), 0, 's', 60);
    ConnectionId connection = lastConnection();

    broker.on(
        0,
        () -> {
          broker.frontend().connections().push(connection, qos0("mm"));
          assertThat(broker.loop(0).window().messages()).isZero();
          return true;
        });

    subscriber.hears("3006000174" + "00" + "6d6d");
  }

  @Test
  void isCountedWhenItsConnectionHasEnded() {
    LoopClient subscriber = LoopClient.connected(broker.frontend(), 1, 's', 60);
    ConnectionId connection = lastConnection();
    subscriber.close();
    long received = broker.frontend().copies().received();
    long dropped = broker.frontend().copies().dropped();

    broker.on(
        0,
        () -> {
          broker.frontend().connections().push(connection, qos0("mm"));
          return true;
        });

    await().until(() -> broker.on(0, () -> broker.loop(0).window().messages()) == 0);
    assertThat(broker.frontend().copies().received()).isEqualTo(received + 1);
    assertThat(broker.frontend().copies().dropped()).isEqualTo(dropped + 1);
  }
}

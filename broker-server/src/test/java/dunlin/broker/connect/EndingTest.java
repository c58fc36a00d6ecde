package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.LoopClient;
import dunlin.broker.OpenFrontend;
import dunlin.inbox.ConnectionId;
import dunlin.model.ReasonCode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The end of a connection is reported to the session tier before the client can notice it. */
class EndingTest {
  private static final String PUBLISH = LoopClient.publish(0x32, 7, "last");

  /** A DISCONNECT with Session Expiry Interval 0. */
  private static final String DISCONNECT = "e007" + "00" + "051100000000";

  private final OpenFrontend broker = new OpenFrontend(1);

  @AfterEach
  void close() {
    broker.close();
  }

  enum End {
    DISCONNECT {
      @Override
      void end(OpenFrontend broker, LoopClient client, ConnectionId connection) {
        client.send("e000");
      }
    },
    DISCONNECT_WITH_WILL {
      @Override
      void end(OpenFrontend broker, LoopClient client, ConnectionId connection) {
        client.send("e00104");
      }
    },
    MALFORMED_PACKET {
      @Override
      void end(OpenFrontend broker, LoopClient client, ConnectionId connection) {
        client.send("c100");
      }
    },
    VIOLATION {
      @Override
      void end(OpenFrontend broker, LoopClient client, ConnectionId connection) {
        client.send("f000");
      }
    },
    TAKEN_OVER {
      @Override
      void end(OpenFrontend broker, LoopClient client, ConnectionId connection) {
        broker.frontend().connections().displaced(connection);
      }
    },
    DISMISSED {
      @Override
      void end(OpenFrontend broker, LoopClient client, ConnectionId connection) {
        broker.frontend().connections().dismissed(connection);
      }
    };

    abstract void end(OpenFrontend broker, LoopClient client, ConnectionId connection);
  }

  /** The epochs of the sessions whose end was reported to the session tier when a client's channel closed. */
  private List<Long> toldWhenClosed(LoopClient client) {
    List<Long> told = Collections.synchronizedList(new ArrayList<>());
    client.whenClosed(() -> told.addAll(broker.sessions.disconnected));
    return told;
  }

  @ParameterizedTest
  @EnumSource
  void comesToTheSessionTierFirst(End end) {
    LoopClient online = LoopClient.connected(broker.frontend(), 0, 'a', 0);
    LoopClient durable = LoopClient.connected(broker.frontend(), 0, 'b', 60);
    List<Long> toldOfOnline = toldWhenClosed(online);
    List<Long> toldOfDurable = toldWhenClosed(durable);

    end.end(broker, online, broker.sessions.connects.get(0).connection());
    online.hearsTheEnd();
    end.end(broker, durable, broker.sessions.connects.get(1).connection());
    durable.hearsTheEnd();

    assertThat(toldOfOnline).containsExactly(1L);
    assertThat(toldOfDurable).containsExactly(1L, 2L);
    assertThat(broker.sessions.disconnected).as("once each").containsExactly(1L, 2L);
  }

  /** A durable session is left when all its publishes are answered. */
  @Test
  void ofADisconnectWaitsForPublishes() {
    broker.dist.answersLater = true;
    LoopClient client = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    List<Long> told = toldWhenClosed(client);
    client.send(PUBLISH + DISCONNECT);
    client.hearsNothing();
    assertThat(broker.sessions.disconnected).isEmpty();
    assertThat(client.isOpen()).isTrue();

    broker.dist.published.getFirst().answer(ReasonCode.SUCCESS);

    client.hearsTheEnd();
    assertThat(told).containsExactly(1L);
  }

  /** A connection that takes over the session has the same effect as such an end, so the end does not wait. */
  @Test
  void ofTheBrokersOwnDoesNotWaitForPublishes() {
    broker.dist.answersLater = true;
    LoopClient client = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    client.send(PUBLISH);

    broker.frontend().connections().dismissed(broker.sessions.connects.getFirst().connection());

    client.hears("e0..98.*");
    client.hearsTheEnd();
    assertThat(broker.sessions.disconnected).isEmpty();
    broker.dist.published.getFirst().answer(ReasonCode.SUCCESS);
    await().untilAsserted(() -> assertThat(broker.sessions.disconnected).containsExactly(1L));
  }

  @Test
  void sendsEarlierAnswersAndNothingAfterThem() {
    broker.dist.answersLater = true;
    LoopClient client = LoopClient.connected(broker.frontend(), 0, 'a', 60);
    client.send(PUBLISH);

    broker.on(
        0,
        () -> {
          client.send("c000" + "c100");
          broker.dist.published.getFirst().answer(ReasonCode.SUCCESS);
          return true;
        });

    client.hears("d000" + "e0..81.*");
    client.hearsTheEnd();
    client.hearsNothing();
  }
}

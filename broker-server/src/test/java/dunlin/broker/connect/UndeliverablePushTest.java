package dunlin.broker.connect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.OpenFrontend;
import dunlin.broker.codec.Wire;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.model.QoS;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Pushes of the session tier for connections that do not exist. */
final class UndeliverablePushTest {
  private final OpenFrontend open = new OpenFrontend(2);

  @AfterEach
  void close() {
    open.close();
  }

  private void push(long connection) {
    open.frontend().connections().push(
        new ConnectionId("node", open.frontend().life(0), connection),
        new InboxMessage(1, QoS.AT_LEAST_ONCE, false, false, false, new int[0], OpenFrontend.message("m")));
    int loop = (int) (connection % 2);
    open.on(loop, () -> null);
    open.on(loop, () -> null);
  }

  private double undeliverable() {
    return open.meters.get("dunlin.frontend.pushes-undeliverable").counter().count();
  }

  @Test
  void aMissingConnectionIsReportedToTheSessionTier() {
    push(9);

    assertThat(open.sessions.missing).containsExactly(new ConnectionId("node", open.frontend().life(0), 9), new ConnectionId("node", open.frontend().life(1), 9));
    assertThat(undeliverable()).isEqualTo(1);
  }

  @Test
  void aConnectionWhoseEndIsBeingReportedIsNotMissing() throws Exception {
    open.sessions.refusesDisconnects = true;
    var channel = open.client(Wire.packet(0x10, Wire.text("MQTT"), 5, 0x02, Wire.u16(60), 0, Wire.text("c")));
    long number = open.sessions.connects.getFirst().connection().number();
    open.on(0, () -> channel.close().await(1_000));
    push(number);
    assertThat(open.sessions.missing).isEmpty();
    assertThat(undeliverable()).isEqualTo(1);
    assertThat(open.meters.get("dunlin.frontend.leaving").gauge().value()).isEqualTo(1);

    open.sessions.refusesDisconnects = false;
    await().until(() -> open.meters.get("dunlin.frontend.leaving").gauge().value() == 0);
    assertThat(open.sessions.disconnected).containsExactly(1L);
    push(number);
    assertThat(open.sessions.missing).as("to both ranges").extracting(ConnectionId::number).containsExactly(number, number);
  }
}

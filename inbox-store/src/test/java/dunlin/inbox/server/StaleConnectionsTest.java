package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.range.RangeHarness;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.model.QoS;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests stale connections with a timer and proposals that the test controls. */
final class StaleConnectionsTest {
  private final RangeHarness h = new RangeHarness();
  private final List<ConnectionId> proposed = new ArrayList<>();
  private boolean full;
  private final StaleConnections stale =
      new StaleConnections(
          h.range.state(),
          (session, connection) -> {
            if (full) return false;
            proposed.add(connection);
            h.apply(new SessionCommand.ConnectionGone(h.now, session.tenant(), session.clientId(), connection));
            return true;
          });

  private void turns() {
    for (int i = 0; i < StaleConnections.LOOK_TURNS; i++) stale.again();
  }

  @Test
  void theSessionOfAMissingConnectionIsFoundAndItsConnectionEnded() {
    var gone = h.connect("gone", false, 60, new InboxClient.Will(h.message("gone", "wills", QoS.AT_LEAST_ONCE, "will"), 0));
    h.connect("other");
    stale.missing(new ConnectionId("node", 1, 1));
    stale.missing(new ConnectionId("node", 1, 77));

    turns();

    assertThat(proposed).containsExactly(new ConnectionId("node", 1, 1));
    assertThat(h.state(gone.session()).owner()).isNull();
    assertThat(h.range.state().dueWills).hasSize(1);
    assertThat(h.range.state().onlineCount.get()).isEqualTo(1);
    assertThat(stale.waiting()).isZero();
    turns();
    assertThat(proposed).hasSize(1);
  }

  @Test
  void aSessionThatHasAnotherConnectionByThenKeepsIt() {
    h.connect("c");
    stale.end(new SessionKey(RangeHarness.TENANT, "c"), new ConnectionId("node", 1, 1));
    var second = h.connect("c");

    stale.again();

    assertThat(proposed).hasSize(1);
    assertThat(h.state(second.session()).owner()).isEqualTo(new ConnectionId("node", 1, 2));
  }

  @Test
  void anEndIsProposedUntilItIsAccepted() {
    var session = h.connect("c").session();
    full = true;
    stale.end(new SessionKey(RangeHarness.TENANT, "c"), new ConnectionId("node", 1, 1));
    for (int i = 0; i < 100; i++) stale.again();
    assertThat(stale.waiting()).isEqualTo(1);
    full = false;
    stale.again();

    assertThat(h.state(session).owner()).isNull();
    assertThat(stale.waiting()).isZero();
  }

  @Test
  void theNumberOfMissingConnectionsIsBounded() {
    for (int i = 0; i < 5_000; i++) stale.missing(new ConnectionId("node", 1, 1_000 + i));

    assertThat(stale.waiting()).isEqualTo(1_024);
  }
}

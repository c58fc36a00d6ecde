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

/** Tests ghosts with a timer and proposals that the test controls. */
final class GhostsTest {
  private final RangeHarness h = new RangeHarness();
  private final List<ConnectionId> proposed = new ArrayList<>();
  private boolean full;
  private final Ghosts ghosts =
      new Ghosts(
          h.range.state(),
          (session, connection) -> {
            if (full) return false;
            proposed.add(connection);
            h.apply(new SessionCommand.ConnectionGone(h.now, session.tenant(), session.clientId(), connection));
            return true;
          });

  private void turns() {
    for (int i = 0; i < Ghosts.LOOK_TURNS; i++) ghosts.again();
  }

  @Test
  void theSessionOfAMissingConnectionIsFoundAndItsConnectionEnded() {
    var ghost = h.connect("ghost", false, 60, new InboxClient.Will(h.message("ghost", "wills", QoS.AT_LEAST_ONCE, "will"), 0));
    h.connect("other");
    ghosts.missing(new ConnectionId("node", 1, 1));
    ghosts.missing(new ConnectionId("node", 1, 77));

    turns();

    assertThat(proposed).containsExactly(new ConnectionId("node", 1, 1));
    assertThat(h.state(ghost.session()).owner()).isNull();
    assertThat(h.range.state().dueWills).hasSize(1);
    assertThat(h.range.state().onlineCount.get()).isEqualTo(1);
    assertThat(ghosts.waiting()).isZero();
    turns();
    assertThat(proposed).hasSize(1);
  }

  @Test
  void aSessionThatHasAnotherConnectionByThenKeepsIt() {
    h.connect("c");
    ghosts.end(new SessionKey(RangeHarness.TENANT, "c"), new ConnectionId("node", 1, 1));
    var second = h.connect("c");

    ghosts.again();

    assertThat(proposed).hasSize(1);
    assertThat(h.state(second.session()).owner()).isEqualTo(new ConnectionId("node", 1, 2));
  }

  @Test
  void anEndIsProposedUntilItIsAccepted() {
    var session = h.connect("c").session();
    full = true;
    ghosts.end(new SessionKey(RangeHarness.TENANT, "c"), new ConnectionId("node", 1, 1));
    for (int i = 0; i < 100; i++) ghosts.again();
    assertThat(ghosts.waiting()).isEqualTo(1);
    full = false;
    ghosts.again();

    assertThat(h.state(session).owner()).isNull();
    assertThat(ghosts.waiting()).isZero();
  }

  @Test
  void theNumberOfMissingConnectionsIsBounded() {
    for (int i = 0; i < 5_000; i++) ghosts.missing(new ConnectionId("node", 1, 1_000 + i));

    assertThat(ghosts.waiting()).isEqualTo(1_024);
  }
}

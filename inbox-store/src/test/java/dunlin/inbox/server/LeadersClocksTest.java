package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionRef;
import dunlin.model.QoS;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Leaders of the sessions whose clocks differ by minutes, one after another: nothing ends earlier or later than by their difference, however often they change. */
final class LeadersClocksTest {
  private static final long ERROR = 300_000;
  private static final long EXPIRY_SECONDS = 600;
  private static final long EXPIRY = EXPIRY_SECONDS * 1_000;

  private InboxNode node;

  /** The time by the right clock. */
  private long time;

  /** How far the leader's clock is ahead of it. */
  private long ahead;

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(null, 1, InboxSettings.defaults());
    time = node.now.get();
  }

  @AfterEach
  void close() {
    node.close();
  }

  /** Another node leads from now on. */
  private void leads(long clockAhead) throws Exception {
    ahead = clockAhead;
    node.now.set(time + ahead);
    node.leadAfterAnother(_ -> {});
  }

  private void passes(long millis) {
    time += millis;
    node.now.set(time + ahead);
  }

  private SessionRef session(String client) throws Exception {
    return node.connect(client).session();
  }

  private void leaves(SessionRef session) throws Exception {
    InboxNode.get(node.server.disconnect(session, false, EXPIRY_SECONDS));
  }

  private boolean comesBack(String client) throws Exception {
    return node.connect(client).sessionPresent();
  }

  @Test
  void aLeaderThatIsAheadEndsNoSessionEarlierThanByItsError() throws Exception {
    leaves(session("c"));

    leads(ERROR);
    passes(EXPIRY - ERROR - 1);

    assertThat(comesBack("c")).isTrue();
  }

  @Test
  void aSessionOfALeaderThatWasAheadEndsNoLaterThanByItsError() throws Exception {
    leads(ERROR);
    leaves(session("kept"));
    leaves(session("ended"));

    leads(0);
    passes(EXPIRY + ERROR - 1);
    assertThat(comesBack("kept")).isTrue();
    passes(1);
    assertThat(comesBack("ended")).isFalse();
  }

  @Test
  void aSessionOfALeaderThatWasBehindEndsNoEarlierThanByItsError() throws Exception {
    leads(-ERROR);
    leaves(session("c"));

    leads(0);
    passes(EXPIRY - ERROR - 1);

    assertThat(comesBack("c")).isTrue();
  }

  /** A session's time does not become shorter with each change. */
  @Test
  void errorsDoNotAddUp() throws Exception {
    leaves(session("c"));

    for (int i = 0; i < 10; i++) {
      leads(ERROR);
      leads(-ERROR);
    }
    leads(0);
    passes(EXPIRY - 1);

    assertThat(comesBack("c")).isTrue();
  }

  @Test
  void aDelayedWillIsSentNoLaterThanByTheError() throws Exception {
    leads(ERROR);
    var session = node.connect("c", new Will(node.message(QoS.AT_LEAST_ONCE, "gone"), 60)).session();
    InboxNode.get(node.server.disconnect(session, true, EXPIRY_SECONDS));

    leads(0);
    passes(60_000 + ERROR);

    await().atMost(InboxNode.PATIENCE).untilAsserted(() -> assertThat(node.wills).containsExactly("gone"));
  }

  @Test
  void aDelayedWillIsSentNoEarlierThanByTheError() throws Exception {
    var session = node.connect("c", new Will(node.message(QoS.AT_LEAST_ONCE, "gone"), ERROR / 1_000 + 60)).session();
    InboxNode.get(node.server.disconnect(session, true, EXPIRY_SECONDS));

    leads(ERROR);
    passes(59_000);
    session("in between"); // as below
    assertThat(node.wills).isEmpty();
    assertThat(node.connect("c").sessionPresent()).isTrue(); // which cancels a will that is not due

    leads(0);
    passes(ERROR + 60_000);
    session("another"); // its entry is behind a turn at which the will would have been due
    assertThat(node.wills).isEmpty();
  }

  @Test
  void aMessageExpiresNoEarlierOrLaterThanByTheError() throws Exception {
    for (String client : List.of("early", "late")) {
      var session = session(client);
      node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
      InboxNode.get(node.server.disconnect(session, false, 10 * EXPIRY_SECONDS));
    }
    node.publishExpiring("m", (int) EXPIRY_SECONDS);

    leads(ERROR);
    passes(EXPIRY - ERROR - 1);
    assertThat(page("early").messages()).hasSize(1);

    leads(-ERROR);
    passes(2 * ERROR + 1);
    assertThat(page("late").messages()).isEmpty();
  }

  private Page page(String client) throws Exception {
    var back = node.connect(client);
    return InboxNode.get(node.server.fetch(back.session(), back.firstUnacknowledged(), 10, 1 << 20));
  }
}

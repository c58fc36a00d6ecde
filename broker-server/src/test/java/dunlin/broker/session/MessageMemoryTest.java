package dunlin.broker.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.broker.Budgets;
import dunlin.broker.OpenFrontend;
import dunlin.broker.limit.NodeBudget;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.runtime.DropReason;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The messages that all sessions of a frontend hold together. */
class MessageMemoryTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final int LIMIT = 64 * 1_024;

  /** The bytes that the loop keeps in reserve. */
  private static final int RESERVE = 1_024;

  private static final String KILOBYTE = "x".repeat(1_000);
  private static final int[] NONE = {};

  private final NodeBudget budget = Budgets.of(new NodeBudget.Bounds(LIMIT, LIMIT, LIMIT, LIMIT, LIMIT, LIMIT, 16_384, 16_384));
  private final OpenFrontend open = new OpenFrontend(1, 1_000, budget);

  @AfterEach
  void closes() {
    open.close();
  }

  @Test
  void aMessageForManySessionsCountsOnce() {
    List<LiveSession> sessions = IntStream.range(0, 40).mapToObj(i -> open.session(0, "session " + i)).toList();
    Publication one = OpenFrontend.message(KILOBYTE);
    Publication other = OpenFrontend.message(KILOBYTE);

    for (LiveSession session : sessions) offer(session, one);
    for (LiveSession session : sessions) offer(session, other);
    long copies = 2L * sessions.size() * MessageMemory.COPY_BYTES;
    assertThat(used()).isBetween(copies + 2_000, copies + 2_000 + RESERVE);
    assertThat(open.frontend().copies().dropped()).isZero();

    for (LiveSession session : sessions) end(session);
    assertThat(used()).isLessThanOrEqualTo(RESERVE);
  }

  @Test
  void oneSessionGetsHalfAndAnotherIsServed() {
    LiveSession greedy = open.session(0, "greedy");
    LiveSession other = open.session(0, "other");

    for (int i = 0; i < 100; i++) offer(greedy, OpenFrontend.message(KILOBYTE));
    assertThat(used()).isBetween(LIMIT / 2L - 3_000, LIMIT / 2L + RESERVE);
    long dropped = open.frontend().copies().dropped(DropReason.QUEUE_FULL);
    assertThat(dropped).isBetween(70L, 80L);
    assertThat(budget.outgoing().refused()).isEqualTo(dropped);

    for (int i = 0; i < 5; i++) offer(other, OpenFrontend.message(KILOBYTE));
    assertThat(open.frontend().copies().dropped(DropReason.QUEUE_FULL)).isEqualTo(dropped);
  }

  @Test
  void manySessionsTogetherStayWithinTheBudget() {
    for (int i = 0; i < 200; i++) {
      LiveSession session = open.session(0, "session " + i);
      for (int j = 0; j < 5; j++) offer(session, OpenFrontend.message(KILOBYTE));
    }
    assertThat(used()).isBetween(LIMIT * 3L / 4, (long) LIMIT);
  }

  /** Even if the session holds nothing itself, and so never releases anything that would trigger a read. */
  @Test
  void aDurableSessionIsReadForWhenOthersReleaseMemory() {
    List<LiveSession> others = IntStream.range(0, 100).mapToObj(i -> open.session(0, "other " + i)).toList();
    for (LiveSession session : others) offer(session, OpenFrontend.message(KILOBYTE));
    LiveSession durable = open.session(0, "durable", true);
    var waiting = new InboxMessage(1, QoS.AT_LEAST_ONCE, false, false, false, NONE, OpenFrontend.message(KILOBYTE.repeat(10)));
    open.on(
        0,
        () -> {
          durable.inbox().pushed(waiting);
          return true;
        });
    assertThat(open.sessions.fetches).as("reads while there is no memory").isEmpty();

    for (LiveSession session : others) end(session);
    await().atMost(SOON).until(() -> open.sessions.fetches.size() == 1);
    open.sessions.fetches.getFirst().finds();
    end(durable);
    await().atMost(SOON).until(() -> used() <= RESERVE);
  }

  private void offer(LiveSession session, Publication message) {
    open.on(
        0,
        () -> {
          session.offer(message, SubscriptionOptions.of(QoS.AT_LEAST_ONCE), NONE);
          return true;
        });
  }

  private void end(LiveSession session) {
    open.on(
        0,
        () -> {
          session.end();
          return true;
        });
  }

  private long used() {
    return budget.outgoing().used();
  }
}

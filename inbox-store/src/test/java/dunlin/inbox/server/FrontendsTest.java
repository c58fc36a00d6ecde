package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.propose.DueWork;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.store.StoreException;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Several frontends of one server, which come and go, over a range in memory. */
@ParameterizedClass(name = "{0} ranges")
@ValueSource(ints = {1, 3})
final class FrontendsTest {
  @Parameter int ranges;

  private InboxNode node;

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(null, ranges, InboxSettings.defaults());
  }

  @AfterEach
  void close() {
    node.close();
  }

  private Will will(String payload) {
    return new Will(node.message(QoS.AT_LEAST_ONCE, payload), 0);
  }

  private void publishQos0(String payload) {
    node.deliver(node.message(QoS.AT_MOST_ONCE, payload), List.of(), null);
  }

  private double online() {
    return node.gauge("dunlin.inbox.online");
  }

  private double lost() {
    return node.gauge("dunlin.inbox.frontends-lost");
  }

  private double undeliverable() {
    return node.count("dunlin.inbox.pushes-undeliverable");
  }

  private static void assertRefused(CompletableFuture<?> call, String why) {
    assertThatThrownBy(() -> InboxNode.get(call)).hasCauseInstanceOf(StoreException.class).hasMessageContaining(why);
  }

  @Test
  void eachGetsWhatIsForItsOwnConnections() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    var two = TestFrontend.attached(node, "two", 1);
    one.subscribed("c1");
    two.subscribed("c2");
    two.subscribed("c3");

    assertThat(node.publish("m")).isEqualTo(ReasonCode.SUCCESS);
    publishQos0("q");

    assertThat(one.pushed).containsExactly("1 m", "1 q");
    assertThat(two.pushed).containsExactlyInAnyOrder("1 m", "2 m", "1 q", "2 q");
    assertThat(node.pushed).isEmpty();
    assertThat(undeliverable()).isZero();
  }

  @Test
  void aTakeOverComesToTheFrontendThatHadTheSession() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    var two = TestFrontend.attached(node, "two", 1);
    one.subscribed("c");

    var taken = two.connect("c");

    assertThat(taken.sessionPresent()).isTrue();
    assertThat(taken.displaced()).isEqualTo(one.connection(1));
    assertThat(one.displaced).containsExactly(1L);
    assertThat(two.displaced).isEmpty();
    var settled = node.server.settled(one.connection(1));
    assertThat(settled).isNotDone();
    one.settled.complete(null);
    assertThat(settled).isCompleted();
    node.publish("m");
    assertThat(one.pushed).isEmpty();
    assertThat(two.pushed).containsExactly("1 m");
  }

  @Test
  void anOperatorDisconnectsAtTheFrontendThatHasTheSession() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.connect("c");

    assertThat(node.server.operations().disconnect(InboxNode.TENANT, "c")).isTrue();

    assertThat(one.dismissed).containsExactly(1L);
    assertThat(node.dismissed).isEmpty();
  }

  @Test
  void theConnectionsOfOneThatIsDetachedAreLost() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    var two = TestFrontend.attached(node, "two", 1);
    InboxNode.get(one.connecting("c1", will("will")));
    var other = two.subscribed("c2");

    InboxNode.get(one.detach());

    assertThat(online()).isEqualTo(1);
    await().untilAsserted(() -> assertThat(node.wills).containsExactly("will"));
    node.now.addAndGet(3_600_000);
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(1));
    assertThat(node.count("dunlin.inbox.sessions-expired")).isEqualTo(1);
    node.publish("m");
    assertThat(two.pushed).containsExactly("1 m");
    InboxNode.get(node.server.released(other.session(), 0, 1));
    assertRefused(one.connecting("c1", null), "frontend one is not attached with incarnation 7");
  }

  @Test
  void allConnectionsAreLostAlsoWhenTheyTakeSeveralSteps() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    int sessions = 2 * DueWork.STEPS_MAX + 1;
    var connecting = new ArrayList<CompletableFuture<Connected>>();
    for (int i = 0; i < sessions; i++) connecting.add(one.connecting("c" + i, null));
    for (var each : connecting) InboxNode.get(each);
    assertThat(online()).isEqualTo(sessions);

    InboxNode.get(one.detach());

    assertThat(online()).isZero();
    assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(sessions);
  }

  @Test
  void whatIsForOneThatIsGoneIsCountedAndIfStoredWaits() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c");
    node.local().refusing = SessionCommand.FrontendGone.class;
    var detached = one.detach();

    assertThat(node.publish("m")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(undeliverable()).isEqualTo(1);
    assertThat(node.count("dunlin.inbox.dropped", "reason", "offline")).isZero();
    publishQos0("q");

    assertThat(undeliverable()).isEqualTo(2);
    assertThat(node.count("dunlin.inbox.dropped", "reason", "offline")).isEqualTo(1);
    assertThat(one.pushed).isEmpty();
    assertThat(detached).isNotDone();
    InboxNode.get(node.server.settled(one.connection(1))); // it is not asked
    node.local().refusing = null;
    InboxNode.get(detached);
    var again = node.connect("c");
    var page = InboxNode.get(node.server.fetch(again.session(), again.firstUnacknowledged(), 10, 1 << 20));
    assertThat(page.messages()).hasSize(1);
    node.assertBalance();
  }

  @Test
  void aRangeThatFailsDoesNotLoseThatOneIsGone() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    InboxNode.get(one.connecting("c", will("will")));
    node.local().refusing = SessionCommand.FrontendGone.class;

    var detached = one.detach();
    await().until(() -> node.local().refused.get() >= 3);
    assertThat(detached).isNotDone();
    assertThat(online()).isEqualTo(1);
    assertThat(lost()).isEqualTo(1);
    node.local().refusing = null;

    InboxNode.get(detached);
    assertThat(online()).isZero();
    await().untilAsserted(() -> assertThat(node.wills).containsExactly("will"));
    assertThat(lost()).isZero();
  }

  @Test
  void anEarlierLifeThatIsDetachedChangesNothing() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c");

    InboxNode.get(node.server.detach("one", 6));

    node.publish("m");
    assertThat(one.pushed).containsExactly("1 m");
    assertThat(online()).isEqualTo(1);
  }

  @Test
  void aLaterLifeTakesThePlaceOfAnEarlierOne() throws Exception {
    var before = TestFrontend.attached(node, "one", 7);
    InboxNode.get(before.connecting("c1", will("will")));
    before.subscribed("c2");

    var after = TestFrontend.attached(node, "one", 8);

    assertThat(online()).isZero();
    await().untilAsserted(() -> assertThat(node.wills).containsExactly("will"));
    assertRefused(before.connecting("c1", null), "not attached with incarnation 7");
    assertRefused(before.attach(), "is attached with incarnation 8");
    InboxNode.get(before.detach());
    after.subscribed("c2");
    node.publish("m");
    assertThat(after.pushed).containsExactly("1 m");
    assertThat(before.pushed).isEmpty();
  }

  @Test
  void oneLifeIsAttachedOnceAtATime() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    one.subscribed("c");
    var again = new TestFrontend(node, "one", 7);

    assertRefused(again.attach(), "is attached with incarnation 7");

    node.publish("m1");
    assertThat(one.pushed).containsExactly("1 m1");
    var detached = one.detach();
    InboxNode.get(again.attach());
    assertThat(detached).as("what it had before is lost before it has anything new").isCompleted();
    assertThat(online()).isZero();
    again.connect("c");
    node.publish("m2");
    assertThat(again.pushed).containsExactly("1 m2");
  }

  @Test
  void attachingFailsWithTheRangeAndMayBeTriedAgain() throws Exception {
    var one = new TestFrontend(node, "one", 7);
    node.local().refusing = SessionCommand.FrontendGone.class;

    assertRefused(one.attach(), "refused");

    assertRefused(one.connecting("c", null), "not attached");
    node.local().refusing = null;
    InboxNode.get(one.attach());
    one.connect("c");
    assertThat(online()).isEqualTo(1);
  }

  @Test
  void aFullRangeIsWaitedFor() throws Exception {
    node.local().full = true;
    var one = new TestFrontend(node, "one", 7);

    var attached = one.attach();
    assertThat(attached).isNotDone();
    assertRefused(one.connecting("c", null), "not attached");
    node.local().hasRoom();

    InboxNode.get(attached);
    one.connect("c");
  }

  @Test
  void oneThatIsDetachedBeforeItIsAttachedIsNotAttached() throws Exception {
    node.local().full = true;
    var one = new TestFrontend(node, "one", 7);
    var attached = one.attach();
    var detached = one.detach();

    node.local().hasRoom();

    assertRefused(attached, "was detached before it was attached");
    InboxNode.get(detached);
    assertRefused(one.connecting("c", null), "not attached");
  }

  @Test
  void nothingIsAttachedBeforeTheStartHasEnded() throws Exception {
    node.subscribe(node.connect("c").session(), "a", QoS.AT_LEAST_ONCE);
    node.gate = new CompletableFuture<>();
    var started = node.reopenWithoutFrontend();
    var one = new TestFrontend(node, "one", 7);

    var attached = one.attach();
    await().untilAsserted(() -> assertThat(lost()).isZero());
    assertThat(started).isNotDone();
    assertThat(attached).isNotDone();
    assertRefused(one.connecting("d", null), "not attached");
    node.gate.complete(null);

    InboxNode.get(started);
    InboxNode.get(attached);
    one.connect("d");
    assertThatThrownBy(() -> node.server.start()).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aConnectThatIsAppliedWhenItsFrontendIsGoneLeavesNoStaleConnection() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    node.local().full = true;
    var connecting = one.connecting("c", will("will"));
    node.local().refusing = SessionCommand.FrontendGone.class;
    var detached = one.detach();

    node.local().hasRoom();

    assertRefused(connecting, "not attached");
    await().untilAsserted(() -> assertThat(online()).isZero());
    await().untilAsserted(() -> assertThat(node.wills).containsExactly("will"));
    assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(1);
    assertThat(detached).isNotDone();
  }

  @Test
  void oneThatDoesNotComeBackWithinItsLeaseIsGone() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    InboxNode.get(one.connecting("c1", will("will")));
    node.connect("c2");
    var two = TestFrontend.attached(node, "two", 1);
    node.lease = Duration.ofMillis(1);
    two.subscribed("c3");
    InboxNode.get(node.reopenWithoutFrontend());

    await().untilAsserted(() -> assertThat(online()).isZero());

    await().untilAsserted(() -> assertThat(node.wills).containsExactly("will"));
    assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(3);
    InboxNode.get(two.attach());
    two.connect("c3");
    assertThat(online()).isEqualTo(1);
  }

  @Test
  void oneThatComesBackWithinItsLeaseKeepsItsConnections() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    var session = one.subscribed("c").session();
    InboxNode.get(node.reopenWithoutFrontend());
    assertThat(node.publish("m1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(one.pushed).isEmpty();
    assertThat(undeliverable()).isEqualTo(1);

    InboxNode.get(one.attach());

    assertThat(online()).isEqualTo(1);
    var page = InboxNode.get(node.server.fetch(session, 1, 10, 1 << 20));
    assertThat(page.messages()).hasSize(1);
    node.publish("m2");
    assertThat(one.pushed).containsExactly("1 m2");
  }

  @Test
  void oneThatFailsToTakeACallHoldsUpNoOther() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    var two = TestFrontend.attached(node, "two", 1);
    one.subscribed("c1");
    two.subscribed("c2");
    one.broken = true;

    assertThat(node.publish("m")).isEqualTo(ReasonCode.SUCCESS);
    two.connect("c1");

    assertThat(two.pushed).contains("1 m");
    assertThat(online()).isEqualTo(2);
  }

  @Test
  void connectionsOfAFrontendThatHasNotComeYetAreSettledOnceItHas() throws Exception {
    var lost = new LostFrontends((_, _, ended) -> ended.done(false));
    var frontends = new Frontends(CompletableFuture.completedFuture(null), lost, new InboxMeters(new SimpleMeterRegistry(), Tracer.idle()));
    var one = new TestFrontend(node, "one", 7);
    var settled = frontends.settled(one.connection(1));
    var never = frontends.settled(new ConnectionId("two", 1, 1));
    assertThat(settled).isNotDone();

    InboxNode.get(frontends.attach("one", 7, one));
    assertThat(settled).as("it is asked").isNotDone();
    one.settled.complete(null);

    assertThat(settled).isCompleted();
    assertThat(frontends.settled(new ConnectionId("one", 6, 1))).as("of an earlier life").isCompleted();
    InboxNode.get(never);
  }

  @Test
  void aFrontendWhoseLinkIsLostIsAskedAgainOnceItIsBack() throws Exception {
    var lost = new LostFrontends((_, _, ended) -> ended.done(false));
    var frontends = new Frontends(CompletableFuture.completedFuture(null), lost, new InboxMeters(new SimpleMeterRegistry(), Tracer.idle()));
    var one = new TestFrontend(node, "one", 7);
    InboxNode.get(frontends.attach("one", 7, one));
    var settled = frontends.settled(one.connection(1));
    one.settled.completeExceptionally(new StoreException("the link is lost"));
    assertThat(settled).isNotDone();

    var back = new TestFrontend(node, "one", 7);
    InboxNode.get(frontends.resume("one", 7, back, () -> CompletableFuture.completedFuture(null)));
    back.settled.complete(null);

    assertThat(settled).isCompleted();
  }

  @Test
  void connectionsOfAFrontendThatIsGoneAreNotWaitedFor() throws Exception {
    var lost = new LostFrontends((_, _, ended) -> ended.done(false));
    var frontends = new Frontends(CompletableFuture.completedFuture(null), lost, new InboxMeters(new SimpleMeterRegistry(), Tracer.idle()));
    var one = new TestFrontend(node, "one", 7);
    InboxNode.get(frontends.attach("one", 7, one));
    var before = frontends.settled(one.connection(1));
    one.settled.completeExceptionally(new StoreException("the link is lost"));
    assertThat(before).as("it may come back").isNotDone();

    InboxNode.get(frontends.detach("one", 7));

    assertThat(before).isCompleted();
    assertThat(frontends.settled(one.connection(2))).isCompleted();
    assertThat(frontends.settled(new ConnectionId("one", 6, 1))).isCompleted();
    assertThat(frontends.settled(new ConnectionId("one", 8, 1))).as("the next life may come").isNotDone();
  }

  @Test
  void whatIsNoPushGoesToTheLifeThatTheConnectionNamesOrNowhere() throws Exception {
    var lost = new LostFrontends((_, _, ended) -> ended.done(false));
    var frontends = new Frontends(CompletableFuture.completedFuture(null), lost, new InboxMeters(new SimpleMeterRegistry(), Tracer.idle()));
    var one = new TestFrontend(node, "one", 7);
    InboxNode.get(frontends.attach("one", 7, one));

    for (var connection : List.of(one.connection(1), new ConnectionId("one", 6, 2), new ConnectionId("one", 8, 3), new ConnectionId("two", 7, 4))) {
      frontends.behind(connection);
      frontends.displaced(connection);
      frontends.dismissed(connection);
      assertThat(frontends.settled(connection).isDone()).as("whether that life is over").isEqualTo(connection.incarnation() == 6);
      assertThat(frontends.isAttached(connection)).isEqualTo(connection.equals(one.connection(1)));
    }

    assertThat(one.behind).containsExactly(1L);
    assertThat(one.displaced).containsExactly(1L);
    assertThat(one.dismissed).containsExactly(1L);
  }

  @Test
  void theirNumberIsBounded() throws Exception {
    var first = TestFrontend.attached(node, "f", 1);
    for (int i = 2; i < Frontends.FRONTENDS_MAX; i++) TestFrontend.attached(node, "f" + i, 1);

    assertRefused(new TestFrontend(node, "one more", 1).attach(), "too many frontends");

    TestFrontend.attached(node, "f", 2);
    InboxNode.get(first.detach());
    assertRefused(new TestFrontend(node, "one more", 1).attach(), "too many frontends");
    InboxNode.get(node.server.detach("f", 2));
    TestFrontend.attached(node, "one more", 1);
  }

  @Test
  void whatCannotBeAFrontendIsRefused() {
    for (long incarnation : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE}) {
      assertThatThrownBy(() -> node.server.attach("one", incarnation, node)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> node.server.detach("one", incarnation)).isInstanceOf(IllegalArgumentException.class);
    }
    assertThatThrownBy(() -> node.server.attach("", 1, node)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> node.server.detach("", 1)).isInstanceOf(IllegalArgumentException.class);
    assertThat(lost()).isZero();
  }

  @Test
  void oneThatWasNeverAttachedHereMayBeDetached() throws Exception {
    InboxNode.get(node.server.detach("unknown", 3));

    node.connect("c");
    assertThat(online()).isEqualTo(1);
  }

  @Test
  void afterTheEndEverythingFails() throws Exception {
    var one = TestFrontend.attached(node, "one", 7);
    node.local().refusing = SessionCommand.FrontendGone.class;
    var detached = one.detach();

    node.close();

    assertRefused(detached, "was closed");
    assertRefused(one.attach(), "is closed");
    assertRefused(one.detach(), "is closed");
  }
}

package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OtherUserException;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.SessionExports;
import dunlin.inbox.SessionsMXBean.MessageRow;
import dunlin.inbox.StaleSessionException;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the server with a range in memory. */
@ParameterizedClass(name = "{0} ranges")
@ValueSource(ints = {1, 3})
final class InboxServerTest {
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

  @Test
  void messagesThatAFullRangeRefusesWaitInOrderAndAreAnsweredWhenTheyAreStored() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    node.publish("m1");

    node.local().full = true;
    var answers = new ArrayList<InboxNode.Answer>();
    for (int i = 2; i <= 5; i++) {
      var answer = new InboxNode.Answer();
      answers.add(answer);
      // As if there were room in between: waiting commands must not be overtaken.
      if (i == 5) node.local().full = false;
      node.deliver(node.message(QoS.AT_LEAST_ONCE, "m" + i), List.of(), answer);
    }
    node.local().full = true;
    node.server.acknowledge(session, new long[] {1});
    var received = node.server.received(session, 2);
    var connected =
        node.server.connect(new InboxClient.Connect(InboxNode.TENANT, "d", "", new ConnectionId("node", 1, 77), false, true, 60, null));
    var page = node.server.fetch(session, 1, 1, 1);
    assertThat(page).as("a reader is waited for").isNotDone();
    assertThat(node.gauge("dunlin.inbox.fetches-waiting")).isEqualTo(1);
    assertThat(answers).allSatisfy(answer -> assertThat(answer.reason).isNotDone());
    assertThat(received).isNotDone();
    assertThat(connected).isNotDone();
    assertThat(node.waiting("messages")).isEqualTo(4);
    assertThat(node.waiting("calls")).isEqualTo(2);
    assertThat(node.pushed).containsExactly("m1");

    node.local().hasRoom();

    for (var answer : answers) assertThat(InboxNode.get(answer.reason)).isEqualTo(ReasonCode.SUCCESS);
    InboxNode.get(received);
    InboxNode.get(page);
    assertThat(node.gauge("dunlin.inbox.fetches-waiting")).isZero();
    InboxNode.get(connected);
    assertThat(node.pushed).containsExactly("m1", "m2", "m3", "m4", "m5");
    assertThat(node.sequences).isSorted();
    assertThat(node.waiting("messages")).isZero();
    assertThat(node.waiting("calls")).isZero();
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.queued")).isEqualTo(4));
    assertThat(node.count("dunlin.inbox.refused", "reason", "busy")).isZero();
    node.assertBalance();
  }

  /** The link of a frontend, and what waits for it, may be there before a new leader has begun: only the one before knows what it has sent. */
  @Test
  void messagesOfADisconnectThatComesBeforeTheLeadershipMayHaveBeenSent() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    node.publish("m1");
    var disconnected = new AtomicReference<CompletableFuture<Void>>();

    node.leadAfterAnother(server -> disconnected.set(server.disconnect(session, false, 3_600)));

    InboxNode.get(disconnected.get());
    var again = node.connect("c");
    var page = InboxNode.get(node.server.fetch(again.session(), again.firstUnacknowledged(), 10, 1 << 20));
    assertThat(page.messages()).singleElement().satisfies(each -> assertThat(each.delivered()).isTrue());
  }

  /** As above; the client may have begun an exchange for the message, whatever its expiry. */
  @Test
  void anExpiredMessageOfQoS2ThatIsFetchedBeforeTheLeadershipMayHaveBeenSent() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.EXACTLY_ONCE);
    node.publishExpiring(QoS.EXACTLY_ONCE, "m1", 1);
    node.now.addAndGet(2_000);
    var page = new AtomicReference<CompletableFuture<InboxClient.Page>>();

    node.leadAfterAnother(server -> page.set(server.fetch(session, 1, 10, 1 << 20)));

    assertThat(InboxNode.get(page.get()).messages()).hasSize(1);
  }

  /** As above: what is shown and exported says that it may have been sent, and an exchange that may have begun goes with the session. */
  @Test
  void messagesThatAreShownOrExportedBeforeTheLeadershipMayHaveBeenSent() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.EXACTLY_ONCE);
    node.publishExpiring(QoS.EXACTLY_ONCE, "m1", 1);
    node.now.addAndGet(2_000);
    var shown = new ArrayList<MessageRow>();
    var exported = new ArrayList<SessionExports.Part>();

    node.leadAfterAnother(
        server -> {
          shown.addAll(server.operations().messages(InboxNode.TENANT, "c", 0, 10).messages());
          exported.addAll(server.exports().page(InboxNode.TENANT, "c", null, 100, 1 << 20).parts());
        });

    assertThat(shown).singleElement().satisfies(each -> assertThat(each.sent()).isTrue());
    assertThat(exported)
        .filteredOn(SessionExports.Waiting.class::isInstance)
        .singleElement()
        .satisfies(each -> assertThat(((SessionExports.Waiting) each).message().delivered()).isTrue());
  }

  @Test
  void acknowledgementsThatTheRangeRefusesLaterAreRecordedWhenItAcceptsThem() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    node.publish("m1");

    node.local().broken = true;
    node.server.acknowledge(session, new long[] {1});
    await().until(() -> node.count("dunlin.inbox.acknowledgements-refused") >= 1);
    node.local().broken = false;

    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.queued")).isZero());
    assertThat(node.gauge("dunlin.inbox.acks-waiting")).isZero();
    node.assertBalance();
  }

  @Test
  void ofTwoUsersWhoConnectAtTheSameTimeOneGetsTheClientIdentifier() throws Exception {
    node.local().full = true;
    var alice =
        node.server.connect(
            new InboxClient.Connect(InboxNode.TENANT, "c", "alice", new ConnectionId("node", 1, 77), false, true, 60, null));
    var bob =
        node.server.connect(
            new InboxClient.Connect(InboxNode.TENANT, "c", "bob", new ConnectionId("node", 1, 78), true, true, 60, null));
    assertThat(alice).isNotDone();

    node.local().hasRoom();

    assertThat(InboxNode.get(alice).sessionPresent()).isFalse();
    assertThatThrownBy(() -> InboxNode.get(bob)).hasCauseInstanceOf(OtherUserException.class);
  }

  @Test
  void aConnectThatWasAppliedWithoutAnAnswerLeavesNoStaleConnection() throws Exception {
    node.local().silent = SessionCommand.Connect.class;
    var will = new Will(node.message(QoS.AT_LEAST_ONCE, "will"), 0);
    assertThatThrownBy(() -> node.connect("c", will)).hasCauseInstanceOf(StoreException.class);
    node.local().silent = null;

    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.online")).isZero());
    await().untilAsserted(() -> assertThat(node.wills).containsExactly("will"));
    assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(1);
    assertThat(node.gauge("dunlin.inbox.connections-stale")).isZero();
  }

  @Test
  void theInboxOfAGroupIsHandedOnEvenIfTheRangeHasRefusedOnce() throws Exception {
    var filter = TopicFilter.parse("$share/g/a").orElseThrow();
    var session = node.connect("c").session();
    node.subscribe(session, filter.text(), QoS.AT_LEAST_ONCE);
    InboxNode.get(node.server.disconnect(session, false, 3600));
    node.publish("m1", filter);

    node.local().refusing = SessionCommand.DrainGroup.class;
    node.connect("c");
    await().until(() -> node.local().refused.get() >= 1);
    assertThat(node.pushed).isEmpty();
    node.local().refusing = null;

    await().untilAsserted(() -> assertThat(node.pushed).containsExactly("m1"));
  }

  @Test
  void commandsThatWaitFailWhenTheRangeFails() throws Exception {
    node.subscribe(node.connect("c").session(), "a", QoS.AT_LEAST_ONCE);
    node.local().full = true;
    var answer = new InboxNode.Answer();
    node.deliver(node.message(QoS.AT_LEAST_ONCE, "m"), List.of(), answer);
    assertThat(answer.reason).isNotDone();

    node.local().broken = true;
    node.local().hasRoom();

    assertThat(InboxNode.get(answer.reason)).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
  }

  @Test
  void nothingIsProposedBehindAMessageThatIsSentAgain() throws Exception {
    node.subscribe(node.connect("c").session(), "a", QoS.AT_LEAST_ONCE);
    node.local().full = true;
    var refused = deliver("m1", 7);
    var behind = deliver("m2", 7);
    var another = deliver("m3", 8);
    var told = deliver("m4", 0);

    node.local().withoutDisk.set(1);
    node.local().hasRoom();

    assertThat(InboxNode.get(refused.reason)).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertThat(InboxNode.get(behind.reason)).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertThat(InboxNode.get(another.reason)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(InboxNode.get(told.reason)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(InboxNode.get(deliver("m2", 7).reason)).as("later").isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertThat(node.pushed).containsExactly("m3", "m4");
    assertThat(node.count("dunlin.inbox.refused", "reason", "failed")).isEqualTo(1);
    assertThat(node.count("dunlin.inbox.refused", "reason", "fenced")).isEqualTo(2);
    node.assertBalance();
  }

  private InboxNode.Answer deliver(String payload, long fence) {
    var answer = new InboxNode.Answer(fence);
    node.deliver(node.message(QoS.AT_LEAST_ONCE, payload), List.of(), answer);
    return answer;
  }

  @Test
  void anUnknownOutcomeIsNotAnsweredWithSuccess() throws Exception {
    node.subscribe(node.connect("c").session(), "a", QoS.AT_LEAST_ONCE);
    node.local().broken = true;

    assertThat(node.publish("m")).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);

    node.local().broken = false;
    assertThat(node.count("dunlin.inbox.refused", "reason", "failed")).isEqualTo(1);
  }

  /** As when the leadership moves on: it is no error for the client, since the next leader has the subscription and announces it. */
  @Test
  void aSubscribeThatIsLoggedWhileTheServerClosesIsForTheNextLeader() throws Exception {
    var session = node.connect("c").session();
    node.server.close();

    var subscribed = node.server.subscribe(session, List.of(InboxNode.wanted("a", QoS.AT_LEAST_ONCE)));
    assertThatThrownBy(() -> InboxNode.get(subscribed)).hasCauseInstanceOf(OutcomeUnknownException.class);

    node.reopen();
    await().untilAsserted(() -> assertThat(node.routes).containsExactly(node.server.shardOf(InboxNode.TENANT, "c") + " a"));
  }

  @Test
  void routesAreAnnouncedOnceAndAgainAfterARestart() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    node.subscribe(session, "$share/g/b", QoS.AT_LEAST_ONCE);
    String shard = node.server.shardOf(InboxNode.TENANT, "c").toString();
    String group = node.intervalOf("c").route(new SessionKey(InboxNode.TENANT, "c"), TopicFilter.parse("$share/g/b").orElseThrow()).shard().toString();
    assertThat(group).as("a group has a shard of its own").isNotEqualTo(shard);
    assertThat(node.routes).containsExactlyInAnyOrder(shard + " a", group + " $share/g/b");

    node.routes.clear();
    node.reopen();
    assertThat(node.routes).containsExactlyInAnyOrder(shard + " a", group + " $share/g/b");

    var again = node.connect("c").session();
    InboxNode.get(node.server.unsubscribe(again, List.of(TopicFilter.plain("a"))));
    await().untilAsserted(() -> assertThat(node.routes).containsExactly(group + " $share/g/b"));
  }

  @Test
  void routesThatNoSessionNeedsAreRemovedAfterAStartEvenIfTheyCannotBeReadAtFirst() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    String needed = node.server.shardOf(InboxNode.TENANT, "c") + " a";
    node.routes.add("inbox:3 $share/g/left");
    node.routes.add("inbox:9999 a");
    node.pageFailures.set(1);

    node.reopen();

    await().untilAsserted(() -> assertThat(node.count("dunlin.inbox.routes-repaired")).isEqualTo(2));
    assertThat(node.pageFailures).hasValue(0);
    assertThat(node.routes).containsExactly(needed);
  }

  @Test
  void subscribeWaitsForARouteThatAnotherSessionHasBegunToAnnounce() throws Exception {
    node.gate = new CompletableFuture<>();
    var one = node.connect("c").session();
    String neighbour = "n0";
    for (int i = 1; !node.server.shardOf(InboxNode.TENANT, neighbour).equals(node.server.shardOf(InboxNode.TENANT, "c")); i++) neighbour = "n" + i;
    var two = node.connect(neighbour).session();

    var first = node.server.subscribe(one, List.of(InboxNode.wanted("a", QoS.AT_LEAST_ONCE)));
    var second = node.server.subscribe(two, List.of(InboxNode.wanted("a", QoS.AT_LEAST_ONCE)));
    InboxNode.get(node.server.released(two, 0, 1));
    assertThat(first).isNotDone();
    assertThat(second).isNotDone();

    node.gate.complete(null);
    assertThat(InboxNode.get(first)).containsExactly(false);
    assertThat(InboxNode.get(second)).containsExactly(false);
  }

  @Test
  void aRouteThatCannotBeAnnouncedFailsTheSubscriptionAndIsTriedAgain() throws Exception {
    var session = node.connect("c").session();
    var broken = new CompletableFuture<Void>();
    node.gate = broken;

    var subscribed = node.server.subscribe(session, List.of(InboxNode.wanted("a", QoS.AT_LEAST_ONCE)));
    InboxNode.get(node.server.released(session, 0, 1));
    await().until(() -> node.gauge("dunlin.inbox.routes-waiting") == 1);
    node.gate = CompletableFuture.completedFuture(null);
    broken.completeExceptionally(new StoreException("no leader"));

    assertThatThrownBy(() -> InboxNode.get(subscribed)).hasCauseInstanceOf(StoreException.class);
    await().untilAsserted(() -> assertThat(node.routes).hasSize(1));
    assertThat(node.subscribe(session, "a", QoS.AT_LEAST_ONCE)).containsExactly(true);
  }

  @Test
  void qos0BypassesTheLog() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.EXACTLY_ONCE);
    node.deliver(node.message(QoS.AT_MOST_ONCE, "q0"), List.of(), null);
    assertThat(node.pushed).containsExactly("q0");
    assertThat(node.sequences).containsExactly(0L);

    InboxNode.get(node.server.disconnect(session, false, 3600));
    node.deliver(node.message(QoS.AT_MOST_ONCE, "lost"), List.of(), null);

    assertThat(node.pushed).containsExactly("q0");
    assertThat(node.count("dunlin.inbox.dropped", "reason", "offline")).isEqualTo(1);
    var common = node.meters.get("dunlin.messages.dropped").tags("hop", "inbox", "reason", "offline").functionCounter();
    assertThat(common.count()).isEqualTo(1);
    assertThat(node.gauge("dunlin.inbox.queued")).isZero();
  }

  @Test
  void expiredMessagesOfAnAbsentSessionAreRemovedByTheTimer() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    InboxNode.get(node.server.disconnect(session, false, 100_000));
    node.publishExpiring("late", 10);
    node.publish("lasting");

    node.now.addAndGet(10_000);

    await().untilAsserted(() -> assertThat(node.count("dunlin.inbox.dropped", "reason", "expired")).isEqualTo(1));
    assertThat(node.gauge("dunlin.inbox.queued")).isEqualTo(1);
    node.assertBalance();
  }

  @Test
  void acknowledgementsAreCollectedAndAppliedBeforeTheDisconnect() throws Exception {
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    for (int i = 0; i < 100; i++) assertThat(node.publish("m" + i)).isEqualTo(ReasonCode.SUCCESS);
    for (long sequence = 1; sequence <= 50; sequence++) node.server.acknowledge(session, new long[] {sequence});
    InboxNode.get(node.server.disconnect(session, false, 3600));
    assertThat(node.gauge("dunlin.inbox.queued")).isEqualTo(50);

    var again = node.connect("c");
    assertThat(again.firstUnacknowledged()).isEqualTo(51);
    for (long sequence = 51; sequence <= 99; sequence++) node.server.acknowledge(again.session(), new long[] {sequence});

    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.queued")).isEqualTo(1));
    assertThat(node.count("dunlin.inbox.acknowledged")).isEqualTo(99);
    node.assertBalance();
  }

  @Test
  void aTakeoverDisplacesAndTheOldEpochIsRefusedEverywhere() throws Exception {
    var old = node.connect("c").session();
    node.connect("c");

    assertThat(node.displaced).containsExactly(new ConnectionId("node", node.incarnation, 1));
    List<CompletableFuture<?>> refused =
        List.of(
            node.server.subscribe(old, List.of(InboxNode.wanted("a", QoS.AT_LEAST_ONCE))),
            node.server.unsubscribe(old, List.of()),
            node.server.append(old, SubscriptionOptions.of(QoS.AT_LEAST_ONCE), 1, List.of(node.message(QoS.AT_LEAST_ONCE, "r"))),
            node.server.received(old, 1),
            node.server.released(old, 0, 1),
            node.server.fetch(old, 1, 1, 1),
            node.server.disconnect(old, true, 0));
    for (var each : refused) {
      assertThatThrownBy(() -> InboxNode.get(each)).hasCauseInstanceOf(StaleSessionException.class);
    }
  }

  @Test
  void aTakeoverIsToldFromAnEnd() throws Exception {
    var first = node.connect("c").session();
    assertThat(InboxNode.get(node.server.isTakenOver(first))).isFalse();

    var second = node.connect("c").session();
    assertThat(InboxNode.get(node.server.isTakenOver(first))).isTrue();
    assertThat(InboxNode.get(node.server.isTakenOver(second))).isFalse();

    InboxNode.get(node.server.disconnect(second, false, 0));
    assertThat(InboxNode.get(node.server.isTakenOver(second))).isFalse();
  }

  @Test
  void tooManySubscriptionsAreRefused() throws Exception {
    node.close();
    node = new InboxNode(null, ranges, new InboxSettings(new Layout(16, 1), 1, 1 << 20, OverflowPolicy.REJECT, 1, 4, Sums.ofSessions(1_000)));
    var session = node.connect("c").session();
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);

    var more = node.server.subscribe(session, List.of(InboxNode.wanted("b", QoS.AT_LEAST_ONCE)));

    assertThatThrownBy(() -> InboxNode.get(more)).hasCauseInstanceOf(QuotaExceededException.class);
    assertThat(node.publish("m1")).isEqualTo(ReasonCode.SUCCESS);
    assertThat(node.publish("m2")).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    node.assertBalance();
  }

  @Test
  void willsArePublishedWhenDueAndAgainWhenItFails() throws Exception {
    node.willFailures.set(1);
    var session = node.connect("c", new Will(node.message(QoS.AT_LEAST_ONCE, "will"), 10)).session();
    InboxNode.get(node.server.disconnect(session, true, 3600));
    node.now.addAndGet(10_000);

    await().untilAsserted(() -> assertThat(node.wills).containsExactly("will"));
    assertThat(node.count("dunlin.inbox.will-failures")).isEqualTo(1);
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.wills-running")).isZero());
  }

  @Test
  void aWillThatIsRefusedByARuleIsForgotten() throws Exception {
    node.willOutcome = new WillPublisher.Outcome.Refused(ReasonCode.QUOTA_EXCEEDED);
    var session = node.connect("c", new Will(node.message(QoS.AT_LEAST_ONCE, "will"), 0)).session();
    InboxNode.get(node.server.disconnect(session, true, 3600));
    await().until(() -> node.wills.size() == 1 && node.gauge("dunlin.inbox.wills-running") == 0);

    assertThat(node.count("dunlin.inbox.wills-refused", "reason", "quota-exceeded")).isEqualTo(1);
    node.reopen();
    node.now.addAndGet(120_000);
    node.connect("other", new Will(node.message(QoS.AT_LEAST_ONCE, "last"), 0));
    node.reopen();
    await().untilAsserted(() -> assertThat(node.wills).containsExactly("will", "last"));
  }

  @Test
  void aWillIsPublishedOnceWhenTheRangeRefusesToRecordIt() throws Exception {
    node.local().refusing = SessionCommand.WillPublished.class;
    var session = node.connect("c", new Will(node.message(QoS.AT_LEAST_ONCE, "will"), 0)).session();
    InboxNode.get(node.server.disconnect(session, true, 3600));
    await().until(() -> node.local().refused.get() >= 1);
    node.now.addAndGet(120_000);
    await().until(() -> node.local().refused.get() >= 3);
    node.local().refusing = null;

    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.wills-running")).isZero());
    assertThat(node.wills).containsExactly("will");
  }

  /** The timer runs every 200 ms, so from the second will on each would wait for all of that time. */
  @Test
  @Tag("MQTT-3.1.2-8")
  @Tag("MQTT3-3.1.2-8")
  void aWillWithoutDelayDoesNotWaitForTheTimer() throws Exception {
    long fastest = Long.MAX_VALUE;
    for (int i = 0; i < 20; i++) {
      long begin = System.nanoTime();
      var session = node.connect("c", new Will(node.message(QoS.AT_LEAST_ONCE, "will " + i), 0)).session();
      InboxNode.get(node.server.disconnect(session, true, 0));
      int count = i + 1;
      await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(1)).untilAsserted(() -> assertThat(node.wills).hasSize(count));
      if (i > 0) fastest = Math.min(fastest, System.nanoTime() - begin);
    }
    assertThat(Duration.ofNanos(fastest)).isLessThan(Duration.ofMillis(100));
  }

  @Test
  void retainedMessagesAreAppendedInPartsAndOrder() throws Exception {
    var session = node.connect("c").session();
    var retained = new ArrayList<Publication>();
    for (int i = 0; i < 700; i++) retained.add(node.message(QoS.AT_LEAST_ONCE, "r" + i));

    InboxNode.get(node.server.append(session, SubscriptionOptions.of(QoS.AT_LEAST_ONCE), 1, retained));

    assertThat(node.pushed).hasSize(700).startsWith("r0").endsWith("r699");
    assertThat(node.sequences).isSorted();
  }
}

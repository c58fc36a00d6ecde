package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxDropReason;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.QoS;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class SessionLifeTest {
  private final RangeHarness h = new RangeHarness();

  private Will will(String payload, long delaySeconds) {
    return new Will(h.message("c", "wills", QoS.AT_LEAST_ONCE, payload), delaySeconds);
  }

  private java.util.List<String> dueWills() {
    h.apply(new SessionCommand.Tick(h.now, 100, 100));
    return h.effects.wills().stream()
        .map(due -> new String(due.message().payload(), java.nio.charset.StandardCharsets.UTF_8))
        .toList();
  }

  @Test
  @Tag("MQTT-3.2.2-2")
  @Tag("MQTT-3.2.2-3")
  void sessionIsPresentExactlyWhenStateIsResumed() {
    var first = h.connect("c");
    h.subscribe(first.session(), "a/b", QoS.AT_LEAST_ONCE);
    h.disconnect(first.session(), false, 3600);

    var second = h.connect("c");

    assertThat(first.sessionPresent()).isFalse();
    assertThat(second.sessionPresent()).isTrue();
    assertThat(second.subscriptions()).extracting(each -> each.filter().text()).containsExactly("a/b");
    assertThat(second.session().epoch()).isGreaterThan(first.session().epoch());
  }

  @Test
  void aLaterConnectionDisplacesTheEarlierOneAndItsEpochIsRefused() {
    var first = h.connect("c");

    h.connect("c");

    assertThat(h.effects.displaced()).isEqualTo(new ConnectionId("node", 1, 1));
    assertThat(h.subscribe(first.session(), "a", QoS.AT_LEAST_ONCE)).isInstanceOf(Outcome.Stale.class);
    assertThat(h.disconnect(first.session(), true, 0)).isInstanceOf(Outcome.Stale.class);
    assertThat(h.connect("c").sessionPresent()).isTrue();
  }

  @Test
  @Tag("MQTT-3.1.2-10")
  void aDisconnectThatComesAfterTheNextConnectStillDiscardsTheWill() {
    var first = h.connect("c", true, 0, will("gone", 0));
    var second = h.connect("c", true, 0, will("later", 0));
    h.apply(new SessionCommand.Tick(h.now, 100, 100));
    assertThat(h.effects.wills()).extracting(Effects.DueWill::displaced).containsExactly(new ConnectionId("node", 1, 1));
    assertThat(second.displaced()).as("what it has published comes before what this one publishes").isEqualTo(new ConnectionId("node", 1, 1));

    assertThat(h.disconnect(first.session(), false, 0)).isInstanceOf(Outcome.Stale.class);

    assertThat(h.effects.willDiscarded()).isEqualTo(first.session().epoch());
    h.now += 3_600_000;
    assertThat(dueWills()).isEmpty();
    h.reopen();
    assertThat(h.disconnect(first.session(), false, 0)).isInstanceOf(Outcome.Stale.class);
    assertThat(h.effects.willDiscarded()).as("it is discarded once").isZero();
    h.disconnect(second.session(), true, 0);
    assertThat(dueWills()).as("the next connection's will is its own").containsExactly("later");
  }

  @Test
  void aConnectionThatIsLostAfterTheNextConnectLeavesItsWill() {
    var first = h.connect("c", true, 0, will("gone", 0));
    h.connect("c", true, 0, null);

    assertThat(h.disconnect(first.session(), true, 0)).isInstanceOf(Outcome.Stale.class);

    assertThat(h.effects.willDiscarded()).isZero();
    assertThat(dueWills()).containsExactly("gone");
  }

  @Test
  void anOperatorRemovesASessionWithAllItsState() {
    var first = h.connect("c", false, 3600, will("gone", 0));
    h.subscribe(first.session(), "a", QoS.EXACTLY_ONCE);
    h.publish(h.inExchange("c", "a", "m", first.session().epoch(), 7));

    assertThat(h.apply(new SessionCommand.Remove(h.now, RangeHarness.TENANT, "c"))).isInstanceOf(Outcome.Done.class);

    assertThat(h.effects.dismissed()).isEqualTo(new ConnectionId("node", 1, 1));
    assertThat(h.effects.displaced()).isNull();
    assertThat(h.effects.routes()).extracting(Effects.RouteChange::wanted).containsExactly(false);
    assertThat(h.effects.hasWillDue()).isTrue();
    assertThat(h.disconnect(first.session(), true, 3600)).isInstanceOf(Outcome.Stale.class);
    h.apply(new SessionCommand.Tick(h.now, 10, 10));
    assertThat(h.effects.wills()).hasSize(1);
    h.apply(new SessionCommand.WillPublished(RangeHarness.TENANT, "c", first.session().epoch()));
    h.settle();
    assertThat(h.rowKeys()).isEmpty();
    h.reopen();
    assertThat(h.connect("c").sessionPresent()).isFalse();
    h.assertBalance();
  }

  @Test
  void anOperatorRemovesAnAbsentSessionWhoseWillWaits() {
    var first = h.connect("c", false, 3600, will("late", 600));
    h.disconnect(first.session(), true, 3600);

    assertThat(h.apply(new SessionCommand.Remove(h.now, RangeHarness.TENANT, "c"))).isInstanceOf(Outcome.Done.class);

    assertThat(h.effects.dismissed()).isNull();
    h.apply(new SessionCommand.Tick(h.now, 10, 10));
    assertThat(h.effects.wills()).as("a will is due when its session ends (section 3.1.3.2.2)").hasSize(1);
    assertThat(h.apply(new SessionCommand.Remove(h.now, RangeHarness.TENANT, "c"))).isInstanceOf(Outcome.Stale.class);
  }

  @Test
  @Tag("MQTT-3.1.2-4")
  void cleanStartDeletesSubscriptionsMessagesAndExchanges() {
    var first = h.connect("c");
    h.subscribe(first.session(), "a", QoS.EXACTLY_ONCE);
    h.publish(h.inExchange("c", "a", "m", first.session().epoch(), 7));

    var second = h.connect("c", true, 3600, null);
    h.settle();

    assertThat(second.sessionPresent()).isFalse();
    assertThat(second.subscriptions()).isEmpty();
    assertThat(second.receivedPacketIds()).isEmpty();
    assertThat(second.firstUnacknowledged()).isEqualTo(second.nextSequence());
    assertThat(h.rowKeys()).hasSize(1); // the new session's record
    assertThat(h.dropped).containsEntry(InboxDropReason.SESSION_ENDED, 1);
    h.assertBalance();
  }

  @Test
  void epochsGrowEvenWhenTheRecordIsGone() {
    var first = h.connect("c", true, 0, null);
    h.disconnect(first.session(), false, 0);
    assertThat(h.rowKeys()).isEmpty();

    h.reopen();
    var second = h.connect("c", true, 0, null);

    assertThat(second.session().epoch()).isGreaterThan(first.session().epoch());
    assertThat(h.disconnect(first.session(), true, 0)).isInstanceOf(Outcome.Stale.class);
  }

  @Test
  @Tag("MQTT-3.1.2-23")
  @Tag("MQTT-4.1.0-2")
  void sessionEndsWhenItsExpiryHasPassedAlsoAfterARestart() {
    var session = h.connect("c", false, 60, null).session();
    h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    h.disconnect(session, false, 60);
    h.publish("a", "1");

    h.now += 59_000;
    h.reopen();
    h.settle();
    assertThat(h.range.state().sessions).hasSize(1);

    h.now += 1_000;
    h.settle();
    assertThat(h.range.state().sessions).isEmpty();
    assertThat(h.rowKeys()).isEmpty();
    assertThat(h.range.lead()).isEmpty();
    h.assertBalance();
  }

  @Test
  void aConnectAfterTheDeadlineFindsNoSession() {
    var session = h.connect("c", false, 60, null).session();
    h.disconnect(session, false, 60);

    h.now += 60_000;

    assertThat(h.connect("c").sessionPresent()).isFalse();
  }

  @Test
  void neverMeansNever() {
    var session = h.connect("c", false, 0xFFFF_FFFFL, null).session();
    h.disconnect(session, false, 0xFFFF_FFFFL);

    h.now += 200L * 365 * 24 * 3600 * 1000;
    h.settle();

    assertThat(h.connect("c").sessionPresent()).isTrue();
  }

  private static Outcome tryToConnect(RangeHarness h, String clientId, boolean cleanStart, long expirySeconds) {
    var connection = new ConnectionId("node", 1, 1_000);
    return h.apply(
        new SessionCommand.Connect(
            h.now,
            new InboxClient.Connect(
                RangeHarness.TENANT, clientId, "", connection, cleanStart, expirySeconds > 0, expirySeconds, null)));
  }

  @Test
  void aDurableSessionBeyondTheBoundIsRefusedAndChangesNothing() {
    var two = new RangeHarness(new InboxLimits(10, 1 << 20, OverflowPolicy.REJECT, 10, 4, Sums.ofSessions(2)));
    var first = two.connect("a").session();
    two.connect("b");
    two.connect("online", true, 0, null);
    var before = two.rows.dump();

    assertThat(tryToConnect(two, "c", false, 60)).isInstanceOf(Outcome.Full.class);
    assertThat(tryToConnect(two, "online", false, 60)).isInstanceOf(Outcome.Full.class);
    assertThat(two.effects.displaced()).as("the connection of the one that is refused").isNull();
    assertThat(two.rows.dump()).isEqualTo(before);

    // Present sessions are resumed, can begin anew, and make room when they end. Sessions that are not durable are not
    // bounded.
    assertThat(tryToConnect(two, "d", true, 0)).isInstanceOf(Outcome.Connected.class);
    assertThat(tryToConnect(two, "b", false, 60)).isInstanceOf(Outcome.Connected.class);
    assertThat(tryToConnect(two, "b", true, 60)).isInstanceOf(Outcome.Connected.class);
    two.reopen();
    assertThat(tryToConnect(two, "c", false, 60)).isInstanceOf(Outcome.Full.class);
    two.disconnect(first, false, 0);
    assertThat(tryToConnect(two, "c", false, 60)).isInstanceOf(Outcome.Connected.class);
    assertThat(two.range.state().durableCount).hasValue(2);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aSessionThatWaitsIsForItsUserAlone(boolean cleanStart) {
    var alice = ((Outcome.Connected) h.connectAs("alice", "c", false, 60)).connected().session();
    h.subscribe(alice, "a", QoS.AT_LEAST_ONCE);
    h.publish("a", "secret");
    h.disconnect(alice, false, 60);
    var before = h.rows.dump();

    for (String other : List.of("bob", "", "alic", "Alice", "alice2")) {
      assertThat(h.connectAs(other, "c", cleanStart, 60)).as(other).isInstanceOf(Outcome.OtherUser.class);
      assertThat(h.connectAs(other, "c", cleanStart, 0)).as(other).isInstanceOf(Outcome.OtherUser.class);
    }

    assertThat(h.rows.dump()).isEqualTo(before);
    h.reopen();
    assertThat(h.connectAs("bob", "c", cleanStart, 60)).isInstanceOf(Outcome.OtherUser.class);
    var back = ((Outcome.Connected) h.connectAs("alice", "c", false, 60)).connected();
    assertThat(back.sessionPresent()).isTrue();
    assertThat(h.inbox(back.session())).containsExactly("secret");
    h.assertBalance();
  }

  @ParameterizedTest
  @CsvSource({"60, false", "60, true", "0, false", "0, true"})
  void aConnectionIsNotDisplacedByAnotherUsers(long expirySeconds, boolean cleanStart) {
    var alice = ((Outcome.Connected) h.connectAs("alice", "c", true, expirySeconds)).connected().session();

    assertThat(h.connectAs("bob", "c", cleanStart, 60)).isInstanceOf(Outcome.OtherUser.class);

    assertThat(h.effects.displaced()).isNull();
    assertThat(h.state(alice).epoch).isEqualTo(alice.epoch());
    assertThat(h.connectAs("alice", "c", false, 60)).isInstanceOf(Outcome.Connected.class);
    assertThat(h.effects.displaced()).isEqualTo(new ConnectionId("node", 1, 1));
  }

  @Test
  void anIdentifierIsFreeWhenItsSessionHasEnded() {
    var alice = ((Outcome.Connected) h.connectAs("alice", "c", false, 0)).connected().session();
    h.disconnect(alice, false, 0);
    var bob = ((Outcome.Connected) h.connectAs("bob", "c", false, 60)).connected();
    assertThat(bob.sessionPresent()).isFalse();
    h.subscribe(bob.session(), "a", QoS.AT_LEAST_ONCE);
    h.publish("a", "for bob");
    h.disconnect(bob.session(), false, 60);

    h.now += 60_000; // expired, but not removed yet
    var carol = ((Outcome.Connected) h.connectAs("carol", "c", false, 60)).connected();

    assertThat(carol.sessionPresent()).isFalse();
    assertThat(carol.subscriptions()).isEmpty();
    assertThat(h.inbox(carol.session())).isEmpty();
    assertThat(h.connectAs("bob", "c", false, 60)).isInstanceOf(Outcome.OtherUser.class);
  }

  @Test
  void clientsWithoutAUserShareTheirSessions() {
    h.disconnect(h.connect("c").session(), false, 60);

    assertThat(h.connectAs("alice", "c", false, 60)).isInstanceOf(Outcome.OtherUser.class);
    assertThat(h.connect("c").sessionPresent()).isTrue();
  }

  @Test
  void aSmallerBoundKeepsPresentSessions() {
    h.connect("a");
    h.disconnect(h.connect("b").session(), false, 60);
    h.apply(new SessionCommand.Configure(new InboxLimits(10, 1 << 20, OverflowPolicy.REJECT, 10, 4, Sums.ofSessions(1))));

    assertThat(tryToConnect(h, "b", false, 60)).isInstanceOf(Outcome.Connected.class);
    assertThat(tryToConnect(h, "c", false, 60)).isInstanceOf(Outcome.Full.class);
  }

  @Test
  void aSessionWithoutExpiryEndsWithItsConnection() {
    var kept = h.connect("c").session();
    h.disconnect(kept, false, 3600);
    var resumed = h.connect("c", false, 0, null);

    assertThat(resumed.sessionPresent()).isTrue();
    h.disconnect(resumed.session(), false, 0);
    assertThat(h.rowKeys()).isEmpty();
  }

  /** As after a crash: the log has the Tick that reported the will, but not the record that it was published. */
  @Test
  void aWillThatWasReportedToALeaderIsReportedToTheNextOneAtOnce() {
    var session = h.connect("c", false, 3600, will("w", 0)).session();
    h.disconnect(session, true, 3600);
    var later = h.connect("later", false, 3600, will("l", 30)).session();
    h.disconnect(later, true, 3600);
    assertThat(dueWills()).containsExactly("w");
    assertThat(dueWills()).isEmpty();

    h.apply(new SessionCommand.Configure(InboxSettings.defaults().limits()));

    assertThat(dueWills()).containsExactly("w");
    assertThat(dueWills()).isEmpty();
  }

  @Test
  @Tag("MQTT-3.1.2-10")
  void disconnectMayDiscardTheWill() {
    var session = h.connect("c", false, 3600, will("w", 0)).session();

    h.disconnect(session, false, 3600);

    assertThat(dueWills()).isEmpty();
    assertThat(h.rowKeys()).noneMatch(key -> key.contains("<6>"));
  }

  @Test
  @Tag("MQTT-3.1.2-8")
  void aWillIsReportedUntilItIsLoggedAsPublished() {
    var session = h.connect("c", false, 0, will("w", 0)).session();
    h.disconnect(session, true, 0);
    assertThat(dueWills()).containsExactly("w");
    assertThat(dueWills()).isEmpty();

    h.reopen();
    assertThat(dueWills()).containsExactly("w");

    h.apply(new SessionCommand.WillPublished(RangeHarness.TENANT, "c", session.epoch()));
    h.reopen();
    assertThat(dueWills()).isEmpty();
    assertThat(h.rowKeys()).isEmpty();
  }

  @Test
  @Tag("MQTT-3.1.3-9")
  void aDelayedWillWaitsAndAReconnectCancelsIt() {
    var session = h.connect("c", false, 3600, will("w", 30)).session();
    h.disconnect(session, true, 3600);
    h.now += 29_999;
    assertThat(dueWills()).isEmpty();

    var again = h.connect("c", false, 3600, will("w2", 30)).session();
    h.now += 60_000;
    assertThat(dueWills()).isEmpty();

    h.disconnect(again, true, 3600);
    h.now += 30_000;
    assertThat(dueWills()).containsExactly("w2");
  }

  @Test
  void theEndOfTheSessionCutsTheWillDelayShort() {
    var session = h.connect("c", false, 10, will("w", 30)).session();
    h.disconnect(session, true, 10);

    h.now += 10_000;

    assertThat(dueWills()).containsExactly("w");
  }

  @Test
  void takeoverPublishesTheOldWillWithoutDelay() {
    h.connect("c", false, 3600, will("w", 0));

    h.connect("c", false, 3600, will("new", 0));

    assertThat(dueWills()).containsExactly("w");
  }

  @Test
  void takeoverWithDelayCancelsTheOldWill() {
    h.connect("c", false, 3600, will("w", 5));

    h.connect("c", false, 3600, null);

    h.now += 10_000;
    assertThat(dueWills()).isEmpty();
    assertThat(h.rowKeys()).noneMatch(key -> key.contains("<6>"));
  }

  @Test
  void takeoverThatEndsTheSessionPublishesTheOldWillDespiteItsDelay() {
    h.connect("clean", false, 3600, will("clean", 5));
    h.connect("clean", true, 3600, null);
    h.connect("short", false, 0, will("short", 5));
    h.connect("short", false, 3600, null);

    assertThat(dueWills()).containsExactly("clean", "short");
  }

  @Test
  void connectionsOfAnEarlierLifeOfAFrontendAreLostWithTheirWills() {
    for (int i = 0; i < 5; i++) h.connect("node", 1, "old" + i, false, 3600, will("w" + i, 0));
    h.connect("node", 2, "new", false, 3600, will("n", 0));
    h.connect("other", 1, "elsewhere", false, 3600, will("o", 0));
    h.reopen();

    int steps = 0;
    do {
      h.apply(new SessionCommand.FrontendGone(h.now, "node", 2, 2));
      steps++;
    } while (h.effects.hasMoreWork());

    assertThat(steps).isEqualTo(3);
    assertThat(dueWills()).containsExactlyInAnyOrder("w0", "w1", "w2", "w3", "w4");
    assertThat(h.range.state().onlineCount).hasValue(2);
  }

  @Test
  void manyLeftMessagesAreDeletedInSteps() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    for (int i = 0; i < 10; i++) h.publish("a", "m" + i);

    var fresh = h.connect("c", true, 3600, null).session();
    h.subscribe(fresh, "a", QoS.AT_LEAST_ONCE);
    h.publish("a", "new");
    h.apply(new SessionCommand.Tick(h.now, 3, 0));
    assertThat(h.effects.hasMoreWork()).isTrue();
    assertThat(h.range.state().queued).hasValue(8);
    h.reopen();
    h.settle();

    assertThat(h.inbox(fresh)).containsExactly("new");
    assertThat(h.range.state().queued).hasValue(1);
    h.assertBalance();
  }
}

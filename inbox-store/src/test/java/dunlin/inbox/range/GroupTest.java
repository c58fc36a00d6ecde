package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.state.GroupState;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ShardId;
import dunlin.transport.Terms;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

final class GroupTest {
  private static final String JOBS = "$share/g/jobs";

  /** With a window of four messages a member. */
  private final RangeHarness h = new RangeHarness(RangeHarness.limits(1_000, OverflowPolicy.DROP_OLDEST));

  private SessionRef member(String clientId) {
    var session = h.connect(clientId).session();
    h.subscribe(session, JOBS, QoS.EXACTLY_ONCE);
    return session;
  }

  private GroupState group() {
    var group = h.range.state().groups.get(new GroupKey(RangeHarness.TENANT, RangeHarness.filter(JOBS)));
    if (group == null) throw new AssertionError("no group");
    return group;
  }

  private List<String> all(SessionRef... members) {
    var all = new ArrayList<String>();
    for (SessionRef member : members) all.addAll(h.inbox(member));
    return all;
  }

  @Test
  void eachMessageGoesToOneMemberAndEqualsTakeTurns() {
    var a = member("a");
    var b = member("b");

    for (int i = 1; i <= 4; i++) h.publish("jobs", "m" + i, JOBS);

    assertThat(h.inbox(a)).hasSize(2);
    assertThat(h.inbox(b)).hasSize(2);
    assertThat(all(a, b)).containsExactlyInAnyOrder("m1", "m2", "m3", "m4");
    h.assertBalance();
  }

  @Test
  void aGroupThatWasNotPickedGetsNothing() {
    var a = member("a");

    h.publish("jobs", "m");

    assertThat(h.inbox(a)).isEmpty();
  }

  @Test
  void aSessionWithAPlainAndASharedSubscriptionGetsBoth() {
    var a = member("a");
    h.subscribe(a, "jobs", QoS.AT_LEAST_ONCE);

    h.publish("jobs", "m", JOBS);

    assertThat(h.inbox(a)).containsExactly("m", "m");
  }

  @Test
  void aMessageForTheGroupOnlyGoesToNoPlainSubscriber() {
    var a = member("a");
    h.subscribe(a, "jobs", QoS.AT_LEAST_ONCE);

    var taken = h.apply(new SessionCommand.AppendToGroup(h.now, RangeHarness.filter(JOBS), message("m"), null));
    var refused = h.apply(new SessionCommand.AppendToGroup(h.now, RangeHarness.filter("$share/other/jobs"), message("m"), null));

    assertThat(h.inbox(a)).containsExactly("m");
    assertThat(taken).isEqualTo(new SessionResult.Outcome.Existed(List.of(true)));
    assertThat(refused).isEqualTo(new SessionResult.Outcome.Existed(List.of(false)));
    h.assertBalance();
  }

  @Test
  void aMessageForTheGroupOnlyWaitsForAMemberLikeAnyOther() {
    var a = member("a");
    h.disconnect(a, false, 3600);

    h.apply(new SessionCommand.AppendToGroup(h.now, RangeHarness.filter(JOBS), message("m"), null));
    assertThat(group().backlog.count).isEqualTo(1);
    var again = h.connect("a").session();
    h.settle();

    assertThat(h.inbox(again)).containsExactly("m");
    h.assertBalance();
  }

  private static Terms.Origin origin(long number, Long... picked) {
    return Terms.Origin.fromRecord(-7, number, List.of(picked));
  }

  /** The exchange of a message of the publisher, as a frontend names it. */
  private static OpenExchange exchange(int packetId, long number) {
    return new OpenExchange(packetId, 1, origin(number));
  }

  private Outcome appendToGroup(SessionRef publisher, int packetId, long number) {
    var message = h.inExchange("p", "jobs", "m" + number, publisher.epoch(), packetId);
    return h.apply(new SessionCommand.AppendToGroup(h.now, RangeHarness.filter(JOBS), message, exchange(packetId, number)));
  }

  private Outcome publishAgain(SessionRef publisher, int packetId, Terms.Origin origin) {
    var message = h.inExchange("p", "jobs", "m" + origin.number(), publisher.epoch(), packetId);
    return h.apply(new SessionCommand.Append(h.now, message, message.exchange(), origin, List.of(RangeHarness.filter(JOBS)), false, 0));
  }

  private long inboxPick() {
    return Terms.Pick.of(RangeHarness.filter(JOBS), ShardId.inbox(group().shard));
  }

  private static final long FRONTEND = Terms.Pick.of(RangeHarness.filter(JOBS), ShardId.frontend("node"));

  /** A frontend asks again when it does not know the outcome. */
  @Test
  void aMessageOfARecordedExchangeIsStoredForTheGroupOnce() {
    var a = member("a");
    var b = member("b");
    var publisher = h.connect("p").session();
    h.publishFrom(origin(11, FRONTEND), h.inExchange("p", "jobs", "m11", publisher.epoch(), 5));

    assertThat(appendToGroup(publisher, 5, 11)).isEqualTo(new Outcome.Existed(List.of(true)));
    assertThat(appendToGroup(publisher, 5, 11)).isEqualTo(new Outcome.Existed(List.of(true)));
    h.reopen();
    assertThat(appendToGroup(publisher, 5, 11)).isEqualTo(new Outcome.Existed(List.of(true)));

    assertThat(all(a, b)).containsExactly("m11");
    assertThat(h.connect("p").openExchanges()).containsExactly(new OpenExchange(5, publisher.epoch(), origin(11, FRONTEND, inboxPick())));
    h.assertBalance();
  }

  /** The frontend that was picked has ended, and it is not known whether it has asked for that before. */
  @Test
  void aMessageThatComesAgainForTheGroupIsStoredUnlessAFrontendHasDoneThat() {
    var a = member("a");
    var publisher = h.connect("p").session();
    h.publishFrom(origin(11, FRONTEND), h.inExchange("p", "jobs", "m11", publisher.epoch(), 5));
    h.publishFrom(origin(12, FRONTEND), h.inExchange("p", "jobs", "m12", publisher.epoch(), 6));
    appendToGroup(publisher, 5, 11);

    for (int again = 0; again < 2; again++) {
      assertThat(publishAgain(publisher, 5, origin(11, FRONTEND))).isInstanceOf(Outcome.Repeated.class);
      assertThat(publishAgain(publisher, 6, origin(12, FRONTEND, inboxPick()))).isInstanceOf(Outcome.Repeated.class);
    }

    assertThat(h.inbox(a)).containsExactly("m11", "m12");
    assertThat(h.connect("p").openExchanges()).extracting(each -> each.origin().picked()).containsExactly(List.of(FRONTEND, inboxPick()), List.of(FRONTEND, inboxPick()));
    h.assertBalance();
  }

  @Test
  void aRecordKeepsWhereAMessageThatComesAgainWentNext() {
    var publisher = h.connect("p").session();
    long next = Terms.Pick.of(RangeHarness.filter(JOBS), ShardId.frontend("next"));
    h.publishFrom(origin(11, FRONTEND), h.inExchange("p", "jobs", "m", publisher.epoch(), 5));

    assertThat(publishAgain(publisher, 5, origin(11, FRONTEND, next))).as("what was known before").isEqualTo(new Outcome.Repeated(List.of(FRONTEND)));
    h.reopen();

    assertThat(h.connect("p").openExchanges()).containsExactly(new OpenExchange(5, publisher.epoch(), origin(11, FRONTEND, next)));
  }

  /** Its leader has crashed when it had picked, before the lane knew. */
  @Test
  void aRecordIsNotLedAstrayByARepetitionThatDoesNotKnowThePick() {
    var publisher = h.connect("p").session();
    long another = Terms.Pick.of(RangeHarness.filter(JOBS), ShardId.frontend("another"));
    h.publishFrom(origin(11, FRONTEND), h.inExchange("p", "jobs", "m", publisher.epoch(), 5));

    assertThat(h.publishFrom(origin(11, another), h.inExchange("p", "jobs", "m", publisher.epoch(), 5))).isEqualTo(new Outcome.Repeated(List.of(FRONTEND)));

    assertThat(h.connect("p").openExchanges()).containsExactly(new OpenExchange(5, publisher.epoch(), origin(11, FRONTEND)));
  }

  /** All members have got it. */
  @Test
  void aMessageThatIsDeliveredIsNotStoredWhenItComesAgain() {
    var a = member("a");
    var publisher = h.connect("p").session();
    h.publishFrom(origin(11, FRONTEND), h.inExchange("p", "jobs", "m11", publisher.epoch(), 5));
    h.apply(new SessionCommand.Delivered(publisher, List.of(5)));

    assertThat(publishAgain(publisher, 5, origin(11, FRONTEND))).isEqualTo(new Outcome.Repeated(List.of(Terms.Pick.DELIVERED)));

    assertThat(h.inbox(a)).isEmpty();
  }

  @Test
  void anotherMessageWithThePacketIdentifierOfARecordedOneIsNotTakenForIt() {
    var a = member("a");
    var publisher = h.connect("p").session();
    h.publishFrom(origin(11, FRONTEND), h.inExchange("p", "jobs", "m11", publisher.epoch(), 5));
    h.apply(new SessionCommand.Released(publisher, 5));
    h.publishFrom(origin(12, FRONTEND), h.inExchange("p", "jobs", "m12", publisher.epoch(), 5));

    assertThat(appendToGroup(publisher, 5, 11)).isEqualTo(new Outcome.Existed(List.of(true)));
    assertThat(appendToGroup(publisher, 5, 12)).isEqualTo(new Outcome.Existed(List.of(true)));

    assertThat(h.inbox(a)).containsExactly("m11", "m12");
  }

  @Test
  void aFullInboxRefusesAMessageThatComesAgain() {
    var full = new RangeHarness(RangeHarness.limits(1, OverflowPolicy.REJECT));
    var a = full.connect("a").session();
    full.subscribe(a, JOBS, QoS.EXACTLY_ONCE);
    full.disconnect(a, false, 3600);
    full.publish("jobs", "before", JOBS);
    var publisher = full.connect("p").session();
    full.publishFrom(origin(11, FRONTEND), full.inExchange("p", "jobs", "m11", publisher.epoch(), 5));

    var message = full.inExchange("p", "jobs", "m11", publisher.epoch(), 5);
    var outcome = full.apply(new SessionCommand.Append(full.now, message, message.exchange(), origin(11, FRONTEND), List.of(RangeHarness.filter(JOBS)), false, 0));

    assertThat(outcome).isInstanceOf(Outcome.Full.class);
    assertThat(full.connect("p").openExchanges()).as("it may be stored later").containsExactly(new OpenExchange(5, publisher.epoch(), origin(11, FRONTEND)));
    full.assertBalance();
  }

  private Publication message(String payload) {
    return h.message("p", "jobs", QoS.AT_LEAST_ONCE, payload);
  }

  @Test
  void aFullWindowLeavesTheRestInTheGroupsInboxUntilSomethingIsAcknowledged() {
    var a = member("a");
    for (int i = 1; i <= 10; i++) h.publish("jobs", "m" + i, JOBS);
    assertThat(h.inbox(a)).containsExactly("m1", "m2", "m3", "m4");
    assertThat(group().backlog.count).isEqualTo(6);
    assertThat(group().credit()).isEqualTo(1);

    h.acknowledge(a, 1, 2);
    h.settle();

    assertThat(h.inbox(a)).containsExactly("m3", "m4", "m5", "m6");
    h.publish("jobs", "m11", JOBS);
    assertThat(group().backlog.count).isEqualTo(5);
    h.assertBalance();
  }

  @Test
  void withoutMembersOnlineMessagesWaitForAnyMember() {
    var a = member("a");
    h.disconnect(a, false, 3600);
    var b = member("b");
    h.disconnect(b, false, 3600);
    for (int i = 1; i <= 3; i++) h.publish("jobs", "m" + i, JOBS);
    assertThat(group().credit()).isEqualTo(1);

    h.reopen();
    var again = h.connect("b").session();
    h.settle();

    assertThat(h.inbox(again)).containsExactly("m1", "m2", "m3");
    assertThat(group().credit()).isEqualTo(1);
    assertThat(h.rowKeys()).noneMatch(key -> key.startsWith("default<0>h") || key.contains("jobs<0><2>"));
  }

  @Test
  void creditIsTheRoomOfMembersOnline() {
    member("a");
    member("b");
    assertThat(group().credit()).isEqualTo(8);

    h.publish("jobs", "m", JOBS);
    assertThat(group().credit()).isEqualTo(7);
    h.reopen();
    assertThat(group().credit()).isEqualTo(7);
  }

  @Test
  @Tag("MQTT-4.8.2-4")
  void aMemberThatDisconnectsGivesBackMessagesThatWereNotSent() {
    var a = member("a");
    var b = member("b");
    h.disconnect(b, false, 3600);
    h.publish("jobs", "one", JOBS);
    h.publish(h.message("p", "jobs", QoS.EXACTLY_ONCE, "begun"), JOBS);
    h.publish("jobs", "two", JOBS);
    for (var push : h.effects.pushes()) push.session().backlog().handed(push.message().sequence());

    h.disconnect(a, false, 3600);
    h.publish("jobs", "three", JOBS);
    var again = h.connect("b").session();
    h.settle();

    assertThat(h.inbox(again)).containsExactly("one", "two", "three");
    assertThat(h.inbox(h.connect("a").session())).containsExactly("begun");
    h.assertBalance();
  }

  @Test
  void aLoneMemberKeepsItsMessagesUntilAnotherOneComes() {
    var a = member("a");
    h.publish("jobs", "m", JOBS);
    h.disconnect(a, false, 3600);
    assertThat(group().backlog.count).isZero();

    var b = member("b");
    h.settle();

    assertThat(h.inbox(b)).containsExactly("m");
  }

  @Test
  @Tag("MQTT-4.8.2-5")
  void aMemberWhoseSessionEndsLeavesItsQos1MessagesToOthers() {
    var a = member("a");
    h.publish("jobs", "one", JOBS);
    h.publish(h.message("p", "jobs", QoS.EXACTLY_ONCE, "begun"), JOBS);
    var b = member("b");

    h.connect("a", true, 3600, null);
    h.settle();

    assertThat(h.inbox(b)).containsExactly("one");
    assertThat(h.dropped).containsEntry(InboxDropReason.SESSION_ENDED, 1);
    assertThat(a.epoch()).isPositive();
    h.assertBalance();
  }

  @Test
  @Tag("MQTT-3.10.4-3")
  void aMemberThatUnsubscribesKeepsWhatItWasSent() {
    var a = member("a");
    var b = member("b");
    h.publish("jobs", "m1", JOBS);
    h.publish("jobs", "m2", JOBS);

    h.unsubscribe(a, JOBS);
    h.reopen();
    h.publish("jobs", "m3", JOBS);
    h.subscribe(a, JOBS, QoS.AT_LEAST_ONCE);
    h.reopen();

    assertThat(h.inbox(a)).hasSize(1);
    assertThat(h.inbox(b)).hasSize(2);
    assertThat(group().members().iterator().next().outstanding).isEmpty();
  }

  @Test
  void theInboxOfAGroupEndsWithItsLastMember() {
    var a = member("a");
    h.disconnect(a, false, 3600);
    for (int i = 0; i < 5; i++) h.publish("jobs", "m" + i, JOBS);

    var again = h.connect("a").session();
    h.unsubscribe(again, JOBS);
    h.reopen();
    h.settle();

    assertThat(h.dropped).containsEntry(InboxDropReason.GROUP_ENDED, 5);
    assertThat(h.range.state().groups).isEmpty();
    assertThat(h.rowKeys()).noneMatch(key -> key.startsWith("default<0>g"));
    h.assertBalance();
  }

  @Test
  void theInboxOfAGroupIsBounded() {
    var small = new RangeHarness(RangeHarness.limits(2, OverflowPolicy.DROP_OLDEST));
    var a = small.connect("a").session();
    small.subscribe(a, JOBS, QoS.AT_LEAST_ONCE);
    small.disconnect(a, false, 3600);

    for (int i = 1; i <= 4; i++) small.publish("jobs", "m" + i, JOBS);
    var again = small.connect("a").session();
    small.settle();

    assertThat(small.inbox(again)).containsExactly("m3", "m4");
    assertThat(small.dropped).containsEntry(InboxDropReason.OLDEST, 2);
    small.assertBalance();
  }

  @Test
  void expiredMessagesDoNotLeaveTheInboxOfAGroup() {
    var a = member("a");
    h.disconnect(a, false, 3600);
    h.publish(h.expiring("jobs", "late", 1), JOBS);
    h.publish("jobs", "live", JOBS);

    h.now += 1_000;
    var again = h.connect("a").session();
    h.settle();

    assertThat(h.inbox(again)).containsExactly("live");
    assertThat(h.dropped).containsEntry(InboxDropReason.EXPIRED, 1);
  }

  @Test
  void aMemberWithQos0IsPushedToFromTheInboxOfAGroup() {
    var a = h.connect("a").session();
    h.subscribe(a, JOBS, QoS.AT_MOST_ONCE);
    h.publish("jobs", "now", JOBS);
    assertThat(h.pushed()).containsExactly("a:now");
    h.disconnect(a, false, 3600);
    h.publish("jobs", "later", JOBS);

    h.connect("a");
    h.apply(new SessionCommand.DrainGroup(h.now, group().key, 10));

    assertThat(h.pushed()).containsExactly("a:later");
    h.assertBalance();
    assertThat(h.range.state().queued).hasValue(0);
  }

  @Test
  void anOrderedGroupKeepsAPublisherWithAMember() {
    String ordered = "$oshare/g/jobs";
    var members = new ArrayList<SessionRef>();
    for (String name : List.of("a", "b", "c")) {
      var session = h.connect(name).session();
      h.subscribe(session, ordered, QoS.AT_LEAST_ONCE);
      members.add(session);
    }
    Map<String, Set<String>> seenBy = new HashMap<>();
    for (int i = 0; i < 60; i++) {
      String publisher = "p" + i % 12;
      h.publish(h.message(publisher, "jobs", QoS.AT_LEAST_ONCE, publisher), ordered);
      for (var push : h.effects.pushes()) {
        seenBy.computeIfAbsent(publisher, _ -> new HashSet<>()).add(push.session().key.clientId());
        h.acknowledge(members.get("abc".indexOf(push.session().key.clientId())), push.message().sequence());
      }
    }

    assertThat(seenBy).hasSize(12).allSatisfy((_, clients) -> assertThat(clients).hasSize(1));
    assertThat(seenBy.values().stream().flatMap(Set::stream).distinct()).hasSize(3);
  }

  @Test
  void messagesGivenBackToAFullInboxAreItsOldest() {
    var few = new RangeHarness(RangeHarness.limits(5, OverflowPolicy.DROP_OLDEST));
    var away = few.connect("away").session();
    few.subscribe(away, JOBS, QoS.AT_LEAST_ONCE);
    var other = few.connect("other").session();
    few.subscribe(other, JOBS, QoS.AT_LEAST_ONCE);
    few.disconnect(other, false, 3600);
    for (int i = 1; i <= 13; i++) few.publish("jobs", "m" + i, JOBS);
    assertThat(few.inbox(away)).containsExactly("m1", "m2", "m3", "m4");

    few.disconnect(away, false, 3600);
    few.publish("jobs", "m14", JOBS);
    var back = few.connect("other").session();
    few.settle();

    assertThat(few.inbox(back)).containsExactly("m10", "m11", "m12", "m13");
    few.acknowledge(back, 1, 2, 3, 4);
    few.settle();
    assertThat(few.inbox(back)).containsExactly("m14");
    assertThat(few.dropped).containsEntry(InboxDropReason.OLDEST, 9);
    few.assertBalance();
  }
}

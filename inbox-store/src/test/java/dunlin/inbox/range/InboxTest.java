package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxDropReason;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.state.Fences;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.transport.Terms;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

final class InboxTest {
  private final RangeHarness h = new RangeHarness();

  @Test
  void messagesWaitInOrderAndSurviveARestart() {
    var session = h.connect("c").session();
    h.subscribe(session, "a/+", QoS.AT_LEAST_ONCE);
    h.disconnect(session, false, 3600);
    for (int i = 1; i <= 5; i++) h.publish("a/" + i, "m" + i);
    h.publish("b", "no");

    h.reopen();
    var again = h.connect("c");

    assertThat(again.firstUnacknowledged()).isEqualTo(1);
    assertThat(again.nextSequence()).isEqualTo(6);
    assertThat(h.inbox(again.session())).containsExactly("m1", "m2", "m3", "m4", "m5");
    var page = h.fetch(again.session(), 2, 2);
    assertThat(page.messages()).extracting(InboxMessage::sequence).containsExactly(2L, 3L);
    assertThat(page.nextSequence()).isEqualTo(4);
    assertThat(page.end()).isFalse();
    assertThat(h.fetch(again.session(), 4, 2).end()).isTrue();
    h.assertBalance();
  }

  @Test
  void anOnlineSessionIsPushedWhatWasStored() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", new SubscriptionOptions(QoS.EXACTLY_ONCE, false, true, 0, 9));

    h.publish("a", "m");

    var push = h.effects.pushes().getFirst();
    assertThat(push.connection().number()).isEqualTo(1);
    assertThat(push.message().sequence()).isEqualTo(1);
    assertThat(push.message().qos()).isEqualTo(QoS.AT_LEAST_ONCE);
    assertThat(push.message().delivered()).isFalse();
    assertThat(push.message().subscriptionIdentifiers()).containsExactly(9);
  }

  @Test
  @Tag("MQTT-3.3.4-2")
  @Tag("MQTT-3.3.4-4")
  void overlappingSubscriptionsGetOneCopyWithTheHighestQosAndAllIdentifiers() {
    var session = h.connect("c").session();
    h.subscribe(session, "a/#", new SubscriptionOptions(QoS.AT_LEAST_ONCE, false, false, 0, 3));
    h.subscribe(session, "a/b", new SubscriptionOptions(QoS.EXACTLY_ONCE, false, false, 0, 1));
    h.subscribe(session, "+/b", new SubscriptionOptions(QoS.AT_MOST_ONCE, false, false, 0, 2));

    h.publish(h.message("p", "a/b", QoS.EXACTLY_ONCE, "m"));

    var messages = h.fetch(session).messages();
    assertThat(messages).hasSize(1);
    assertThat(messages.getFirst().qos()).isEqualTo(QoS.EXACTLY_ONCE);
    assertThat(messages.getFirst().subscriptionIdentifiers()).containsExactly(1, 2, 3);
  }

  @Test
  @Tag("MQTT-3.8.3-3")
  void noLocalLeavesOutTheClientsOwnMessages() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", new SubscriptionOptions(QoS.AT_LEAST_ONCE, true, false, 0, 0));

    h.publish(h.message("c", "a", QoS.AT_LEAST_ONCE, "own"));
    h.publish(h.message("d", "a", QoS.AT_LEAST_ONCE, "other"));

    assertThat(h.inbox(session)).containsExactly("other");
  }

  @Test
  @Tag("MQTT-3.3.1-12")
  @Tag("MQTT-3.3.1-13")
  void retainIsKeptOnlyAsPublishedIsAskedFor() {
    var keeps = h.connect("keeps").session();
    var clears = h.connect("clears").session();
    h.subscribe(keeps, "a", new SubscriptionOptions(QoS.AT_LEAST_ONCE, false, true, 0, 0));
    h.subscribe(clears, "a", new SubscriptionOptions(QoS.AT_LEAST_ONCE, false, false, 0, 0));
    var plain = h.message("p", "a", QoS.AT_LEAST_ONCE, "m");
    var retained = Publication.of(plain.publisher(), "a", QoS.AT_LEAST_ONCE, true, h.now, plain.payload());

    h.publish(retained);

    assertThat(h.fetch(keeps).messages().getFirst().retain()).isTrue();
    assertThat(h.fetch(clears).messages().getFirst().retain()).isFalse();
  }

  @Test
  void aSubscriptionWithQos0GetsAPushAndNoRow() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.AT_MOST_ONCE);

    h.publish("a", "online");
    assertThat(h.effects.pushes().getFirst().message().sequence()).isZero();
    h.disconnect(session, false, 3600);
    h.publish("a", "offline");

    assertThat(h.appended).isZero();
    assertThat(h.dropped).containsEntry(InboxDropReason.OFFLINE, 1);
  }

  @Test
  void aRepetitionIsAppendedAgainButNotPushedToASubscriptionWithQos0() {
    h.trace();
    var zero = h.connect("zero").session();
    h.subscribe(zero, "a", QoS.AT_MOST_ONCE);
    var one = h.connect("one").session();
    h.subscribe(one, "a", QoS.AT_LEAST_ONCE);
    var message = h.message("publisher", "a", QoS.AT_LEAST_ONCE, "again");
    h.publish(message);
    assertThat(h.pushed()).containsExactlyInAnyOrder("zero:again", "one:again");

    h.publish(message.asRepetition());
    assertThat(h.pushed()).containsExactly("one:again");
    assertThat(h.dropped).containsEntry(InboxDropReason.REPEATED, 1);
    assertThat(h.inbox(one)).containsExactly("again", "again");
    h.assertBalance();
  }

  /** Otherwise a range could not be split between any two shards. */
  @Test
  void aMessageForInboxesOfSeveralShardsIsStoredInEachOfThem() {
    var one = h.connect("one").session();
    var two = h.connect(RangeHarness.neighbour("two", "one", false)).session();
    h.subscribe(one, "a", QoS.AT_LEAST_ONCE);
    h.subscribe(two, "a", QoS.AT_LEAST_ONCE);
    h.publish("a", "for both");

    assertThat(h.rowKeys()).filteredOn(key -> key.startsWith("default<0>t")).hasSize(2);
    assertThat(h.rowKeys()).noneMatch(key -> key.startsWith("default<0>b"));
    h.acknowledge(one, 1);
    h.reopen();
    assertThat(h.inbox(two)).containsExactly("for both");
    h.acknowledge(two, 1);
    assertThat(h.rowKeys()).noneMatch(key -> key.startsWith("default<0>t"));
    h.assertBalance();
  }

  @Test
  void aMessageForSeveralInboxesOfAShardIsStoredOnceUntilTheLastAcknowledgesIt() {
    var one = h.connect("one").session();
    var two = h.connect(RangeHarness.neighbour("two", "one", true)).session();
    h.subscribe(one, "a", QoS.AT_LEAST_ONCE);
    h.subscribe(two, "#", QoS.AT_LEAST_ONCE);
    h.publish("a", "shared");
    assertThat(h.rowKeys()).filteredOn(key -> key.startsWith("default<0>b")).hasSize(1);
    assertThat(h.inbox(one)).containsExactly("shared");

    h.acknowledge(one, 1);
    h.reopen();
    assertThat(h.inbox(two)).containsExactly("shared");
    h.acknowledge(two, 1);

    assertThat(h.rowKeys()).noneMatch(key -> key.startsWith("default<0>b"));
    assertThat(h.rowKeys()).noneMatch(key -> key.startsWith("default<0>r"));
    h.assertBalance();
  }

  @Test
  void acknowledgingTwiceOrOutOfOrderCountsOnce() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    for (int i = 1; i <= 4; i++) h.publish("a", "m" + i);

    h.acknowledge(session, 3, 1, 3, 99);
    h.disconnect(session, false, 3600);

    assertThat(h.acknowledged).isEqualTo(2);
    var again = h.connect("c");
    assertThat(again.firstUnacknowledged()).isEqualTo(2);
    assertThat(h.inbox(again.session())).containsExactly("m2", "m4");
    h.acknowledge(again.session(), 2, 4);
    h.disconnect(again.session(), false, 3600);
    var last = h.connect("c");
    assertThat(last.firstUnacknowledged()).isEqualTo(5).isEqualTo(last.nextSequence());
  }

  @Test
  @Tag("MQTT-3.3.1-1")
  void onlyMessagesThatMayHaveBeenSentAreMarkedDelivered() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    h.disconnect(session, false, 3600);
    for (int i = 1; i <= 4; i++) h.publish("a", "m" + i);

    var second = h.connect("c").session();
    assertThat(h.fetch(second, 1, 2).messages()).noneMatch(InboxMessage::delivered);
    h.disconnect(second, false, 3600);
    var third = h.connect("c").session();

    var delivered = h.fetch(third).messages().stream().map(InboxMessage::delivered).toList();
    assertThat(delivered).containsExactly(true, true, false, false);
  }

  @Test
  void afterATakeoverEverythingMayHaveBeenSent() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    h.publish("a", "m1");

    var second = h.connect("c").session();
    h.publish("a", "m2");

    var delivered = h.fetch(second).messages().stream().map(InboxMessage::delivered).toList();
    assertThat(delivered).containsExactly(true, false);
  }

  @Test
  @Tag("MQTT-4.3.3-6")
  void aReceivedMessageOwesOnlyItsRelease() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.EXACTLY_ONCE);
    h.publish(h.message("p", "a", QoS.EXACTLY_ONCE, "m1"));
    h.publish(h.message("p", "a", QoS.EXACTLY_ONCE, "m2"));

    h.apply(new SessionCommand.Received(session, 1));
    h.apply(new SessionCommand.Received(session, 1));
    h.reopen();

    var released = h.fetch(session).messages().stream().map(InboxMessage::released).toList();
    assertThat(released).containsExactly(true, false);
  }

  @Test
  @Tag("MQTT-4.3.3-10")
  void anExchangeIsAppendedOnceUntilItIsReleased() {
    var publisher = h.connect("p").session();
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.EXACTLY_ONCE);

    assertThat(h.publish(h.inExchange("p", "a", "1", publisher.epoch(), 5))).isInstanceOf(Outcome.Done.class);
    h.reopen();
    assertThat(h.publish(h.inExchange("p", "a", "1", publisher.epoch(), 5))).isInstanceOf(Outcome.Repeated.class);
    h.disconnect(publisher, false, 3600);
    var again = h.connect("p");
    assertThat(again.receivedPacketIds()).containsExactly(5);
    assertThat(h.publish(h.inExchange("p", "a", "1", publisher.epoch(), 5))).as("still on its way over the connection before").isInstanceOf(Outcome.Repeated.class);
    h.apply(new SessionCommand.Released(again.session(), 5));
    h.publish(h.inExchange("p", "a", "2", again.session().epoch(), 5));

    assertThat(h.inbox(session)).containsExactly("1", "2");
  }

  private static Terms.Origin origin(long number) {
    return new Terms.Origin(-7, number, 1, false, List.of(3L, -4L));
  }

  private static OpenExchange open(int packetId, long epoch, long number) {
    return new OpenExchange(packetId, epoch, Terms.Origin.fromRecord(-7, number, List.of(3L, -4L)));
  }

  @Test
  void anExchangeIsOpenUntilItsMessageIsDelivered() {
    var publisher = h.connect("p").session();
    h.publishFrom(origin(11), h.inExchange("p", "a", "1", publisher.epoch(), 5));
    h.publishFrom(origin(12), h.inExchange("p", "a", "2", publisher.epoch(), 6));
    h.publish(h.inExchange("p", "a", "3", publisher.epoch(), 7));

    var next = h.connect("p");
    assertThat(next.receivedPacketIds()).containsExactly(5, 6, 7);
    assertThat(next.openExchanges()).containsExactly(open(5, publisher.epoch(), 11), open(6, publisher.epoch(), 12));
    h.reopen();
    h.apply(new SessionCommand.Delivered(publisher, List.of(5, 7, 9)));
    assertThat(h.connect("p").openExchanges()).containsExactly(open(6, publisher.epoch(), 12));
    h.reopen();
    var last = h.connect("p");
    assertThat(last.openExchanges()).containsExactly(open(6, publisher.epoch(), 12));
    assertThat(last.receivedPacketIds()).containsExactly(5, 6, 7);
    h.apply(new SessionCommand.Delivered(last.session(), List.of(6)));
    assertThat(h.connect("p").openExchanges()).as("delivered when it was repeated").isEmpty();
  }

  @Test
  void anExchangeIsNotDeliveredBecauseAnEarlierOneWithItsPacketIdentifierWas() {
    var publisher = h.connect("p").session();
    h.publishFrom(origin(11), h.inExchange("p", "a", "1", publisher.epoch(), 5));
    var next = h.connect("p").session();
    h.apply(new SessionCommand.Released(next, 5));
    h.publishFrom(origin(12), h.inExchange("p", "a", "2", next.epoch(), 5));

    h.apply(new SessionCommand.Delivered(publisher, List.of(5)));

    assertThat(h.connect("p").openExchanges()).containsExactly(open(5, next.epoch(), 12));
  }

  /** A broker that stood still sends what it had from a client, which has published it again elsewhere by then. */
  @Test
  void whatComesLateIsNotDeliveredBesideWhatTheNextConnectionHasRecorded() {
    var before = h.connect("p").session();
    var now = h.connect("p").session();
    assertThat(h.publishFrom(origin(12), h.inExchange("p", "a", "1", now.epoch(), 5))).isInstanceOf(Outcome.Done.class);
    h.reopen();

    assertThat(h.publishFrom(origin(11), h.inExchange("p", "a", "1", before.epoch(), 5))).isInstanceOf(Outcome.Stale.class);

    assertThat(h.publishFrom(origin(12), h.inExchange("p", "a", "1", now.epoch(), 5))).isInstanceOf(Outcome.Repeated.class);
    h.apply(new SessionCommand.Delivered(now, List.of(5)));
    assertThat(h.publishFrom(origin(11), h.inExchange("p", "a", "1", before.epoch(), 5))).isEqualTo(new Outcome.Repeated(List.of(Terms.Pick.DELIVERED)));
  }

  @Test
  void noExchangeIsOpenWhenItIsReleasedOrItsSessionEnds() {
    var publisher = h.connect("p").session();
    h.publishFrom(origin(11), h.inExchange("p", "a", "1", publisher.epoch(), 5));
    h.apply(new SessionCommand.Released(publisher, 5));
    assertThat(h.connect("p").openExchanges()).isEmpty();
    var again = h.connect("p").session();
    h.publishFrom(origin(12), h.inExchange("p", "a", "2", again.epoch(), 5));
    h.connect("p", true, 3600, null);
    h.reopen();
    assertThat(h.connect("p").openExchanges()).isEmpty();
    h.apply(new SessionCommand.Delivered(again, List.of(5)));
    h.apply(new SessionCommand.Delivered(new SessionRef(again.tenant(), "another", 1), List.of(5)));
    assertThat(h.connect("p").receivedPacketIds()).isEmpty();
  }

  @Test
  void anExchangeOfAnEarlierEpochIsRefusedAsAWhole() {
    var publisher = h.connect("p").session();
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.EXACTLY_ONCE);
    h.connect("p");

    assertThat(h.publish(h.inExchange("p", "a", "1", publisher.epoch(), 5))).isInstanceOf(Outcome.Stale.class);

    assertThat(h.inbox(session)).isEmpty();
    assertThat(h.connect("p").receivedPacketIds()).isEmpty();
  }

  @Test
  void dropOldestMakesRoomButKeepsReleasedMessages() {
    var full = new RangeHarness(RangeHarness.limits(3, OverflowPolicy.DROP_OLDEST));
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.EXACTLY_ONCE);
    for (int i = 1; i <= 3; i++) full.publish(full.message("p", "a", QoS.EXACTLY_ONCE, "m" + i));
    full.apply(new SessionCommand.Received(session, 1));

    full.publish("a", "m4");
    full.publish("a", "m5");

    assertThat(full.inbox(session)).containsExactly("m1", "m4", "m5");
    assertThat(full.dropped).containsEntry(InboxDropReason.OLDEST, 2);
    full.assertBalance();
  }

  @Test
  void aMessageDroppedForRoomIsNotCountedIfTheClientAcknowledgesIt() {
    var full = new RangeHarness(RangeHarness.limits(3, OverflowPolicy.DROP_OLDEST));
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    for (int i = 1; i <= 3; i++) full.publish("a", "m" + i);
    full.state(session).backlog().handed(2);

    for (int i = 4; i <= 6; i++) full.publish("a", "m" + i);
    assertThat(full.dropped).as("the third was handed to nobody").containsExactly(Map.entry(InboxDropReason.OLDEST, 1));
    assertThat(full.range.state().overtaken).hasValue(2);
    full.assertBalance();
    full.acknowledge(session, 1, 1, 3);

    assertThat(full.acknowledged).isEqualTo(1);
    full.disconnect(session, false, 3600);
    assertThat(full.dropped).as("the second was never acknowledged").containsExactly(Map.entry(InboxDropReason.OLDEST, 2));
    assertThat(full.range.state().overtaken).hasValue(0);
    full.assertBalance();
  }

  @Test
  void aClientThatAcknowledgesNothingHasItsDropsCountedBeforeItsConnectionEnds() {
    var full = new RangeHarness(RangeHarness.limits(3, OverflowPolicy.DROP_OLDEST));
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    full.publish("a", "m");
    full.state(session).backlog().handed(Long.MAX_VALUE - 1);

    for (int i = 0; i < 3_000; i++) full.publish("a", "m" + i);
    assertThat(full.range.state().overtaken).hasValue(1_024);
    assertThat(full.dropped).containsEntry(InboxDropReason.OLDEST, 3_001 - 3 - 1_024);
    full.assertBalance();
    full.connect("c");

    assertThat(full.dropped).containsEntry(InboxDropReason.OLDEST, 3_001 - 3);
    assertThat(full.range.state().overtaken).hasValue(0);
    full.assertBalance();
  }

  @Test
  void dropNewestKeepsWaitingMessages() {
    var full = new RangeHarness(RangeHarness.limits(2, OverflowPolicy.DROP_NEWEST));
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    for (int i = 1; i <= 4; i++) full.publish("a", "m" + i);

    assertThat(full.inbox(session)).containsExactly("m1", "m2");
    assertThat(full.dropped).containsEntry(InboxDropReason.NEWEST, 2);
    full.assertBalance();
  }

  @Test
  void rejectStoresNothingAnywhere() {
    var full = new RangeHarness(RangeHarness.limits(1, OverflowPolicy.REJECT));
    var one = full.connect("one").session();
    full.subscribe(one, "a", QoS.AT_LEAST_ONCE);
    full.publish("a", "m1");
    var two = full.connect("two").session();
    full.subscribe(two, "a", QoS.AT_LEAST_ONCE);

    assertThat(full.publish("a", "m2")).isInstanceOf(Outcome.Full.class);

    assertThat(full.inbox(one)).containsExactly("m1");
    assertThat(full.inbox(two)).isEmpty();
    assertThat(full.dropped).containsEntry(InboxDropReason.REJECTED, 1);
    full.assertBalance();
  }

  @Test
  void oneInboxLeavesRoomForOthersInTheBoundOnAllInboxes() {
    for (OverflowPolicy policy : OverflowPolicy.values()) {
      var small = new RangeHarness(new InboxLimits(10_000, 1 << 20, policy, 10, 4, new Sums(10, 1 << 20, 100_000)));
      var greedy = small.connect("greedy").session();
      var other = small.connect("other").session();
      small.subscribe(greedy, "a", QoS.AT_LEAST_ONCE);
      small.subscribe(other, "b", QoS.AT_LEAST_ONCE);
      String payload = "x".repeat(950); // about a kilobyte with its topic

      for (int i = 0; i < 200; i++) small.publish("a", payload);
      assertThat(small.inbox(greedy).size()).as(policy.name()).isBetween(45, 55);
      for (int i = 0; i < 20; i++) assertThat(small.publish("b", payload)).isInstanceOf(Outcome.Done.class);
      assertThat(small.inbox(other)).as(policy.name()).hasSize(20);
      small.assertBalance();
    }
  }

  @Test
  void messagesBehindARefusedOneOfTheSameConnectionAreRefused() {
    var full = new RangeHarness(new InboxLimits(100, 1_000, OverflowPolicy.REJECT, 10, 4, Sums.ofSessions(1_000)));
    full.crashes = true;
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    var small = full.message("p", "a", QoS.AT_LEAST_ONCE, "small");
    var large = full.message("p", "a", QoS.AT_LEAST_ONCE, "x".repeat(2_000));
    full.publish("a", "first");

    assertThat(full.publishFenced(7, large)).isInstanceOf(Outcome.Full.class);
    assertThat(full.publishFenced(7, small)).isInstanceOf(Outcome.Fenced.class);
    full.write();
    full.crash();
    assertThat(full.publishFenced(7, small)).as("after a crash").isInstanceOf(Outcome.Fenced.class);
    assertThat(full.publishFenced(8, small)).as("of another connection").isInstanceOf(Outcome.Done.class);
    assertThat(full.publish(small)).as("of a publisher who can be told").isInstanceOf(Outcome.Done.class);

    assertThat(full.inbox(session)).containsExactly("first", "small", "small");
    full.assertBalance();
  }

  @Test
  void fencesAreBoundedAndTheOldestGoesFirst() {
    var full = new RangeHarness(new InboxLimits(100, 1_000, OverflowPolicy.REJECT, 10, 4, Sums.ofSessions(1_000)));
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    full.publish("a", "first");
    var large = full.message("p", "a", QoS.AT_LEAST_ONCE, "x".repeat(2_000));
    for (long fence = 1; fence <= Fences.MAX + 1; fence++) full.publishFenced(fence, large);
    full.reopen();

    var fences = full.range.state().fences;
    assertThat(fences.size()).isEqualTo(Fences.MAX);
    assertThat(fences.holds(1)).isFalse();
    assertThat(fences.holds(2)).isTrue();
    full.publishFenced(Fences.MAX + 2, large);
    assertThat(fences.holds(2)).as("the order outlives a restart").isFalse();
    assertThat(fences.holds(3)).isTrue();
    assertThat(full.rows.dump().keySet().stream().filter(key -> key.startsWith("<0><0><0>f"))).hasSize(Fences.MAX);
  }

  @Test
  void aMessageThatIsNotRepeatedIsRefusedOnlyForTheFullInbox() {
    var full = new RangeHarness(RangeHarness.limits(1, OverflowPolicy.REJECT));
    var one = full.connect("one").session();
    full.subscribe(one, "a", QoS.AT_LEAST_ONCE);
    full.publish("a", "m1");
    var two = full.connect("two").session();
    full.subscribe(two, "a", QoS.AT_LEAST_ONCE);
    var member = full.connect("member").session();
    full.subscribe(member, "$share/g/a", QoS.AT_LEAST_ONCE);
    var passing = full.connect("passing").session();
    full.subscribe(passing, "a", QoS.AT_MOST_ONCE);

    var outcome = full.publishOnce(full.message("publisher", "a", QoS.AT_LEAST_ONCE, "will"), "$share/g/a");

    assertThat(outcome).isInstanceOf(Outcome.Full.class);
    assertThat(full.pushed()).containsExactlyInAnyOrder("two:will", "member:will", "passing:will");
    assertThat(full.inbox(one)).containsExactly("m1");
    assertThat(full.inbox(two)).containsExactly("will");
    assertThat(full.inbox(member)).containsExactly("will");
    assertThat(full.dropped).containsEntry(InboxDropReason.REJECTED, 1);
    full.assertBalance();
  }

  @Test
  void bytesAreBoundedToo() {
    var limits = new InboxLimits(100, 1_000, OverflowPolicy.DROP_OLDEST, 10, 4, Sums.ofSessions(1_000));
    var full = new RangeHarness(limits);
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.AT_LEAST_ONCE);

    for (int i = 0; i < 20; i++) full.publish("a", i + "x".repeat(200));
    full.publish("a", "x".repeat(2_000));

    var backlog = full.state(session).backlog();
    assertThat(backlog.bytes).isBetween(500L, 1_000L);
    assertThat(full.dropped).containsEntry(InboxDropReason.NEWEST, 1);
    full.assertBalance();
  }

  @Test
  @Tag("MQTT-3.3.2-5")
  void expiredMessagesAreNotDeliveredUnlessTheyMayHaveBeenBegun() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    h.publish(h.expiring("a", "begun", 10));
    h.disconnect(session, false, 3600);
    h.state(session).sentBelow(2);
    h.publish(h.expiring("a", "late", 10));
    h.publish(h.expiring("a", "live", 60));

    h.now += 10_000;
    var again = h.connect("c").session();

    assertThat(h.inbox(again)).containsExactly("begun", "live");
    assertThat(h.dropped).containsEntry(InboxDropReason.EXPIRED, 1);
    h.assertBalance();
  }

  @Test
  void expiredMessagesMakeRoomWhateverThePolicy() {
    var full = new RangeHarness(RangeHarness.limits(1, OverflowPolicy.REJECT));
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    full.publish(full.expiring("a", "late", 1));
    full.now += 1_000;

    assertThat(full.publish("a", "live")).isInstanceOf(Outcome.Done.class);
    assertThat(full.inbox(session)).containsExactly("live");
  }

  @Test
  void subscriptionsAreCountedForRoutesByShard() {
    var one = h.connect("one").session();
    h.subscribe(one, "a", QoS.AT_LEAST_ONCE);
    assertThat(h.effects.routes()).hasSize(1).allMatch(Effects.RouteChange::wanted);
    h.subscribe(one, "a", QoS.EXACTLY_ONCE);
    assertThat(h.effects.routes()).isEmpty();
    for (int i = 0; i < 60; i++) h.subscribe(h.connect("c" + i).session(), "a", QoS.AT_LEAST_ONCE);
    assertThat(h.range.lead()).hasSize(16);

    h.unsubscribe(one, "a");
    assertThat(h.effects.routes()).isEmpty();
    int removed = 0;
    for (int i = 0; i < 60; i++) {
      h.connect("c" + i, true, 3600, null);
      removed += h.effects.routes().size();
    }

    assertThat(removed).isEqualTo(16);
    assertThat(h.range.state().index.size()).isZero();
  }

  @Test
  void tooManySubscriptionsAreRefusedAsAWhole() {
    var few = new RangeHarness(new InboxLimits(10, 1_000, OverflowPolicy.REJECT, 2, 4, Sums.ofSessions(1_000)));
    var session = few.connect("c").session();
    few.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    few.subscribe(session, "b", QoS.AT_LEAST_ONCE);

    assertThat(few.subscribe(session, "c", QoS.AT_LEAST_ONCE)).isInstanceOf(Outcome.Full.class);
    assertThat(few.subscribe(session, "b", QoS.EXACTLY_ONCE)).isEqualTo(new Outcome.Existed(List.of(true)));
    assertThat(h.subscribe(h.connect("d").session(), "a/".repeat(400), QoS.AT_LEAST_ONCE))
        .isInstanceOf(Outcome.Full.class);
  }
}

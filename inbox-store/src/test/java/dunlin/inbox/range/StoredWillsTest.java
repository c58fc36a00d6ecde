package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxDropReason;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.SessionKeys;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.transport.Terms;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Wills whose sending is recorded: each is stored once, however many leaders of its range send it, and whenever what they have sent arrives. */
final class StoredWillsTest {
  private static final String GROUP = "$share/g/wills";
  private static final String OTHER_GROUP = "$share/h/wills";
  private static final Outcome DELIVERED = new Outcome.Repeated(List.of(Terms.Pick.DELIVERED));

  private RangeHarness h = new RangeHarness();

  private SessionRef subscriber(String clientId, String... filters) {
    var session = h.connect(clientId).session();
    for (String filter : filters) h.subscribe(session, filter, QoS.AT_LEAST_ONCE);
    return session;
  }

  /** The connection of a client that was lost, and has left a will that is due. */
  private Connected dying() {
    var dying = h.connect("c", false, 3600, new Will(h.message("c", "wills", QoS.AT_LEAST_ONCE, "gone"), 0));
    h.disconnect(dying.session(), true, 3600);
    return dying;
  }

  private List<Effects.DueWill> reported() {
    h.apply(new SessionCommand.Tick(h.now, 100, 100));
    return h.effects.wills();
  }

  private Publication message(long epoch) {
    return h.message("c", "wills", QoS.AT_LEAST_ONCE, "gone").asWillOf(epoch);
  }

  private Outcome send(Terms.Origin origin, String... groups) {
    var message = message(origin.number());
    return h.apply(new SessionCommand.Append(h.now, message, message.exchange(), origin, filters(groups), true, 0));
  }

  private static List<TopicFilter> filters(String... groups) {
    return Arrays.stream(groups).map(RangeHarness::filter).toList();
  }

  private static long pick(String group, ShardId shard) {
    return Terms.Pick.of(RangeHarness.filter(group), shard);
  }

  private void published(long epoch) {
    h.apply(new SessionCommand.WillPublished(RangeHarness.TENANT, "c", epoch));
  }

  @Test
  void aWillIsStoredOnceWhicheverLeaderSendsItAndWhenever() {
    var subscriber = subscriber("s", "wills");
    long epoch = dying().session().epoch();

    assertThat(send(Terms.Origin.ofWill(epoch, false))).isInstanceOf(Outcome.Done.class);
    assertThat(send(Terms.Origin.ofWill(epoch, true))).isEqualTo(new Outcome.Repeated(List.of()));
    h.reopen();
    assertThat(send(Terms.Origin.ofWill(epoch, true))).as("to the next leader").isEqualTo(new Outcome.Repeated(List.of()));
    published(epoch);
    assertThat(send(Terms.Origin.ofWill(epoch, false))).as("late").isEqualTo(DELIVERED);
    h.reopen();
    assertThat(send(Terms.Origin.ofWill(epoch, true))).as("still later").isEqualTo(DELIVERED);

    assertThat(h.inbox(subscriber)).containsExactly("gone");
    h.assertBalance();
  }

  @Test
  void aWillThatIsDiscardedOnItsWayIsNotStored() {
    var subscriber = subscriber("s", "wills");
    var first = h.connect("c", true, 0, new Will(h.message("c", "wills", QoS.AT_LEAST_ONCE, "gone"), 0));
    h.connect("c", true, 0, null);
    assertThat(reported()).hasSize(1);
    h.disconnect(first.session(), false, 0);

    assertThat(send(Terms.Origin.ofWill(first.session().epoch(), false))).isEqualTo(DELIVERED);
    assertThat(h.inbox(subscriber)).isEmpty();
  }

  @Test
  void theWillOfAnotherClientOrConnectionIsAnotherOne() {
    var subscriber = subscriber("s", "wills");
    long epoch = dying().session().epoch();
    long next = dying().session().epoch();

    send(Terms.Origin.ofWill(epoch, false));
    send(Terms.Origin.ofWill(next, false));

    assertThat(h.inbox(subscriber)).containsExactly("gone", "gone");
    var ofAnother = h.message("d", "wills", QoS.AT_LEAST_ONCE, "gone").asWillOf(next);
    var command = new SessionCommand.Append(h.now, ofAnother, ofAnother.exchange(), Terms.Origin.ofWill(next, false), List.of(), true, 0);
    assertThat(h.apply(command)).isEqualTo(DELIVERED);
  }

  @Test
  void aReportSaysWhetherTheWillMayHaveBeenSentAndIsStored() {
    long epoch = dying().session().epoch();
    assertThat(reported()).extracting(Effects.DueWill::again).containsExactly(false);
    h.apply(new SessionCommand.Configure(RangeHarness.limits(10, OverflowPolicy.DROP_OLDEST))); // the next leader
    assertThat(reported()).extracting(Effects.DueWill::again, Effects.DueWill::stored).containsExactly(tuple(true, false));

    send(Terms.Origin.ofWill(epoch, true));
    h.reopen();

    assertThat(reported()).extracting(Effects.DueWill::again, Effects.DueWill::stored).containsExactly(tuple(true, true));
  }

  /** The last leader has sent it, and a replica that was restored before has applied no report. */
  @Test
  void aWillThatIsStoredMayHaveBeenSentAlthoughItWasNotReportedHere() {
    long epoch = dying().session().epoch();

    send(Terms.Origin.ofWill(epoch, false));

    assertThat(reported()).extracting(Effects.DueWill::again, Effects.DueWill::stored).containsExactly(tuple(true, true));
  }

  @Test
  void theRecordKnowsWhatWasPickedForTheGroupsOfAWill() {
    var member = subscriber("s", GROUP);
    long epoch = dying().session().epoch();
    long frontend = pick(GROUP, ShardId.frontend("f"));
    long other = pick(OTHER_GROUP, ShardId.frontend("g"));

    send(Terms.Origin.ofWill(epoch, false).withPicked(List.of(frontend)));
    h.reopen();
    assertThat(send(Terms.Origin.ofWill(epoch, true), GROUP)).as("it does not know of the frontend").isEqualTo(new Outcome.Repeated(List.of(frontend)));
    assertThat(h.inbox(member)).isEmpty();
    assertThat(send(Terms.Origin.ofWill(epoch, true).withPicked(List.of(frontend, other)), GROUP)).as("the frontend has ended").isEqualTo(new Outcome.Repeated(List.of(frontend)));
    assertThat(h.inbox(member)).containsExactly("gone");
    send(Terms.Origin.ofWill(epoch, true).withPicked(List.of(frontend)), GROUP);

    assertThat(h.inbox(member)).as("once").containsExactly("gone");
  }

  @Test
  void aFrontendThatAsksAgainForDurableMembersFindsTheWillStored() {
    var member = subscriber("s", GROUP);
    long epoch = dying().session().epoch();
    var exchange = new OpenExchange(Publication.Exchange.WILL, epoch, Terms.Origin.ofWill(epoch, true));
    var append = new SessionCommand.AppendToGroup(h.now, RangeHarness.filter(GROUP), message(epoch), exchange);
    send(Terms.Origin.ofWill(epoch, false).withPicked(List.of(pick(GROUP, ShardId.frontend("f")))));

    for (int i = 0; i < 3; i++) {
      assertThat(h.apply(append)).isEqualTo(new Outcome.Existed(List.of(true)));
      h.reopen();
    }
    published(epoch);
    assertThat(h.apply(append)).as("late").isEqualTo(new Outcome.Existed(List.of(true)));

    assertThat(h.inbox(member)).containsExactly("gone");
  }

  @Test
  void theRecordNamesOneRangeForTheDurableMembersOfAGroup() {
    long epoch = dying().session().epoch();
    long one = pick(GROUP, ShardId.inbox(1));
    long two = pick(GROUP, ShardId.inbox(2));
    var exchange = new OpenExchange(Publication.Exchange.WILL, epoch, Terms.Origin.ofWill(epoch, true));
    assertThat(pickForGroup(exchange, one)).as("nothing is recorded").isEqualTo(new Outcome.Picked(0, 0));
    send(Terms.Origin.ofWill(epoch, false));

    assertThat(pickForGroup(exchange, one)).isEqualTo(new Outcome.Picked(one, epoch));
    h.reopen();
    assertThat(pickForGroup(exchange, two)).isEqualTo(new Outcome.Picked(one, epoch));
    published(epoch);
    assertThat(pickForGroup(exchange, two)).isEqualTo(new Outcome.Picked(Terms.Pick.DELIVERED, epoch));
  }

  private Outcome pickForGroup(OpenExchange exchange, long pick) {
    return h.apply(new SessionCommand.PickForGroup(RangeHarness.TENANT, "c", exchange, RangeHarness.filter(GROUP), pick));
  }

  @Test
  void aFullInboxRefusesAWillForItselfAloneAndItIsRecorded() {
    h = new RangeHarness(RangeHarness.limits(1, OverflowPolicy.REJECT));
    var full = subscriber("full", "wills", "t");
    var other = subscriber("other", "wills");
    h.publish("t", "first");
    long epoch = dying().session().epoch();

    assertThat(send(Terms.Origin.ofWill(epoch, false))).isInstanceOf(Outcome.Full.class);
    assertThat(send(Terms.Origin.ofWill(epoch, true))).isEqualTo(new Outcome.Repeated(List.of()));

    assertThat(h.inbox(full)).containsExactly("first");
    assertThat(h.inbox(other)).containsExactly("gone");
  }

  @Test
  void aGroupThatIsFullRefusesARepetitionForItselfAlone() {
    h = new RangeHarness(RangeHarness.limits(1, OverflowPolicy.REJECT));
    var full = subscriber("full", GROUP, "t");
    var other = subscriber("other", OTHER_GROUP);
    h.publish("t", "first");
    h.publish("wills", "waits for the member", GROUP);
    long epoch = dying().session().epoch();
    send(Terms.Origin.ofWill(epoch, false));

    assertThat(send(Terms.Origin.ofWill(epoch, true), GROUP, OTHER_GROUP)).isEqualTo(new Outcome.Repeated(List.of()));

    assertThat(h.dropped).containsEntry(InboxDropReason.REJECTED, 1);
    assertThat(h.inbox(full)).containsExactly("first");
    assertThat(h.inbox(other)).containsExactly("gone");
  }

  @Test
  void aRowOfALaterVersionStopsTheReplica() {
    long epoch = dying().session().epoch();
    send(Terms.Origin.ofWill(epoch, false));
    h.write();
    byte[] key = SessionKeys.will(new SessionKey(RangeHarness.TENANT, "c"), epoch);
    byte[] row = Objects.requireNonNull(h.rows.get(key));
    assertThat(row[0]).isEqualTo((byte) 3);
    row[0] = 4;
    h.rows.put(key, row);

    assertThatThrownBy(h::reopen).hasMessageContaining("will of unknown format 4");
  }

  // ------------------------------------------------------------------------------------------------------ in another range

  private Outcome sendElsewhere(long epoch, String... groups) {
    var append = new SessionCommand.Append(h.now, message(epoch), null, null, filters(groups), true, 0);
    return h.apply(new SessionCommand.AppendOfExchange(0, epoch, Publication.Exchange.WILL, append));
  }

  /** Has the second half of the shards, and a client there. */
  private SessionRef elsewhere(String... filters) {
    var interval = ShardInterval.divide(RangeHarness.SHARDS, 2).getLast();
    h = new RangeHarness(interval);
    String client = IntStream.range(0, 100).mapToObj(i -> "s" + i).filter(each -> interval.contains(interval.of(new SessionKey(RangeHarness.TENANT, each)))).findFirst().orElseThrow();
    return subscriber(client, filters);
  }

  @Test
  void anotherRangeStoresAWillOnceAndInNoOrder() {
    var subscriber = elsewhere("wills");
    for (long epoch : new long[] {9, 7, 9, 7}) {
      assertThat(sendElsewhere(epoch)).isInstanceOf(Outcome.Done.class);
      h.reopen();
    }

    assertThat(h.inbox(subscriber)).as("of two connections").containsExactly("gone", "gone");
    assertThat(h.range.state().foreignWills.size()).isEqualTo(2);
    h.assertBalance();
  }

  @Test
  void anotherRangeStoresAWillForEachGroupOnce() {
    var member = elsewhere(GROUP);
    h.subscribe(member, "wills", SubscriptionOptions.of(QoS.AT_LEAST_ONCE));
    var exchange = new OpenExchange(Publication.Exchange.WILL, 7, Terms.Origin.ofWill(7, true));
    var append = new SessionCommand.AppendToGroupOfExchange(7, new SessionCommand.AppendToGroup(h.now, RangeHarness.filter(GROUP), message(7), exchange));

    assertThat(h.apply(append)).isEqualTo(new Outcome.Existed(List.of(true)));
    h.reopen();
    assertThat(h.apply(append)).isEqualTo(new Outcome.Existed(List.of(true)));
    sendElsewhere(7, GROUP);
    sendElsewhere(7, GROUP);

    assertThat(h.inbox(member)).as("for the group, and for itself").containsExactly("gone", "gone");
  }

  @Test
  void anotherRangeForgetsAWillThatHasNotComeForALongTime() {
    elsewhere("wills");
    sendElsewhere(1);
    sendElsewhere(2);
    h.now += Duration.ofMinutes(6).toMillis();
    sendElsewhere(2);
    h.now += Duration.ofMinutes(6).toMillis();

    sendElsewhere(3);

    assertThat(h.range.state().foreignWills.size()).as("2 and 3").isEqualTo(2);
    int rows = h.rowKeys().stream().mapToInt(key -> key.startsWith("default<0>w") ? 1 : 0).sum();
    h.reopen();
    assertThat(h.range.state().foreignWills.size()).isEqualTo(2);
    assertThat(rows).isEqualTo(2);
  }
}

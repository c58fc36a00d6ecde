package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.InboxLimits;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.rows.BodyReferences;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.StoredMessage;
import dunlin.model.QoS;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * What the applying thread reads for a command: headers, many at a time, and messages only when they are handed on from
 * a group's inbox.
 */
final class ApplyCostTest {
  private static final String JOBS = "$share/g/jobs";
  private static final int LARGE = 20_000;

  private final RangeHarness h = new RangeHarness(new InboxLimits(100_000, 1L << 30, OverflowPolicy.DROP_OLDEST, 100, 256, Sums.ofSessions(10_000)));

  private SessionRef absentWith(int messages, QoS qos, String payload) {
    var session = h.connect("c").session();
    h.subscribe(session, "a", qos);
    h.disconnect(session, false, 3600);
    for (int i = 0; i < messages; i++) h.publish(h.message("p", "a", qos, payload));
    return session;
  }

  @Test
  void acknowledgingAfterARestartReadsManyHeadersAtATime() {
    absentWith(1_000, QoS.AT_LEAST_ONCE, "x".repeat(4_000));
    h.reopen();

    h.rows.countAnew();
    var session = h.connect("c").session();
    assertThat(h.rows.gets + h.rows.scans).as("reads of CONNECT").isZero();
    for (long first = 1; first <= 1_000; first += 50) {
      h.acknowledge(session, LongStream.range(first, first + 50).toArray());
    }

    assertThat(h.acknowledged).isEqualTo(1_000);
    assertThat(h.rows.gets).isZero();
    assertThat(h.rows.scans).isLessThanOrEqualTo(12);
    assertThat(h.rows.rowsRead).isLessThanOrEqualTo(1_000);
    assertThat(h.rows.bytesRead).isLessThan(1_000 * 20);
    h.assertBalance();
  }

  @Test
  void acknowledgingOneByOneReadsNoMoreThanAllTogether() {
    absentWith(500, QoS.EXACTLY_ONCE, "m");
    h.reopen();
    var session = h.connect("c").session();

    h.rows.countAnew();
    for (long sequence = 1; sequence <= 500; sequence++) h.apply(new SessionCommand.Received(session, sequence));
    assertThat(h.rows.gets).isZero();
    assertThat(h.rows.scans).isLessThanOrEqualTo(8);
    for (long sequence = 1; sequence <= 500; sequence++) h.acknowledge(session, sequence, sequence);

    assertThat(h.rows.gets).isZero();
    assertThat(h.rows.scans).isLessThanOrEqualTo(16);
    assertThat(h.acknowledged).isEqualTo(500);
    h.assertBalance();
  }

  @Test
  void messagesAppendedForAConnectionAreAcknowledgedWithoutAnyRead() {
    var session = h.connect("c").session();
    h.subscribe(session, "a", QoS.EXACTLY_ONCE);

    h.rows.countAnew();
    for (int i = 1; i <= 300; i++) {
      h.publish(h.message("p", "a", QoS.EXACTLY_ONCE, "m"));
      h.apply(new SessionCommand.Received(session, i));
      h.acknowledge(session, i);
      h.acknowledge(session, i);
    }

    assertThat(h.rows.gets + h.rows.scans).isZero();
    assertThat(h.acknowledged).isEqualTo(300);
    h.assertBalance();
  }

  @Test
  void messagesThatCannotExistAreNotSearchedFor() {
    absentWith(10, QoS.AT_LEAST_ONCE, "m");
    var session = h.connect("c").session();

    h.rows.countAnew();
    h.acknowledge(session, 0, -5, 11, 1_000_000, Long.MAX_VALUE);

    assertThat(h.rows.gets + h.rows.scans).isZero();
  }

  @Test
  void aMessageForManyAbsentSessionsCostsARowForEach() {
    for (int i = 0; i < 500; i++) {
      var session = h.connect("c" + i).session();
      h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
      h.disconnect(session, false, 3600);
    }

    h.rows.countAnew();
    h.publish("a", "m");

    assertThat(h.rows.gets + h.rows.scans).isZero();
    assertThat(h.rows.writes).isEqualTo(500 + 2 * RangeHarness.SHARDS); // the body and its number, in each shard
  }

  /**
   * Released messages stay until PUBCOMP. Without a bound, a client that never sends it would make every new message
   * scan all of them.
   */
  @Test
  void roomIsMadeAmongABoundedNumberOfMessages() {
    int released = Inboxes.ROOM_ROWS_MAX + 1;
    var full = new RangeHarness(RangeHarness.limits(released + 1, OverflowPolicy.DROP_OLDEST));
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.EXACTLY_ONCE);
    for (int i = 1; i <= released + 1; i++) full.publish(full.message("p", "a", QoS.EXACTLY_ONCE, "m"));
    for (int i = 1; i <= released; i++) full.apply(new SessionCommand.Received(session, i));
    full.reopen();

    full.rows.countAnew();
    full.publish(full.message("p", "a", QoS.EXACTLY_ONCE, "m"));

    assertThat(full.rows.rowsRead).isLessThanOrEqualTo(Inboxes.ROOM_ROWS_MAX + HeaderCache.AHEAD_MAX);
    assertThat(full.dropped).containsEntry(InboxDropReason.NEWEST, 1);
    full.acknowledge(session, 1);
    full.publish(full.message("p", "a", QoS.EXACTLY_ONCE, "m"));
    assertThat(full.dropped).as("there is room").containsEntry(InboxDropReason.NEWEST, 1);
    full.assertBalance();
  }

  @Test
  void aLargeMessageDoesNotDropAllSmallOnesAtOnce() {
    int small = 2 * Inboxes.ROOM_ROWS_MAX;
    var bytes = StoredMessage.bytes(h.message("p", "a", QoS.AT_LEAST_ONCE, "m")).length;
    var full = new RangeHarness(new InboxLimits(100_000, (long) small * bytes, OverflowPolicy.DROP_OLDEST, 10, 4, Sums.ofSessions(10)));
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    for (int i = 0; i < small; i++) full.publish(full.message("p", "a", QoS.AT_LEAST_ONCE, "m"));

    String large = "x".repeat(small * bytes * 3 / 4);
    full.publish("a", large);
    assertThat(full.dropped).containsEntry(InboxDropReason.OLDEST, Inboxes.ROOM_ROWS_MAX).containsEntry(InboxDropReason.NEWEST, 1);
    full.publish("a", large);
    int oldest = full.dropped.getOrDefault(InboxDropReason.OLDEST, 0);
    assertThat(full.dropped).as("the next one finds the room").containsEntry(InboxDropReason.NEWEST, 1);
    assertThat(oldest).isBetween(Inboxes.ROOM_ROWS_MAX + 1, small);
    assertThat(full.range.state().queued).hasValue(small - oldest + 1);
    full.assertBalance();
  }

  @Test
  void aFullInboxMakesRoomWithoutAReadForEachMessage() {
    var full = new RangeHarness(RangeHarness.limits(200, OverflowPolicy.DROP_OLDEST));
    var session = full.connect("c").session();
    full.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    full.disconnect(session, false, 3600);
    for (int i = 0; i < 200; i++) full.publish("a", "m" + i);

    full.rows.countAnew();
    for (int i = 200; i < 1_000; i++) full.publish("a", "m" + i);

    assertThat(full.rows.gets).isZero();
    assertThat(full.rows.scans).isLessThanOrEqualTo(12);
    assertThat(full.dropped).containsEntry(InboxDropReason.OLDEST, 800);
    full.assertBalance();
  }

  @Test
  void deletingTheMessagesOfAnEndedSessionReadsNoMessage() {
    absentWith(600, QoS.AT_LEAST_ONCE, "x".repeat(LARGE));
    h.connect("c", true, 3600, null);

    h.rows.countAnew();
    h.apply(new SessionCommand.Tick(h.now, 1_000, 0));

    assertThat(h.dropped).containsEntry(InboxDropReason.SESSION_ENDED, 600);
    assertThat(h.rows.gets).isZero();
    assertThat(h.rows.bytesRead).isLessThan(600 * 20);
    assertThat(h.rowKeys()).noneMatch(key -> key.startsWith("default<0>t"));
    h.assertBalance();
  }

  @Test
  void aStepOfDrainingAGroupIsBoundedInBytes() {
    var member = h.connect("m").session();
    h.subscribe(member, JOBS, QoS.AT_LEAST_ONCE);
    h.disconnect(member, false, 3600);
    for (int i = 0; i < 100; i++) h.publish("jobs", "x".repeat(LARGE), JOBS);
    var again = h.connect("m").session();

    int steps = 0;
    for (boolean asked = true; asked; asked = !h.effects.drains().isEmpty()) {
      h.rows.countAnew();
      h.apply(new SessionCommand.DrainGroup(h.now, new GroupKey(RangeHarness.TENANT, RangeHarness.filter(JOBS)), 256));
      assertThat(h.rows.bytesRead).isLessThan(300_000);
      steps++;
    }

    assertThat(steps).isBetween(8, 12);
    assertThat(h.state(again).waiting()).isEqualTo(100);
    h.assertBalance();
  }

  @Test
  void givingBackToAGroupMovesOnlyHeaders() {
    var one = h.connect("one").session();
    h.subscribe(one, JOBS, QoS.AT_LEAST_ONCE);
    for (int i = 0; i < 200; i++) h.publish("jobs", "x".repeat(LARGE), JOBS);
    var other = h.connect("other").session();
    h.subscribe(other, JOBS, QoS.AT_LEAST_ONCE);
    h.reopen();

    h.rows.countAnew();
    h.disconnect(one, false, 3600);

    assertThat(h.rows.gets).isZero();
    assertThat(h.rows.bytesRead).isLessThan(200 * 40);
    h.settle();
    assertThat(h.state(other).waiting()).isEqualTo(200);
    h.assertBalance();
  }

  @Test
  void expiryTakesAsManyStepsAsItHasRowsToDelete() {
    for (int i = 0; i < 20; i++) {
      var session = h.connect("c" + i).session();
      for (int j = 0; j < 49; j++) h.subscribe(session, "a/" + j, QoS.AT_LEAST_ONCE);
      h.disconnect(session, false, 60);
    }
    h.now += 61_000;

    h.rows.countAnew();
    h.apply(new SessionCommand.Tick(h.now, 100, 0));

    assertThat(h.effects.sessionsExpired()).isEqualTo(2);
    assertThat(h.effects.hasMoreWork()).isTrue();
    assertThat(h.rows.writes).isLessThan(110);
    h.settle();
    assertThat(h.range.state().sessions).isEmpty();
  }

  @Test
  void acknowledgingSharedMessagesReadsManyReferenceCountsAtATime() {
    String neighbour = RangeHarness.neighbour("d", "c", true);
    for (String client : new String[] {"c", neighbour}) {
      var session = h.connect(client).session();
      h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
      h.disconnect(session, false, 3600);
    }
    for (int i = 0; i < 1_000; i++) h.publish("a", "x".repeat(1_000));
    h.reopen();
    var one = h.connect("c").session();
    var two = h.connect(neighbour).session();

    h.rows.countAnew();
    h.acknowledge(one, LongStream.rangeClosed(1, 1_000).toArray());

    assertThat(h.rows.gets).isZero();
    assertThat(h.rows.scans).isLessThanOrEqualTo(12 + 1_000 / BodyReferences.AHEAD_MAX + 1);
    assertThat(h.rowKeys()).filteredOn(key -> key.startsWith("default<0>b")).hasSize(1_000);
    h.acknowledge(two, LongStream.rangeClosed(1, 1_000).toArray());
    assertThat(h.rowKeys()).noneMatch(key -> key.startsWith("default<0>b") || key.startsWith("default<0>r"));
    h.assertBalance();
  }

  @Test
  void countsOfBodiesInMemoryAreBounded() {
    String neighbour = RangeHarness.neighbour("d", "c", true);
    for (String client : new String[] {"c", neighbour}) {
      var session = h.connect(client).session();
      h.subscribe(session, "a", QoS.AT_LEAST_ONCE);
      h.disconnect(session, false, 3600);
    }

    for (int i = 0; i < BodyReferences.CACHED_MAX + 5_000; i++) {
      h.publish("a", "m");
      if (i % 4_000 == 0) h.write();
    }
    h.write();

    assertThat(h.range.state().references.cached()).isEqualTo(BodyReferences.CACHED_MAX);
    var session = h.connect("c").session();
    h.acknowledge(session, 1, 2, 3);
    assertThat(h.acknowledged).isEqualTo(3);
  }

  @Test
  void theSummaryOfAnInboxIsWrittenOnceForEachWriteOfTheRows() {
    absentWith(300, QoS.AT_LEAST_ONCE, "m");

    h.rows.countAnew();
    h.write();
    assertThat(h.rows.writes).isEqualTo(1);
    h.write();
    assertThat(h.rows.writes).isEqualTo(1);
  }

  @Test
  void aStartReadsNeitherMessagesNorTheirHeaders() {
    absentWith(300, QoS.AT_LEAST_ONCE, "x".repeat(LARGE));
    var other = h.connect("d").session();
    h.subscribe(other, "a", QoS.AT_LEAST_ONCE);
    for (int i = 0; i < 100; i++) h.publish("a", "x".repeat(LARGE));

    h.write();
    h.rows.countAnew();
    h.reopen();

    assertThat(h.rows.bytesRead).isLessThan(2L * LARGE + 1_000); // only the first body and the first content are read, to skip the rest
    assertThat(h.rows.rowsRead).isLessThan(16);
    assertThat(h.state(other).waiting()).isEqualTo(100);
  }

  @Test
  void exchangesCountAsStepsOfExpiry() {
    for (int i = 0; i < 4; i++) endingWith("c" + i, 100);
    h.now += 61_000;

    h.rows.countAnew();
    h.apply(new SessionCommand.Tick(h.now, 100, 0));

    assertThat(h.effects.sessionsExpired()).isEqualTo(1);
    assertThat(h.effects.hasMoreWork()).isTrue();
    assertThat(h.rows.writes).isLessThan(110);
    h.settle();
    assertThat(h.range.state().sessions).isEmpty();
  }

  /** An absent session with this many QoS 2 exchanges in which the client is the sender. */
  private void endingWith(String clientId, int exchanges) {
    var session = h.connect(clientId).session();
    for (int id = 1; id <= exchanges; id++) h.publish(h.inExchange(clientId, "nobody", "m", session.epoch(), id));
    h.disconnect(session, false, 60);
  }

  @Test
  void connectionsOfAnEarlierLifeAreEndedInStepsThatCountRows() {
    for (int i = 0; i < 4; i++) h.subscribe(h.connect("m" + i).session(), JOBS, QoS.AT_LEAST_ONCE);
    for (int i = 0; i < 400; i++) h.publish("jobs", "m" + i, JOBS);

    int commands = 0;
    for (boolean more = true; more; more = h.effects.hasMoreWork()) {
      h.rows.countAnew();
      h.apply(new SessionCommand.FrontendGone(h.now, "node", 2, 100));
      assertThat(h.rows.writes).isLessThan(220);
      commands++;
    }

    assertThat(commands).isEqualTo(4);
    assertThat(h.range.state().sessions.values()).allMatch(session -> session.owner == null);
    h.assertBalance();
  }
}

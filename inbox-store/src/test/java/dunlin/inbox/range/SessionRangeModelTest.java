package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxClient;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.MemberQueue;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TenantQuota;
import dunlin.model.TopicFilter;
import dunlin.transport.Terms;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Applies random commands, and compares the range with a second one that restarts now and then, and with a simple
 * model.
 */
final class SessionRangeModelTest {
  private static final List<String> CLIENTS = List.of("a", "b", "c", "d", "e");
  private static final List<String> FILTERS =
      List.of("t/1", "t/+", "#", "t/#", "+/2", "$share/g/t/+", "$share/h/#", "$oshare/o/t/1", "$share/g/t/+", "$oshare/p/#");

  /** For all inboxes together: less than they hold without it. */
  private static final long FEW_BYTES = 1_000;

  static LongStream seeds() {
    return LongStream.range(0, 60);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aRangeThatRestartsDoesTheSameAsOneThatDoesNot(long seed) {
    var random = new Random(seed);
    var policy = OverflowPolicy.of(1 + (int) (seed % 3));
    // Bounds that inboxes share must give room to the same ones, too.
    long bytesMax = seed % 4 == 1 ? FEW_BYTES : Long.MAX_VALUE;
    long tenantBytes = seed % 4 == 3 ? FEW_BYTES : TenantQuota.NONE;
    var steady = new RangeHarness(RangeHarness.limits(12, policy, bytesMax));
    var restarting = new RangeHarness(RangeHarness.limits(12, policy, bytesMax));
    restarting.trace(); // which must not make a difference either
    restarting.crashes = true;
    restarting.write();
    Map<String, SessionRef> sessions = new HashMap<>();

    for (int step = 0; step < 400; step++) {
      String at = "seed " + seed + ", step " + step;
      switch (random.nextInt(40)) {
        case 0 -> restarting.reopen();
        case 1, 2 -> restarting.crash();
        case 3, 4, 5 -> restarting.write();
        case 6, 7, 8 -> steady.write();
        default -> {} // most commands share a write with others
      }
      int seconds = random.nextInt(5) == 0 ? random.nextInt(40) : 0;
      steady.now += seconds * 1000L;
      restarting.now = steady.now;
      // The commands that a leader would propose next are frequent; the others are random.
      var asked = steady.effects.drains();
      var command =
          asked.isEmpty() || random.nextInt(3) == 0
              ? command(random, steady, sessions)
              : new SessionCommand.DrainGroup(steady.now, asked.getFirst(), 1 + random.nextInt(5));
      if (command instanceof SessionCommand.Append) command = new SessionCommand.Beside(0, 0, 0, tenantBytes, command);

      var one = steady.apply(command);
      var two = restarting.apply(command);

      if (one instanceof Outcome.Connected(var connected)) sessions.put(connected.session().clientId(), connected.session());
      assertThat(two.getClass()).as(at).isEqualTo(one.getClass());
      assertThat(headersAndMessages(restarting)).as("%s: %s", at, command).isEqualTo(headersAndMessages(steady));
      if (random.nextInt(8) == 0) {
        restarting.write();
        steady.write();
        assertThat(restarting.rows.dump()).as("%s: %s", at, command).isEqualTo(steady.rows.dump());
        FullRead.assertAStartAgreesWithTheHeadersOf(restarting.rows, at);
      }
      assertThat(restarting.pushed()).as(at).containsExactlyInAnyOrderElementsOf(steady.pushed());
      steady.assertBalance();
      assertThat(restarting.range.state().queued.get()).as(at).isEqualTo(steady.range.state().queued.get());
      long durable = steady.range.state().sessions.values().stream().filter(each -> each.expirySeconds() > 0).count();
      assertThat(steady.range.state().durableCount).as(at).hasValue(durable);
      assertThat(restarting.range.state().durableCount).as(at).hasValue(durable);
      long memory =
          steady.range.state().sessions.values().stream()
              .mapToLong(
                  each ->
                      RangeState.memoryOf(each.key, each.user)
                          + each.subscriptions().stream().mapToLong(subscriber -> RangeState.memoryOf(subscriber.filter)).sum())
              .sum();
      assertThat(steady.range.state().memory).as(at).hasValue(memory);
      assertThat(restarting.range.state().memory).as(at).hasValue(memory);
      long exchanges = steady.range.state().sessions.values().stream().mapToLong(SessionRangeModelTest::exchangeMemory).sum();
      assertThat(steady.range.state().exchangeMemory()).as(at).isEqualTo(exchanges);
      assertThat(restarting.range.state().exchangeMemory()).as(at).isEqualTo(exchanges);
      assertThat(inboxes(restarting)).as(at).isEqualTo(inboxes(steady));
      for (GroupState group : steady.range.state().groups.values()) {
        var other = restarting.range.state().groups.get(group.key);
        assertThat(other == null ? -1 : other.credit()).as(at).isEqualTo(group.credit());
      }
    }
    endEverything(steady, sessions);
    assertThat(steady.rowKeys()).as("seed " + seed).isEmpty();
    assertThat(steady.range.state().references.cached()).isZero();
    assertThat(steady.range.state().queued).hasValue(0);
    assertThat(steady.range.state().exchangeMemory()).as("seed " + seed).isZero();
    assertThat(steady.range.state().index.size()).isZero();
    steady.assertBalance();
  }

  /** One that was restarted finds subscribers in another order: that of their rows, not that in which they have subscribed. */
  @ParameterizedTest
  @ValueSource(strings = {"ab", "ba"})
  void theLastRoomOfATenantGoesToTheSameInboxOnEachReplica(String order) {
    var steady = new RangeHarness(RangeHarness.limits(100, OverflowPolicy.DROP_OLDEST, FEW_BYTES));
    var restarted = new RangeHarness(RangeHarness.limits(100, OverflowPolicy.DROP_OLDEST, FEW_BYTES));
    for (var h : List.of(steady, restarted)) {
      var first = h.connect(order.substring(0, 1)).session();
      var absent = h.connect(order.substring(1)).session();
      h.subscribe(first, "t", QoS.AT_LEAST_ONCE);
      h.subscribe(absent, "t", QoS.AT_LEAST_ONCE);
      h.disconnect(absent, false, 60);
      h.publish("t", "1");
      long room = 3 * h.state(absent).backlog().bytes;
      h.acknowledge(first, 1);
      publishWithin(h, room, "2");
      h.acknowledge(first, 2);
      if (h.equals(restarted)) h.reopen();
      publishWithin(h, room, "3");
      assertThat(h.range.state().queued).as("there was room for one of two").hasValue(3);
    }
    assertThat(inboxes(restarted)).isEqualTo(inboxes(steady));
    assertThat(headersAndMessages(restarted)).isEqualTo(headersAndMessages(steady));
  }

  /** A small minimum is left for each inbox, which these have. */
  @ParameterizedTest
  @ValueSource(strings = {"ab", "ba"})
  void soItGoesForInboxesThatHoldMuch(String order) {
    var steady = new RangeHarness(RangeHarness.limits(100, OverflowPolicy.DROP_OLDEST));
    var restarted = new RangeHarness(RangeHarness.limits(100, OverflowPolicy.DROP_OLDEST));
    String large = "x".repeat(500);
    for (var h : List.of(steady, restarted)) {
      var first = h.connect(order.substring(0, 1)).session();
      var last = h.connect(order.substring(1)).session();
      for (var session : List.of(first, last)) {
        h.subscribe(session, "t", QoS.AT_LEAST_ONCE);
        h.disconnect(session, false, 60);
      }
      for (int i = 0; i < 10; i++) h.publish("t", large);
      long held = h.state(last).backlog().bytes;
      if (h.equals(restarted)) h.reopen();
      publishWithin(h, 2 * held + 600, large);
    }
    assertThat(inboxes(restarted)).isEqualTo(inboxes(steady));
    assertThat(headersAndMessages(restarted)).isEqualTo(headersAndMessages(steady));
    assertThat(steady.dropped).isNotEmpty();
  }

  private static void publishWithin(RangeHarness h, long tenantBytes, String payload) {
    var message = h.message("publisher", "t", QoS.AT_LEAST_ONCE, payload);
    h.apply(new SessionCommand.Beside(0, 0, 0, tenantBytes, new SessionCommand.Append(h.now, message, null, null, List.of(), false, 0)));
  }

  private static long exchangeMemory(SessionState session) {
    var received = session.receivedPacketIds();
    long identifiers = received == null ? 0 : 8L * received.size();
    return identifiers + session.openExchanges().stream().mapToLong(each -> 256 + 64L * each.origin().picked().size()).sum();
  }

  private static Map<String, String> headersAndMessages(RangeHarness h) {
    var rows = h.rows.dump();
    rows.keySet().removeIf(key -> !key.matches("default<0>[bhmt].*"));
    return rows;
  }

  /** The state in memory of each inbox, as far as its rows determine it. */
  private static Map<String, List<Long>> inboxes(RangeHarness h) {
    var all = new TreeMap<String, List<Long>>();
    for (SessionState session : h.range.state().sessions.values()) {
      long bytes = session.waiting() == 0 ? 0 : session.backlog().bytes;
      all.put(session.key.clientId(), List.of(session.nextSequence(), (long) session.waiting(), bytes));
    }
    for (GroupState group : h.range.state().groups.values()) {
      all.put(group.key.filter().text(), List.of(group.backlog.next, (long) group.backlog.count, group.backlog.bytes));
      if (group.queues == null) continue;
      for (MemberQueue queue : group.queues.all()) {
        String name = group.key.filter().text() + " " + queue.clientId + " " + queue.goneAt;
        all.put(name, List.of(queue.birth(), queue.next, (long) queue.count, queue.bytes));
      }
    }
    return all;
  }

  private static void endEverything(RangeHarness h, Map<String, SessionRef> sessions) {
    for (SessionRef session : sessions.values()) h.disconnect(session, true, 0);
    h.now += 10_000_000;
    h.settle();
    h.reopen();
    h.apply(new SessionCommand.Tick(h.now, 100, 1_000));
    for (var will : h.effects.wills()) {
      h.apply(new SessionCommand.WillPublished(will.session().tenant(), will.session().clientId(), will.epoch()));
    }
    h.settle();
  }

  private static SessionCommand command(Random random, RangeHarness h, Map<String, SessionRef> sessions) {
    String client = CLIENTS.get(random.nextInt(3));
    var session = sessions.get(client);
    if (session == null) return connect(random, h, client);
    var qos = QoS.of(random.nextInt(3));
    return switch (random.nextInt(29)) {
      case 0, 1 -> connect(random, h, client);
      case 2 ->
          new SessionCommand.Disconnect(
              h.now, session, random.nextBoolean(), random.nextInt(8) == 0 ? 0 : 60, random.nextInt(30));
      case 3, 4, 5 ->
          new SessionCommand.Subscribe(
              session, List.of(new InboxClient.Subscription(filter(random), new SubscriptionOptions(qos, false, false, 0, random.nextInt(3)))));
      case 6 -> new SessionCommand.Unsubscribe(session, List.of(filter(random)));
      case 7 -> new SessionCommand.Received(session, 1 + random.nextInt(40));
      case 8 -> {
        int packetId = 1 + random.nextInt(4);
        yield random.nextInt(3) == 0 ? new SessionCommand.Delivered(session, List.of(packetId)) : new SessionCommand.Released(session, packetId);
      }
      case 9, 10 -> {
        long from = 1L + random.nextInt(40);
        yield new SessionCommand.Acknowledge(session, new long[] {from, from + 1, from + 3}, random.nextInt(5) == 0);
      }
      case 11 -> new SessionCommand.Tick(h.now, 1 + random.nextInt(5), 2);
      case 12 -> new SessionCommand.FrontendGone(h.now, "node", 2, 1 + random.nextInt(2));
      case 13, 14 ->
          new SessionCommand.DrainGroup(h.now, new GroupKey(RangeHarness.TENANT, filter(random)), 1 + random.nextInt(5));
      case 15 -> {
        var present = h.range.state().sessions.get(SessionKey.of(session));
        long from = (present == null ? 1 : present.nextSequence()) - random.nextInt(4);
        yield new SessionCommand.AppendTo(
            h.now,
            session,
            SubscriptionOptions.of(qos),
            Math.max(0, from),
            List.of(h.retained("p", "t/1", "r"), h.expiring("t/2", "x", 5)));
      }
      case 16, 17, 18 -> acknowledgeOldest(random, h, session);
      case 19 -> random.nextInt(3) == 0 ? new SessionCommand.Remove(h.now, session.tenant(), session.clientId()) : acknowledgeOldest(random, h, session);
      default -> append(random, h, client, session);
    };
  }

  private static SessionCommand acknowledgeOldest(Random random, RangeHarness h, SessionRef session) {
    var present = h.range.state().sessions.get(SessionKey.of(session));
    long first = present == null ? 1 : present.backlog().first;
    long[] sequences = {first, first + 1, first + 2, first + 3 + random.nextInt(3)};
    return new SessionCommand.Acknowledge(session, sequences, false);
  }

  private static SessionCommand connect(Random random, RangeHarness h, String client) {
    var will = random.nextInt(3) == 0 ? new Will(h.message(client, "wills", QoS.AT_LEAST_ONCE, "w"), random.nextInt(30)) : null;
    var connection = new ConnectionId("node", 1 + random.nextInt(2), random.nextLong());
    long expiry = random.nextInt(8) == 0 ? 0 : 60;
    return new SessionCommand.Connect(
        h.now,
        new InboxClient.Connect(
            RangeHarness.TENANT, client, random.nextInt(10) == 0 ? "another" : "", connection, random.nextInt(8) == 0, expiry > 0, expiry, will));
  }

  private static SessionCommand append(Random random, RangeHarness h, String client, SessionRef session) {
    String topic = "t/" + (1 + random.nextInt(2));
    var groups = new ArrayList<TopicFilter>();
    for (String text : new LinkedHashSet<>(FILTERS)) {
      var filter = RangeHarness.filter(text);
      if (filter.shared() && filter.matches(topic) && random.nextInt(3) > 0) groups.add(filter);
    }
    var qos = random.nextBoolean() ? QoS.AT_LEAST_ONCE : QoS.EXACTLY_ONCE;
    Publication message =
        random.nextInt(4) == 0
            ? h.expiring(topic, "e", 1 + random.nextInt(20))
            : random.nextInt(3) == 0
                ? h.retained(client, topic, "m" + random.nextInt(1000))
                : h.message(client, topic, qos, "m" + random.nextInt(1000));
    var exchange =
        random.nextInt(3) == 0 ? new Publication.Exchange(session.epoch(), 1 + random.nextInt(4)) : null;
    boolean once = exchange == null && random.nextInt(8) == 0;
    // As from another process: what is picked for groups differs from one time to the next.
    var origin =
        exchange == null || random.nextBoolean()
            ? null
            : new Terms.Origin(9, exchange.packetId(), 1, random.nextBoolean(), LongStream.range(0, random.nextInt(4)).map(i -> i << 33 | random.nextInt(2)).boxed().toList());
    return new SessionCommand.Append(h.now, message, exchange, origin, groups, once, !once && random.nextInt(3) == 0 ? session.epoch() : 0);
  }

  private static TopicFilter filter(Random random) {
    return RangeHarness.filter(FILTERS.get(random.nextInt(FILTERS.size())));
  }

  /** What a session should hold, in a simple form. */
  private static final class Model {
    private final Map<String, TopicFilter> subscriptions = new HashMap<>();
    private final TreeMap<Long, String> inbox = new TreeMap<>();

    /** The topics of retained messages by their sequences, including messages that have left the inbox. */
    private final Map<Long, String> retained = new HashMap<>();

    private long next = 1;

    void add(String payload) {
      if (inbox.size() == 8) inbox.pollFirstEntry();
      inbox.put(next++, payload);
    }

    boolean rests(String topic, long from) {
      for (long sequence = from; sequence < next; sequence++)
        if (!inbox.containsKey(sequence) || topic.equals(retained.get(sequence))) return false;
      return true;
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void inboxesHoldWhatASimpleModelHolds(long seed) {
    var random = new Random(seed);
    var h = new RangeHarness(RangeHarness.limits(8, OverflowPolicy.DROP_OLDEST));
    Map<String, Model> models = new HashMap<>();
    Map<String, SessionRef> sessions = new HashMap<>();
    for (String client : CLIENTS) {
      sessions.put(client, h.connect(client).session());
      models.put(client, new Model());
    }
    for (int step = 0; step < 300; step++) {
      if (random.nextInt(25) == 0) h.reopen();
      String client = CLIENTS.get(random.nextInt(CLIENTS.size()));
      var session = sessions.getOrDefault(client, new SessionRef(RangeHarness.TENANT, client, 0));
      var model = models.computeIfAbsent(client, _ -> new Model());
      String filter = FILTERS.get(random.nextInt(5));
      switch (random.nextInt(11)) {
        case 0, 1 -> {
          h.subscribe(session, filter, QoS.AT_LEAST_ONCE);
          model.subscriptions.put(filter, RangeHarness.filter(filter));
        }
        case 2 -> {
          h.unsubscribe(session, filter);
          model.subscriptions.remove(filter);
        }
        case 3 -> {
          boolean clean = random.nextInt(3) == 0;
          if (random.nextBoolean()) h.disconnect(session, false, 60);
          sessions.put(client, h.connect(client, clean, 60, null).session());
          if (clean) models.put(client, new Model());
        }
        case 4, 5 -> {
          long sequence = 1L + random.nextInt(30);
          h.acknowledge(session, sequence);
          model.inbox.remove(sequence);
        }
        case 6 -> {
          // A page that was read some messages ago.
          long from = Math.max(1, model.next - random.nextInt(4));
          boolean rests = model.rests("t/1", from);
          assertThat(h.appendTo(session, from, h.retained("p", "t/1", "r" + step))).as("seed %d, step %d", seed, step).containsExactly(rests);
          if (rests) {
            model.retained.put(model.next, "t/1");
            model.add("r" + step);
          }
        }
        default -> {
          String topic = "t/" + (1 + random.nextInt(3));
          boolean retain = random.nextBoolean();
          if (retain) h.publish(h.retained("p", topic, "m" + step));
          else h.publish(topic, "m" + step);
          for (Model each : models.values()) {
            if (each.subscriptions.values().stream().noneMatch(wanted -> wanted.matches(topic))) continue;
            if (retain) each.retained.put(each.next, topic);
            each.add("m" + step);
          }
        }
      }
      for (String each : CLIENTS) {
        var ref = sessions.getOrDefault(each, session);
        var expected = models.computeIfAbsent(each, _ -> new Model());
        assertThat(h.inbox(ref))
            .as("seed " + seed + ", step " + step + ", client " + each)
            .containsExactlyElementsOf(expected.inbox.values());
      }
      h.assertBalance();
    }
  }
}

package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Shared subscriptions with members in several ranges: messages that wait in one range go to members in others, once.
 */
final class HandOversTest {
  private static final int RANGES = 3;
  private static final TopicFilter GROUP = TopicFilter.parse("$share/g/a").orElseThrow();
  private static final TopicFilter ORDERED = TopicFilter.parse("$oshare/g/a").orElseThrow();

  private InboxNode node;
  private List<String> clients = List.of();

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(null, RANGES, InboxSettings.defaults());
    clients = node.clients("c");
  }

  @AfterEach
  void close() {
    node.close();
  }

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 3) : LongStream.of(seed);
  }

  static Stream<Arguments> faults() {
    return Stream.<Class<?>>of(
            SessionCommand.BeginTransfer.class, SessionCommand.AcceptTransfer.class, SessionCommand.EndTransfer.class, SessionCommand.ForgetTransfer.class)
        .flatMap(step -> Stream.of(Arguments.of(step, false, false), Arguments.of(step, true, false), Arguments.of(step, false, true), Arguments.of(step, true, true)));
  }

  private SessionRef join(int range, TopicFilter group) throws Exception {
    var session = node.connect(clients.get(range)).session();
    node.subscribe(session, group.text(), QoS.EXACTLY_ONCE);
    return session;
  }

  private void leave(SessionRef session) throws Exception {
    InboxNode.get(node.server.disconnect(session, false, 3600));
  }

  private List<String> publish(int count, TopicFilter group) throws Exception {
    var payloads = IntStream.range(0, count).mapToObj(i -> "m" + i).toList();
    for (String payload : payloads) assertThat(node.publish(payload, group)).isEqualTo(ReasonCode.SUCCESS);
    return payloads;
  }

  /** The unacknowledged messages of a session. */
  private List<String> inbox(Connected connected) throws Exception {
    var page = InboxNode.get(node.server.fetch(connected.session(), 1, 100_000, 1 << 30));
    return page.messages().stream().map(each -> new String(each.message().payload(), StandardCharsets.UTF_8)).toList();
  }

  /** Asserts that nothing of any transfer is left. */
  private void assertAtRest() {
    await().untilAsserted(() -> assertThat(node.rowsWith("<0>y$")).isEmpty());
    assertThat(node.rowsWith("<0>g$share/g/a<0><4>")).isEmpty();
    node.assertBalance();
  }

  @Test
  void messagesThatWaitInARangeWithoutMembersGoToAMemberInAnotherRange() throws Exception {
    leave(join(0, GROUP));
    var payloads = publish(600, GROUP);
    assertThat(node.gauge("dunlin.inbox.hand-overs-waiting")).isEqualTo(1);
    var member = join(1, GROUP);

    var seen = new ArrayList<Long>();
    while (node.pushed.size() < payloads.size()) {
      int from = seen.size();
      await().until(() -> node.sequences.size() > from);
      var more = List.copyOf(node.sequences.subList(from, node.sequences.size()));
      seen.addAll(more);
      node.server.acknowledge(member, more.stream().mapToLong(Long::longValue).toArray());
    }

    assertThat(node.pushed).containsExactlyInAnyOrderElementsOf(payloads);
    node.server.acknowledge(member, node.sequences.stream().mapToLong(Long::longValue).toArray());
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.queued")).isZero());
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.hand-overs-waiting")).isZero());
    assertAtRest();
  }

  @ParameterizedTest(name = "{0}, unheard {1}, crash {2}")
  @MethodSource("faults")
  void aTransferThatBreaksAtAnyStepIsMadeOnce(Class<?> step, boolean unheard, boolean crash) throws Exception {
    leave(join(0, GROUP));
    var payloads = publish(20, GROUP);
    if (unheard) node.local().silent = step;
    else node.local().refusing = step;
    join(1, GROUP);
    await().until(() -> node.local().failed.get() > 0);

    if (crash) node.reopen();
    node.local().silent = null;
    node.local().refusing = null;
    var member = node.connect(clients.get(1));

    await().untilAsserted(() -> assertThat(inbox(member)).containsExactlyInAnyOrderElementsOf(payloads));
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.queued")).isEqualTo(payloads.size()));
    await().untilAsserted(() -> assertThat(node.rowsWith("<0>y$")).isEmpty());
    assertThat(inbox(member)).containsExactlyInAnyOrderElementsOf(payloads);
    leave(member.session());
    var other = node.connect(clients.get(0));
    await().untilAsserted(() -> assertThat(inbox(other)).containsExactlyInAnyOrderElementsOf(payloads));
  }

  @Test
  void messagesOfARangesLastMemberGoToMembersInOtherRangesEvenIfTheyAreOffline() throws Exception {
    leave(join(1, GROUP));
    var first = join(0, GROUP);
    leave(first);
    deliverTo(0, "m0");
    deliverTo(0, "m1");
    InboxNode.get(node.server.unsubscribe(node.connect(clients.get(0)).session(), List.of(GROUP)));

    // First they wait for members, then for the end of their transfer.
    await().untilAsserted(() -> assertThat(node.rowsWith("<0>g$share/g/a<0><4>")).isEmpty());
    await().untilAsserted(() -> assertThat(node.rowsWith("<0>y$")).isEmpty());
    node.connect(clients.get(1));

    await().untilAsserted(() -> assertThat(node.pushed).endsWith("m0", "m1"));
    assertAtRest();
  }

  /** Delivers a message for the group to one range, whether it has members or not. */
  private void deliverTo(int range, String payload) throws Exception {
    var matched = node.server.matched();
    var interval = node.intervalOf(clients.get(range));
    matched.add(ShardId.inbox(interval.of(new GroupKey(InboxNode.TENANT, GROUP))), GROUP);
    var answer = new InboxNode.Answer();
    node.server.deliver(node.message(QoS.AT_LEAST_ONCE, payload), matched, answer);
    assertThat(InboxNode.get(answer.reason)).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void messagesOfAGroupWithoutMembersInAnyRangeAreDropped() throws Exception {
    leave(join(0, GROUP));
    publish(5, GROUP);

    assertThat(node.server.operations().delete(InboxNode.TENANT, clients.get(0), 1)).isEqualTo(1);

    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.queued")).isZero());
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.hand-overs-waiting")).isZero());
    assertAtRest();
    assertThat(node.rowsWith("$share")).isEmpty();
    assertThat(node.count("dunlin.inbox.dropped", "reason", "group-ended")).isEqualTo(5);
  }

  @Test
  void aMessageForARangeThatHasJustLostItsLastMemberGoesToOthers() throws Exception {
    join(1, GROUP);

    deliverTo(0, "m");

    await().untilAsserted(() -> assertThat(node.pushed).containsExactly("m"));
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.hand-overs-waiting")).isZero());
    assertAtRest();
  }

  @Test
  void messagesOfARangesOnlyMemberGoToOthersWhenItIsOfflineExceptExchangesThatHaveBegun() throws Exception {
    var session = join(0, GROUP);
    for (int i = 0; i < 3; i++) {
      var answer = new InboxNode.Answer();
      node.deliver(node.message(QoS.EXACTLY_ONCE, "m" + i), List.of(GROUP), answer);
      assertThat(InboxNode.get(answer.reason)).isEqualTo(ReasonCode.SUCCESS);
    }
    InboxNode.get(node.server.received(session, 1));
    leave(session);

    var other = join(1, GROUP);
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.hand-overs-waiting")).isZero());

    var own = inbox(node.connect(clients.get(0)));
    assertThat(own).contains("m0");
    var page = InboxNode.get(node.server.fetch(other, 1, 100, 1 << 20));
    var elsewhere = page.messages().stream().map(each -> new String(each.message().payload(), StandardCharsets.UTF_8)).toList();
    assertThat(Stream.concat(own.stream(), elsewhere.stream())).containsExactlyInAnyOrder("m0", "m1", "m2");
    assertAtRest();
  }

  @Test
  void messagesDoNotWaitForMembersWithFullWindows() throws Exception {
    node.close();
    node = new InboxNode(null, RANGES, new InboxSettings(new Layout(16, 1), 1_000, 1 << 20, OverflowPolicy.REJECT, 100, 4, Sums.ofSessions(100)));
    var slow = join(0, GROUP);
    for (int i = 0; i < 10; i++) assertThat(node.publish("m" + i, GROUP)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(node.pushed).hasSize(4);
    int slowHas = node.pushed.size();
    var quick = join(1, GROUP);

    await().untilAsserted(() -> assertThat(node.pushed).hasSizeGreaterThan(slowHas));
    while (node.pushed.size() < 10) {
      int before = node.pushed.size();
      node.server.acknowledge(quick, LongStream.rangeClosed(1, 10).toArray());
      await().until(() -> node.pushed.size() > before);
    }

    assertThat(node.pushed).containsExactlyInAnyOrderElementsOf(IntStream.range(0, 10).mapToObj(i -> "m" + i).toList());
    assertThat(InboxNode.get(node.server.fetch(slow, 1, 100, 1 << 20)).messages()).hasSize(4);
    assertAtRest();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anOrderedGroupKeepsItsOrderOnTheWay(boolean crash) throws Exception {
    leave(join(0, ORDERED));
    var payloads = publish(600, ORDERED);
    var member = join(1, ORDERED);
    if (crash) {
      await().until(() -> !node.pushed.isEmpty());
      node.reopen();
      member = node.connect(clients.get(1)).session();
    }

    var order = new ArrayList<String>();
    long next = 1;
    while (order.size() < payloads.size()) {
      long from = next;
      var session = member;
      await().until(() -> !InboxNode.get(node.server.fetch(session, from, 1, 1)).messages().isEmpty());
      var page = InboxNode.get(node.server.fetch(member, from, 1_000, 1 << 30));
      page.messages().forEach(each -> order.add(new String(each.message().payload(), StandardCharsets.UTF_8)));
      node.server.acknowledge(member, page.messages().stream().mapToLong(each -> each.sequence()).toArray());
      next = page.nextSequence();
    }

    assertThat(order).isEqualTo(payloads);
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.queued")).isZero());
  }

  /**
   * Members connect and disconnect, steps fail and the process restarts; in the end the only member has every message
   * once.
   */
  @ParameterizedTest
  @MethodSource("seeds")
  void nothingIsLostOrDoubledWhateverFails(long seed) throws Exception {
    var random = new Random(seed);
    List<Class<?>> steps =
        List.of(
            SessionCommand.BeginTransfer.class, SessionCommand.AcceptTransfer.class, SessionCommand.EndTransfer.class,
            SessionCommand.ForgetTransfer.class, SessionCommand.DrainGroup.class);
    for (int i = 0; i < RANGES; i++) join(i, GROUP);
    Map<Integer, SessionRef> connected = new HashMap<>();
    for (int i = 0; i < RANGES; i++) connected.put(i, node.connect(clients.get(i)).session());
    var published = new ArrayList<String>();
    for (int i = 0; i < 60; i++) {
      int range = random.nextInt(RANGES);
      var session = connected.remove(range);
      switch (random.nextInt(8)) {
        case 0, 1 -> {
          if (session != null) leave(session);
        }
        case 2 -> {
          node.local().refusing = random.nextBoolean() ? steps.get(random.nextInt(steps.size())) : null;
          node.local().silent = random.nextBoolean() ? steps.get(random.nextInt(steps.size())) : null;
          if (session != null) connected.put(range, session);
        }
        case 3 -> {
          node.reopen();
          connected.clear();
        }
        case 4 -> {
          if (session != null) InboxNode.get(node.server.unsubscribe(session, List.of(GROUP)));
          if (session != null) leave(session);
        }
        default -> connected.put(range, join(range, GROUP));
      }
      if (node.routes.isEmpty()) join(range, GROUP);
      String payload = "m" + i;
      published.add(payload);
      assertThat(node.publish(payload, GROUP)).as("seed " + seed).isEqualTo(ReasonCode.SUCCESS);
    }
    node.local().refusing = null;
    node.local().silent = null;
    node.reopen();
    join(0, GROUP);
    var last = node.connect(clients.get(0));

    // Messages that were sent to a member stay with it after it unsubscribes.
    await().untilAsserted(() -> assertThat(everywhere(last)).as("seed " + seed).containsExactlyInAnyOrderElementsOf(published));
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.queued")).as("seed " + seed).isEqualTo(published.size()));
    await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.hand-overs-waiting")).as("seed " + seed).isZero());
    assertThat(everywhere(last)).as("seed " + seed).containsExactlyInAnyOrderElementsOf(published);
  }

  private List<String> everywhere(Connected last) throws Exception {
    var all = new ArrayList<>(inbox(last));
    for (int i = 1; i < RANGES; i++) all.addAll(kept(clients.get(i)));
    return all;
  }

  /** The stored messages of a client that is not connected. */
  private List<String> kept(String client) throws Exception {
    var connected = node.connect(client);
    var kept = inbox(connected);
    leave(connected.session());
    return kept;
  }
}

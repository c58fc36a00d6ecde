package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.TenantQuota;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Limits of tenants on subscriptions and on bytes in inboxes. */
final class TenantBoundsTest {
  private static final String OTHER = "other";
  private static final String KIB = "x".repeat(1_000);

  /** A limit that a test sets. */
  private static final class Limit implements TenantQuota {
    final Map<String, Long> most = new ConcurrentHashMap<>();
    final AtomicInteger reached = new AtomicInteger();

    @Override
    public long max(String tenant) {
      return most.getOrDefault(tenant, NONE);
    }

    @Override
    public void reached(String tenant) {
      reached.incrementAndGet();
    }
  }

  private final Limit subscriptions = new Limit();
  private final Limit bytes = new Limit();
  private InboxNode node;
  private long connections = 1_000;

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(null, InboxSettings.defaults());
  }

  private void open(int ranges, OverflowPolicy overflow) throws Exception {
    node.close();
    var sums = new Sums(1_000, Long.MAX_VALUE, 1 << 30);
    node = new InboxNode(null, ranges, new InboxSettings(new Layout(16, 1), 1_000, 1 << 20, overflow, 100, 4, sums));
    limit();
  }

  private void limit() {
    node.server.limitTenants(_ -> Long.MAX_VALUE, subscriptions, bytes);
  }

  @AfterEach
  void close() {
    node.close();
  }

  private SessionRef connect(String tenant, String client) throws Exception {
    var connection = new ConnectionId("node", node.incarnation, ++connections);
    return InboxNode.get(node.server.connect(new Connect(tenant, client, "", connection, false, true, 3_600, null))).session();
  }

  /** The session of a client without a connection, subscribed to topic "a". */
  private void subscribed(String tenant, String client) throws Exception {
    var session = connect(tenant, client);
    node.subscribe(session, "a", QoS.AT_LEAST_ONCE);
    InboxNode.get(node.server.disconnect(session, false, 3_600));
  }

  private ReasonCode publish(String tenant, String payload) throws Exception {
    var answer = new InboxNode.Answer();
    var publisher = new Publisher(tenant, "p");
    node.deliver(Publication.of(publisher, "a", QoS.AT_LEAST_ONCE, false, node.now.get(), payload.getBytes(StandardCharsets.UTF_8)), List.of(), answer);
    return InboxNode.get(answer.reason);
  }

  private void publish(String tenant, int count) throws Exception {
    for (int i = 0; i < count; i++) publish(tenant, KIB);
  }

  private double queued() {
    return node.gauge("dunlin.inbox.queued");
  }

  private double dropped(String reason) {
    return node.count("dunlin.inbox.dropped", "reason", reason);
  }

  private QuotaExceededException.Kind refused(Throwable failure) {
    return ((QuotaExceededException) Objects.requireNonNull(failure.getCause())).kind();
  }

  // ------------------------------------------------------------------------------------------------------------------------------- bytes

  /** The only inbox has all that its tenant may have. */
  @ParameterizedTest
  @EnumSource
  void aFullInboxFollowsItsPolicy(OverflowPolicy overflow) throws Exception {
    open(1, overflow);
    bytes.most.put(InboxNode.TENANT, 64_000L);
    subscribed(InboxNode.TENANT, "c");
    subscribed(OTHER, "c");
    publish(InboxNode.TENANT, 50);
    assertThat(queued()).isEqualTo(50);
    assertThat(bytes.reached).hasValue(0);

    publish(InboxNode.TENANT, 30);
    publish(OTHER, 80);

    double kept = queued() - 80;
    assertThat(kept).as("of the tenant with the limit, whose messages have some bytes more than their payload").isBetween(58.0, 63.0);
    assertThat(dropped(overflow == OverflowPolicy.REJECT ? "rejected" : "tenant-full")).isEqualTo(80 - kept);
    assertThat(bytes.reached).hasValue((int) (80 - kept));
    assertThat(publish(InboxNode.TENANT, KIB)).isEqualTo(overflow == OverflowPolicy.REJECT ? ReasonCode.QUOTA_EXCEEDED : ReasonCode.SUCCESS);
    node.assertBalance();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void allInboxesOfATenantAreBoundedTogether(int ranges) throws Exception {
    open(ranges, OverflowPolicy.DROP_NEWEST);
    bytes.most.put(InboxNode.TENANT, 100_000L);
    for (String client : node.clients("c")) subscribed(InboxNode.TENANT, client);
    for (String client : node.clients("d")) subscribed(InboxNode.TENANT, client);
    publish(InboxNode.TENANT, 100);
    assertThat(node.server.statistics().join().queuedBytes()).isBetween(100_000L - 2L * ranges * 1_100, 100_000L);
  }

  /** Another inbox of a tenant at its limit may hold 4 KiB, and its oldest messages are dropped then. */
  @Test
  void anInboxBesideOneThatHasAllHasTheSmallMinimum() throws Exception {
    open(1, OverflowPolicy.DROP_OLDEST);
    bytes.most.put(InboxNode.TENANT, 64_000L);
    subscribed(InboxNode.TENANT, "large");
    publish(InboxNode.TENANT, 70);
    double all = queued();
    subscribed(InboxNode.TENANT, "small");
    publish(InboxNode.TENANT, 10);
    assertThat(node.server.operations().list(InboxNode.TENANT, "small", "", 1)).singleElement().satisfies(small -> assertThat(small.messages()).isEqualTo(3));
    assertThat(queued()).as("the large one makes room for what it gets").isEqualTo(all);
    node.assertBalance();
  }

  @Test
  void aLimitThatIsRaisedCountsAtOnceAndOneThatIsLoweredLeavesWhatIsThere() throws Exception {
    open(1, OverflowPolicy.DROP_NEWEST);
    subscribed(InboxNode.TENANT, "c");
    publish(InboxNode.TENANT, 20);
    bytes.most.put(InboxNode.TENANT, 10_000L);
    publish(InboxNode.TENANT, 10);
    assertThat(queued()).isEqualTo(20);
    bytes.most.put(InboxNode.TENANT, 30_000L);
    publish(InboxNode.TENANT, 5);
    assertThat(queued()).isEqualTo(25);
    bytes.most.put(InboxNode.TENANT, TenantQuota.NONE);
    publish(InboxNode.TENANT, 50);
    assertThat(queued()).isEqualTo(75);
  }

  @Test
  void whatATenantHasIsCountedAgainAtAStartAndGoneWithItsSessions() throws Exception {
    open(1, OverflowPolicy.DROP_NEWEST);
    subscribed(InboxNode.TENANT, "c");
    publish(InboxNode.TENANT, 20);
    node.reopen();
    limit();
    bytes.most.put(InboxNode.TENANT, 21_000L);
    publish(InboxNode.TENANT, 10);
    assertThat(queued()).isEqualTo(20);

    assertThat(node.server.operations().deleteOne(InboxNode.TENANT, "c")).isTrue();
    await().until(() -> queued() == 0);
    subscribed(InboxNode.TENANT, "c");
    publish(InboxNode.TENANT, 5);
    assertThat(queued()).isEqualTo(5);
  }

  /** All of them are proposed before the first one is applied. */
  @Test
  void messagesOnTheirWayCount() throws Exception {
    open(1, OverflowPolicy.REJECT);
    bytes.most.put(InboxNode.TENANT, 20_000L);
    subscribed(InboxNode.TENANT, "c");
    node.local().full = true;
    var answers = IntStream.range(0, 30).mapToObj(_ -> new InboxNode.Answer()).toList();
    for (var answer : answers) node.deliver(node.message(QoS.AT_LEAST_ONCE, KIB), List.of(), answer);
    node.local().hasRoom();
    var reasons = new ArrayList<ReasonCode>();
    for (var answer : answers) reasons.add(InboxNode.get(answer.reason));
    assertThat(reasons).contains(ReasonCode.SUCCESS, ReasonCode.QUOTA_EXCEEDED);
    assertThat(node.server.statistics().join().queuedBytes()).isBetween(18_000L, 20_000L);
  }

  /** A message that is larger than what a tenant with a lowered limit has left can leave its group's inbox all the same. */
  @Test
  void whatWaitsInAGroupIsHandedOnWithALoweredLimit() throws Exception {
    open(1, OverflowPolicy.DROP_NEWEST);
    var group = InboxNode.wanted("$share/g/a", QoS.AT_LEAST_ONCE).filter();
    var session = connect(InboxNode.TENANT, "c");
    node.subscribe(session, group.text(), QoS.AT_LEAST_ONCE);
    String large = "x".repeat(20_000);
    for (int i = 0; i < 10; i++) assertThat(node.publish(large, group)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(node.pushed).as("its window").hasSize(4);
    bytes.most.put(InboxNode.TENANT, 65_536L);
    node.server.acknowledge(session, node.sequences.stream().mapToLong(each -> each).toArray());
    await().until(() -> node.pushed.size() == 8);
  }

  // ----------------------------------------------------------------------------------------------------------------------- subscriptions

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void subscriptionsOfAllSessionsOfATenantAreBounded(int ranges) throws Exception {
    open(ranges, OverflowPolicy.DROP_NEWEST);
    subscriptions.most.put(InboxNode.TENANT, 3L);
    var sessions = new ArrayList<SessionRef>();
    for (String client : node.clients("c")) sessions.add(connect(InboxNode.TENANT, client));
    var first = sessions.getFirst();
    var last = sessions.getLast();
    node.subscribe(first, "a", QoS.AT_LEAST_ONCE);
    node.subscribe(last, "b", QoS.AT_LEAST_ONCE);
    node.subscribe(last, "c", QoS.AT_LEAST_ONCE);

    assertThatThrownBy(() -> node.subscribe(first, "d", QoS.AT_LEAST_ONCE))
        .satisfies(failure -> assertThat(refused(failure)).isEqualTo(QuotaExceededException.Kind.TENANT_SUBSCRIPTIONS));
    assertThat(subscriptions.reached).hasValue(1);
    assertThat(node.subscribe(first, "a", QoS.EXACTLY_ONCE)).as("one that is there").containsExactly(true);
    assertThat(node.subscribe(connect(OTHER, "c"), "d", QoS.AT_LEAST_ONCE)).as("another tenant").containsExactly(false);

    InboxNode.get(node.server.unsubscribe(last, List.of(InboxNode.wanted("b", QoS.AT_LEAST_ONCE).filter())));
    assertThat(node.subscribe(first, "d", QoS.AT_LEAST_ONCE)).containsExactly(false);
    assertThatThrownBy(() -> node.subscribe(last, "b", QoS.AT_LEAST_ONCE)).hasCauseInstanceOf(QuotaExceededException.class);
    subscriptions.most.put(InboxNode.TENANT, 4L);
    assertThat(node.subscribe(last, "b", QoS.AT_LEAST_ONCE)).containsExactly(false);
  }

  @Test
  void subscriptionsAreCountedAgainAtAStartAndGoneWithTheirSessions() throws Exception {
    open(1, OverflowPolicy.DROP_NEWEST);
    subscribed(InboxNode.TENANT, "c");
    node.reopen();
    limit();
    subscriptions.most.put(InboxNode.TENANT, 1L);
    var session = connect(InboxNode.TENANT, "d");
    assertThatThrownBy(() -> node.subscribe(session, "b", QoS.AT_LEAST_ONCE)).hasCauseInstanceOf(QuotaExceededException.class);
    assertThat(node.server.operations().deleteOne(InboxNode.TENANT, "c")).isTrue();
    assertThat(node.subscribe(session, "b", QoS.AT_LEAST_ONCE)).containsExactly(false);
  }
}

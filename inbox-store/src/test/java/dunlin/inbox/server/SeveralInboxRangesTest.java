package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.InboxSettings.Sums;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.SessionRef;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.TenantQuota;
import dunlin.model.TopicFilter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Interactions of several ranges of one node; the other tests of the server run with one range and with several. */
final class SeveralInboxRangesTest {
  private static final int RANGES = 3;

  @TempDir Path data;

  private InboxNode node;

  @BeforeEach
  void open() throws Exception {
    node = new InboxNode(null, RANGES, InboxSettings.defaults());
  }

  private void open(Sums sums) throws Exception {
    node.close();
    node = new InboxNode(null, RANGES, new InboxSettings(new Layout(16, 1), 1_000, 1 << 20, OverflowPolicy.REJECT, 100, 4, sums));
  }

  @AfterEach
  void close() {
    node.close();
  }

  @Test
  void aMessageGoesToTheRangesThatMatchAndIsAnsweredWhenAllHaveStoredIt() throws Exception {
    var clients = node.clients("c");
    node.subscribe(node.connect(clients.get(0)).session(), "a", QoS.AT_LEAST_ONCE);
    node.subscribe(node.connect(clients.get(2)).session(), "a", QoS.AT_LEAST_ONCE);
    node.subscribe(node.connect(clients.get(1)).session(), "b", QoS.AT_LEAST_ONCE);
    node.local().full = true;
    var answer = new InboxNode.Answer();
    node.deliver(node.message(QoS.AT_LEAST_ONCE, "m"), List.of(), answer);
    assertThat(node.waiting("messages")).as("it is nothing to the range between").isEqualTo(2);
    assertThat(answer.reason).isNotDone();

    node.local().hasRoom();

    assertThat(InboxNode.get(answer.reason)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(node.pushed).containsExactly("m", "m");
    assertThat(node.gauge("dunlin.inbox.queued")).isEqualTo(2);
    node.assertBalance();
  }

  @Test
  void statisticsAreSumsOverAllRanges() throws Exception {
    for (String client : node.clients("c")) node.subscribe(node.connect(client).session(), "a", QoS.AT_LEAST_ONCE);
    assertThat(node.publish("m")).isEqualTo(ReasonCode.SUCCESS);

    var statistics = InboxNode.get(node.server.statistics());

    assertThat(statistics.sessions()).isEqualTo(3);
    assertThat(statistics.online()).isEqualTo(3);
    assertThat(statistics.subscriptions()).isEqualTo(3);
    assertThat(statistics.queued()).isEqualTo(3);
    assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(3);
    assertThat(node.server.operations().list(InboxNode.TENANT, "", "", 10)).hasSize(3);
    assertThat(node.server.operations().delete(InboxNode.TENANT, "", 10)).isEqualTo(3);
    await().untilAsserted(() -> assertThat(node.routes).isEmpty());
  }

  @Test
  void sessionsAreBoundedForAllRangesTogether() throws Exception {
    open(Sums.ofSessions(4));
    var all = new ArrayList<>(node.clients("c"));
    all.addAll(node.clients("d"));
    var frontend = TestFrontend.attached(node, "other", 1);
    node.local().full = true;
    var connecting = new ArrayList<CompletableFuture<?>>();
    for (String client : all) connecting.add(frontend.connecting(client, null));
    node.local().hasRoom();

    int connected = 0;
    for (var each : connecting) {
      try {
        InboxNode.get(each);
        connected++;
      } catch (Exception refused) {
        assertThat(refused).hasCauseInstanceOf(QuotaExceededException.class);
      }
    }
    assertThat(connected).isLessThanOrEqualTo(4);
    assertThat(node.gauge("dunlin.inbox.sessions")).isEqualTo(connected);
    for (int i = 0; node.gauge("dunlin.inbox.sessions") < 4; i++) node.connect("more" + i);
    assertThatThrownBy(() -> node.connect("beyond")).hasCauseInstanceOf(QuotaExceededException.class);

    assertThat(node.server.operations().delete(InboxNode.TENANT, "", 1)).isEqualTo(1);
    assertThat(node.connect("after").sessionPresent()).isFalse();
  }

  @Test
  void durableSessionsOfATenantAreBoundedForAllRangesTogether() throws Exception {
    node.server.limitTenants(tenant -> tenant.equals(InboxNode.TENANT) ? RANGES : 0, TenantQuota.UNLIMITED, TenantQuota.UNLIMITED);
    var clients = node.clients("c");
    for (String client : clients) node.connect(client);
    assertThatThrownBy(() -> node.connect("more"))
        .cause()
        .isInstanceOfSatisfying(
            QuotaExceededException.class, full -> assertThat(full.kind()).isEqualTo(QuotaExceededException.Kind.TENANT_SESSIONS));
    assertThat(node.connect(clients.getFirst()).sessionPresent()).as("one that is there goes on").isTrue();

    assertThat(node.server.operations().deleteOne(InboxNode.TENANT, clients.getFirst())).isTrue();
    assertThat(node.connect("more").sessionPresent()).isFalse();
    assertThatThrownBy(() -> node.connect("beyond")).hasCauseInstanceOf(QuotaExceededException.class);
  }

  @Test
  void memoryOfSubscriptionsIsBoundedForAllRangesTogether() throws Exception {
    open(new Sums(100, 3_000, Long.MAX_VALUE));
    var sessions = new ArrayList<SessionRef>();
    for (String client : node.clients("c")) sessions.add(node.connect(client).session());
    int taken = 0;
    for (int i = 0; i < 30; i++) {
      try {
        node.subscribe(sessions.get(i % RANGES), "f" + i, QoS.AT_LEAST_ONCE);
        taken++;
      } catch (Exception refused) {
        assertThat(refused).hasCauseInstanceOf(QuotaExceededException.class);
        break;
      }
    }

    assertThat(taken).isBetween(5, 10);
    assertThat(node.gauge("dunlin.inbox.memory")).isLessThanOrEqualTo(3_000);
    assertThat(node.gauge("dunlin.inbox.memory")).as("there was no room for one more").isGreaterThan(3_000 - 256 - 4 * 3);
  }

  @Test
  void anInboxIsFullWhenAllRangesTogetherReachTheBound() throws Exception {
    open(new Sums(100, Long.MAX_VALUE, 300_000));
    for (String client : node.clients("c")) node.subscribe(node.connect(client).session(), "a", QoS.AT_LEAST_ONCE);
    String payload = "x".repeat(10_000);
    ReasonCode reason = ReasonCode.SUCCESS;
    int stored = 0;
    for (; reason == ReasonCode.SUCCESS; stored++) reason = node.publish(payload);

    assertThat(reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(node.gauge("dunlin.inbox.queued.bytes")).isLessThanOrEqualTo(300_000);
    assertThat(stored).as("each of three inboxes has a quarter").isBetween(6, 9);
  }

  @Test
  void aConnectionThatOneRangeRefusesIsRefusedByAllRanges() throws Exception {
    for (String client : node.clients("c")) node.subscribe(node.connect(client).session(), "a", QoS.AT_LEAST_ONCE);
    node.local().withoutDisk.set(1);
    var refused = new InboxNode.Answer(7);
    node.deliver(node.message(QoS.AT_LEAST_ONCE, "m1"), List.of(), refused);
    assertThat(InboxNode.get(refused.reason)).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);

    var behind = new InboxNode.Answer(7);
    node.deliver(node.message(QoS.AT_LEAST_ONCE, "m2"), List.of(), behind);

    assertThat(InboxNode.get(behind.reason)).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);
    assertThat(node.pushed).isEmpty();
    assertThat(node.count("dunlin.inbox.refused", "reason", "fenced")).as("of the first in two ranges, of the second in three").isEqualTo(5);
  }

  @Test
  void eachRangeRemovesTheStrayRoutesOfItsOwnShards() throws Exception {
    for (String client : node.clients("c")) node.subscribe(node.connect(client).session(), "a", QoS.AT_LEAST_ONCE);
    var needed = List.copyOf(node.routes);
    for (int shard : List.of(0, 5, 10, 15, 16, 4_000)) node.routes.add("inbox:" + shard + " left");

    node.reopen();

    await().untilAsserted(() -> assertThat(node.count("dunlin.inbox.routes-repaired")).isEqualTo(6));
    assertThat(node.routes).containsExactlyInAnyOrderElementsOf(needed);
  }

  @Test
  void aGroupHasARouteInEachRangeWithMembers() throws Exception {
    var filter = TopicFilter.parse("$share/g/a").orElseThrow();
    var clients = node.clients("c");
    node.subscribe(node.connect(clients.get(0)).session(), filter.text(), QoS.AT_LEAST_ONCE);
    var two = node.connect(clients.get(1)).session();
    node.subscribe(two, filter.text(), QoS.AT_LEAST_ONCE);
    assertThat(node.routes).hasSize(2);

    InboxNode.get(node.server.unsubscribe(two, List.of(filter)));

    await().untilAsserted(() -> assertThat(node.routes).hasSize(1));
    assertThat(InboxNode.get(node.server.appendToGroup(filter, node.message(QoS.AT_LEAST_ONCE, "m"), null))).isTrue();
    assertThat(node.pushed).containsExactly("m");
  }

  @Test
  void anotherNumberOfRangesIsRefused() throws Exception {
    new InboxNode(data, RANGES, InboxSettings.defaults()).close();

    for (int fewer : List.of(1, 2)) {
      assertThatThrownBy(() -> new InboxNode(data, fewer, InboxSettings.defaults())).hasStackTraceContaining("ranges that this version does not know");
    }
    assertThatThrownBy(() -> new InboxNode(data, 4, InboxSettings.defaults()))
        .hasStackTraceContaining("a range of sessions has shards 0 to 3 now, but was stored with shards 0 to 4; the number of ranges cannot be changed");
  }
}

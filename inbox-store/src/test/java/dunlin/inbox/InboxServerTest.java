package dunlin.inbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxClient.Will;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.RangeStore;
import dunlin.store.StoreException;
import dunlin.store.StoreSettings;
import dunlin.transport.Acknowledgement;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class InboxServerTest {
  private static final String TENANT = "default";

  @TempDir Path data;

  private final AtomicLong now = new AtomicLong(1_000_000);
  private final Frontend frontend = new Frontend();
  private final Dist dist = new Dist();
  private final List<String> wills = new CopyOnWriteArrayList<>();
  private final AtomicInteger willFailures = new AtomicInteger();
  private SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private RangeStore store;
  private InboxServer server;
  private long incarnation;
  private long connections;

  /** What the server pushes and displaces. */
  private static final class Frontend implements Connections {
    private final List<String> pushed = new CopyOnWriteArrayList<>();
    private final List<Long> sequences = new CopyOnWriteArrayList<>();
    private final List<ConnectionId> displaced = new CopyOnWriteArrayList<>();

    @Override
    public void push(ConnectionId connection, InboxMessage message) {
      pushed.add(new String(message.message().payload(), StandardCharsets.UTF_8));
      sequences.add(message.sequence());
    }

    @Override
    public void displaced(ConnectionId connection) {
      displaced.add(connection);
    }
  }

  /** The routes that stand, and how long the next one takes. */
  private static final class Dist implements InboxRoutes {
    private final Set<String> routes = ConcurrentHashMap.newKeySet();
    private final AtomicInteger failures = new AtomicInteger();
    private volatile CompletableFuture<Void> gate = CompletableFuture.completedFuture(null);

    @Override
    public CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter) {
      if (failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
        return CompletableFuture.failedFuture(new StoreException("no leader"));
      }
      return gate.thenRun(() -> routes.add(shard + " " + filter.text()));
    }

    @Override
    public CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter) {
      return gate.thenRun(() -> routes.remove(shard + " " + filter.text()));
    }
  }

  /** What a publisher is told. */
  private static final class Answer extends Acknowledgement {
    private final CompletableFuture<ReasonCode> reason = new CompletableFuture<>();

    @Override
    protected void complete(ReasonCode code) {
      reason.complete(code);
    }
  }

  @BeforeEach
  void open() throws Exception {
    open(InboxSettings.defaults());
  }

  private void open(InboxSettings settings) throws Exception {
    meters = new SimpleMeterRegistry();
    store = RangeStore.open(withoutFsync(), data, meters);
    server =
        new InboxServer(
            store, settings, frontend, dist, this::publishWill, () -> Instant.ofEpochMilli(now.get()), meters);
    store.start(Duration.ofSeconds(20));
    server.start("node", ++incarnation).get(10, TimeUnit.SECONDS);
  }

  private static StoreSettings withoutFsync() {
    var usual = StoreSettings.defaults();
    return new StoreSettings(
        false,
        0,
        usual.memoryBytes(),
        usual.queuedCommandsMax(),
        usual.queuedBytesMax(),
        usual.entriesInFlight(),
        usual.commandsPerEntry(),
        usual.bytesPerEntry(),
        usual.entryBytesMax(),
        usual.snapshotEntries(),
        usual.snapshotLogBytes(),
        usual.snapshotAge(),
        usual.readers(),
        usual.queuedReadsMax());
  }

  @AfterEach
  void close() {
    server.close();
    store.close();
  }

  private void reopen() throws Exception {
    close();
    open();
  }

  private CompletableFuture<Void> publishWill(Publication will) {
    if (willFailures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      return CompletableFuture.failedFuture(new IllegalStateException("no frontend"));
    }
    wills.add(new String(will.payload(), StandardCharsets.UTF_8));
    return CompletableFuture.completedFuture(null);
  }

  private static <T> T get(CompletableFuture<T> future) throws Exception {
    return future.get(10, TimeUnit.SECONDS);
  }

  private Connected connect(String clientId, Will... will) throws Exception {
    var connection = new ConnectionId("node", incarnation, ++connections);
    return get(
        server.connect(
            new Connect(TENANT, clientId, connection, false, true, 3600, will.length == 0 ? null : will[0])));
  }

  private List<Boolean> subscribe(SessionRef session, String filter, QoS qos) throws Exception {
    return get(server.subscribe(session, List.of(wanted(filter, qos))));
  }

  private static Subscription wanted(String filter, QoS qos) {
    return new Subscription(TopicFilter.parse(filter).orElseThrow(), SubscriptionOptions.of(qos));
  }

  private Publication message(QoS qos, String payload) {
    byte[] bytes = payload.getBytes(StandardCharsets.UTF_8);
    return Publication.of(new Publisher(TENANT, "p"), "a", qos, false, now.get(), bytes);
  }

  private ReasonCode publish(Publication message, TopicFilter... groups) throws Exception {
    var answer = new Answer();
    server.deliver(message, List.of(groups), answer);
    return get(answer.reason);
  }

  private double count(String meter, String... tags) {
    return meters.get(meter).tags(tags).counter().count();
  }

  private double queued() {
    return meters.get("dunlin.inbox.queued").gauge().value();
  }

  private void assertBalance() {
    double dropped = 0;
    for (var counter : meters.get("dunlin.inbox.dropped").counters()) {
      if (!"offline".equals(counter.getId().getTag("reason"))) dropped += counter.count();
    }
    assertThat(count("dunlin.inbox.appended")).isEqualTo(count("dunlin.inbox.acknowledged") + dropped + queued());
  }

  @Test
  void anAnsweredMessageIsPushedAndSurvivesARestart() throws Exception {
    var session = connect("c").session();
    assertThat(subscribe(session, "a", QoS.AT_LEAST_ONCE)).containsExactly(false);

    assertThat(publish(message(QoS.AT_LEAST_ONCE, "m1"))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(frontend.pushed).containsExactly("m1");
    reopen();
    assertThat(publish(message(QoS.AT_LEAST_ONCE, "m2"))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(frontend.pushed).containsExactly("m1");

    var again = connect("c");
    assertThat(again.sessionPresent()).isTrue();
    var page = get(server.fetch(again.session(), again.firstUnacknowledged(), 10, 1 << 20));
    assertThat(page.end()).isTrue();
    assertThat(page.messages()).extracting(Connections.InboxMessage::delivered).containsExactly(true, false);
  }

  @Test
  void routesAreAnnouncedOnceAndAgainAfterARestart() throws Exception {
    var session = connect("c").session();
    subscribe(session, "a", QoS.AT_LEAST_ONCE);
    subscribe(session, "$share/g/b", QoS.AT_LEAST_ONCE);
    String shard = server.shardOf(TENANT, "c").toString();
    assertThat(dist.routes).containsExactlyInAnyOrder(shard + " a", shard + " $share/g/b");

    dist.routes.clear();
    reopen();
    assertThat(dist.routes).containsExactlyInAnyOrder(shard + " a", shard + " $share/g/b");

    var again = connect("c").session();
    get(server.unsubscribe(again, List.of(TopicFilter.plain("a"))));
    await().untilAsserted(() -> assertThat(dist.routes).containsExactly(shard + " $share/g/b"));
  }

  @Test
  void subscribeWaitsForARouteThatAnotherSessionHasBegunToAnnounce() throws Exception {
    dist.gate = new CompletableFuture<>();
    var one = connect("c").session();
    String neighbour = "n0";
    for (int i = 1; !server.shardOf(TENANT, neighbour).equals(server.shardOf(TENANT, "c")); i++) neighbour = "n" + i;
    var two = connect(neighbour).session();

    var first = server.subscribe(one, List.of(wanted("a", QoS.AT_LEAST_ONCE)));
    var second = server.subscribe(two, List.of(wanted("a", QoS.AT_LEAST_ONCE)));
    get(server.released(two, 1));
    assertThat(first).isNotDone();
    assertThat(second).isNotDone();

    dist.gate.complete(null);
    assertThat(get(first)).containsExactly(false);
    assertThat(get(second)).containsExactly(false);
  }

  @Test
  void aRouteThatCannotBeAnnouncedFailsTheSubscriptionAndIsTriedAgain() throws Exception {
    dist.failures.set(1);
    var session = connect("c").session();

    var subscribed = server.subscribe(session, List.of(wanted("a", QoS.AT_LEAST_ONCE)));

    assertThatThrownBy(() -> get(subscribed)).hasCauseInstanceOf(StoreException.class);
    await().untilAsserted(() -> assertThat(dist.routes).hasSize(1));
    assertThat(subscribe(session, "a", QoS.AT_LEAST_ONCE)).containsExactly(true);
  }

  @Test
  void qos0GoesPastTheLog() throws Exception {
    var session = connect("c").session();
    subscribe(session, "a", QoS.EXACTLY_ONCE);
    server.deliver(message(QoS.AT_MOST_ONCE, "q0"), List.of(), null);
    assertThat(frontend.pushed).containsExactly("q0");
    assertThat(frontend.sequences).containsExactly(0L);

    get(server.disconnect(session, false, 3600));
    server.deliver(message(QoS.AT_MOST_ONCE, "lost"), List.of(), null);

    assertThat(frontend.pushed).containsExactly("q0");
    assertThat(count("dunlin.inbox.dropped", "reason", "offline")).isEqualTo(1);
    assertThat(queued()).isZero();
  }

  @Test
  void acknowledgementsAreGatheredAndStandBeforeTheDisconnect() throws Exception {
    var session = connect("c").session();
    subscribe(session, "a", QoS.AT_LEAST_ONCE);
    for (int i = 0; i < 100; i++) assertThat(publish(message(QoS.AT_LEAST_ONCE, "m" + i))).isEqualTo(ReasonCode.SUCCESS);
    for (long sequence = 1; sequence <= 50; sequence++) server.acknowledge(session, new long[] {sequence});
    get(server.disconnect(session, false, 3600));
    assertThat(queued()).isEqualTo(50);

    var again = connect("c");
    assertThat(again.firstUnacknowledged()).isEqualTo(51);
    for (long sequence = 51; sequence <= 99; sequence++) server.acknowledge(again.session(), new long[] {sequence});

    await().untilAsserted(() -> assertThat(queued()).isEqualTo(1));
    assertThat(count("dunlin.inbox.acknowledged")).isEqualTo(99);
    assertBalance();
  }

  @Test
  void aTakeoverDisplacesAndTheOldEpochIsRefusedEverywhere() throws Exception {
    var old = connect("c").session();
    connect("c");

    assertThat(frontend.displaced).containsExactly(new ConnectionId("node", incarnation, 1));
    List<CompletableFuture<?>> refused =
        List.of(
            server.subscribe(old, List.of(wanted("a", QoS.AT_LEAST_ONCE))),
            server.unsubscribe(old, List.of()),
            server.append(old, SubscriptionOptions.of(QoS.AT_LEAST_ONCE), List.of(message(QoS.AT_LEAST_ONCE, "r"))),
            server.received(old, 1),
            server.released(old, 1),
            server.fetch(old, 1, 1, 1),
            server.disconnect(old, true, 0));
    for (var each : refused) {
      assertThatThrownBy(() -> get(each)).hasCauseInstanceOf(StaleSessionException.class);
    }
  }

  @Test
  void tooManySubscriptionsAreRefused() throws Exception {
    close();
    open(new InboxSettings(16, 1, 1 << 20, OverflowPolicy.REJECT, 1, 4));
    var session = connect("c").session();
    subscribe(session, "a", QoS.AT_LEAST_ONCE);

    var more = server.subscribe(session, List.of(wanted("b", QoS.AT_LEAST_ONCE)));

    assertThatThrownBy(() -> get(more)).hasCauseInstanceOf(QuotaExceededException.class);
    assertThat(publish(message(QoS.AT_LEAST_ONCE, "m1"))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(publish(message(QoS.AT_LEAST_ONCE, "m2"))).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertBalance();
  }

  @Test
  void willsArePublishedWhenDueAndAgainWhenItFails() throws Exception {
    willFailures.set(1);
    var session = connect("c", new Will(message(QoS.AT_LEAST_ONCE, "will"), 10)).session();
    get(server.disconnect(session, true, 3600));
    now.addAndGet(10_000);

    await().untilAsserted(() -> assertThat(wills).containsExactly("will"));
    assertThat(count("dunlin.inbox.will-failures")).isEqualTo(1);
    await().untilAsserted(() -> assertThat(meters.get("dunlin.inbox.wills-running").gauge().value()).isZero());
  }

  @Test
  void aRestartTreatsTheConnectionsBeforeItAsLost() throws Exception {
    connect("c", new Will(message(QoS.AT_LEAST_ONCE, "will"), 0));
    assertThat(meters.get("dunlin.inbox.online").gauge().value()).isEqualTo(1);

    reopen();

    assertThat(meters.get("dunlin.inbox.online").gauge().value()).isZero();
    assertThat(meters.get("dunlin.inbox.sessions").gauge().value()).isEqualTo(1);
    await().untilAsserted(() -> assertThat(wills).containsExactly("will"));
  }

  @Test
  void expiredSessionsGoWithAllTheyHave() throws Exception {
    var session = connect("c").session();
    subscribe(session, "a", QoS.AT_LEAST_ONCE);
    get(server.disconnect(session, false, 60));
    for (int i = 0; i < 20; i++) assertThat(publish(message(QoS.AT_LEAST_ONCE, "m" + i))).isEqualTo(ReasonCode.SUCCESS);

    now.addAndGet(60_000);

    await().untilAsserted(() -> assertThat(queued()).isZero());
    await().untilAsserted(() -> assertThat(dist.routes).isEmpty());
    assertThat(count("dunlin.inbox.dropped", "reason", "session-ended")).isEqualTo(20);
    assertBalance();
  }

  @Test
  void theInboxOfAGroupIsDrainedByWhoComes() throws Exception {
    var filter = TopicFilter.parse("$share/g/a").orElseThrow();
    assertThat(server.groupCredit(TENANT, filter)).isZero();
    var session = connect("c").session();
    subscribe(session, filter.text(), QoS.AT_LEAST_ONCE);
    assertThat(server.groupCredit(TENANT, filter)).isEqualTo(256);
    get(server.disconnect(session, false, 3600));
    assertThat(server.groupCredit(TENANT, filter)).isEqualTo(1);
    var answers = new ArrayList<Answer>();
    for (int i = 0; i < 1_000; i++) {
      var answer = new Answer();
      answers.add(answer);
      server.deliver(message(QoS.AT_LEAST_ONCE, "m" + i), List.of(filter), answer);
    }
    for (Answer answer : answers) assertThat(get(answer.reason)).isEqualTo(ReasonCode.SUCCESS);

    var again = connect("c").session();
    int seen = 0;
    while (seen < 1_000) {
      int from = seen;
      await().until(() -> frontend.sequences.size() > from);
      int to = frontend.sequences.size();
      server.acknowledge(again, frontend.sequences.subList(from, to).stream().mapToLong(Long::longValue).toArray());
      seen = to;
    }

    await().untilAsserted(() -> assertThat(queued()).isZero());
    assertThat(frontend.pushed).hasSize(1_000).doesNotHaveDuplicates().startsWith("m0", "m1").endsWith("m999");
    assertBalance();
  }

  @Test
  void retainedMessagesAreAppendedInPartsAndOrder() throws Exception {
    var session = connect("c").session();
    var retained = new ArrayList<Publication>();
    for (int i = 0; i < 700; i++) retained.add(message(QoS.AT_LEAST_ONCE, "r" + i));

    get(server.append(session, SubscriptionOptions.of(QoS.AT_LEAST_ONCE), retained));

    assertThat(frontend.pushed).hasSize(700).startsWith("r0").endsWith("r699");
    assertThat(frontend.sequences).isSorted();
  }
}

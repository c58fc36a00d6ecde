package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.between.OtherRange;
import dunlin.inbox.between.QuietRange;
import dunlin.inbox.range.MemoryRows;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.TenantQuota;
import dunlin.store.CommandCodec;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A node of a cluster that leads some of the ranges of sessions. */
final class SessionTierTest {
  private static final Layout LAYOUT = new Layout(16, 2);
  private static final List<ShardInterval> INTERVALS = ShardInterval.divide(LAYOUT.shards(), LAYOUT.ranges());

  private final RangeFaults faults = new RangeFaults();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final InboxNode others; // the other tiers
  private final List<SessionReplica> replicas = InboxServer.declare(this::range, LAYOUT);
  private final SessionTier tier = new SessionTier(over(InboxSettings.defaults()), InstantSource.system(), meters, Tracer.idle());

  SessionTierTest() throws Exception {
    others = new InboxNode(null, 1, InboxSettings.defaults());
  }

  private static InboxSettings over(InboxSettings of) {
    return new InboxSettings(LAYOUT, of.messagesMax(), of.bytesMax(), of.overflow(), of.subscriptionsMax(), of.groupWindow(), of.sums());
  }

  private <C, R> LocalRange<C, R> range(RangeId id, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    return new LocalRange<>(codec, logic, new MemoryRows(), faults);
  }

  @AfterEach
  void close() {
    others.close();
    faults.ranges.forEach(LocalRange::close);
  }

  private InboxServer lead(int range) throws Exception {
    return lead(tier, range, Map.of());
  }

  private InboxServer lead(SessionTier by, int range, Map<Integer, OtherRange> beside) throws Exception {
    var server = by.lead(replicas.get(range), beside, others, others);
    var started = server.start();
    InboxNode.get(server.attach("node", 1, others));
    InboxNode.get(started);
    return server;
  }

  private void connect(InboxServer server, int range) throws Exception {
    connect(server, range, "c");
  }

  /** @param client as the name begins */
  private void connect(InboxServer server, int range, String client) throws Exception {
    while (!INTERVALS.get(range).contains(new SessionKey("t", client).shard(LAYOUT.shards()))) client += "c";
    InboxNode.get(server.connect(new Connect("t", client, "", new ConnectionId("node", 1, range), false, true, 60, null)));
  }

  private double sessions() {
    return meters.get("dunlin.inbox.sessions").gauge().value();
  }

  @Test
  void metersAreSumsOverTheRangesThatAreLed() throws Exception {
    var first = lead(0);
    var second = lead(1);
    connect(first, 0);
    connect(second, 1);
    assertThat(sessions()).isEqualTo(2);
    assertThat(InboxNode.get(first.statistics()).sessions()).isEqualTo(1);
    assertThat(first.shards()).hasSize(8).doesNotContainAnyElementsOf(second.shards());

    first.close();
    assertThat(sessions()).isEqualTo(1);
    var again = lead(0);
    assertThat(sessions()).isEqualTo(2);

    again.close();
    second.close();
    assertThat(meters.find("dunlin.inbox.sessions").gauge()).isNull();
  }

  private static InboxSettings ofSessions(int max) {
    var of = over(InboxSettings.defaults());
    return new InboxSettings(LAYOUT, of.messagesMax(), of.bytesMax(), of.overflow(), of.subscriptionsMax(), of.groupWindow(), InboxSettings.Sums.ofSessions(max));
  }

  private int clients;

  /** What another leader would answer. */
  private static final class Says extends QuietRange {
    private final Sums has;

    Says(Sums has) {
      this.has = has;
    }

    @Override
    public CompletableFuture<Sums> sums() {
      return CompletableFuture.completedFuture(has);
    }

    /** Of each tenant that is asked about. */
    @Override
    public CompletableFuture<List<Held>> held(List<String> tenants) {
      return CompletableFuture.completedFuture(tenants.stream().map(_ -> new Held(has.durable(), 0, 0)).toList());
    }
  }

  /** Whether a client that has no session yet is refused one. */
  private boolean isRefused(InboxServer server) throws Exception {
    try {
      connect(server, 0, "client-" + ++clients + "-");
      return false;
    } catch (ExecutionException e) {
      assertThat(e).hasCauseInstanceOf(QuotaExceededException.class);
      return true;
    }
  }

  @Test
  void aBoundIsForTheRangesOfAllNodes() throws Exception {
    var bounded = new SessionTier(ofSessions(10_000), InstantSource.system(), new SimpleMeterRegistry(), Tracer.idle());
    var beside = new Says(new OtherRange.Sums(10_000, 0, 0));
    var server = lead(bounded, 0, Map.of(1, beside));

    await().atMost(Duration.ofMinutes(2)).untilAsserted(() -> assertThat(isRefused(server)).isTrue());

    server.close();
  }

  @Test
  void theBoundOfATenantIsForTheRangesOfAllNodes() throws Exception {
    var bounded = new SessionTier(over(InboxSettings.defaults()), InstantSource.system(), new SimpleMeterRegistry(), Tracer.idle());
    var server = lead(bounded, 0, Map.of(1, new Says(new OtherRange.Sums(10_000, 0, 0))));
    server.limitTenants(_ -> 10_000, TenantQuota.UNLIMITED, TenantQuota.UNLIMITED);

    await().atMost(Duration.ofMinutes(2)).untilAsserted(() -> assertThat(isRefused(server)).isTrue());

    server.close();
  }

  @Test
  void aRangeWithoutAnAnswerOfTheOthersHasTheWholeBound() throws Exception {
    var bounded = new SessionTier(ofSessions(1), InstantSource.system(), new SimpleMeterRegistry(), Tracer.idle());
    var server = lead(bounded, 0, Map.of());

    assertThat(isRefused(server)).isFalse();

    server.close();
  }
}

package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.range.MemoryRows;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.store.CommandCodec;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.InstantSource;
import java.util.List;
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
    var server = tier.lead(replicas.get(range), others, others);
    var started = server.start();
    InboxNode.get(server.attach("node", 1, others));
    InboxNode.get(started);
    return server;
  }

  private void connect(InboxServer server, int range) throws Exception {
    String client = "c";
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
}

package dunlin.inbox.server;

import static dunlin.inbox.server.InboxNode.TENANT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.range.MemoryRows;
import dunlin.inbox.state.RangeState;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.CommandCodec;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A will whose attempt by one leader of its range is held until the next leader has made its own, and what lanes bring to that one. */
final class WillsOverLeadersTest implements WillPublisher {
  private static final Layout LAYOUT = new Layout(4, 1);

  /** An attempt that the test answers. */
  private record Attempt(Publication message, boolean again, CompletableFuture<Outcome> outcome) {}

  private final RangeFaults faults = new RangeFaults();
  private final BlockingQueue<Attempt> attempts = new LinkedBlockingQueue<>();
  private final List<Long> recorded = new ArrayList<>();
  private InboxNode others; // the other tiers
  private SessionTier tier;
  private SessionReplica replica;
  private InboxServer server;
  private long connections;

  @Override
  public Sending prepare(Publication will, String user, boolean again) {
    return () -> {
      var attempt = new Attempt(will, again, new CompletableFuture<>());
      attempts.add(attempt);
      return attempt.outcome;
    };
  }

  @BeforeEach
  void open() throws Exception {
    others = new InboxNode(null, 1, InboxSettings.defaults());
    var of = InboxSettings.defaults();
    var settings = new InboxSettings(LAYOUT, of.messagesMax(), of.bytesMax(), of.overflow(), of.subscriptionsMax(), of.groupWindow(), of.sums());
    tier = new SessionTier(settings, InstantSource.system(), new SimpleMeterRegistry(), Tracer.idle());
    replica = InboxServer.declare(this::range, LAYOUT).getFirst();
    server = lead();
  }

  @AfterEach
  void close() {
    server.close();
    List.copyOf(faults.ranges).forEach(LocalRange::close);
    others.close();
  }

  private <C, R> LocalRange<C, R> range(RangeId id, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    return new LocalRange<>(codec, logic, new MemoryRows(), faults);
  }

  private InboxServer lead() throws Exception {
    var led = tier.lead(replica, Map.of(), others, this);
    led.recordWills(() -> true);
    var started = led.start();
    InboxNode.get(led.attach("node", 1, others));
    InboxNode.get(started);
    return led;
  }

  private void leadAgain() throws Exception {
    server.close();
    server = lead();
  }

  private Connected connect(String client, @Nullable Will will) throws Exception {
    return InboxNode.get(server.connect(new Connect(TENANT, client, "", new ConnectionId("node", 1, ++connections), false, true, 3600, will)));
  }

  private List<String> inbox() throws Exception {
    var connected = connect("s", null);
    var page = InboxNode.get(server.fetch(connected.session(), connected.firstUnacknowledged(), 10_000, 1 << 30));
    return page.messages().stream().map(each -> new String(each.message().payload(), StandardCharsets.UTF_8)).toList();
  }

  /** A subscriber, and a client that has left a will. */
  private void leaveWill() throws Exception {
    InboxNode.get(server.subscribe(connect("s", null).session(), List.of(new Subscription(TopicFilter.plain("wills"), SubscriptionOptions.of(QoS.AT_LEAST_ONCE)))));
    var will = Publication.of(new Publisher(TENANT, "c"), "wills", QoS.AT_LEAST_ONCE, false, 0, "gone".getBytes(StandardCharsets.UTF_8));
    InboxNode.get(server.disconnect(connect("c", new Will(will, 0)).session(), true, 3600));
  }

  private Attempt next() throws Exception {
    var attempt = attempts.poll(2, TimeUnit.MINUTES);
    if (attempt == null) throw new AssertionError("no attempt");
    return attempt;
  }

  /** What a lane brings of an attempt, to the leader of that time. */
  private ReasonCode arrives(Attempt attempt) throws Exception {
    var reason = new CompletableFuture<ReasonCode>();
    var exchange = attempt.message.exchange();
    var terms = exchange == null ? Terms.WILL : Terms.WILL.from(Terms.Origin.ofWill(exchange.epoch(), attempt.again));
    server.deliver(
        attempt.message, List.of(),
        new Acknowledgement() {
          @Override
          public Terms terms() {
            return terms;
          }

          @Override
          public void recorded(List<Long> picks) {
            recorded.addAll(picks);
          }

          @Override
          protected void complete(ReasonCode worst) {
            reason.complete(worst);
          }
        });
    return InboxNode.get(reason);
  }

  private void end(Attempt attempt) {
    RangeState state = replica.sessions().state();
    attempt.outcome.complete(new Outcome.Published());
    await().until(() -> state.willsByEpoch.isEmpty());
  }

  @Test
  void theAttemptOfTheOldLeaderThatComesLastIsNotStored() throws Exception {
    leaveWill();
    var old = next();
    leadAgain();
    var present = next();
    assertThat(old.again).isFalse();
    assertThat(present.again).isTrue();

    assertThat(arrives(present)).isEqualTo(ReasonCode.SUCCESS);
    end(present);
    assertThat(arrives(old)).as("nothing is left to do").isEqualTo(ReasonCode.SUCCESS);

    assertThat(recorded).containsExactly(Terms.Pick.DELIVERED);
    assertThat(inbox()).containsExactly("gone");
  }

  @Test
  void theAttemptsOfSeveralLeadersAreStoredOnceInAnyOrder() throws Exception {
    leaveWill();
    var all = new ArrayList<Attempt>();
    for (int i = 0; i < 4; i++) {
      all.add(next());
      leadAgain();
    }
    var last = next();

    for (Attempt each : List.of(all.get(2), last, all.get(0), all.get(3), last, all.get(1))) assertThat(arrives(each)).isEqualTo(ReasonCode.SUCCESS);
    end(last);
    for (Attempt each : all) assertThat(arrives(each)).isEqualTo(ReasonCode.SUCCESS);

    assertThat(inbox()).containsExactly("gone");
  }

  @Test
  void aWillThatNoAttemptHasStoredIsStoredByTheNextOne() throws Exception {
    leaveWill();
    next();
    leadAgain();

    assertThat(arrives(next())).isEqualTo(ReasonCode.SUCCESS);

    assertThat(inbox()).containsExactly("gone");
  }
}

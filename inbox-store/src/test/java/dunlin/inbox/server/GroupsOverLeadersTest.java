package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.inbox.between.OtherRange;
import dunlin.inbox.range.MemoryRows;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.CommandCodec;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.StoreException;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A shared subscription with durable members in three ranges that different nodes lead. What these ask each other is lost, is done without an answer, and comes again
 * late from leaders that were replaced; each message is stored once all the same.
 */
final class GroupsOverLeadersTest {
  private static final int RANGES = 3;
  private static final int HOME = 1;
  private static final Layout LAYOUT = new Layout(16, RANGES);
  private static final List<ShardInterval> INTERVALS = ShardInterval.divide(LAYOUT.shards(), RANGES);
  private static final String TENANT = InboxNode.TENANT;
  private static final TopicFilter GROUP = TopicFilter.parse("$share/g/a").orElseThrow();
  private static final GroupKey KEY = new GroupKey(TENANT, GROUP);
  private static final Duration SOON = Duration.ofMinutes(1);

  private final RangeFaults faults = new RangeFaults();
  private final AtomicReferenceArray<@Nullable InboxServer> servers = new AtomicReferenceArray<>(RANGES);
  private final InboxSettings settings = over(InboxSettings.defaults());
  private final List<SessionReplica> replicas = InboxServer.declare(this::range, LAYOUT);
  private final List<SessionTier> nodes =
      IntStream.range(0, RANGES).mapToObj(_ -> new SessionTier(settings, InstantSource.system(), new SimpleMeterRegistry(), Tracer.idle())).toList();
  private final Map<Integer, SessionRef> connected = new HashMap<>();
  private @Nullable InboxNode otherTiers;
  private long connections;

  /** What becomes of calls between leaders; null when all go well. */
  private volatile @Nullable Random losses;

  /** What was sent to a range, and may come again at any later time. */
  private final ConcurrentLinkedQueue<Supplier<CompletableFuture<?>>> late = new ConcurrentLinkedQueue<>();

  private static InboxSettings over(InboxSettings of) {
    return new InboxSettings(LAYOUT, of.messagesMax(), of.bytesMax(), of.overflow(), of.subscriptionsMax(), of.groupWindow(), of.sums());
  }

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 6) : LongStream.of(seed);
  }

  private <C, R> LocalRange<C, R> range(RangeId id, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    return new LocalRange<>(codec, logic, new MemoryRows(), faults);
  }

  @BeforeEach
  void open() throws Exception {
    otherTiers = new InboxNode(null, 1, InboxSettings.defaults());
    for (int i = 0; i < RANGES; i++) lead(i);
  }

  @AfterEach
  void close() {
    for (int i = 0; i < RANGES; i++) server(i).close();
    List.copyOf(faults.ranges).forEach(LocalRange::close);
    tiers().close();
  }

  private InboxNode tiers() {
    if (otherTiers == null) throw new AssertionError("not open");
    return otherTiers;
  }

  private InboxServer server(int range) {
    var server = servers.get(range);
    if (server == null) throw new StoreException("range " + range + " has no leader");
    return server;
  }

  private void lead(int range) throws Exception {
    Map<Integer, OtherRange> others = new HashMap<>();
    for (int i = 0; i < RANGES; i++) if (i != range) others.put(i, new Way(i));
    var server = nodes.get(range).lead(replicas.get(range), others, tiers(), tiers());
    servers.set(range, server);
    var started = server.start();
    InboxNode.get(server.attach("node", 1, tiers()));
    InboxNode.get(started);
  }

  private void leadAgain(int range) throws Exception {
    server(range).close();
    lead(range);
  }

  /** The way to the leader of a range. */
  private final class Way implements OtherRange {
    private final int to;

    Way(int to) {
      this.to = to;
    }

    private <T> CompletableFuture<T> call(Supplier<CompletableFuture<T>> call) {
      if (servers.get(to) == null) return CompletableFuture.failedFuture(new StoreException("range " + to + " has no leader"));
      var random = losses;
      int fate;
      synchronized (GroupsOverLeadersTest.this) {
        fate = random == null ? 9 : random.nextInt(10);
      }
      if (fate < 2) return CompletableFuture.failedFuture(new StoreException("not sent"));
      if (fate < 4) late.add(call::get);
      if (fate == 2) return CompletableFuture.failedFuture(new OutcomeUnknownException("on its way", new StoreException("the link is lost")));
      var answer = call.get();
      if (fate > 4) return answer;
      return answer.handle((_, _) -> {
        throw new OutcomeUnknownException("done, for all that is known", new StoreException("the link is lost"));
      });
    }

    @Override
    public CompletableFuture<Sums> sums() {
      return call(() -> server(to).asked().sums());
    }

    @Override
    public CompletableFuture<List<Boolean>> ended(List<Birth> sessions) {
      return call(() -> server(to).asked().ended(sessions));
    }

    @Override
    public CompletableFuture<List<Held>> held(List<String> tenants) {
      return call(() -> server(to).asked().held(tenants));
    }

    @Override
    public CompletableFuture<List<GroupPart>> parts(List<GroupKey> groups) {
      return call(() -> server(to).asked().parts(groups));
    }

    @Override
    public CompletableFuture<List<Boolean>> over(List<SetAside> numbers) {
      return call(() -> server(to).asked().over(numbers));
    }

    @Override
    public CompletableFuture<Taken> store(SessionCommand messages) {
      return call(() -> server(to).asked().store(messages));
    }

    @Override
    public CompletableFuture<Picked> pick(SessionCommand.PickForGroup pick) {
      return call(() -> server(to).asked().pick(pick));
    }
  }

  /** Some of what was sent comes again. */
  private void arrive(Random random) throws Exception {
    while (!late.isEmpty() && random.nextInt(3) > 0) InboxNode.get(late.remove().get().handle((_, _) -> true));
  }

  private static String client(String beginning, int range) {
    for (int i = 0; ; i++) if (INTERVALS.get(range).contains(new SessionKey(TENANT, beginning + i).shard(LAYOUT.shards()))) return beginning + i;
  }

  private Connected connect(int range, String client) throws Exception {
    return InboxNode.get(server(range).connect(new Connect(TENANT, client, "", new ConnectionId("node", 1, ++connections), false, true, 3600, null)));
  }

  private void join(int range) throws Exception {
    var session = connect(range, client("m", range)).session();
    InboxNode.get(server(range).subscribe(session, List.of(new Subscription(GROUP, SubscriptionOptions.of(QoS.EXACTLY_ONCE)))));
    connected.put(range, session);
  }

  private void leave(int range) throws Exception {
    var session = connected.remove(range);
    if (session != null) InboxNode.get(server(range).disconnect(session, false, 3600));
  }

  private void unsubscribe(int range) throws Exception {
    var session = connect(range, client("m", range)).session();
    connected.put(range, session);
    InboxNode.get(server(range).unsubscribe(session, List.of(GROUP)));
  }

  private static final class Answer extends Acknowledgement {
    private final CompletableFuture<ReasonCode> reason = new CompletableFuture<>();
    private final Terms terms;

    Answer(Terms terms) {
      this.terms = terms;
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    protected void complete(ReasonCode code) {
      reason.complete(code);
    }
  }

  private ReasonCode deliver(int range, Publication message, List<TopicFilter> groups, Terms terms) throws Exception {
    var answer = new Answer(terms);
    server(range).deliver(message, groups, answer);
    return InboxNode.get(answer.reason);
  }

  private void publish(int range, String payload) throws Exception {
    assertThat(deliver(range, message("p", payload, null), List.of(GROUP), Terms.ANSWERED)).isEqualTo(ReasonCode.SUCCESS);
  }

  private static Publication message(String publisher, String payload, Publication.@Nullable Exchange exchange) {
    byte[] body = ("a" + payload).getBytes(StandardCharsets.UTF_8);
    return new Publication(new Publisher(TENANT, publisher), exchange == null ? QoS.AT_LEAST_ONCE : QoS.EXACTLY_ONCE, false, 1, -1, -1, 1, 0, body, exchange);
  }

  private List<String> inbox(int range) throws Exception {
    var session = connect(range, client("m", range));
    connected.put(range, session.session());
    var page = InboxNode.get(server(range).fetch(session.session(), 1, 100_000, 1 << 30));
    return page.messages().stream().map(each -> new String(each.message().payload(), StandardCharsets.UTF_8)).toList();
  }

  private List<String> everywhere() throws Exception {
    var all = new ArrayList<String>();
    for (int i = 0; i < RANGES; i++) all.addAll(inbox(i));
    return all;
  }

  private void assertNothingWaits(String why) {
    await()
        .atMost(SOON)
        .untilAsserted(
            () -> {
              for (SessionReplica each : replicas) {
                var group = each.sessions().state().groups.get(KEY);
                assertThat(group == null || !group.holds()).as(why).isTrue();
              }
            });
  }

  private static List<String> payloads(int count) {
    return IntStream.range(0, count).mapToObj(i -> "m" + i).toList();
  }

  @Test
  void messagesThatWaitInARangeGoToAMemberInARangeOfAnotherLeader() throws Exception {
    join(0);
    leave(0);
    for (String payload : payloads(600)) publish(0, payload);
    join(2);

    await().atMost(SOON).untilAsserted(() -> assertThat(inbox(2).size()).isGreaterThanOrEqualTo(256));
    var all = new ArrayList<String>();
    await()
        .atMost(SOON)
        .until(
            () -> {
              var session = connect(2, client("m", 2)).session();
              var page = InboxNode.get(server(2).fetch(session, 1, 100_000, 1 << 30));
              for (var each : page.messages()) {
                if (all.contains(payloadOf(each.message()))) continue;
                all.add(payloadOf(each.message()));
                server(2).acknowledge(session, new long[] {each.sequence()});
              }
              return all.size() == 600;
            });
    assertThat(all).containsExactlyInAnyOrderElementsOf(payloads(600));
    assertNothingWaits("all are given");
  }

  private static String payloadOf(Publication message) {
    return new String(message.payload(), StandardCharsets.UTF_8);
  }

  @Test
  void aMessageForARangeThatHasLostItsLastMemberGoesToAnother() throws Exception {
    join(2);
    publish(0, "m0");

    await().atMost(SOON).untilAsserted(() -> assertThat(inbox(2)).containsExactly("m0"));
    assertNothingWaits("it is given");
  }

  @Test
  void whatATransferBroughtIsRememberedForTheLeadersThatWereReplaced() throws Exception {
    join(2);
    publish(0, "m0");
    await().atMost(SOON).untilAsserted(() -> assertThat(inbox(2)).containsExactly("m0"));
    assertNothingWaits("it is given");

    var taken = new ArrayList<Long>();
    replicas.get(2).sessions().state().acceptedTransfers.forEach((_, number) -> taken.add(number));
    assertThat(taken).hasSize(1);
    var again = new SessionCommand.AcceptTransfer(1, KEY, taken.getFirst(), List.of(message("p", "m0", null)));

    assertThat(InboxNode.get(server(2).asked().store(again))).isEqualTo(OtherRange.Taken.YES);
    leadAgain(2);
    assertThat(InboxNode.get(server(2).asked().store(again))).isEqualTo(OtherRange.Taken.YES);
    assertThat(inbox(2)).containsExactly("m0");
    publish(0, "m1");
    await().atMost(SOON).untilAsserted(() -> assertThat(inbox(2)).containsExactly("m0", "m1"));
    assertThat(InboxNode.get(server(2).asked().store(again))).as("it comes late").isEqualTo(OtherRange.Taken.NO);
    assertThat(inbox(2)).containsExactly("m0", "m1");
  }

  /** Members come and go, leaders are replaced, and calls are lost. In the end each message is with one member. */
  @ParameterizedTest
  @MethodSource("seeds")
  void nothingIsLostOrDoubledOnTheWayBetweenLeaders(long seed) throws Exception {
    var random = new Random(seed);
    for (int i = 0; i < RANGES; i++) join(i);
    losses = new Random(seed);
    int count = 60;
    for (String payload : payloads(count)) {
      int range = random.nextInt(RANGES);
      switch (random.nextInt(7)) {
        case 0, 1 -> leave(range);
        case 2 -> leadAgain(range);
        case 3 -> unsubscribe(range);
        case 4 -> arrive(random);
        default -> join(range);
      }
      publish(random.nextInt(RANGES), payload);
    }
    losses = null;
    while (!late.isEmpty()) arrive(random);
    for (int i = 0; i < RANGES; i++) leadAgain(i);
    join(0);

    await().atMost(SOON).untilAsserted(() -> assertThat(everywhere()).as("seed " + seed).containsExactlyInAnyOrderElementsOf(payloads(count)));
    assertNothingWaits("seed " + seed);
    assertThat(everywhere()).as("seed " + seed).containsExactlyInAnyOrderElementsOf(payloads(count));
  }

  /** A frontend that does not know whether its message was taken asks again, any range first. */
  private void appendUntilTaken(Random random, Publication message, OpenExchange exchange) throws Exception {
    for (int range = random.nextInt(RANGES); ; range = (range + 1) % RANGES) {
      var to = server(range);
      boolean taken = InboxNode.get(to.appendToGroup(GROUP, message, exchange).exceptionally(_ -> false));
      if (random.nextInt(3) == 0) leadAgain(random.nextInt(RANGES));
      arrive(random);
      if (taken) return;
    }
  }

  /** QoS 2: the record of an exchange is in one range, and the members are in the others. */
  @ParameterizedTest
  @MethodSource("seeds")
  void aMessageOfAnExchangeIsStoredForOneMemberWhateverFails(long seed) throws Exception {
    var random = new Random(seed);
    join(0);
    join(2);
    var publisher = connect(HOME, client("p", HOME));
    int count = 12;
    for (int i = 0; i < count; i++) {
      int packetId = 1 + i % 2;
      var message =
          message(publisher.session().clientId(), "m" + i, new Publication.Exchange(publisher.birth(), publisher.session().epoch(), packetId));
      var origin = new Terms.Origin(9, i + 1, 1, false);
      assertThat(deliver(HOME, message, List.of(), Terms.ANSWERED.from(origin))).isEqualTo(ReasonCode.SUCCESS);
      if (random.nextBoolean()) leave(random.nextBoolean() ? 0 : 2);
      losses = new Random(seed + i);
      var exchange = new OpenExchange(packetId, publisher.session().epoch(), Terms.Origin.fromRecord(9, i + 1, List.of()));
      for (int times = 1 + random.nextInt(2); times > 0; times--) appendUntilTaken(random, message, exchange);
      losses = null;
      while (!late.isEmpty()) arrive(random);
      for (int range : new int[] {0, 2}) InboxNode.get(server(range).forget(publisher.session(), publisher.birth(), packetId));
      InboxNode.get(server(HOME).released(publisher.session(), publisher.birth(), packetId));
      join(random.nextBoolean() ? 0 : 2);
    }

    await().atMost(SOON).untilAsserted(() -> assertThat(everywhere()).as("seed " + seed).containsExactlyInAnyOrderElementsOf(payloads(count)));
    assertNothingWaits("seed " + seed);
    for (SessionReplica each : replicas) assertThat(each.sessions().state().foreignExchanges.open()).as("seed " + seed).isZero();
  }

  @Test
  void theRecordNamesTheRangeThatHasTheMessage() throws Exception {
    join(0);
    join(2);
    var publisher = connect(HOME, client("p", HOME));
    var message = message(publisher.session().clientId(), "m", new Publication.Exchange(publisher.birth(), publisher.session().epoch(), 1));
    assertThat(deliver(HOME, message, List.of(), Terms.ANSWERED.from(new Terms.Origin(9, 1, 1, false)))).isEqualTo(ReasonCode.SUCCESS);
    var exchange = new OpenExchange(1, publisher.session().epoch(), Terms.Origin.fromRecord(9, 1, List.of()));

    assertThat(InboxNode.get(server(2).appendToGroup(GROUP, message, exchange))).isTrue();
    assertThat(InboxNode.get(server(0).appendToGroup(GROUP, message, exchange))).as("it is in the other range").isTrue();
    assertThat(InboxNode.get(server(HOME).appendToGroup(GROUP, message, exchange))).as("without members").isFalse();

    assertThat(inbox(0)).isEmpty();
    assertThat(inbox(2)).containsExactly("m");
    var again = connect(HOME, client("p", HOME));
    long pick = Terms.Pick.of(GROUP, ShardId.inbox(INTERVALS.get(2).of(KEY)));
    assertThat(again.openExchanges()).singleElement().satisfies(each -> assertThat(each.origin().picked()).containsExactly(pick));
  }

  @Test
  void aGroupAndPlainSubscribersOfARangeEachGetAMessageOfAnExchangeOnce() throws Exception {
    join(0);
    var plain = connect(0, client("s", 0)).session();
    InboxNode.get(server(0).subscribe(plain, List.of(new Subscription(TopicFilter.plain("a"), SubscriptionOptions.of(QoS.EXACTLY_ONCE)))));
    var publisher = connect(HOME, client("p", HOME));
    var message = message(publisher.session().clientId(), "m", new Publication.Exchange(publisher.birth(), publisher.session().epoch(), 1));
    var origin = new Terms.Origin(9, 1, 1, false);
    assertThat(deliver(HOME, message, List.of(), Terms.ANSWERED.from(origin))).isEqualTo(ReasonCode.SUCCESS);
    var exchange = new OpenExchange(1, publisher.session().epoch(), Terms.Origin.fromRecord(9, 1, List.of()));

    for (int i = 0; i < 2; i++) {
      assertThat(deliver(0, message, List.of(), Terms.ANSWERED.from(origin))).isEqualTo(ReasonCode.SUCCESS);
      assertThat(InboxNode.get(server(0).appendToGroup(GROUP, message, exchange))).isTrue();
      assertThat(deliver(0, message, List.of(GROUP), Terms.ANSWERED.from(origin.asRepetition()))).isEqualTo(ReasonCode.SUCCESS);
      leadAgain(0);
    }

    assertThat(inbox(0)).containsExactly("m");
    var page = InboxNode.get(server(0).fetch(connect(0, client("s", 0)).session(), 1, 100, 1 << 20));
    assertThat(page.messages()).hasSize(1);
  }
}

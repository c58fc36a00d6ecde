package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.MemoryRows;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
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
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * QoS 2 messages of a durable publisher to subscribers in three ranges that different nodes lead: the publisher's range records each message first, and then the
 * others store it. What was recorded and not answered is delivered again when the client repeats it over its next connection, also to a next leader.
 */
final class ExchangesOverLeadersTest {
  private static final int RANGES = 3;
  private static final int HOME = 1;
  private static final Layout LAYOUT = new Layout(16, RANGES);
  private static final List<ShardInterval> INTERVALS = ShardInterval.divide(LAYOUT.shards(), RANGES);
  private static final String TENANT = InboxNode.TENANT;
  private static final int SEEDS = 40;
  private static final int MESSAGES = 12;
  private static final int CONNECTIONS = 20;

  /** What a frontend and the dist tier do. */
  private enum Rule {
    ALL,
    /** What is recorded is taken for delivered. */
    WITHOUT_REPETITION,
    /** An exchange is released where it is recorded, and nowhere else. */
    WITHOUT_FORGETTING
  }

  private final RangeFaults faults = new RangeFaults();
  private final List<InboxServer> servers = new ArrayList<>();
  private final InboxSettings settings = over(InboxSettings.defaults());
  private List<SessionReplica> replicas = List.of();
  private List<SessionTier> nodes = List.of();
  private @Nullable InboxNode others; // the other tiers
  private long connections;

  private static InboxSettings over(InboxSettings of) {
    return new InboxSettings(LAYOUT, of.messagesMax(), of.bytesMax(), of.overflow(), of.subscriptionsMax(), of.groupWindow(), of.sums());
  }

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, SEEDS) : LongStream.of(seed);
  }

  @BeforeEach
  void open() throws Exception {
    others = new InboxNode(null, 1, InboxSettings.defaults());
    begin();
  }

  @AfterEach
  void close() {
    end();
    if (others != null) others.close();
  }

  private void begin() throws Exception {
    replicas = InboxServer.declare(this::range, LAYOUT);
    nodes = IntStream.range(0, RANGES).mapToObj(_ -> new SessionTier(settings, InstantSource.system(), new SimpleMeterRegistry(), Tracer.idle())).toList();
    for (int i = 0; i < RANGES; i++) servers.add(lead(i));
  }

  private void end() {
    servers.forEach(InboxServer::close);
    servers.clear();
    List.copyOf(faults.ranges).forEach(LocalRange::close);
  }

  private <C, R> LocalRange<C, R> range(RangeId id, CommandCodec<C> codec, RangeLogic<C, R> logic) {
    return new LocalRange<>(codec, logic, new MemoryRows(), faults);
  }

  private InboxNode others() {
    if (others == null) throw new AssertionError("not open");
    return others;
  }

  private InboxServer lead(int range) throws Exception {
    var server = nodes.get(range).lead(replicas.get(range), Map.of(), others(), others());
    var started = server.start();
    InboxNode.get(server.attach("node", 1, others()));
    InboxNode.get(started);
    return server;
  }

  private void leadAgain(int range) throws Exception {
    servers.get(range).close();
    servers.set(range, lead(range));
  }

  private static String client(String beginning, int range) {
    for (int i = 0; ; i++) if (INTERVALS.get(range).contains(new SessionKey(TENANT, beginning + i).shard(LAYOUT.shards()))) return beginning + i;
  }

  private Connected connect(int range, String client) throws Exception {
    return InboxNode.get(servers.get(range).connect(new Connect(TENANT, client, "", new ConnectionId("node", 1, ++connections), false, true, 3600, null)));
  }

  private void subscribe(int range) throws Exception {
    var session = connect(range, client("s", range)).session();
    InboxNode.get(servers.get(range).subscribe(session, List.of(new Subscription(TopicFilter.plain("a"), SubscriptionOptions.of(QoS.EXACTLY_ONCE)))));
  }

  private List<String> inbox(int range) throws Exception {
    var connected = connect(range, client("s", range));
    var page = InboxNode.get(servers.get(range).fetch(connected.session(), connected.firstUnacknowledged(), 10_000, 1 << 30));
    return page.messages().stream().map(each -> new String(each.message().payload(), StandardCharsets.UTF_8)).toList();
  }

  private static final class Answer extends Acknowledgement {
    private final CompletableFuture<ReasonCode> reason = new CompletableFuture<>();
    private final Terms.Origin origin;

    Answer(Terms.Origin origin) {
      this.origin = origin;
    }

    @Override
    public Terms terms() {
      return Terms.ANSWERED.from(origin);
    }

    @Override
    protected void complete(ReasonCode code) {
      reason.complete(code);
    }
  }

  private ReasonCode deliver(int range, Publication message, Terms.Origin origin) throws Exception {
    var answer = new Answer(origin);
    servers.get(range).deliver(message, List.of(), answer);
    return InboxNode.get(answer.reason);
  }

  private static Publication message(Connected by, int packetId, String payload) {
    byte[] body = ("a" + payload).getBytes(StandardCharsets.UTF_8);
    var exchange = new Publication.Exchange(by.birth(), by.session().epoch(), packetId);
    return new Publication(new Publisher(TENANT, by.session().clientId()), QoS.EXACTLY_ONCE, false, 1, -1, -1, 1, 0, body, exchange);
  }

  /** What an ended connection has sent to a range, which may arrive at any later time. */
  private record Late(int to, SessionRef session, long birth, int packetId, @Nullable Publication message) {}

  /** A publisher that sends each message until it has PUBREC for it, and then releases it until it has PUBCOMP; and the frontends of its connections. */
  private final class Run {
    private final Random random;
    private final Rule rule;
    private final List<Late> late = new ArrayList<>();
    private final String publisher = client("p", HOME);
    private int ended;

    // of the present connection
    private Connected connected;
    private Map<Integer, Terms.Origin> open = Map.of();
    private Set<Integer> received = Set.of();
    private List<Integer> delivered = List.of();

    Run(long seed, Rule rule) throws Exception {
      random = new Random(seed);
      this.rule = rule;
      for (int i = 0; i < RANGES; i++) subscribe(i);
      connected = connect(HOME, publisher);
      connectAgain();
    }

    void publishAll() throws Exception {
      for (int i = 0; i < MESSAGES; i++) {
        int packetId = 1 + i % 2;
        while (!publish(packetId, "m" + i, i + 1)) connectAgain();
        while (!release(packetId)) connectAgain();
      }
      connectAgain();
      while (!late.isEmpty()) arrive();
    }

    /** Answers whether the client has PUBREC. */
    private boolean publish(int packetId, String payload, long number) throws Exception {
      var before = open.remove(packetId);
      if (received.contains(packetId) && (before == null || rule == Rule.WITHOUT_REPETITION)) return true;
      received.add(packetId);
      var origin = before == null ? new Terms.Origin(9, number, 1, false) : before;
      var message = message(connected, packetId, payload);
      fail(SessionCommand.Append.class, SessionCommand.AppendOfExchange.class);
      boolean has = !deliver(HOME, message, origin).isError() && deliverElsewhere(packetId, message, origin);
      repair();
      if (has) delivered.add(packetId);
      return has && !ends();
    }

    private boolean deliverElsewhere(int packetId, Publication message, Terms.Origin origin) throws Exception {
      boolean all = true;
      for (int to : elsewhere()) {
        if (ends()) all = false; // the leader of the routes, before it has sent it
        else all &= !deliver(to, message, origin).isError();
      }
      if (!all) leave(packetId, message);
      return all;
    }

    /** Answers whether the client has PUBCOMP. */
    private boolean release(int packetId) throws Exception {
      if (!received.contains(packetId)) return true;
      fail(SessionCommand.ForgetExchange.class, SessionCommand.Released.class);
      boolean released =
          (rule == Rule.WITHOUT_FORGETTING || forgetElsewhere(packetId)) && isDone(servers.get(HOME).released(connected.session(), connected.birth(), packetId));
      repair();
      if (released) received.remove(packetId);
      return released && !ends();
    }

    private boolean forgetElsewhere(int packetId) throws Exception {
      boolean all = true;
      for (int to : elsewhere()) {
        if (ends()) all = false;
        else all &= isDone(servers.get(to).forget(connected.session(), connected.birth(), packetId));
      }
      if (!all) leave(packetId, null);
      return all;
    }

    /** Also what has arrived may arrive again, since it may have been sent twice. */
    private void leave(int packetId, @Nullable Publication message) {
      for (int to : elsewhere()) late.add(new Late(to, connected.session(), connected.birth(), packetId, message));
    }

    private List<Integer> elsewhere() {
      var all = new ArrayList<>(IntStream.range(0, RANGES).filter(i -> i != HOME).boxed().toList());
      Collections.shuffle(all, random);
      return all;
    }

    private void connectAgain() throws Exception {
      ended++;
      boolean crashed = random.nextBoolean(); // the frontend
      if (!crashed && !delivered.isEmpty()) InboxNode.get(servers.get(HOME).delivered(connected.session(), List.copyOf(delivered)));
      connected = connect(HOME, publisher);
      open = connected.openExchanges().stream().collect(Collectors.toMap(OpenExchange::packetId, OpenExchange::origin));
      received = Arrays.stream(connected.receivedPacketIds()).boxed().collect(Collectors.toSet());
      delivered = new ArrayList<>();
    }

    /** Whether a part or the connection ends now. */
    private boolean ends() {
      return ended < CONNECTIONS && random.nextInt(6) == 0;
    }

    private void fail(Class<?>... steps) {
      if (ended >= CONNECTIONS) return;
      if (random.nextInt(3) == 0) faults.refusing = steps[random.nextInt(steps.length)];
      else if (random.nextInt(3) == 0) faults.silent = steps[random.nextInt(steps.length)];
    }

    private void repair() throws Exception {
      faults.refusing = null;
      faults.silent = null;
      if (random.nextInt(6) == 0) leadAgain(random.nextInt(RANGES));
      while (random.nextInt(3) == 0) arrive();
    }

    /** Something that an earlier connection has sent arrives, for the first time or again. */
    private void arrive() throws Exception {
      var earlier = late.stream().filter(each -> each.session.epoch() != connected.session().epoch()).toList();
      if (earlier.isEmpty()) return;
      var one = earlier.get(random.nextInt(earlier.size()));
      late.remove(one);
      if (one.message == null) isDone(servers.get(one.to).forget(one.session, one.birth, one.packetId));
      else deliver(one.to, one.message, new Terms.Origin(9, 1, 1, true));
    }
  }

  private static boolean isDone(CompletableFuture<Void> call) throws Exception {
    return InboxNode.get(call.handle((_, failure) -> failure == null));
  }

  private static List<String> expected() {
    return IntStream.range(0, MESSAGES).mapToObj(i -> "m" + i).toList();
  }

  private boolean isWrong(long seed, Rule rule) throws Exception {
    end();
    begin();
    new Run(seed, rule).publishAll();
    for (int i = 0; i < RANGES; i++) if (!inbox(i).equals(expected())) return true;
    return false;
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void eachSubscriberGetsEachMessageOnceAndInOrderWhateverFails(long seed) throws Exception {
    new Run(seed, Rule.ALL).publishAll();

    for (int i = 0; i < RANGES; i++) {
      assertThat(inbox(i)).as("seed %d, range %d", seed, i).isEqualTo(expected());
      assertThat(replicas.get(i).sessions().state().foreignExchanges.open()).as("seed %d, range %d", seed, i).isZero();
    }
  }

  @Test
  void brokersThatTakeWhatIsRecordedForDeliveredAreFound() throws Exception {
    boolean found = false;
    for (long seed = 0; seed < SEEDS && !found; seed++) found = isWrong(seed, Rule.WITHOUT_REPETITION);
    assertThat(found).isTrue();
  }

  @Test
  void brokersThatReleaseAnExchangeAtHomeAloneAreFound() throws Exception {
    boolean found = false;
    for (long seed = 0; seed < SEEDS && !found; seed++) found = isWrong(seed, Rule.WITHOUT_FORGETTING);
    assertThat(found).isTrue();
  }

  @Test
  void aNextLeaderKnowsWhatItsRangeHasStored() throws Exception {
    for (int i = 0; i < RANGES; i++) subscribe(i);
    var publisher = connect(HOME, client("p", HOME));
    var first = message(publisher, 1, "m1");
    var origin = new Terms.Origin(9, 1, 1, false);
    for (int i = 0; i < RANGES; i++) {
      assertThat(deliver(i, first, origin)).isEqualTo(ReasonCode.SUCCESS);
      leadAgain(i);
      assertThat(deliver(i, first, origin.asRepetition())).isEqualTo(ReasonCode.SUCCESS);
      assertThat(inbox(i)).containsExactly("m1");
    }

    assertThat(isDone(servers.get(0).forget(publisher.session(), publisher.birth(), 1))).isTrue();
    assertThat(deliver(0, message(publisher, 1, "m2"), new Terms.Origin(9, 2, 1, false))).isEqualTo(ReasonCode.SUCCESS);

    assertThat(inbox(0)).containsExactly("m1", "m2");
    assertThat(servers.get(HOME).forget(publisher.session(), publisher.birth(), 1)).as("it has the session").isCompletedExceptionally();
  }
}

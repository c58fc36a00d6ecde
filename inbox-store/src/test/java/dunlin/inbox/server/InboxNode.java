package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxClient.Will;
import dunlin.inbox.InboxRoutes;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.SessionRef;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.range.MemoryRows;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.ShardInterval;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.CommandCodec;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Terms;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/** A session tier with the parts of other tiers that it needs; its store is a real one or a range in memory. */
final class InboxNode implements AutoCloseable, Connections, InboxRoutes, WillPublisher {
  static final String TENANT = "default";

  /** The lease of frontends after a start with a range in memory. */
  Duration lease = Duration.ofDays(1);

  final AtomicLong now = new AtomicLong(1_000_000);
  final List<String> pushed = new CopyOnWriteArrayList<>();
  final List<Long> sequences = new CopyOnWriteArrayList<>();
  final List<ConnectionId> displaced = new CopyOnWriteArrayList<>();
  final List<ConnectionId> dismissed = new CopyOnWriteArrayList<>();
  final List<String> wills = new CopyOnWriteArrayList<>();
  final AtomicInteger willFailures = new AtomicInteger();
  volatile WillPublisher.Outcome willOutcome = new WillPublisher.Outcome.Published();
  final Set<String> routes = ConcurrentHashMap.newKeySet();

  /** How many of the next reads of announced routes fail. */
  final AtomicInteger pageFailures = new AtomicInteger();

  /** Decides when announcements of routes complete, and how. */
  volatile CompletableFuture<Void> gate = CompletableFuture.completedFuture(null);

  SimpleMeterRegistry meters = new SimpleMeterRegistry();
  InboxServer server;
  long incarnation;

  private final @Nullable Path data;
  private final int ranges;

  /** The rows of the ranges in memory. */
  private final Map<RangeId, MemoryRows> rows = new HashMap<>();

  private final RangeFaults faults = new RangeFaults();
  private @Nullable RangeStore store;
  private List<SessionReplica> replicas = List.of();
  private long connections;

  /** @param data the directory of the real store, or null for a range in memory */
  InboxNode(@Nullable Path data, InboxSettings settings) throws Exception {
    this(data, 1, settings);
  }

  /** A node with several ranges. */
  InboxNode(@Nullable Path data, int ranges, InboxSettings settings) throws Exception {
    this.ranges = ranges;
    Awaitility.setDefaultTimeout(PATIENCE); // only ends a test that hangs; it must not fail on a busy machine
    this.data = data;
    server = open(over(ranges, settings));
    attach(server.start());
  }

  /** Waits until the start has ended and the frontend "node" is attached in a new life. */
  private void attach(CompletableFuture<Void> started) throws Exception {
    get(server.attach("node", ++incarnation, this));
    assertThat(started).isCompleted();
  }

  private static final Duration FRONTEND_LEASE = Duration.ofSeconds(30);

  private static InboxSettings over(int ranges, InboxSettings of) {
    var layout = new Layout(of.layout().shards(), ranges);
    return new InboxSettings(layout, of.messagesMax(), of.bytesMax(), of.overflow(), of.subscriptionsMax(), of.groupWindow(), of.sums());
  }

  private InboxServer open(InboxSettings settings) throws Exception {
    meters = new SimpleMeterRegistry();
    if (data == null) {
      replicas = InboxServer.declare(this::range, settings.layout());
      return new InboxServer(replicas, settings, lease, this, this, this::instant, meters, Tracer.idle());
    }
    var opening = RangeStore.open(withoutFsync(), data, meters);
    store = opening;
    replicas = InboxServer.declare((id, codec, logic) -> opening.range(id, List.of(), codec, logic), settings.layout());
    var opened = new InboxServer(replicas, settings, FRONTEND_LEASE, this, this, this::instant, meters, Tracer.idle());
    opening.start(Duration.ofMinutes(2));
    return opened;
  }

  /**
   * Serves the same replicas again, as if this node had lost its leadership and become leader again; nothing is opened
   * or read.
   */
  void leadAgain() throws Exception {
    leadAgain(_ -> {});
  }

  /**
   * The same on a node that has followed another leader, which has handed messages to connections.
   *
   * @param early makes calls before the server has started, as the links of frontends may bring them
   */
  void leadAfterAnother(Consumer<InboxServer> early) throws Exception {
    for (var replica : replicas) replica.sessions().state().sessions.values().forEach(SessionState::nothingHanded);
    leadAgain(early);
  }

  private void leadAgain(Consumer<InboxServer> early) throws Exception {
    server.close();
    server = new InboxServer(replicas, over(ranges, InboxSettings.defaults()), FRONTEND_LEASE, this, this, this::instant, meters, Tracer.idle());
    early.accept(server);
    attach(server.start());
  }

  private LocalRange<SessionCommand, SessionResult> range(
      RangeId id, CommandCodec<SessionCommand> codec, RangeLogic<SessionCommand, SessionResult> logic) {
    return new LocalRange<>(codec, logic, rows.computeIfAbsent(id, _ -> new MemoryRows()), faults);
  }

  /** The rows of all ranges in memory whose keys contain a text. */
  List<String> rowsWith(String part) {
    return rows.values().stream().flatMap(each -> each.dump().keySet().stream()).filter(key -> key.contains(part)).toList();
  }

  /** The faults of the ranges in memory. */
  RangeFaults local() {
    if (data != null) throw new AssertionError("the store is a real one");
    return faults;
  }

  private Instant instant() {
    return Instant.ofEpochMilli(now.get());
  }

  private static StoreSettings withoutFsync() {
    var usual = StoreSettings.defaults();
    return new StoreSettings(
        false,
        usual.cluster(),
        usual.memoryBytes(),
        usual.disk(),
        usual.queue(),
        usual.entries(),
        usual.snapshots(),
        usual.reads());
  }

  /** Stops the node and starts it again with the same rows. */
  void reopen() throws Exception {
    attach(reopenWithoutFrontend());
  }

  /** The same with other limits than the default ones. */
  void reopen(InboxSettings settings) throws Exception {
    close();
    server = open(over(ranges, settings));
    attach(server.start());
  }

  /** Restarts without attaching a frontend; the future completes when the start has ended. */
  CompletableFuture<Void> reopenWithoutFrontend() throws Exception {
    close();
    server = open(over(ranges, InboxSettings.defaults()));
    return server.start();
  }

  @Override
  public void close() {
    server.close();
    if (store != null) store.close();
    // A store that is still stopping keeps its directory for a moment longer.
    if (data != null) await().atMost(PATIENCE).until(() -> !Files.exists(data.resolve("lock.owner")));
    faults.ranges.forEach(LocalRange::close);
  }

  @Override
  public void push(ConnectionId connection, InboxMessage message) {
    pushed.add(new String(message.message().payload(), StandardCharsets.UTF_8));
    sequences.add(message.sequence());
  }

  @Override
  public void behind(ConnectionId connection) {
    throw new AssertionError("all that is pushed is taken");
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId connection) {
    return CompletableFuture.completedFuture(null);
  }

  @Override
  public void displaced(ConnectionId connection) {
    displaced.add(connection);
  }

  @Override
  public void dismissed(ConnectionId connection) {
    dismissed.add(connection);
  }

  @Override
  public CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter) {
    return gate.thenRun(() -> routes.add(shard + " " + filter.text()));
  }

  @Override
  public CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter) {
    return gate.thenRun(() -> routes.remove(shard + " " + filter.text()));
  }

  @Override
  public CompletableFuture<Page> announced(byte @Nullable [] from) {
    if (pageFailures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) return CompletableFuture.failedFuture(new StoreException("busy"));
    return CompletableFuture.completedFuture(new Page(routes.stream().map(InboxNode::announced).toList(), null));
  }

  private static Announced announced(String route) {
    String bucket = route.substring(route.indexOf(':') + 1, route.indexOf(' '));
    var filter = TopicFilter.parse(route.substring(route.indexOf(' ') + 1)).orElseThrow();
    return new Announced(ShardId.inbox(Integer.parseInt(bucket)), TENANT, filter);
  }

  @Override
  public Sending prepare(Publication will, String user, boolean again) {
    return () -> {
      if (willFailures.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
        return CompletableFuture.completedFuture(new Outcome.NotNow(ReasonCode.SERVER_UNAVAILABLE));
      }
      wills.add(new String(will.payload(), StandardCharsets.UTF_8));
      return CompletableFuture.completedFuture(willOutcome);
    };
  }

  /** Records the answer to a publisher. */
  static final class Answer extends Acknowledgement {
    final CompletableFuture<ReasonCode> reason = new CompletableFuture<>();
    private final long fence;

    Answer() {
      this(0);
    }

    /** The answer to a publisher whose connection is closed on an error. */
    Answer(long fence) {
      this.fence = fence;
    }

    @Override
    public Terms terms() {
      return fence == 0 ? Terms.ANSWERED : Terms.disconnecting(fence);
    }

    @Override
    protected void complete(ReasonCode code) {
      reason.complete(code);
    }
  }

  static final Duration PATIENCE = Duration.ofMinutes(2);

  static <T> T get(CompletableFuture<T> future) throws Exception {
    return future.get(PATIENCE.toMinutes(), TimeUnit.MINUTES);
  }

  Connected connect(String clientId, Will... will) throws Exception {
    var connection = new ConnectionId("node", incarnation, ++connections);
    return get(
        server.connect(
            new Connect(TENANT, clientId, "", connection, false, true, 3600, will.length == 0 ? null : will[0])));
  }

  List<Boolean> subscribe(SessionRef session, String filter, QoS qos) throws Exception {
    return get(server.subscribe(session, List.of(wanted(filter, qos))));
  }

  static Subscription wanted(String filter, QoS qos) {
    return new Subscription(TopicFilter.parse(filter).orElseThrow(), SubscriptionOptions.of(qos));
  }

  Publication message(QoS qos, String payload) {
    byte[] bytes = payload.getBytes(StandardCharsets.UTF_8);
    return Publication.of(new Publisher(TENANT, "p"), "a", qos, false, now.get(), bytes);
  }

  /** Hands a message to the shards whose routes match, and of each group to the one with the most credit. */
  void deliver(Publication message, List<TopicFilter> groups, @Nullable Acknowledgement acknowledgement) {
    if (server.isOneRange()) {
      server.deliver(message, groups, acknowledgement);
      return;
    }
    var matched = server.matched();
    var all = routes.stream().map(InboxNode::announced).toList();
    for (var route : all) if (!route.filter().shared() && route.filter().matches(message.topic())) matched.add(route.shard(), route.filter());
    for (TopicFilter group : groups) {
      all.stream()
          .filter(route -> route.filter().equals(group))
          .max(Comparator.comparingInt(route -> server.groupCredit(route.shard(), TENANT, group)))
          .ifPresent(route -> matched.add(route.shard(), group));
    }
    if (matched.count() > 0 || message.exchange() != null) server.deliver(message, matched, acknowledgement);
    else if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
  }

  /** A client identifier with this prefix for each range, in the order of the ranges. */
  List<String> clients(String beginning) {
    return ShardInterval.divide(server.shards().size(), ranges).stream().map(interval -> client(beginning, interval)).toList();
  }

  private String client(String beginning, ShardInterval interval) {
    for (int i = 0; ; i++) if (intervalOf(beginning + i).equals(interval)) return beginning + i;
  }

  /** The shards of the range that has a client's session. */
  ShardInterval intervalOf(String clientId) {
    int shard = Integer.parseInt(server.shardOf(TENANT, clientId).name());
    return ShardInterval.divide(server.shards().size(), ranges).stream().filter(each -> each.contains(shard)).findFirst().orElseThrow();
  }

  /** The sum of the credit of a group in all ranges. */
  int groupCredit(TopicFilter group) {
    return routes.stream()
        .map(InboxNode::announced)
        .filter(route -> route.filter().equals(group))
        .mapToInt(route -> server.groupCredit(route.shard(), TENANT, group))
        .sum();
  }

  /** Publishes to topic "a" with QoS 1. */
  ReasonCode publish(String payload, TopicFilter... groups) throws Exception {
    var answer = new Answer();
    deliver(message(QoS.AT_LEAST_ONCE, payload), List.of(groups), answer);
    return get(answer.reason);
  }

  /** Publishes a message to topic "a" that expires after some seconds. */
  void publishExpiring(String payload, int seconds) throws Exception {
    publishExpiring(QoS.AT_LEAST_ONCE, payload, seconds);
  }

  void publishExpiring(QoS qos, String payload, int seconds) throws Exception {
    byte[] text = payload.getBytes(StandardCharsets.UTF_8);
    var body = ByteBuffer.allocate(6 + text.length).put((byte) 'a').put((byte) 2).putInt(seconds).put(text);
    var publisher = new Publisher(TENANT, "p");
    var answer = new Answer();
    var message = new Publication(publisher, qos, false, now.get(), seconds, 2, 1, 5, body.array(), null);
    deliver(message, List.of(), answer);
    assertThat(get(answer.reason)).isEqualTo(ReasonCode.SUCCESS);
  }

  double count(String meter, String... tags) {
    return meters.get(meter).tags(tags).counter().count();
  }

  double gauge(String meter) {
    return meters.get(meter).gauge().value();
  }

  double waiting(String kind) {
    return meters.get("dunlin.inbox.waiting").tag("kind", kind).gauge().value();
  }

  void assertBalance() {
    double dropped = 0;
    for (var counter : meters.get("dunlin.inbox.dropped").counters()) {
      if (!"offline".equals(counter.getId().getTag("reason"))) dropped += counter.count();
    }
    double gone = count("dunlin.inbox.acknowledged") + count("dunlin.inbox.left") + dropped;
    assertThat(count("dunlin.inbox.found") + count("dunlin.inbox.appended")).isEqualTo(gone + gauge("dunlin.inbox.queued") + gauge("dunlin.inbox.overtaken"));
  }
}

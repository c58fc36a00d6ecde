package dunlin.inbox.server;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxRoutes;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.KeptConnections;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionExports;
import dunlin.inbox.SessionRef;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.between.OtherRange;
import dunlin.inbox.between.OtherSessions;
import dunlin.inbox.operate.SessionExporter;
import dunlin.inbox.operate.SessionImporter;
import dunlin.inbox.operate.SessionOperations;
import dunlin.inbox.propose.Proposals;
import dunlin.inbox.propose.RefusedConnections;
import dunlin.inbox.propose.SharedSums;
import dunlin.inbox.propose.TenantInboxes;
import dunlin.inbox.propose.TenantSessions;
import dunlin.inbox.propose.UnansweredCalls;
import dunlin.inbox.range.Effects;
import dunlin.inbox.range.SessionRange;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommandCodec;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TenantQuota;
import dunlin.model.TopicFilter;
import dunlin.runtime.memory.HeapGuard;
import dunlin.store.CommandCodec;
import dunlin.store.Range;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.transport.Acknowledgement;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The session tier of a node that leads all session ranges. Frontends call it for sessions and inboxes, and the dist
 * tier delivers messages to it.
 *
 * <p>The class is long: it has a method for each call of the tier and for each question of operators.
 */
public final class InboxServer implements InboxClient, AutoCloseable {
  /*
   * A session is in one range, by its shard; InboxRangeServer serves it. An operation on all sessions, such as
   * attaching or detaching a frontend, is done in all ranges and is complete when it is in each of them.
   *
   * Owner: any thread calls it, none blocks. Route announcements, wills and timers of all ranges run on one timer
   * thread.
   * Bounds: InboxRangeServer states those of a range; Frontends, LostFrontends, WillRunner and UnansweredCalls serve all ranges
   * together.
   * Failure: if a range refuses or fails, calls fail for its sessions only. A start fails if any of its ranges does.
   * Length: it has each call of InboxClient, most of them in a line that finds the range.
   */
  private static final Logger LOG = LoggerFactory.getLogger(InboxServer.class);

  /**
   * How long frontends may take to attach again after a start, or after their links were interrupted. It is as long as
   * frontends keep their connections.
   */
  static final Duration FRONTEND_LEASE = Duration.ofSeconds(30);

  private static final long TICK_MILLIS = 200;

  /** Between ranges of different leaders, what is sent again is sent within seconds. A range looks every five seconds, so this is a minute. */
  private static final int LOOKS = 12;

  private final InboxSettings settings;
  private final UnansweredCalls.Share calls;
  private final List<InboxRangeServer> ranges;
  private final TenantSessions tenants;
  private final TenantInboxes tenantInboxes;
  private volatile HeapGuard heap = HeapGuard.OFF;

  /** For each shard, the number of its range. */
  private final int[] rangeOfShard;

  private final Frontends frontends;
  private final LostFrontends lost;
  private final CompletableFuture<Void> started = new CompletableFuture<>();
  private final AtomicBoolean starting = new AtomicBoolean();
  private final Duration frontendLease;
  private final InstantSource clock;
  private final ScheduledExecutorService timer;
  private final InboxMeters meters;
  private final @Nullable Consumer<InboxServer> left;
  private final boolean hasAll; // whether no range is led by another process
  private final @Nullable OtherSessions others; // those of other processes
  private final WillRunner wills;
  private final RangeDeliveries deliveries;
  private final HandOvers handOvers;
  private final SessionImporter importer;
  private final List<ShardId> shards;

  /** Opens the replicas of the ranges. */
  @FunctionalInterface
  interface Ranges {
    Range<SessionCommand, SessionResult> range(
        RangeId id, CommandCodec<SessionCommand> codec, RangeLogic<SessionCommand, SessionResult> logic);
  }

  /**
   * Declares the session ranges in a store that has not started yet.
   *
   * @param clock the wall clock of deadlines; they are written into the log
   */
  public InboxServer(
      RangeStore store, InboxSettings settings, InboxRoutes routes, WillPublisher wills, InstantSource clock, MeterRegistry registry) {
    this(store, settings, routes, wills, clock, registry, Tracer.idle());
  }

  /**
   * The same.
   *
   * @param tracer notes what becomes of messages, for operators
   */
  public InboxServer(
      RangeStore store, InboxSettings settings, InboxRoutes routes, WillPublisher wills, InstantSource clock, MeterRegistry registry, Tracer tracer) {
    this(declare((id, codec, logic) -> store.range(id, List.of(), codec, logic), settings.layout()), settings, FRONTEND_LEASE, routes, wills, clock, registry, tracer);
  }

  /** Serves replicas of all ranges, in the order of their shards. */
  InboxServer(
      List<SessionReplica> replicas,
      InboxSettings settings,
      Duration frontendLease,
      InboxRoutes routes,
      WillPublisher wills,
      InstantSource clock,
      MeterRegistry registry,
      Tracer tracer) {
    this(replicas, settings, new UnansweredCalls(settings), frontendLease, routes, wills, clock, new InboxMeters(registry, tracer), tracer);
    if (replicas.size() != settings.layout().ranges()) throw new IllegalArgumentException(replicas.size() + " replicas of " + settings.layout());
  }

  private InboxServer(
      List<SessionReplica> replicas, InboxSettings settings, UnansweredCalls calls, Duration frontendLease, InboxRoutes routes, WillPublisher wills, InstantSource clock,
      InboxMeters meters, Tracer tracer) {
    this(replicas, settings, calls, Map.of(), frontendLease, routes, wills, clock, meters, tracer, null);
    meters.show(List.of(shown()), calls);
  }

  /**
   * Serves replicas of all ranges, or of one of several.
   *
   * @param calls of the node
   * @param others the ranges beside these, by number
   * @param meters of the node
   * @param left is run at the end; if it is null, the meters are closed then
   */
  InboxServer(
      List<SessionReplica> replicas, InboxSettings settings, UnansweredCalls calls, Map<Integer, ? extends OtherRange> others, Duration frontendLease, InboxRoutes routes,
      WillPublisher wills, InstantSource clock, InboxMeters meters, Tracer tracer, @Nullable Consumer<InboxServer> left) {
    this.settings = settings;
    this.calls = calls.share();
    this.left = left;
    this.meters = meters;
    this.frontendLease = frontendLease;
    this.clock = clock;
    timer = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("dunlin-inbox-timer").factory());
    for (SessionReplica replica : replicas) replica.sessions().noteWhile(tracer::runs);
    lost = new LostFrontends(this::endFrontend);
    frontends = new Frontends(started, lost, meters);
    this.wills = new WillRunner(wills, frontends::settled, System::nanoTime, meters, this::recordWill);
    int count = replicas.size();
    hasAll = count == settings.layout().ranges();
    var asked = hasAll ? null : new OtherSessions(settings.layout(), others);
    this.others = asked;
    Function<String, OtherRange.Held> ofTenants = asked == null ? _ -> OtherRange.Held.NONE : asked::held;
    var states = replicas.stream().map(replica -> replica.sessions().state()).toList();
    tenants = new TenantSessions(states, ofTenants);
    tenantInboxes = new TenantInboxes(states, tenant -> ofTenants.apply(tenant).messageBytes());
    var tier =
        new InboxRangeServer.Tier(
            settings, clock, frontends, new RefusedConnections(), this.wills, routes, timer, meters, this::tickSoon, this::stuck, this::lives, tenantInboxes,
            () -> heap.isFull(), hasAll ? 0 : LOOKS);
    var sums = sums(settings.sums(), states, this.others);
    ranges = replicas.stream().map(replica -> new InboxRangeServer(replica, sums, tier)).toList();
    rangeOfShard = ShardInterval.rangeOfShard(ranges.stream().map(range -> range.applied().interval).toList());
    shards =
        ranges.stream()
            .map(range -> range.applied().interval)
            .flatMap(interval -> IntStream.range(interval.from(), interval.to()).mapToObj(ShardId::inbox))
            .toList();
    deliveries = new RangeDeliveries(ranges, hasAll ? null : ranges.getFirst().recorded(settings.layout(), others), session -> indexOf(session.tenant(), session.clientId()));
    Map<Integer, ? extends OtherRange> all = hasAll ? IntStream.range(0, count).boxed().collect(Collectors.toMap(i -> i, i -> ranges.get(i).asked())) : others;
    handOvers = new HandOvers(ranges, settings.layout(), all, hasAll ? 0 : LOOKS, clock);
    importer =
        new SessionImporter(
            new SessionImporter.Ranges(
                session -> hasAll || ranges.getFirst().has(session), session -> of(session).applied().sessions.get(session),
                (session, command) -> of(session).proposals().outcome(command), shards.getLast().equals(ShardId.inbox(settings.layout().shards() - 1)), this::withMembers,
                this::endMissing),
            this, tenants, frontends::attach, message -> meters.offline(message, ""), clock);
  }

  private CompletableFuture<Optional<OtherRange>> withMembers(GroupKey group) {
    if (others != null) return others.withMembers(group, ranges.getFirst().asked());
    return CompletableFuture.completedFuture(Optional.of(deliveries.ofGroup(group.tenant(), group.filter()).asked()));
  }

  private static @Nullable SharedSums sums(InboxSettings.Sums most, List<RangeState> states, @Nullable OtherSessions others) {
    if (others != null) return new SharedSums(most, states.getFirst(), others::sums);
    return states.size() == 1 ? null : new SharedSums(most, states);
  }

  static List<SessionReplica> declare(Ranges ranges, InboxSettings.Layout layout) {
    var ids = layout.rangeIds();
    var made = new ArrayList<SessionReplica>(ids.size());
    for (ShardInterval interval : ShardInterval.divide(layout.shards(), layout.ranges())) {
      var sessions = new SessionRange(interval);
      made.add(new SessionReplica(ranges.range(ids.get(made.size()), new SessionCommandCodec(), sessions), sessions));
    }
    return made;
  }

  /**
   * Starts serving once the store has started, and announces the topic filters of all sessions; called once. Completes
   * when these are announced. From then on, connections of attached frontends may be accepted. Afterwards, routes that
   * no session needs, left over from before the start, are found and removed. A frontend whose connections sessions
   * name, and that is not attached 30 seconds later, is treated as {@linkplain #detach detached}.
   */
  public CompletableFuture<Void> start() {
    if (!starting.compareAndSet(false, true)) throw new IllegalStateException("the session tier was started before");
    var configured = ranges.stream().map(InboxRangeServer::start).toList();
    Proposals.follow(
        Proposals.all(configured),
        started,
        () -> {
          try {
            var _ = timer.scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
            lookForFrontends();
          } catch (RejectedExecutionException closed) {
            started.completeExceptionally(new StoreException("the session tier was closed while it started", closed));
            return;
          }
          Proposals.follow(
              Proposals.all(configured.stream().map(CompletableFuture::join).toList()),
              started,
              () -> {
                ranges.forEach(InboxRangeServer::searchStrays);
                started.complete(null);
              });
        });
    return started;
  }

  private void lookForFrontends() {
    var _ = timer.schedule(this::detachAbsent, frontendLease.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Treats frontends that sessions name, and that are not attached, as detached. Done by itself when they have had time to attach again. */
  public void detachAbsent() {
    if (!frontends.detachAbsent(this::sessions)) lookForFrontends();
  }

  /**
   * Begins to serve a frontend in one of its lives. Completes when {@link #start} has completed and the connections of
   * the frontend's earlier lives are treated as lost; from then on, new connections may be made. If the frontend has
   * older connections, as after a move of the range, messages are pushed to them from then on, and the frontend fetches
   * those that were stored before. A later life replaces an earlier one, whose connections are lost.
   *
   * <p>Waits and fails as other calls do: it waits while a range is full. If the range has another leader, loses its
   * quorum or has failed, it fails with a {@link StoreException} and attaches nothing. It also fails if this life or a
   * later one is already attached, if too many frontends are attached, and if the frontend is detached before this
   * completes. Whatever the outcome, {@link #detach} must be called when the frontend is gone.
   *
   * @param connections the connections of that life; if it is lost, {@code connections} itself completes the calls of
   *     {@link Connections#settled}
   * @throws IllegalArgumentException if the name is empty or the incarnation invalid
   */
  public CompletableFuture<Void> attach(String frontend, long incarnation, Connections connections) {
    return frontends.attach(frontend, incarnation, connections);
  }

  /**
   * The same for a frontend that may have kept connections of this life, and that may be attached in it already: that
   * attachment is given up. The connections that sessions name are compared with the frontend's; one that the frontend
   * does not have is treated as lost. Completes when that is done, too. Also fails if the frontend does not answer. If it
   * does not attach again in time after a failure, the frontend is treated as {@linkplain #detach detached}.
   */
  public CompletableFuture<Void> resume(String frontend, long incarnation, KeptConnections connections) {
    return frontends.resume(
        frontend,
        incarnation,
        connections,
        () -> {
          var sessions = ranges.stream().map(range -> range.applied().sessions.values()).toList();
          return new Comparison(frontend, incarnation, connections, sessions, timer, this::endMissing).start();
        });
  }

  private void endMissing(SessionKey session, ConnectionId connection) {
    of(session).endMissing(session, connection);
  }

  /**
   * Serves a frontend no longer over these connections. It is treated as {@linkplain #detach detached} if it does not
   * {@linkplain #resume attach} again in time.
   */
  public void await(String frontend, long incarnation, KeptConnections connections) {
    frontends.await(frontend, incarnation, connections, timer, frontendLease);
  }

  /**
   * Ends this life of a frontend and all earlier ones, because its link is lost or its lease has expired. From now on
   * nothing is pushed to it, and its connections are not accepted. Its present connections are treated as lost, with
   * their wills and expiry. Completes when the range has recorded that for all of them; commands that the range refuses
   * are proposed again until then. Does nothing if the frontend is attached in a later life. After this has completed,
   * the same life may attach again, without its previous connections.
   *
   * <p>Fails with a {@link StoreException} if this server is closed, or if too many frontends are lost for this one to
   * be noted.
   *
   * @throws IllegalArgumentException if the name is empty or the incarnation invalid
   */
  public CompletableFuture<Void> detach(String frontend, long incarnation) {
    return frontends.detach(frontend, incarnation);
  }

  /** The frontends that clients wait for which have moved away from them, each with its latest life that is concerned. Any thread. */
  public Map<String, Long> awaited() {
    return frontends.awaited();
  }

  private Iterator<SessionState> sessions() {
    return ranges.stream().flatMap(range -> range.applied().sessions.values().stream()).iterator();
  }

  /** Proposes the step in all ranges. */
  private void endFrontend(String frontend, long before, LostFrontends.Ended ended) {
    var all = LostFrontends.inAll(ranges.size(), ended);
    for (InboxRangeServer range : ranges) range.endFrontend(frontend, before, all);
  }

  InboxMeters.Shown shown() {
    return new InboxMeters.Shown(ranges, lost, wills, deliveries.exchanges(), handOvers);
  }

  private int indexOf(String tenant, String clientId) {
    return isOneRange() ? 0 : rangeOfShard[SessionKey.shard(settings.layout().shards(), tenant, clientId)];
  }

  private InboxRangeServer of(String tenant, String clientId) {
    return ranges.get(indexOf(tenant, clientId));
  }

  private InboxRangeServer of(SessionKey session) {
    return of(session.tenant(), session.clientId());
  }

  private InboxRangeServer of(SessionRef session) {
    return of(session.tenant(), session.clientId());
  }

  /** The shards that messages are delivered to, for the dist tier. */
  public List<ShardId> shards() {
    return shards;
  }

  /** The shard of a client's durable session. */
  public ShardId shardOf(String tenant, String clientId) {
    return shardOf(settings.layout().shards(), tenant, clientId);
  }

  /**
   * The shard at which a page of an export begins.
   *
   * @param next of the page before
   * @throws IllegalArgumentException when no page has given it
   */
  public static int shardOfPage(int shards, byte[] next) {
    return SessionExporter.shardOf(next, shards);
  }

  /** The shard of a client's durable session, given the number of shards. */
  public static ShardId shardOf(int shards, String tenant, String clientId) {
    return ShardId.inbox(new SessionKey(tenant, clientId).shard(shards));
  }

  /**
   * Whether there is only one range, so that {@link #deliver} does not need to be told which ranges a message goes to.
   */
  public boolean isOneRange() {
    return ranges.size() == 1;
  }

  /** A new, empty set of the ranges that a message matched. */
  public MatchedRanges matched() {
    return new MatchedRanges(rangeOfShard, ranges.size());
  }

  /**
   * Delivers a message to every subscribed durable session of the only range, and records its exchange there if that range has the publisher's session. Any
   * thread; messages of one thread keep their order.
   *
   * @param groups the shared subscriptions for which a shard of this server was picked
   * @param acknowledgement expects one answer, which is given when the message is stored in every inbox that it goes
   *     to; null for none
   */
  public void deliver(Publication message, List<TopicFilter> groups, @Nullable Acknowledgement acknowledgement) {
    deliveries.deliver(message, groups, acknowledgement);
  }

  /**
   * Delivers a message with several ranges: to the ranges in which it matched, and to the range of the session whose
   * exchange it belongs to.
   *
   * @param matched the matched ranges; must not be changed afterwards
   */
  public void deliver(Publication message, MatchedRanges matched, @Nullable Acknowledgement acknowledgement) {
    deliveries.deliver(message, matched, acknowledgement);
  }

  /**
   * How many messages the members of a group in the range of a shard can take at once: 0 without members, and at least
   * 1 with any, because the group's inbox takes the rest. Any thread; an estimate.
   */
  public int groupCredit(ShardId shard, String tenant, TopicFilter filter) {
    return ofGroup(shard).groupCredit(tenant, filter);
  }

  private InboxRangeServer ofGroup(ShardId shard) {
    return isOneRange() ? ranges.getFirst() : ranges.get(rangeOfShard[Integer.parseInt(shard.name())]);
  }

  @Override
  public CompletableFuture<Connected> connect(Connect request) {
    var refusal = tenants.refusal(request);
    return refusal.isPresent() ? CompletableFuture.failedFuture(refusal.get()) : of(request.tenant(), request.clientId()).connect(request);
  }

  /**
   * Sets what a tenant may have: durable sessions, their subscriptions, and bytes of the messages in all inboxes.
   *
   * @param sessionsMax must be quick
   */
  public void limitTenants(ToLongFunction<String> sessionsMax, TenantQuota subscriptionsMax, TenantQuota inboxBytesMax) {
    tenants.limit(sessionsMax, subscriptionsMax);
    tenantInboxes.limit(inboxBytesMax);
  }

  /** Refuses new sessions and subscriptions while this heap is full, and QoS 2 exchanges of those that have many. */
  public void guard(HeapGuard of) {
    heap = of;
  }

  /**
   * Has the sending of wills recorded while this is true, in a cluster whose nodes all know what that adds to logs and lanes: then one comes once, whichever leaders have sent it. Called
   * before {@link #start}.
   */
  public void recordWills(BooleanSupplier all) {
    wills.recordWhile(all);
  }

  /**
   * Ends a session on an operator's request, with its subscriptions and messages. Its will becomes due, and its
   * connection is closed. Its stored messages are deleted step by step.
   *
   * @return whether there was such a session
   */
  CompletableFuture<Boolean> remove(String tenant, String clientId) {
    return of(tenant, clientId).remove(tenant, clientId);
  }

  /** Answers the leaders of other ranges, for a server of one range. */
  public OtherRange asked() {
    return ranges.getFirst().asked();
  }

  /** The operators' interface to sessions. */
  @SuppressWarnings("ThreadPriorityCheck") // nothing relies on it: a virtual thread that looks at a million sessions lets go of its carrier in between
  public SessionsMXBean operations() {
    return new SessionOperations(ranges.stream().map(InboxRangeServer::part).toList(), this::remove, frontends, clock, Thread::yield);
  }

  /** Exports and imports sessions of these ranges. */
  public SessionExports exports() {
    return new SessionExporter(ranges.stream().map(InboxRangeServer::part).toList(), importer, clock);
  }

  @Override
  public CompletableFuture<Statistics> statistics() {
    var all = Statistics.NONE;
    for (InboxRangeServer range : ranges) all = all.plus(range.statistics());
    return CompletableFuture.completedFuture(all);
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId displaced) {
    return frontends.settled(displaced);
  }

  @Override
  public void missing(ConnectionId connection) {
    for (InboxRangeServer range : ranges) range.missing(connection);
  }

  @Override
  public CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions) {
    var refusal = tenants.refusal(session.tenant(), subscriptions.size());
    if (refusal.isEmpty()) return calls.subscribe(subscriptions, () -> of(session).subscribe(session, subscriptions));
    return tenants.noted(session.tenant(), refusal.get(), calls.subscribe(subscriptions, () -> of(session).replace(session, subscriptions)));
  }

  @Override
  public CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters) {
    return calls.unsubscribe(filters, () -> of(session).unsubscribe(session, filters));
  }

  @Override
  public CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) {
    return of(session).disconnect(session, publishWill, sessionExpirySeconds);
  }

  @Override
  public CompletableFuture<Appended> append(SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
    return of(session).append(session, options, from, retained);
  }

  @Override
  public CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
    return deliveries.appendToGroup(group, message, exchange);
  }

  @Override
  public void acknowledge(SessionRef session, long[] sequences) {
    of(session).acknowledge(session, sequences);
  }

  @Override
  public CompletableFuture<Void> received(SessionRef session, long sequence) {
    return of(session).received(session, sequence);
  }

  @Override
  public CompletableFuture<Void> released(SessionRef session, long birth, int packetId) {
    return deliveries.released(session, birth, packetId);
  }

  /** Of a session that another server's range has: a server of all ranges releases an exchange by itself. */
  @Override
  public CompletableFuture<Void> forget(SessionRef session, long birth, int packetId) {
    return deliveries.forget(session, birth, packetId);
  }

  @Override
  public CompletableFuture<Void> delivered(SessionRef session, List<Integer> packetIds) {
    return of(session).delivered(session, packetIds);
  }

  private void stuck(InboxRangeServer range, List<GroupKey> groups) {
    handOvers.note(range, groups);
  }

  private boolean lives(SessionKey session, long birth) {
    if (others != null) return others.lives(session, birth);
    var present = of(session).applied().sessions.get(session);
    return present != null && present.birth() == birth;
  }

  @Override
  public CompletableFuture<Boolean> isTakenOver(SessionRef session) {
    return CompletableFuture.completedFuture(of(session).isTakenOver(session));
  }

  @Override
  public CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) {
    return of(session).fetch(session, fromSequence, messagesMax, bytesMax);
  }

  private boolean recordWill(Effects.DueWill will) {
    return of(will.session()).record(will);
  }

  /** Does due work at once, in addition to the timer's regular turns. */
  private void tickSoon() {
    try {
      timer.execute(this::tick);
    } catch (RejectedExecutionException closed) {
      LOG.debug("Closed before a will was published; it will be published when the range is opened again");
    }
  }

  private void tick() {
    try {
      lost.again();
      wills.turn();
      importer.turn();
      long now = clock.millis();
      for (InboxRangeServer range : ranges) range.tick(now);
      if (others != null) others.turn(ranges.getFirst().applied().foreignExchanges);
      handOvers.turn();
    } catch (RuntimeException e) {
      LOG.error("A turn of the session tier's timer failed; the timer continues", e);
    }
  }

  /** Proposes the collected acknowledgements and stops; called before the store is closed. */
  @Override
  public void close() {
    for (InboxRangeServer range : ranges) range.close();
    wills.close();
    lost.close();
    timer.shutdownNow();
    calls.close(); // without the timer, those that wait for routes are not answered
    if (left == null) meters.close();
    else left.accept(this);
  }
}

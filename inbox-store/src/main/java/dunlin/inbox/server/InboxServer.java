package dunlin.inbox.server;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxRoutes;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.SessionRef;
import dunlin.inbox.SessionsMXBean;
import dunlin.inbox.StaleSessionException;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.range.Effects;
import dunlin.inbox.range.SessionRange;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.RouteKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionCommandCodec;
import dunlin.inbox.rows.SessionKey;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.CommandCodec;
import dunlin.store.Range;
import dunlin.store.RangeLogic;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.transport.Acknowledgement;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The session tier of a node that leads the session range: sessions and inboxes for frontends, a destination for the dist
 * tier.
 */
public final class InboxServer implements InboxClient, AutoCloseable {
  /*
   * Owner: any thread calls it, none blocks. What a command leaves to do runs in its completion, on the range's applying
   * thread and so in log order: pushes, displaced connections. Routes, wills and time run on one timer thread.
   * Bounds: what waits here says so in the parts: Proposals, AckCollector, FetchLine, RouteAnnouncer, StrayRoutes, Ghosts, GroupDrains and WillRunner.
   * Failure: what the range refuses fails, and what it may not lose is proposed again at a turn of the timer. What is
   *   lost with the process is in the log, and start() makes it good.
   */
  private static final Logger LOG = LoggerFactory.getLogger(InboxServer.class);
  private static final String RANGE = "sessions";

  /**
   * How long frontends may take to come back after a start. A constant as long as a node has no frontend but its own, which comes at once; longer than a link
   * is kept without a pipe.
   */
  private static final Duration FRONTEND_LEASE = Duration.ofSeconds(30);

  private static final long TICK_MILLIS = 200;
  private static final long ACK_LINGER_MILLIS = 5;
  private static final long FETCH_AGAIN_MILLIS = 5;
  private static final int EXPIRED_WAITING_MAX = 4 * SessionExpirySweep.HEADERS_MAX;

  private final InboxSettings settings;
  private final Frontends frontends;
  private final LostFrontends lost;
  private final CompletableFuture<Void> started = new CompletableFuture<>();
  private final AtomicBoolean starting = new AtomicBoolean();
  private final Duration frontendLease;
  private final InstantSource clock;
  private final SessionRange logic;
  private final Range<SessionCommand, SessionResult> range;
  private final Proposals proposals;
  private final ScheduledExecutorService timer;
  private final InboxMeters meters;
  private final DirectDelivery direct;
  private final LoggedDelivery logged;
  private final RetainedAppends appends;
  private final InboxPages reader;
  private final FetchLine fetches;
  private final ConnectCalls connects;
  private final SessionExpirySweep expirySweep;
  private final AckCollector acks;
  private final RouteAnnouncer announcer;
  private final StrayRoutes strays;
  private final WillRunner willRunner;
  private final GroupDrains drains;
  private final Ghosts ghosts;
  private final DueWork dueWork;
  private final List<ShardId> shards;
  private final AtomicBoolean flushing = new AtomicBoolean();

  /** Where the range comes from. */
  @FunctionalInterface
  interface Ranges {
    Range<SessionCommand, SessionResult> range(
        String name, CommandCodec<SessionCommand> codec, RangeLogic<SessionCommand, SessionResult> logic);
  }

  /**
   * Declares the session range in a store that has not started yet.
   *
   * @param clock the wall clock of deadlines; they are written into the log
   */
  public InboxServer(
      RangeStore store, InboxSettings settings, InboxRoutes routes, WillPublisher wills, InstantSource clock, MeterRegistry registry) {
    this(store::range, settings, FRONTEND_LEASE, routes, wills, clock, registry);
  }

  /** Over another range, for tests that want to hold it up. */
  InboxServer(
      Ranges ranges,
      InboxSettings settings,
      Duration frontendLease,
      InboxRoutes routes,
      WillPublisher wills,
      InstantSource clock,
      MeterRegistry registry) {
    this.settings = settings;
    this.frontendLease = frontendLease;
    this.clock = clock;
    logic = new SessionRange(settings.shards());
    range = ranges.range(RANGE, new SessionCommandCodec(), logic);
    timer = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("dunlin-inbox-timer").factory());
    meters = new InboxMeters(registry, logic.state());
    proposals = new Proposals(range, settings, meters, this::perform);
    lost = new LostFrontends(this::endFrontend);
    frontends = new Frontends(started, lost, meters);
    ghosts = new Ghosts(logic.state(), this::endConnection);
    connects = new ConnectCalls(proposals, frontends, ghosts, settings.sums(), clock);
    direct = new DirectDelivery(logic.state(), frontends, meters);
    logged = new LoggedDelivery(proposals, clock, meters);
    appends = new RetainedAppends(proposals, clock);
    acks = new AckCollector(this::proposeAcknowledged, this::isCurrent);
    reader = new InboxPages(this::expired);
    expirySweep = new SessionExpirySweep(logic.state(), this::expired);
    fetches =
        new FetchLine(
            range::readers,
            connects::isAnyWaiting,
            System::nanoTime,
            task -> timer.schedule(task, FETCH_AGAIN_MILLIS, TimeUnit.MILLISECONDS));
    strays = new StrayRoutes(routes, timer, meters::routesRepaired);
    announcer = new RouteAnnouncer(routes, timer, strays::changed);
    willRunner = new WillRunner(wills, System::nanoTime, meters, this::logPublished);
    drains = new GroupDrains(this::drain);
    dueWork = new DueWork(logic, proposals, willRunner::room);
    var all = new ArrayList<ShardId>(settings.shards());
    for (int shard = 0; shard < settings.shards(); shard++) all.add(ShardId.inbox(shard));
    shards = List.copyOf(all);
    meters.waiting("dunlin.inbox.acks-waiting", "Acknowledged sequences not proposed yet, or to be proposed again", acks::waiting);
    meters.waiting("dunlin.inbox.fetches-waiting", "Sessions that wait for a reader of their inboxes", fetches::waiting);
    meters.waiting("dunlin.inbox.routes-waiting", "Routes not announced yet", announcer::waiting);
    meters.waiting("dunlin.inbox.frontends-lost", "Frontends that are gone and whose connections the session range has not let go of", lost::waiting);
    meters.waiting("dunlin.inbox.ghosts", "Connections that are gone and that the session range has not let go of", ghosts::waiting);
    meters.waiting("dunlin.inbox.drains-waiting", "Groups whose inbox is to be handed on when the range takes it", drains::waiting);
    meters.waiting("dunlin.inbox.wills-running", "Wills on their way, and those that the range is to forget", willRunner::running);
  }

  /**
   * Takes up the work once the store has started, and announces the topic filters of all sessions; once. Completes when that is done. Connections
   * may be accepted of frontends that are attached then. Routes that no session needs, left over from earlier lives, are looked for and removed
   * after that. A frontend that sessions have connections of, and that is not attached 30 seconds later, is treated as {@linkplain #detach detached}.
   */
  public CompletableFuture<Void> start() {
    if (!starting.compareAndSet(false, true)) throw new IllegalStateException("the session tier was started before");
    proposals.call(
        new SessionCommand.Configure(settings.limits()),
        started,
        (_, _) -> {
          var routes = logic.takeRoutes();
          strays.expect(routes);
          announcer.change(routes.stream().map(route -> new Effects.RouteChange(route, true)).toList());
          var announced = announcer.settledOrFull(routes);
          try {
            var _ = timer.scheduleWithFixedDelay(this::tick, TICK_MILLIS, TICK_MILLIS, TimeUnit.MILLISECONDS);
            lookForFrontends();
          } catch (RejectedExecutionException closed) {
            started.completeExceptionally(new StoreException("the session tier was closed while it started", closed));
            return;
          }
          Proposals.follow(
              announced,
              started,
              () -> {
                strays.search(announcer);
                started.complete(null);
              });
        });
    return started;
  }

  private void lookForFrontends() {
    var _ = timer.schedule(this::detachAbsent, frontendLease.toMillis(), TimeUnit.MILLISECONDS);
  }

  private void detachAbsent() {
    if (!frontends.detachAbsent(logic.state().sessions.values())) lookForFrontends();
  }

  /**
   * Begins to serve a frontend in one of its lives. Completes when {@link #start} has and the connections of the frontend's earlier lives are treated
   * as lost; new ones may be made then. To connections that it has from before, as when the range has moved, messages are pushed from then on, and it reads
   * what was stored before. A later life takes the place of an earlier one, whose connections are lost.
   *
   * <p>Waits and fails as other calls do: it waits for a range that is full, and fails with a {@link StoreException}, and attaches nothing, when the range
   * is led elsewhere, loses its quorum or has failed. It fails as well when this life or a later one is attached already, when too many frontends are,
   * and when it is detached before it has completed. Whatever comes of it, {@link #detach} is to be called when the frontend is gone.
   *
   * @param connections of that life; when it is lost, it completes what it was asked to {@linkplain Connections#settled settle} by itself
   * @throws IllegalArgumentException without a name, or with an incarnation that there cannot be
   */
  public CompletableFuture<Void> attach(String frontend, long incarnation, Connections connections) {
    return frontends.attach(frontend, incarnation, connections);
  }

  /**
   * A frontend is gone, in this life and all earlier ones: its link is lost, or its lease has run out. At once nothing is pushed to it any more, and
   * no connection of it accepted. Its connections are treated as lost, with their wills and expiry; completes when the range has recorded that for all of them. What the
   * range refuses is proposed again until then. Does nothing when the frontend is attached in a later life. After it has completed, the same life may attach
   * again, without the connections that it had.
   *
   * <p>Fails with a {@link StoreException} when this is closed, or when too many frontends are lost and this one is not noted.
   *
   * @throws IllegalArgumentException without a name, or with an incarnation that there cannot be
   */
  public CompletableFuture<Void> detach(String frontend, long incarnation) {
    return frontends.detach(frontend, incarnation);
  }

  private boolean endFrontend(String frontend, long before, LostFrontends.Ended ended) {
    return proposals.inLine(
        new SessionCommand.FrontendGone(clock.millis(), frontend, before, DueWork.STEPS_MAX),
        result -> ended.done(result.effects().hasMoreWork()),
        ended::failed);
  }

  /** The places that deliver, for the dist tier. */
  public List<ShardId> shards() {
    return shards;
  }

  /** The place that delivers to a client's durable session. */
  public ShardId shardOf(String tenant, String clientId) {
    return shardOf(settings.shards(), tenant, clientId);
  }

  /** The place that delivers to a client's durable session, of so many shards. */
  public static ShardId shardOf(int shards, String tenant, String clientId) {
    return ShardId.inbox(new SessionKey(tenant, clientId).shard(shards));
  }

  /**
   * Takes a message for every durable session here that subscribes to it. Any thread; what one thread hands over keeps its
   * order.
   *
   * @param groups the shared subscriptions for which a shard of this server was picked
   * @param acknowledgement expects one answer, which is given when the message is stored where it has to be; null for none
   */
  public void deliver(Publication message, List<TopicFilter> groups, @Nullable Acknowledgement acknowledgement) {
    if (message.qos() == QoS.AT_MOST_ONCE) {
      direct.deliver(message, groups);
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
      return;
    }
    logged.deliver(message, groups, acknowledgement);
  }

  /**
   * How many messages a group's members here can take at once: 0 without members, at least 1 with any, since its inbox takes
   * what they cannot. Any thread; an estimate.
   */
  public int groupCredit(String tenant, TopicFilter filter) {
    var group = logic.state().groups.get(new GroupKey(tenant, filter));
    return group == null ? 0 : group.credit();
  }

  @Override
  public CompletableFuture<Connected> connect(Connect request) {
    acks.flush(request.clientId());
    return connects.connect(request);
  }

  /**
   * Ends a session for its operator, with its subscriptions and messages; its will is due then, and its connection is closed. What it has
   * stored is deleted step by step.
   *
   * @return whether there was one
   */
  CompletableFuture<Boolean> remove(String tenant, String clientId) {
    var removed = new CompletableFuture<Boolean>();
    proposals.call(
        new SessionCommand.Remove(clock.millis(), tenant, clientId),
        removed,
        (outcome, _) -> removed.complete(outcome instanceof Outcome.Done));
    return removed;
  }

  /** What operators do with sessions. */
  public SessionsMXBean operations() {
    return new SessionOperations(logic.state().sessions, this::remove, frontends);
  }

  @Override
  public CompletableFuture<Statistics> statistics() {
    var state = logic.state();
    return CompletableFuture.completedFuture(
        new Statistics(
            state.sessions.mappingCount(), state.onlineCount.get(), meters.sessionsExpired(), state.subscriptions.get(),
            state.sharedSubscriptions.get(), state.queued.get(), state.queuedBytes.get()));
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId displaced) {
    return frontends.settled(displaced);
  }

  @Override
  public void missing(ConnectionId connection) {
    ghosts.missing(connection);
  }

  private boolean endConnection(SessionKey session, ConnectionId connection) {
    return proposals.now(
        new SessionCommand.ConnectionGone(clock.millis(), session.tenant(), session.clientId(), connection),
        _ -> {},
        () -> ghosts.end(session, connection));
  }

  @Override
  public CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions) {
    var existed = new CompletableFuture<List<Boolean>>();
    var key = SessionKey.of(session);
    var routes = subscriptions.stream().map(each -> RouteKey.of(key, each.filter(), settings.shards())).distinct().toList();
    proposals.call(
        session,
        new SessionCommand.Subscribe(session, List.copyOf(subscriptions)),
        existed,
        (outcome, _) -> {
          if (outcome instanceof Outcome.Existed(var value)) {
            var _ =
                announcer
                    .settled(routes)
                    .whenComplete(
                        (_, failure) -> {
                          if (failure == null) existed.complete(value);
                          else if (failure instanceof QuotaExceededException) withdraw(session, subscriptions, value, () -> existed.completeExceptionally(failure));
                          else existed.completeExceptionally(failure);
                        });
          } else existed.completeExceptionally(Proposals.unexpected(outcome));
        });
    return existed;
  }

  /** Takes back what a SUBSCRIBE has brought that there is no room for: else it would stay in the session, and get nothing. */
  private void withdraw(SessionRef session, List<Subscription> subscriptions, List<Boolean> existed, Runnable then) {
    var brought = IntStream.range(0, existed.size()).filter(i -> !existed.get(i)).mapToObj(i -> subscriptions.get(i).filter()).toList();
    if (brought.isEmpty()) then.run();
    else unsubscribe(session, brought).whenComplete((_, _) -> then.run());
  }

  @Override
  public CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters) {
    var existed = new CompletableFuture<List<Boolean>>();
    proposals.call(
        session,
        new SessionCommand.Unsubscribe(session, List.copyOf(filters)),
        existed,
        (outcome, _) -> {
          if (outcome instanceof Outcome.Existed(var value)) existed.complete(value);
          else existed.completeExceptionally(Proposals.unexpected(outcome));
        });
    return existed;
  }

  @Override
  public CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) {
    acks.flush(session.clientId());
    var present = logic.state().sessions.get(SessionKey.of(session));
    long handed = present == null || present.epoch() != session.epoch() ? 0 : present.handed();
    return proposals.run(
        session, new SessionCommand.Disconnect(clock.millis(), session, publishWill, sessionExpirySeconds, handed));
  }

  @Override
  public CompletableFuture<Appended> append(
      SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
    return appends.append(session, options, from, retained);
  }

  @Override
  public CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message) {
    // Most groups have no durable member, and finding that out must cost no entry.
    if (!logic.state().groups.containsKey(new GroupKey(message.tenant(), group))) return CompletableFuture.completedFuture(false);
    var taken = new CompletableFuture<Boolean>();
    proposals.call(
        new SessionCommand.AppendToGroup(clock.millis(), group, message),
        taken,
        (outcome, _) -> {
          switch (outcome) {
            case Outcome.Existed(var existed) -> taken.complete(existed.getFirst());
            case Outcome.Full _ -> taken.completeExceptionally(new StoreException("the inbox of " + group.text() + " is full"));
            case Outcome.Done _, Outcome.Stale _, Outcome.Fenced _, Outcome.Repeated _, Outcome.Connected _, Outcome.OtherUser _,
                Outcome.Appended _, Outcome.AllFull _ ->
                taken.completeExceptionally(Proposals.unexpected(outcome));
          }
        });
    return taken;
  }

  @Override
  public void acknowledge(SessionRef session, long[] sequences) {
    acks.add(session, sequences, false);
    flushSoon();
  }

  private void expired(SessionRef session, long[] sequences) {
    acks.add(session, sequences, true);
    flushSoon();
  }

  private void flushSoon() {
    if (!flushing.compareAndSet(false, true)) return;
    try {
      var _ = timer.schedule(this::flush, ACK_LINGER_MILLIS, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException closed) {
      LOG.debug("Closed before acknowledgements were proposed; their messages are sent again");
    }
  }

  private void flush() {
    flushing.set(false);
    if (!acks.flushAll()) flushSoon();
  }

  private boolean proposeAcknowledged(SessionCommand.Acknowledge command, AckCollector.Ended ended) {
    return proposals.now(
        command,
        _ -> ended.ended(true),
        () -> {
          meters.acknowledgementsRefused();
          ended.ended(false);
        });
  }

  /** Whether a session still has the epoch of a reference to it. Any thread. */
  private boolean isCurrent(SessionRef ref) {
    var present = logic.state().sessions.get(SessionKey.of(ref));
    return present != null && present.epoch() == ref.epoch();
  }

  @Override
  public CompletableFuture<Void> received(SessionRef session, long sequence) {
    return proposals.run(session, new SessionCommand.Received(session, sequence));
  }

  @Override
  public CompletableFuture<Void> released(SessionRef session, int packetId) {
    return proposals.run(session, new SessionCommand.Released(session, packetId));
  }

  @Override
  public CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) {
    var page = new CompletableFuture<Page>();
    var present = logic.state().sessions.get(SessionKey.of(session));
    if (present == null || present.epoch() != session.epoch()) {
      page.completeExceptionally(new StaleSessionException(session));
      return page;
    }
    fetches.add(
        new FetchLine.Fetch() {
          @Override
          public void read() {
            if (present.epoch() != session.epoch()) {
              page.completeExceptionally(new StaleSessionException(session));
              return;
            }
            try {
              page.complete(
                  reader.read(range.reader(), present, session, fromSequence, messagesMax, bytesMax, clock.millis()));
            } catch (RuntimeException e) {
              page.completeExceptionally(e);
            }
          }

          @Override
          public void refused() {
            page.completeExceptionally(new StoreException("the session tier was closed"));
          }
        });
    return page;
  }

  /** Does what a command left to do. On the applying thread, in log order. */
  private void perform(Effects effects) {
    meters.count(effects);
    for (Effects.Push push : effects.pushes()) push(push);
    var displaced = effects.displaced();
    if (displaced != null) frontends.displaced(displaced);
    var dismissed = effects.dismissed();
    if (dismissed != null) frontends.dismissed(dismissed);
    if (!effects.routes().isEmpty()) announcer.change(effects.routes());
    if (!effects.wills().isEmpty()) willRunner.start(effects.wills());
    drains.ask(effects.drains());
    if (effects.hasWillDue()) tickSoon();
  }

  private void push(Effects.Push push) {
    var message = push.message();
    if (message.sequence() > 0) {
      if (message.message().expired(clock.millis())) {
        var key = push.session().key;
        expired(
            new SessionRef(key.tenant(), key.clientId(), push.session().epoch()), new long[] {message.sequence()});
        return;
      }
      push.session().backlog().handed(message.sequence());
    }
    frontends.push(push.connection(), message);
  }

  /** Does what is due without waiting for the timer's next turn, which comes all the same. */
  private void tickSoon() {
    try {
      timer.execute(this::tick);
    } catch (RejectedExecutionException closed) {
      LOG.debug("Closed before a will was published; it is when the range is opened again");
    }
  }

  private void tick() {
    try {
      acks.again();
      drains.again();
      lost.again();
      ghosts.again();
      willRunner.turn();
      long now = clock.millis();
      // What was found and is not removed yet comes first.
      if (acks.waiting() <= EXPIRED_WAITING_MAX) expirySweep.turn(range, now);
      dueWork.turn(now);
    } catch (RuntimeException e) {
      LOG.error("The session tier's timer failed and goes on", e);
    }
  }

  private boolean logPublished(Effects.DueWill will) {
    var session = will.session();
    return proposals.now(
        new SessionCommand.WillPublished(session.tenant(), session.clientId(), will.epoch()),
        _ -> willRunner.recorded(will.epoch()),
        () -> willRunner.notRecorded(will.epoch()));
  }

  private boolean drain(GroupKey group) {
    return proposals.now(
        new SessionCommand.DrainGroup(clock.millis(), group, settings.groupWindow()), _ -> drains.ended(group), () -> drains.refused(group));
  }

  /** Proposes what was gathered and stops; before the store is closed. */
  @Override
  public void close() {
    acks.flushAll();
    fetches.close();
    lost.close();
    timer.shutdownNow();
  }
}

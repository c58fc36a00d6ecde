package dunlin.inbox.server;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Appended;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxRoutes;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.SessionRef;
import dunlin.inbox.StaleSessionException;
import dunlin.inbox.announce.RouteAnnouncer;
import dunlin.inbox.announce.StrayRoutes;
import dunlin.inbox.between.AskedRange;
import dunlin.inbox.between.OtherRange;
import dunlin.inbox.between.RecordedAppends;
import dunlin.inbox.operate.SessionPart;
import dunlin.inbox.propose.BoundedRange;
import dunlin.inbox.propose.DueWork;
import dunlin.inbox.propose.Proposals;
import dunlin.inbox.propose.RefusedConnections;
import dunlin.inbox.propose.SharedSums;
import dunlin.inbox.propose.TenantInboxes;
import dunlin.inbox.range.Effects;
import dunlin.inbox.range.SessionRange;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.range.SessionResult;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.inbox.state.Backlog;
import dunlin.inbox.state.RangeState;
import dunlin.inbox.state.SessionState;
import dunlin.inbox.state.Transfer;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.Range;
import dunlin.store.StoreException;
import dunlin.transport.Acknowledgement;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiConsumer;
import java.util.function.BiPredicate;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves one session range on the node that leads it.
 *
 * <p>The class is long: it has a method for each call of the tier, and what a command's effects are is decided here alone.
 */
final class InboxRangeServer {
  /*
   * Owner: any thread calls it, none blocks. The effects of a command, such as pushes and displaced connections, are
   * performed in its completion, on the range's applying thread and so in log order. Route announcements and timers run
   * on the tier's one timer thread.
   * Bounds: given by the parts: AckCollector, FetchLine, RouteAnnouncer, StrayRoutes, StaleConnections and GroupDrains.
   * Failure: calls that the range refuses fail; commands that must not be lost are proposed again at a turn of the
   * timer. Effects that are lost with the process follow from the log, and start() repeats them.
   */
  private static final Logger LOG = LoggerFactory.getLogger(InboxRangeServer.class);
  private static final long ACK_LINGER_MILLIS = 5;
  private static final long FETCH_AGAIN_MILLIS = 5;
  private static final int FORGET_TURNS = 25;
  private static final int FORGET_MAX = 1_000;
  private static final int EXPIRED_WAITING_MAX = 4 * SessionExpirySweep.HEADERS_MAX;

  private final ShardInterval interval;
  private final InboxSettings settings;
  private final InstantSource clock;
  private final Frontends frontends;
  private final WillRunner wills;
  private final ScheduledExecutorService timer;
  private final InboxMeters meters;
  private final Runnable tickSoon;
  private final BiConsumer<InboxRangeServer, List<GroupKey>> stuck;
  private final BiPredicate<SessionKey, Long> foreignLives;
  private final TenantInboxes tenants;
  private final int looks;
  private final SessionRange logic;
  private final Range<SessionCommand, SessionResult> range;
  private final Proposals proposals;
  private final DirectDelivery direct;
  private final LoggedDelivery logged;
  private final RetainedAppends appends;
  private final InboxPages reader;
  private final TransferReader transfers;
  private final FetchLine fetches;
  private final ConnectCalls connects;
  private final SessionExpirySweep expirySweep;
  private final AckCollector acks;
  private final RouteAnnouncer announcer;
  private final StrayRoutes strays;
  private final GroupDrains drains;
  private final StaleConnections stale;
  private final DueWork dueWork;
  private final AtomicBoolean flushing = new AtomicBoolean();
  private final LongAdder sessionsExpired = new LongAdder();

  private int turns; // used by the timer thread only

  /** Set once a message of a foreign exchange may have been stored without being answered. */
  private volatile boolean mayHoldMore;

  /** Whether it has begun to serve; written by the applying thread. */
  private volatile boolean leads;

  /**
   * What the ranges of a node share.
   *
   * @param refused connections whose further messages every range refuses
   * @param wills publishes the wills of all ranges
   * @param timer the one thread for route announcements and timers
   * @param tickSoon runs the next turn of the timer at once
   * @param stuck receives groups with waiting messages that no member in their range takes
   * @param lives whether a session with this birth exists in any range
   * @param tenants bounds what the inboxes of each tenant hold
   * @param heapFull whether the heap has no room for more that stays
   * @param looks how often a publisher of another range is found to be over before it is forgotten
   */
  record Tier(
      InboxSettings settings,
      InstantSource clock,
      Frontends frontends,
      RefusedConnections refused,
      WillRunner wills,
      InboxRoutes routes,
      ScheduledExecutorService timer,
      InboxMeters meters,
      Runnable tickSoon,
      BiConsumer<InboxRangeServer, List<GroupKey>> stuck,
      BiPredicate<SessionKey, Long> lives,
      TenantInboxes tenants,
      BooleanSupplier heapFull,
      int looks) {}

  /** @param sums bounds on all ranges together; null if this is the only one */
  InboxRangeServer(SessionReplica replica, @Nullable SharedSums sums, Tier tier) {
    logic = replica.sessions();
    interval = logic.state().interval;
    settings = tier.settings();
    clock = tier.clock();
    frontends = tier.frontends();
    wills = tier.wills();
    timer = tier.timer();
    meters = tier.meters();
    tickSoon = tier.tickSoon();
    stuck = tier.stuck();
    foreignLives = tier.lives();
    looks = tier.looks();
    tenants = tier.tenants();
    range = new BoundedRange(replica.range(), logic.state(), sums, tenants, settings, tier.heapFull());
    proposals = new Proposals(range, tier.refused(), settings, this::perform);
    stale = new StaleConnections(logic.state(), this::endConnection);
    connects = new ConnectCalls(proposals, frontends, stale, settings.sums(), clock);
    direct = new DirectDelivery(logic.state(), frontends, meters);
    logged = new LoggedDelivery(proposals, clock, meters);
    appends = new RetainedAppends(proposals, clock);
    acks = new AckCollector(this::proposeAcknowledged, this::isCurrent);
    reader = new InboxPages(this::expired);
    transfers = new TransferReader(range);
    expirySweep = new SessionExpirySweep(logic.state(), this::expired);
    fetches =
        new FetchLine(
            range::readers,
            connects::isAnyWaiting,
            System::nanoTime,
            task -> timer.schedule(task, FETCH_AGAIN_MILLIS, TimeUnit.MILLISECONDS));
    strays = new StrayRoutes(tier.routes(), timer, interval, meters::routesRepaired);
    announcer = new RouteAnnouncer(tier.routes(), timer, strays::changed, strays::forgotten);
    drains = new GroupDrains(this::drain);
    dueWork = new DueWork(logic, proposals, wills::room);
  }

  /** Sessions and groups as applied so far. Any thread, as {@link RangeState} says. */
  RangeState applied() {
    return logic.state();
  }

  /** Answers the leaders of other ranges. */
  AskedRange asked() {
    return new AskedRange(logic.state(), proposals::outcome, clock);
  }

  /** Stores messages for groups with members in ranges of other servers. */
  RecordedAppends recorded(Layout layout, Map<Integer, ? extends OtherRange> others) {
    return new RecordedAppends(layout, asked(), logic.state(), others, proposals::outcome, clock);
  }

  /** What operators look at. */
  SessionPart part() {
    return new SessionPart(logic.state(), range, tenant -> tenants.mostIn(logic.state(), tenant), this::handed);
  }

  Proposals proposals() {
    return proposals;
  }

  /** Number of acknowledged sequences that wait to be proposed, for the first time or again. */
  int acksWaiting() {
    return acks.waiting();
  }

  /** Number of sessions that wait for a reader. */
  int fetchesWaiting() {
    return fetches.waiting();
  }

  /** Number of routes that are not announced yet. */
  int routesWaiting() {
    return announcer.waiting();
  }

  /** Number of connections that no longer exist but that sessions of the range still name. */
  int staleConnections() {
    return stale.waiting();
  }

  /** Number of groups that wait for their next drain step. */
  int drainsWaiting() {
    return drains.waiting();
  }

  /**
   * Starts serving. Completes when the limits are in force; the result completes when all routes that the range needs
   * are announced. {@link #tick} must be called from then on.
   */
  CompletableFuture<CompletableFuture<Void>> start() {
    var configured = new CompletableFuture<CompletableFuture<Void>>();
    proposals.call(
        new SessionCommand.Configure(settings.limits()),
        configured,
        (_, _) -> {
          var routes = logic.lead();
          leads = true;
          meters.found(held());
          strays.expect(routes);
          stuck.accept(this, logic.stuckGroups());
          announcer.begin(routes);
          configured.complete(announcer.settledAtLast(routes));
        });
    return configured;
  }

  /** Finds routes that no session needs, left over from before the start, and removes them. */
  void searchStrays() {
    strays.search(announcer);
  }

  /** Proposes a step that treats connections of a frontend's earlier lives as lost. */
  void endFrontend(String frontend, long before, LostFrontends.Ended ended) {
    boolean queued =
        proposals.inLine(
            new SessionCommand.FrontendGone(clock.millis(), frontend, before, DueWork.STEPS_MAX),
            result -> ended.done(result.effects().hasMoreWork()),
            ended::failed);
    if (!queued) ended.failed(Proposals.tooMany());
  }

  /**
   * Delivers a message to the sessions and groups of this range, as {@link InboxServer#deliver} does.
   *
   * @param exchange the exchange to record here; null for none
   */
  void deliver(
      Publication message, Publication.@Nullable Exchange exchange, List<TopicFilter> groups, @Nullable Acknowledgement acknowledgement) {
    if (message.qos() == QoS.AT_MOST_ONCE) {
      direct.deliver(message, groups);
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
      return;
    }
    logged.deliver(message, exchange, groups, acknowledgement);
  }

  /** Delivers a message of an exchange of another range's session. It is stored here once, until {@link #forget}; that of a will for some time. */
  void deliverOfExchange(
      Publication message, long birth, Publication.Exchange exchange, List<TopicFilter> groups, @Nullable Acknowledgement acknowledgement) {
    Runnable unknown = exchange.isOfWill() ? () -> {} : () -> mayHoldMore = true;
    logged.deliverOfExchange(message, birth, exchange, groups, acknowledgement, unknown);
  }

  /** Whether a session, or one that would have this key, is in this range. */
  boolean has(SessionKey session) {
    return interval.contains(interval.of(session));
  }

  /** Whether the message of an exchange of another range's session may be stored here. */
  boolean mayHold(SessionKey session, long birth, int packetId) {
    return mayHoldMore || logic.state().foreignExchanges.has(session, birth, packetId);
  }

  /**
   * Forgets an exchange of another range's session. Fails with {@link StaleSessionException} if something of a later epoch was heard of.
   *
   * @param epoch of the session's connection that releases the exchange
   */
  CompletableFuture<Void> forget(SessionKey session, long birth, long epoch, int packetId) {
    var command = new SessionCommand.ForgetExchange(session.tenant(), session.clientId(), birth, epoch, packetId);
    return proposals.run(new SessionRef(session.tenant(), session.clientId(), epoch), command);
  }

  /** Proposes a command. Calls {@code failed} if it was not accepted or its outcome is unknown. */
  void propose(SessionCommand command, Consumer<SessionResult> done, Runnable failed) {
    if (!proposals.inLine(command, done, _ -> failed.run())) failed.run();
  }

  /** Reads the messages of a transfer to another range; passes null on if that is not possible now. */
  void readTransfer(GroupKey group, Transfer transfer, Consumer<@Nullable List<Publication>> then) {
    transfers.read(group, transfer, then);
  }

  /** The birth of a session of this range; 0 if there is none with this epoch. */
  long birthOf(SessionKey session, long epoch) {
    var present = logic.state().sessions.get(session);
    return present == null || present.epoch() != epoch ? 0 : present.birth();
  }

  /** {@link InboxServer#groupCredit} of the group's members in this range. */
  int groupCredit(String tenant, TopicFilter filter) {
    var group = logic.state().groups.get(new GroupKey(tenant, filter));
    return group == null ? 0 : group.credit();
  }

  CompletableFuture<Connected> connect(Connect request) {
    acks.flush(request.clientId());
    return connects.connect(request);
  }

  /** {@link InboxServer#remove} for a session of this range. */
  CompletableFuture<Boolean> remove(String tenant, String clientId) {
    var removed = new CompletableFuture<Boolean>();
    proposals.call(
        new SessionCommand.Remove(clock.millis(), tenant, clientId),
        removed,
        (outcome, _) -> removed.complete(outcome instanceof Outcome.Done));
    return removed;
  }

  InboxClient.Statistics statistics() {
    var state = logic.state();
    return new InboxClient.Statistics(
        state.sessions.mappingCount(), state.onlineCount.get(), sessionsExpired.sum(), state.subscriptions.get(), state.sharedSubscriptions.get(), state.queued.get(),
        state.queuedBytes.get());
  }

  void missing(ConnectionId connection) {
    stale.missing(connection);
  }

  /** A connection that a session names is not there. */
  void endMissing(SessionKey session, ConnectionId connection) {
    stale.end(session, connection);
  }

  private boolean endConnection(SessionKey session, ConnectionId connection) {
    return proposals.now(
        new SessionCommand.ConnectionGone(clock.millis(), session.tenant(), session.clientId(), connection),
        _ -> {},
        () -> stale.end(session, connection));
  }

  CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions) {
    return subscribe(session, subscriptions, new SessionCommand.Subscribe(session, List.copyOf(subscriptions)));
  }

  /** Replaces subscriptions that the session has. If any of them is new, it fails as for want of memory: the command says that none is left. */
  CompletableFuture<List<Boolean>> replace(SessionRef session, List<Subscription> subscriptions) {
    var command = new SessionCommand.Subscribe(session, List.copyOf(subscriptions));
    return subscribe(session, subscriptions, new SessionCommand.Beside(0, settings.sums().memory(), 0, command));
  }

  private CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions, SessionCommand command) {
    var existed = new CompletableFuture<List<Boolean>>();
    var key = SessionKey.of(session);
    var routes = subscriptions.stream().map(each -> interval.route(key, each.filter())).distinct().toList();
    proposals.call(
        session,
        command,
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
                          else if (announcer.isClosed()) existed.completeExceptionally(new OutcomeUnknownException("the session tier is closed", failure)); // the next leader has it
                          else existed.completeExceptionally(new StoreException("routes could not be announced: " + failure.getMessage(), failure));
                        });
          } else existed.completeExceptionally(Proposals.unexpected(outcome));
        });
    return existed;
  }

  /**
   * Removes subscriptions again whose routes were refused for lack of room; otherwise they would stay in the session
   * and receive nothing.
   */
  private void withdraw(SessionRef session, List<Subscription> subscriptions, List<Boolean> existed, Runnable then) {
    var brought = IntStream.range(0, existed.size()).filter(i -> !existed.get(i)).mapToObj(i -> subscriptions.get(i).filter()).toList();
    if (brought.isEmpty()) then.run();
    else unsubscribe(session, brought).whenComplete((_, _) -> then.run());
  }

  CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters) {
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

  CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) {
    acks.flush(session.clientId());
    var present = logic.state().sessions.get(SessionKey.of(session));
    long handed = present == null || present.epoch() != session.epoch() ? 0 : handed(present);
    return proposals.run(
        session, new SessionCommand.Disconnect(clock.millis(), session, publishWill, sessionExpirySeconds, handed));
  }

  /**
   * The highest sequence that was handed to a session's connection. Calls of frontends and operators may come before this node has begun to lead: what an earlier leader has handed out
   * is not known then, and may be everything. Else a message would be sent again without DUP.
   */
  private long handed(SessionState present) {
    return leads ? present.handed() : Backlog.ANY;
  }

  CompletableFuture<Appended> append(
      SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
    return appends.append(session, options, from, retained);
  }

  CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
    // Most groups have no durable member; finding that out must not cost a log entry.
    if (!logic.state().groups.containsKey(new GroupKey(message.tenant(), group))) return CompletableFuture.completedFuture(false);
    var taken = new CompletableFuture<Boolean>();
    proposals.call(
        new SessionCommand.AppendToGroup(clock.millis(), group, message, exchange),
        taken,
        (outcome, _) -> {
          switch (outcome) {
            case Outcome.Existed(var existed) -> taken.complete(existed.getFirst());
            case Outcome.Full _ -> taken.completeExceptionally(new StoreException("the inbox of " + group.text() + " is full"));
            case Outcome.AllFull _ -> {
              meters.refused(InboxMeters.Refusal.EXCHANGES);
              taken.completeExceptionally(new StoreException("the open QoS 2 exchanges hold too much memory"));
            }
            case Outcome.Done _, Outcome.Stale _, Outcome.Fenced _, Outcome.Repeated _, Outcome.Connected _, Outcome.OtherUser _,
                Outcome.Appended _, Outcome.Imported _, Outcome.Picked _ ->
                taken.completeExceptionally(Proposals.unexpected(outcome));
          }
        });
    return taken;
  }

  void acknowledge(SessionRef session, long[] sequences) {
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
      LOG.debug("Closed before acknowledgements were proposed; their messages will be sent again");
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

  boolean isTakenOver(SessionRef session) {
    var present = logic.state().sessions.get(SessionKey.of(session));
    return present != null && present.epoch() > session.epoch();
  }

  CompletableFuture<Void> received(SessionRef session, long sequence) {
    return proposals.run(session, new SessionCommand.Received(session, sequence));
  }

  CompletableFuture<Void> released(SessionRef session, int packetId) {
    return proposals.run(session, new SessionCommand.Released(session, packetId));
  }

  CompletableFuture<Void> delivered(SessionRef session, List<Integer> packetIds) {
    return proposals.run(session, new SessionCommand.Delivered(session, packetIds));
  }

  CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) {
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
                  reader.read(range.reader(), present, session, handed(present), fromSequence, messagesMax, bytesMax, clock.millis()));
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

  /** Performs the effects of a command. On the applying thread, in log order. */
  private void perform(Effects effects) {
    meters.count(effects);
    sessionsExpired.add(effects.sessionsExpired());
    for (Effects.Push push : effects.pushes()) push(push);
    var displaced = effects.displaced();
    if (displaced != null) frontends.displaced(displaced);
    var dismissed = effects.dismissed();
    if (dismissed != null) frontends.dismissed(dismissed);
    if (!effects.routes().isEmpty()) announcer.change(effects.routes());
    if (!effects.wills().isEmpty()) wills.start(effects.wills());
    if (effects.willDiscarded() != 0) wills.recorded(effects.willDiscarded());
    drains.ask(effects.drains());
    if (!effects.stuck().isEmpty()) stuck.accept(this, effects.stuck());
    if (effects.hasWillDue()) tickSoon.run();
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

  /** One turn of the timer. */
  void tick(long now) {
    try {
      acks.again();
      drains.again();
      stale.again();
      // Expired messages that were found before and are not removed yet come first.
      if (acks.waiting() <= EXPIRED_WAITING_MAX) expirySweep.turn(range, now);
      if (++turns % FORGET_TURNS == 0) forgetOver();
      dueWork.turn(now);
    } catch (RuntimeException e) {
      LOG.error("A turn of the timer of a session range failed; the timer continues", e);
    }
  }

  /** Forgets publishers of other ranges that are over. Those whose proposal fails are found again. */
  private void forgetOver() {
    var over = logic.state().foreignExchanges.lookForOver(foreignLives, looks, FORGET_MAX);
    if (!over.isEmpty()) proposals.now(new SessionCommand.ForgetPublishers(over), _ -> {}, () -> {});
  }

  /**
   * Proposes to record that a will of this range was published or given up. Answers false if the range's queue is full.
   */
  boolean record(Effects.DueWill will) {
    var session = will.session();
    return proposals.now(
        new SessionCommand.WillPublished(session.tenant(), session.clientId(), will.epoch()),
        _ -> wills.recorded(will.epoch()),
        () -> wills.notRecorded(will.epoch()));
  }

  private boolean drain(GroupKey group) {
    return proposals.now(
        new SessionCommand.DrainGroup(clock.millis(), group, settings.groupWindow()), _ -> drains.ended(group), () -> drains.refused(group));
  }

  /** Proposes the collected acknowledgements and stops. */
  void close() {
    acks.flushAll();
    fetches.close();
    if (leads) meters.left(held());
  }

  /** Messages in inboxes, those included that may still be delivered after they were dropped. */
  private long held() {
    RangeState state = applied();
    return state.queued.get() + state.overtaken.get();
  }
}

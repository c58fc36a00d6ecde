package dunlin.broker;

import dunlin.broker.auth.Authentication;
import dunlin.broker.auth.Authorization;
import dunlin.broker.client.ClientsMXBean;
import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.connect.ConnectedClients;
import dunlin.broker.connect.Leaving;
import dunlin.broker.connect.LoopConnections;
import dunlin.broker.connect.Reception;
import dunlin.broker.fanout.Fanout;
import dunlin.broker.limit.NodeBudget;
import dunlin.broker.listen.Listener;
import dunlin.broker.listen.ListenerException;
import dunlin.broker.listen.Listeners;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.loop.Loop;
import dunlin.broker.loop.LoopThread;
import dunlin.broker.loop.Loops;
import dunlin.broker.loop.Tiers;
import dunlin.broker.meter.FrontendMeters;
import dunlin.broker.meter.RetainAccount;
import dunlin.broker.session.SubscribeRules;
import dunlin.broker.tenant.Tenant;
import dunlin.broker.tenant.TenantLimit;
import dunlin.dist.Delivery;
import dunlin.inbox.Connections;
import dunlin.inbox.KeptConnections;
import dunlin.inbox.WillPublisher;
import dunlin.model.ReasonCode;
import dunlin.model.TenantQuota;
import dunlin.runtime.DropEvents;
import dunlin.runtime.HopLedger;
import dunlin.runtime.memory.HeapGuard;
import dunlin.runtime.metrics.LatencyHistogram;
import dunlin.runtime.metrics.NodeBeans;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tier that clients connect to: its event loops, its listeners, and the parts that the other tiers call. It is one shard of
 * the dist tier ({@link #delivery}), the connections of the session tier ({@link #connections}), and the publisher of wills
 * ({@link #wills}).
 */
public final class Frontend implements AutoCloseable {
  /*
   * Owner: the thread that composes the node calls open, listen and close; the rest is for any thread.
   * Bounds: as many loops as lanes; what a loop holds is bounded there.
   * Failure: a port that cannot be bound is a ListenerException, and nothing is left running after close.
   */
  private static final Logger log = LoggerFactory.getLogger(Frontend.class);
  private static final long CLOSE_SESSIONS_MILLIS = 2_000;

  /** In a cluster, where the next leader of the sessions may be about to serve them: each DISCONNECT is reported to it. */
  private static final long LEAVE_SESSIONS_MILLIS = 5_000;

  private static final int LEAVE_RETRY_MILLIS = 200;

  private static final long REDEALT_MILLIS = 5_000;

  /** Between two looks at what is on its way to other frontends. */
  private static final long LOOK_NANOS = 5_000_000;

  private final FrontendSettings settings;
  private final NodeBudget budget;
  private final SubscribeRules subscribeRules;
  private final DecoderLimits decoderLimits;
  private final FrontendIdentity identity;
  private final InstantSource clock;
  private final MeterRegistry registry;
  private final FrontendMeters meters;
  private final Reception reception;
  private final Fanout fanout;
  private final FrontendBean bean;
  private final ConnectedClients clients;
  private final WillPublisher wills;
  private final ApplicationPublisher application;
  private final Listeners listeners;
  private final MultiThreadIoEventLoopGroup group;
  private final Leaving leaving;
  private final Authentication authentication;

  private @Nullable Loops loops;
  private @Nullable Tiers tiers;
  private volatile @Nullable ApplicationSubscriptions subscribed; // set once, by the thread that starts the node

  /**
   * @param budget the memory that all clients together may make it use
   * @param authentication who may connect; the caller closes it, after this
   * @param tracer notes what becomes of messages, for operators
   */
  public Frontend(
      FrontendSettings settings,
      NodeBudget budget,
      Authentication authentication,
      FrontendIdentity identity,
      InstantSource clock,
      MeterRegistry registry,
      DropEvents dropEvents,
      Tracer tracer,
      ConnectionEvents events) {
    this.settings = settings;
    this.budget = budget;
    this.authentication = authentication;
    this.subscribeRules = new SubscribeRules(settings);
    this.decoderLimits = decoderLimits(settings);
    this.identity = identity;
    this.clock = clock;
    this.fanout = new Fanout(identity.shard(), identity.incarnation());
    this.leaving = new Leaving((session, will, expiry) -> tiers().inbox().disconnect(session, will, expiry), this::disconnectReportRefused);
    this.reception = new Reception(identity.nodeId(), identity.incarnation(), authentication, leaving, events);
    this.clients = new ConnectedClients(reception);
    this.meters =
        new FrontendMeters(
            identity.nodeId(), registry, dropEvents, tracer, () -> sum(each -> each.loop().counts().publishes().waiting()),
            () -> sum(each -> each.loop().counts().copies().waiting()));
    this.bean = new FrontendBean(reception, meters, settings.connections().serverReference());
    this.wills =
        (will, user, again) -> new SendingWill(loopOf(will.publisher().clientId().hashCode()), will, clock.millis(), user, again, authentication);
    this.application = new ApplicationPublisher(this::loopOf, decoderLimits, clock);
    this.registry = registry;
    this.listeners = new Listeners(settings.listeners(), decoderLimits, registry);
    AtomicInteger threads = new AtomicInteger();
    this.group =
        new MultiThreadIoEventLoopGroup(
            settings.lanes().count(), (ThreadFactory) task -> new LoopThread(task, "dunlin-loop-" + threads.getAndIncrement()),
            settings.listeners().transport().handlers());
  }

  private void disconnectReportRefused() {
    meters.disconnectReportRefused();
  }

  private static DecoderLimits decoderLimits(FrontendSettings settings) {
    FrontendSettings.Features features = settings.features();
    return new DecoderLimits(
        settings.packets(),
        new DecoderLimits.Features(features.maximumQoS(), features.retain(), features.subscriptionIdentifiers(), features.payloadFormatCheck()),
        settings.connections().topicAliasMaximum(),
        true);
  }

  /** Starts the event loops and opens their lanes. Clients cannot connect yet. */
  public void open(Tiers clients) {
    tiers = clients;
    Loops opened = new Loops(settings, budget, meters, clock, clients, group);
    fanout.open(opened);
    reception.open(opened, fanout, subscribeRules);
    Authorization authorization = authentication.authorization();
    if (authorization != null) authorization.onChange(reception::checkAccess);
    loops = opened;
    CountDownLatch started = new CountDownLatch(opened.count());
    for (LoopConnections each : reception.parts()) {
      each.loop().executor().execute(
          () -> {
            each.loop().start(each);
            started.countDown();
          });
    }
    await(started);
    EventLoop first = opened.get(0).executor();
    first.scheduleWithFixedDelay(meters.violations()::flush, 1, 1, TimeUnit.SECONDS);
    first.scheduleWithFixedDelay(meters.denials()::flush, 1, 1, TimeUnit.SECONDS);
    first.scheduleWithFixedDelay(listeners::flush, 1, 1, TimeUnit.SECONDS);
    first.scheduleWithFixedDelay(leaving::again, LEAVE_RETRY_MILLIS, LEAVE_RETRY_MILLIS, TimeUnit.MILLISECONDS);
    LoopGauges.show(this, leaving, registry);
  }

  /**
   * Finds out, before anything is opened, whether a frontend of these settings could listen.
   *
   * @param mayListenAnywhere whether others than this machine's clients may reach it
   * @throws ListenerException when it could not; the message names the setting
   */
  public static void check(FrontendSettings settings, boolean mayListenAnywhere) {
    Listeners.check(settings.listeners(), mayListenAnywhere);
  }

  /**
   * All that {@link #check} would refuse, a sentence for each.
   *
   * @param ports whether also ports and socket files that are taken
   */
  public static List<String> problems(FrontendSettings settings, boolean mayListenAnywhere, boolean ports) {
    return Listeners.problems(settings.listeners(), mayListenAnywhere, ports);
  }

  /**
   * Binds the listeners: from now on clients can connect.
   *
   * @throws ListenerException when an address cannot be bound or may not be without authentication
   */
  public void listen() {
    listeners.open(group, authentication.mayListenAnywhere(), reception::accept);
  }

  /**
   * Compares the dist tier's routes with the subscriptions, again and again. Once, when the frontend is open.
   *
   * @param interval from the end of one comparison to the beginning of the next; zero for never
   */
  public void auditRoutes(Duration interval) {
    if (interval.isPositive()) fanout.auditRoutes(tiers().dist(), interval, registry);
  }

  /** The port that clients of a listener connect to, once it listens; -1 when it has none. */
  public int port(String listener) {
    return listeners.byName(listener).map(Listener::port).orElse(-1);
  }

  /** Shows each listener by JMX. */
  public void showListeners(NodeBeans beans) {
    listeners.show(beans);
  }

  /** Looks whether certificates have changed, on a thread that may wait for files. */
  public void reloadCertificates() {
    listeners.reloadCertificates();
  }

  /** What the dist tier delivers to, from lanes of event loops. */
  public Delivery delivery() {
    return fanout;
  }

  /** Runs tasks on the event loop of a lane, soon; takes them from any thread, and keeps the order in which one thread hands them over. */
  public Executor onLane(int number) {
    return loop(number % loopCount())::post;
  }

  /** What the session tier pushes to and ends. */
  public Connections connections() {
    return reception;
  }

  /** What the leader of one range of sessions pushes to, ends and compares. */
  public KeptConnections connections(int range) {
    return reception.of(range);
  }

  /** Publishes the wills of sessions, once the frontend is open. */
  public WillPublisher wills() {
    return wills;
  }

  /** What operators see and change of it. */
  public FrontendMXBean bean() {
    return bean;
  }

  /** The lanes of its event loops, as operators see them. */
  public LanesMXBean laneFigures() {
    return new Lanes(identity.nodeId(), reception);
  }

  /** Its connected clients, as operators see and disconnect them. */
  public ClientsMXBean clients() {
    return clients;
  }

  /** Publishes for operators. Once the frontend is open. */
  public PublishingMXBean publishing() {
    return new PublishingBean(application);
  }

  /** Publishes for the application that the node is part of. Once the frontend is open. */
  public ApplicationPublisher application() {
    return application;
  }

  /**
   * Creates the subscriptions of the application that the node is part of. Once the frontend is open.
   *
   * @param attach attaches them to the dist tier; called before the first route is set
   * @param bytesMax maximum number of bytes of all messages that wait for the application's listeners
   */
  public ApplicationSubscriptions subscriptionsOfApplication(Consumer<ApplicationSubscriptions> attach, long bytesMax) {
    var opened = new ApplicationSubscriptions(identity, tiers(), decoderLimits, subscribeRules, clock, attach, registry, bytesMax);
    subscribed = opened;
    return opened;
  }

  /**
   * Sets the routes of all subscriptions again, with a larger incarnation: those that were set before may be removed at any time. Any thread, once the frontend is open.
   *
   * @return completes when clients that subscribe from then on have such routes, and the application does
   */
  public CompletableFuture<Void> renewRoutes(long incarnation) {
    var of = subscribed;
    var clients = fanout.renewRoutes(incarnation);
    return of == null ? clients : CompletableFuture.allOf(clients, of.renewRoutes(incarnation));
  }

  /** The heap of this process, which may be too full for more. */
  public HeapGuard heap() {
    return budget.heap();
  }

  /** A limit of tenants that stores enforce. Any thread. */
  public TenantQuota quotaOfTenants(TenantLimit limit) {
    return authentication.tenants().quota(limit);
  }

  /** A tenant with what is in force for it now. Any thread. */
  public Tenant tenant(String name) {
    return authentication.tenants().now(name);
  }

  /** What clients may subscribe to, before the limits of their tenants. */
  public SubscribeRules subscribeRules() {
    return subscribeRules;
  }

  public FrontendIdentity identity() {
    return identity;
  }

  public int connectionCount() {
    return meters.connections();
  }

  /** One for each PUBLISH of a client: received = delivered + returned + dropped + in flight. */
  public HopLedger publishes() {
    return meters.publishes();
  }

  /** One for each session that a message is meant for: received = delivered + returned + dropped + in flight. */
  public HopLedger copies() {
    return meters.copies();
  }

  /**
   * The accounts of both hops, which balance whatever is on its way. Waits for the event loops; empty before the frontend is open.
   *
   * @throws IllegalStateException when they do not answer soon
   */
  public List<HopLedger.Reading> accounts() {
    return new LoopAccounts(reception).read();
  }

  /** What has become of the messages that it wanted retained. */
  public RetainAccount.Reading retained() {
    return meters.retained().reading();
  }

  /** How long publishes wait for their acknowledgement, and how long for their subscribers. */
  public List<LatencyHistogram> latencies() {
    return meters.latencies();
  }

  // ---------------------------------------------------------------------------------------------------- for the session tier

  /**
   * Which life of this frontend new connections to sessions of a range belong to; rises with each process and each {@link #sessionTierLost}. Once it is open.
   */
  public long life(int range) {
    return reception.life(range);
  }

  /**
   * The session tier treats all connections of the present life to sessions of a range as lost, or will: ends them, with 0x89, and begins a new life for that
   * range. Any thread, one at a time for each range; once it is open.
   */
  public long sessionTierLost(int range) {
    return reception.sessionTierLost(range);
  }

  // ------------------------------------------------------------------------------------------------------------ for what is beside it

  Listeners listeners() {
    return listeners;
  }

  private Tiers tiers() {
    return Objects.requireNonNull(tiers, "not open");
  }

  Loop loop(int index) {
    return Objects.requireNonNull(loops, "not open").get(index);
  }

  private Loop loopOf(int hash) {
    return loop(Math.floorMod(hash, loopCount()));
  }

  /** The connections of all event loops. */
  Reception reception() {
    return reception;
  }

  /** How many lanes it has, each of an event loop. */
  public int lanes() {
    return loopCount();
  }

  int loopCount() {
    return settings.lanes().count();
  }

  FrontendMeters meters() {
    return meters;
  }

  /** Subscriptions of connected sessions without expiry; those of the others are the session tier's. */
  long subscriptions() {
    return sum(each -> each.sessions().fanout().routes().subscriptions());
  }

  long sharedSubscriptions() {
    return sum(each -> each.sessions().fanout().routes().sharedSubscriptions());
  }

  /** A loop's number is right only together with all others', which are read one after the other. */
  long groupWaiting() {
    return Math.max(0, sum(each -> each.sessions().fanout().groups().unsettled()));
  }

  /** The sum of a figure over all loops, which may change it while it is read. Any thread. */
  long sum(ToLongFunction<LoopConnections> number) {
    long sum = 0;
    for (LoopConnections each : reception.parts()) sum += number.applyAsLong(each);
    return sum;
  }

  /** The largest of a figure of all loops, from 0. Any thread. */
  double most(ToDoubleFunction<LoopConnections> number) {
    double most = 0;
    for (LoopConnections each : reception.parts()) most = Math.max(most, number.applyAsDouble(each));
    return most;
  }

  /** Stops listening. Connected clients are served on. */
  public void stopListening() {
    listeners.stop();
  }

  /**
   * Stops listening, disconnects all clients (0x9C when there is another server for them, else 0x8B) and leaves their sessions, in
   * about two seconds at most, or seven while members of groups have left something behind for other brokers. What the session tier has not heard by then is made up for at the next start.
   */
  public void disconnectAll() {
    stopListening();
    String reference = bean.currentServerReference();
    bean.stopDrain();
    // Only 0x9C and 0x9D may carry a Server Reference; section 3.14.2.2.5.
    ReasonCode reason = reference.isEmpty() ? ReasonCode.SERVER_SHUTTING_DOWN : ReasonCode.USE_ANOTHER_SERVER;
    reception.sendAllAway(reason, "the server is shutting down", reference);
    awaitSessionsLeft();
    awaitRedealt();
  }

  /** Stops the event loops. */
  @Override
  public void close() {
    stopListening();
    group.shutdownGracefully(0, 1_000, TimeUnit.MILLISECONDS).awaitUninterruptibly(2_000);
    listeners.flush();
    listeners.close();
    application.close();
    meters.close();
  }

  private void awaitSessionsLeft() {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(tiers().alone() ? CLOSE_SESSIONS_MILLIS : LEAVE_SESSIONS_MILLIS);
    CountDownLatch closed = new CountDownLatch(reception.parts().size());
    reception.whenAllClosed(closed, deadline);
    await(closed);
    try {
      leaving.whenAllTold().get(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (TimeoutException | ExecutionException _) {
      log.info("Some disconnects could not be reported before the stop; the next start completes them");
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** What the last members of groups have left behind is on its way to other frontends. */
  private void awaitRedealt() {
    if (tiers().alone()) return;
    long left = awaitNone(this::groupWaiting, System::nanoTime);
    if (left > 0) log.warn("{} messages of shared subscriptions are lost: no other broker has taken them in time", left);
  }

  /** Waits for REDEALT_MILLIS at most, or until the thread is interrupted, which it stays; returns how many there are then. */
  static long awaitNone(LongSupplier waiting, LongSupplier nanoTime) {
    long deadline = nanoTime.getAsLong() + TimeUnit.MILLISECONDS.toNanos(REDEALT_MILLIS);
    while (waiting.getAsLong() > 0 && nanoTime.getAsLong() - deadline < 0 && !Thread.currentThread().isInterrupted()) LockSupport.parkNanos(LOOK_NANOS);
    return waiting.getAsLong();
  }

  private static void await(CountDownLatch latch) {
    try {
      if (!latch.await(10, TimeUnit.SECONDS)) throw new IllegalStateException("event loops do not answer");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for the event loops", e);
    }
  }
}

package dunlin.broker;

import dunlin.broker.auth.Authentication;
import dunlin.broker.codec.DecoderLimits;
import dunlin.broker.limit.NodeBudget;
import dunlin.broker.listen.Listener;
import dunlin.broker.listen.ListenerException;
import dunlin.broker.listen.Listeners;
import dunlin.broker.meter.FrontendMeters;
import dunlin.dist.Delivery;
import dunlin.dist.DistClient;
import dunlin.dist.Route;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient;
import dunlin.inbox.WillPublisher;
import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient;
import dunlin.runtime.DropEvents;
import dunlin.runtime.HopLedger;
import dunlin.runtime.LogText;
import dunlin.runtime.metrics.LatencyHistogram;
import dunlin.runtime.metrics.NodeBeans;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tier that clients connect to: its event loops, its listeners, and what the other tiers call it for. It is one shard of the
 * dist tier, the connections of the session tier, and the publisher of wills.
 */
public final class Frontend implements Connections, WillPublisher, FrontendMXBean, AutoCloseable {
  /*
   * Owner: the thread that composes the node calls open, listen and close; the rest is for any thread.
   * Bounds: as many loops as lanes; what a loop holds is bounded there.
   * Failure: a port that cannot be bound is a ListenerException, and nothing is left running after close.
   */
  private static final Logger log = LoggerFactory.getLogger(Frontend.class);
  private static final long CLOSE_SESSIONS_MILLIS = 2_000;
  private static final int LEAVE_RETRY_MILLIS = 200;

  private final FrontendSettings settings;
  private final NodeBudget budget;
  private final SubscribeRules subscribeRules;
  private final DecoderLimits decoderLimits;
  private final String nodeId;
  private final long incarnation;
  private final Lives lives;
  private final InstantSource clock;
  private final MeterRegistry registry;
  private final FrontendMeters meters;
  private final ConnectionEvents events;
  private final Fanout fanout = new Fanout(this);
  private final ApplicationPublisher application = new ApplicationPublisher(this);
  private final Listeners listeners;
  private final MultiThreadIoEventLoopGroup group;
  private final Leaving leaving;
  private final Authentication authentication;

  private Loop[] loops = {};
  private @Nullable Tiers tiers;

  /** Written under this object's lock. */
  private volatile @Nullable Drain drain;

  /** The tiers that a frontend calls. */
  public record Tiers(DistClient dist, RetainClient retain, InboxClient inbox) {}

  /**
   * @param budget the memory that all clients together may make it use
   * @param authentication who may connect; the caller closes it, after this
   * @param nodeId names this frontend as a shard
   * @param incarnation which life of the node this is; larger than in all lives before
   */
  public Frontend(
      FrontendSettings settings,
      NodeBudget budget,
      Authentication authentication,
      String nodeId,
      long incarnation,
      InstantSource clock,
      MeterRegistry registry,
      DropEvents dropEvents,
      ConnectionEvents events) {
    this.settings = settings;
    this.budget = budget;
    this.authentication = authentication;
    this.subscribeRules = new SubscribeRules(settings);
    this.decoderLimits = decoderLimits(settings);
    this.nodeId = nodeId;
    this.incarnation = incarnation;
    this.lives = new Lives(incarnation);
    this.clock = clock;
    this.events = events;
    this.meters =
        new FrontendMeters(
            nodeId, registry, dropEvents, () -> sum(loop -> loop.counts().publishes().waiting()), () -> sum(loop -> loop.counts().copies().waiting()));
    this.registry = registry;
    this.leaving = new Leaving((session, will, expiry) -> inbox().disconnect(session, will, expiry), meters::leaveRefused);
    this.listeners = new Listeners(settings.listeners(), decoderLimits, registry);
    AtomicInteger threads = new AtomicInteger();
    this.group =
        new MultiThreadIoEventLoopGroup(
            settings.lanes().count(), (ThreadFactory) task -> new LoopThread(task, "dunlin-loop-" + threads.getAndIncrement()),
            settings.listeners().transport().handlers());
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
    List<Loop> opened = new ArrayList<>();
    for (EventExecutor executor : group) {
      opened.add(new Loop(this, opened.size(), (EventLoop) executor, settings.lanes().count()));
    }
    loops = opened.toArray(new Loop[0]);
    CountDownLatch started = new CountDownLatch(loops.length);
    for (Loop loop : loops) {
      loop.executor().execute(
          () -> {
            loop.start();
            started.countDown();
          });
    }
    await(started);
    loops[0].executor().scheduleWithFixedDelay(meters.violations()::flush, 1, 1, TimeUnit.SECONDS);
    loops[0].executor().scheduleWithFixedDelay(listeners::flush, 1, 1, TimeUnit.SECONDS);
    loops[0].executor().scheduleWithFixedDelay(leaving::again, LEAVE_RETRY_MILLIS, LEAVE_RETRY_MILLIS, TimeUnit.MILLISECONDS);
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
    listeners.open(
        group, authentication.mayListenAnywhere(), listener -> new Connection(Objects.requireNonNull(LoopThread.current()), listener));
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
    return loops[number % loops.length]::post;
  }

  /** Tells who connects and leaves. */
  ConnectionEvents events() {
    return events;
  }

  /** Publishes for the application that the node is part of. Once the frontend is open. */
  public ApplicationPublisher application() {
    return application;
  }

  /** This frontend as a shard. */
  public ShardId shard() {
    return ShardId.frontend(nodeId);
  }

  public int connectionCount() {
    return meters.connections();
  }

  @Override
  public int getConnections() {
    return connectionCount();
  }

  @Override
  public boolean isDraining() {
    return drain != null;
  }

  @Override
  public synchronized void drain(String serverReference, int connectionsPerSecond) {
    String reference = serverReference.isEmpty() ? settings.connections().serverReference() : serverReference;
    Drain begun = new Drain(this, reference, connectionsPerSecond);
    stopDrain();
    log.info("draining, {} connections a second", connectionsPerSecond);
    drain = begun;
    begun.start();
  }

  @Override
  public synchronized void stopDrain() {
    Drain ended = drain;
    if (ended == null) return;
    drain = null;
    ended.stop();
  }

  /** One for each PUBLISH of a client: received = delivered + dropped + in flight. */
  public HopLedger publishes() {
    return meters.publishes();
  }

  /** One for each session that a message is meant for: received = delivered + dropped + in flight. */
  public HopLedger copies() {
    return meters.copies();
  }

  /** How long publishes wait for their acknowledgement, and how long for their subscribers. */
  public List<LatencyHistogram> latencies() {
    return meters.latencies();
  }

  // ---------------------------------------------------------------------------------------------------- for the session tier

  /** Which life of this frontend new connections belong to; rises with each process and each {@link #sessionTierLost}. */
  public long life() {
    return lives.present();
  }

  /**
   * The session tier treats all connections of the present life as lost, or will: ends them, with 0x89, and begins a new life. Any thread; once it
   * is open.
   */
  public long sessionTierLost() {
    return lives.next(List.of(loops));
  }

  @Override
  public void push(ConnectionId connection, InboxMessage message) {
    Loop loop = loopOf(connection);
    if (loop == null) return;
    Loop current = LoopThread.current();
    if (current != null) current.passOn(loop, connection.number(), message);
    else loop.pushes().offer(connection.number(), message);
  }

  @Override
  public void behind(ConnectionId connection) {
    Loop loop = loopOf(connection);
    if (loop != null) loop.pushes().behind(connection.number());
  }

  /** A message came for a connection that is not on its loop, the calling one. The session tier hears now that it is missing, unless it is just hearing of its end. */
  void astray(Loop loop, long connection) {
    meters.pushedAstray();
    if (loop.sessionOf(connection) != null || leaving.knows(connection)) return;
    inbox().missing(new ConnectionId(nodeId, lives.present(), connection));
  }

  @Override
  public void displaced(ConnectionId connection) {
    end(connection, ReasonCode.SESSION_TAKEN_OVER, "another connection uses this client identifier");
  }

  @Override
  public void dismissed(ConnectionId connection) {
    end(connection, ReasonCode.ADMINISTRATIVE_ACTION, "an operator has ended the connection");
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId connection) {
    Loop loop = loopOf(connection);
    if (loop == null) return CompletableFuture.completedFuture(null);
    var settled = new CompletableFuture<Void>();
    loop.post(
        () -> {
          LiveSession session = loop.sessionOf(connection.number());
          if (session == null || session.settled()) settled.complete(null);
          else session.inbound().whenSettled(() -> settled.complete(null));
        });
    return settled;
  }

  private void end(ConnectionId connection, ReasonCode reason, String explanation) {
    Loop loop = loopOf(connection);
    if (loop == null) return;
    loop.post(
        () -> {
          Connection target = loop.connections().get(connection.number());
          if (target != null) target.fail(reason, explanation);
        });
  }

  private @Nullable Loop loopOf(ConnectionId connection) {
    if (!lives.isOfThisProcess(connection.incarnation()) || !connection.frontend().equals(nodeId)) return null;
    return loops[(int) (connection.number() % loops.length)];
  }

  @Override
  public Sending prepare(Publication will) {
    Loop loop = loops[Math.floorMod(will.publisher().clientId().hashCode(), loops.length)];
    return new SendingWill(loop, will.acceptedAt(clock.millis()));
  }

  // ------------------------------------------------------------------------------------------------------------ for the loops

  FrontendSettings settings() {
    return settings;
  }

  NodeBudget budget() {
    return budget;
  }

  Listeners listeners() {
    return listeners;
  }

  Authentication authentication() {
    return authentication;
  }

  /** What packets may hold, on listeners that do not say otherwise. */
  DecoderLimits decoderLimits() {
    return decoderLimits;
  }

  SubscribeRules subscribeRules() {
    return subscribeRules;
  }

  String nodeId() {
    return nodeId;
  }

  long incarnation() {
    return incarnation;
  }

  InstantSource clock() {
    return clock;
  }

  DistClient dist() {
    return tiers().dist();
  }

  RetainClient retain() {
    return tiers().retain();
  }

  InboxClient inbox() {
    return tiers().inbox();
  }

  private Tiers tiers() {
    return Objects.requireNonNull(tiers, "not open");
  }

  Loop loop(int index) {
    return loops[index];
  }

  int loopCount() {
    return settings.lanes().count();
  }

  Loop ownerOf(String tenant, TopicFilter filter) {
    return loops[RouteTable.ownerOf(tenant, filter, loops.length)];
  }

  /** The filter that a route stands for, or null when the route is not this life's or the filter has gone since. */
  @Nullable FilterHandle filterOf(Route route) {
    if (route.incarnation() != incarnation) return null;
    FilterHandle handle = loops[route.handle() % loops.length].routes().byNumber(route.handle());
    return handle != null && handle.isOf(route) ? handle : null;
  }

  /** A group that has no members here, for a message whose route names a filter without subscribers here. */
  FilterHandle withoutMembers(Route route) {
    return new FilterHandle(route.tenant(), route.filter(), route.handle(), loops.length);
  }

  FrontendMeters meters() {
    return meters;
  }

  /** Subscriptions of connected sessions without expiry; those of the others are the session tier's. */
  long subscriptions() {
    return sum(loop -> loop.routes().subscriptions());
  }

  long sharedSubscriptions() {
    return sum(loop -> loop.routes().sharedSubscriptions());
  }

  /** A loop's number is right only together with all others', which are read one after the other. */
  long groupWaiting() {
    return Math.max(0, sum(loop -> loop.groups().unsettled()));
  }

  /** The drain in progress, or null. */
  @Nullable Drain drainUnderWay() {
    return drain;
  }

  /** A route that could not be removed does no harm: what it brings finds no filter here. The next life removes it. */
  void routeRemoved(CompletableFuture<Void> removal, FilterHandle handle) {
    removal.whenComplete(
        (_, failure) -> {
          if (failure == null) return;
          meters.storeFailed();
          log.debug("route of {} was not removed: {}", LogText.quoted(handle.filter().text()), LogText.quoted(failure.toString()));
        });
  }

  /**
   * Tells the session tier that a connection has ended, again and again until it knows: with a durable session, when its publishes have, in time.
   *
   * @return completes, on the session's loop, when it was told the first time: a connect that is called afterwards takes effect later
   */
  CompletableFuture<Void> leave(LiveSession session, boolean publishWill, long sessionExpirySeconds) {
    long connection = session.connection().number();
    leaving.begin(connection, session.ref(), publishWill, sessionExpirySeconds);
    var told = new CompletableFuture<Void>();
    Runnable tell =
        () -> {
          leaving.tell(connection);
          told.complete(null);
        };
    // A connection that resumes the session before then displaces this one and has to wait for it.
    if (session.durable()) session.loop().afterPublishes(session, tell);
    else tell.run();
    return told;
  }

  /** Runs something, on any thread, once all that came over a connection of this or another frontend has come to its end. */
  void whenSettled(ConnectionId connection, Runnable then) {
    var _ = (loopOf(connection) == null ? inbox().settled(connection) : settled(connection)).thenRun(then);
  }

  /** The sum of a figure over all loops, which may change it while it is read. Any thread. */
  long sum(ToLongFunction<Loop> number) {
    long sum = 0;
    for (Loop loop : loops) sum += number.applyAsLong(loop);
    return sum;
  }

  /** The largest of a figure of all loops, from 0. Any thread. */
  double most(ToDoubleFunction<Loop> number) {
    double most = 0;
    for (Loop loop : loops) most = Math.max(most, number.applyAsDouble(loop));
    return most;
  }

  /** Stops listening. Connected clients are served on. */
  public void stopListening() {
    listeners.stop();
  }

  /**
   * Stops listening, disconnects all clients (0x9C when there is another server for them, else 0x8B) and leaves their sessions, in
   * about two seconds at most. What could not be told to the session tier by then is made up for at the next start.
   */
  public void disconnectAll() {
    stopListening();
    Drain drained = drain;
    String reference = drained == null ? settings.connections().serverReference() : drained.serverReference();
    stopDrain();
    // Only 0x9C and 0x9D may carry a Server Reference; section 3.14.2.2.5.
    ReasonCode reason = reference.isEmpty() ? ReasonCode.SERVER_SHUTTING_DOWN : ReasonCode.USE_ANOTHER_SERVER;
    for (Loop loop : loops) {
      loop.post(
          () -> {
            for (Connection connection : loop.connections().all()) {
              connection.sendAway(reason, "the server is shutting down", reference);
            }
          });
    }
    awaitSessionsLeft();
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
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CLOSE_SESSIONS_MILLIS);
    CountDownLatch closed = new CountDownLatch(loops.length);
    for (Loop loop : loops) awaitClosed(loop, closed, deadline);
    await(closed);
    try {
      leaving.whenAllTold().get(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (TimeoutException | ExecutionException _) {
      log.info("some sessions could not be left in time; the next start does it");
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void awaitClosed(Loop loop, CountDownLatch closed, long deadline) {
    loop.post(
        () -> {
          if (loop.connections().size() == 0 || System.nanoTime() > deadline) closed.countDown();
          else loop.executor().schedule(() -> awaitClosed(loop, closed, deadline), 10, TimeUnit.MILLISECONDS);
        });
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

package dunlin.broker;

import dunlin.broker.auth.AskingLoop;
import dunlin.broker.auth.Authentication;
import dunlin.broker.auth.AuthenticationProvider.Authenticators;
import dunlin.broker.auth.AuthenticationSettings;
import dunlin.broker.auth.Authorizer;
import dunlin.broker.guard.GuardSettings;
import dunlin.broker.http.HttpSettings;
import dunlin.broker.jwt.JwtSettings;
import dunlin.broker.tenant.TenantSettings;
import dunlin.broker.users.UsersSettings;
import dunlin.broker.codec.PacketLimits;
import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.connect.ConnectionView;
import dunlin.broker.connect.LoopConnections;
import dunlin.broker.fanout.Fanout;
import dunlin.broker.fanout.FanoutView;
import dunlin.broker.fanout.FilterHandle;
import dunlin.broker.fanout.Subscriber;
import dunlin.broker.limit.NodeBudget;
import dunlin.broker.listen.IoTransport;
import dunlin.broker.listen.Listener;
import dunlin.broker.listen.ListenerSettings;
import dunlin.broker.listen.ListeningSettings;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.loop.Loop;
import dunlin.broker.loop.Tiers;
import dunlin.broker.session.ClientConnection;
import dunlin.broker.session.LiveSession;
import dunlin.broker.session.SessionAccess;
import dunlin.dist.DistClient;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteClient;
import dunlin.dist.route.RoutePage;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.InboxClient;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient;
import dunlin.runtime.DropEvents;
import dunlin.runtime.Secret;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.trace.Tracer;
import dunlin.transport.Terms;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A frontend with running event loops and without a listener, over tiers that the test controls.
 *
 * <p>The class is long: each tier that it stands for has many calls, and tests look at all of them in one place.
 */
public final class OpenFrontend implements AutoCloseable {
  public static final int LANE_MESSAGES = 16;

  static final PacketLimits PACKETS =
      new PacketLimits(65_536, 4_096, 1_024, 32, 8, 10, 64, 1_024);

  public static final FrontendSettings.GroupWaits GROUP_WAITS =
      new FrontendSettings.GroupWaits(Duration.ofSeconds(1), Duration.ofSeconds(2), 65_536);

  /** Number of QoS 1 messages that a session takes, beside the one in flight. */
  public static final int QUEUE_MESSAGES = 4;

  /** Number of subscribers of a message that are served without a break. */
  public static final int WIDE = 8;

  public final FakeDist dist = new FakeDist();
  public final FakeRetain retain = new FakeRetain();
  public final FakeSessions sessions = new FakeSessions();
  public final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  public final Tracer tracer = Tracer.idle();
  private final DropEvents drops = new DropEvents("test");

  /** Whether it may have clients. */
  public volatile boolean leased = true;

  private final Authentication authentication;
  private final Frontend frontend;
  private final List<EmbeddedChannel> channels = Collections.synchronizedList(new ArrayList<>());

  /** Settings with one listener on any port, every feature, and room for small packets. */
  static FrontendSettings settings(
      FrontendSettings.Connections connections,
      FrontendSettings.Sessions sessions,
      FrontendSettings.Lanes lanes,
      FrontendSettings.GroupWaits waits) {
    var listening = new ListeningSettings(List.of(ListenerSettings.tcp("tcp", "127.0.0.1", 0)), IoTransport.AUTO, 65_536);
    return new FrontendSettings(listening, PACKETS, FrontendSettings.Features.all(), connections, sessions, lanes, waits);
  }

  /** The same with limits of a hundred, and a number of lanes. */
  public static FrontendSettings settings(int lanes) {
    return settings(
        new FrontendSettings.Connections(Duration.ofSeconds(60), Duration.ZERO, 100, 0, 0, ""),
        new FrontendSettings.Sessions(FrontendSettings.NEVER, FrontendSettings.NEVER, 100, 100, 100, 65_536),
        new FrontendSettings.Lanes(lanes, 1_000, 1_000_000, 1_024),
        GROUP_WAITS);
  }

  public OpenFrontend(int lanes) {
    this(lanes, QUEUE_MESSAGES);
  }

  public OpenFrontend(int lanes, int queueMessages) {
    this(lanes, queueMessages, Budgets.large());
  }

  public OpenFrontend(int lanes, int queueMessages, NodeBudget budget) {
    this(lanes, queueMessages, budget, true, GROUP_WAITS, Authenticators.none());
  }

  /** @param alone whether there is no other frontend */
  public OpenFrontend(int lanes, boolean alone) {
    this(lanes, alone, GROUP_WAITS);
  }

  /** @param waits how long messages wait for members of their groups */
  public OpenFrontend(int lanes, boolean alone, FrontendSettings.GroupWaits waits) {
    this(lanes, QUEUE_MESSAGES, Budgets.large(), alone, waits, Authenticators.none());
  }

  /** One of several frontends, whose clients may do what the authorizer says. */
  public OpenFrontend(int lanes, Authorizer authorizer) {
    this(lanes, QUEUE_MESSAGES, Budgets.large(), false, GROUP_WAITS, new Authenticators(Optional.empty(), List.of(), Optional.of(authorizer)));
  }

  private OpenFrontend(int lanes, int queueMessages, NodeBudget budget, boolean alone, FrontendSettings.GroupWaits waits, Authenticators authenticators) {
    var settings =
        settings(
            new FrontendSettings.Connections(Duration.ofSeconds(10), Duration.ZERO, 100, 0, 0, ""),
            new FrontendSettings.Sessions(FrontendSettings.NEVER, FrontendSettings.NEVER, 10, 100, queueMessages, 65_536),
            new FrontendSettings.Lanes(lanes, LANE_MESSAGES, 1_000, WIDE),
            waits);
    var anybody = 
        new AuthenticationSettings(true, "*", "", "", UsersSettings.none(), JwtSettings.defaults(), HttpSettings.defaults(), Duration.ZERO, "", Secret.none(), Duration.ofSeconds(5), 2, 100, 100, GuardSettings.none(), TenantSettings.none()); // independent of a PROXY header
    authentication = Authentication.open(anybody, authenticators, InstantSource.system(), meters);
    frontend = new Frontend(settings, budget, authentication, new FrontendIdentity("node", 7), InstantSource.system(), meters, drops, tracer, noListener());
    frontend.open(new Tiers(dist, retain, sessions, alone, () -> leased));
  }

  /** Connection events without a listener. */
  static ConnectionEvents noListener() {
    return new ConnectionEvents(null, InstantSource.system(), new SimpleMeterRegistry());
  }

  public Frontend frontend() {
    return frontend;
  }

  public Loop loop(int index) {
    return frontend.loop(index);
  }

  /** The connections of an event loop. */
  public LoopConnections connections(int loop) {
    return frontend.reception().parts().get(loop);
  }

  public Fanout fanout() {
    return (Fanout) frontend.delivery();
  }

  /** Number of messages that wait for a member of a group or are in flight to one. */
  public long groupWaiting() {
    return frontend.groupWaiting();
  }

  /** The session of a subscription. */
  public static LiveSession sessionOf(Subscriber subscriber) {
    return (LiveSession) FanoutView.recipientOf(subscriber);
  }

  /** A loop as authentication sees it. */
  public AskingLoop asking(int index) {
    return loop(index);
  }

  /** Blocks an event loop until the latch is released. */
  public void keepBusy(int loop, CountDownLatch until) {
    loop(loop).executor().execute(
        () -> {
          try {
            until.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
  }

  /** Runs an action on an event loop. */
  public <T> T on(int loop, Callable<T> action) {
    try {
      return loop(loop).executor().submit(action).get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  /** A connection that has no channel yet. */
  public ClientConnection connection(int loop) {
    return ConnectionView.of(connections(loop), frontend.listeners().byName("tcp").orElseThrow());
  }

  /** The last handler of a connection that a listener has accepted. */
  public ChannelHandler connection(int loop, Listener listener) {
    return (ChannelHandler) ConnectionView.of(connections(loop), listener);
  }

  /** A session without expiry whose client takes one message at a time. */
  public LiveSession session(int loop, String clientId) {
    return session(loop, clientId, false);
  }

  public LiveSession session(int loop, String clientId, boolean durable) {
    return session(loop, clientId, durable, null);
  }

  /** @param access what its client may do; null if everything */
  public LiveSession session(int loop, String clientId, boolean durable, @Nullable SessionAccess access) {
    return on(
        loop,
        () -> {
          ClientConnection connection = connection(loop);
          var channel = new EmbeddedChannel((ChannelHandler) connection);
          channels.add(channel);
          connection.writer().version(ProtocolVersion.MQTT_5);
          var connected =
              new InboxClient.Connected(
                  new SessionRef(Publisher.DEFAULT_TENANT, clientId, 1), 1, false, List.of(), 1, 1, new int[0], List.of(), null);
          return new LiveSession(connection, connections(loop).sessions(), durable, 1, connected, access);
        });
  }

  /** A session that fails on each offered message, because its connection has no channel. */
  public LiveSession faulty(int loop, String clientId) {
    return on(
        loop,
        () -> {
          var connected =
              new InboxClient.Connected(
                  new SessionRef(Publisher.DEFAULT_TENANT, clientId, 1), 1, false, List.of(), 1, 1, new int[0], List.of(), null);
          return new LiveSession(connection(loop), connections(loop).sessions(), false, 1, connected, null);
        });
  }

  /** The channel of a client without expiry that has sent these bytes as its CONNECT. */
  public EmbeddedChannel client(byte[] connect) {
    return on(
        0,
        () -> {
          var channel = new EmbeddedChannel((ChannelHandler) connection(0));
          channels.add(channel);
          channel.writeInbound(Unpooled.wrappedBuffer(connect).copy());
          return channel;
        });
  }

  /** A subscription of a new session on a loop, with QoS 1. */
  public Subscriber subscriber(int loop, FilterHandle filter, String clientId) {
    return new Subscriber(session(loop, clientId), filter, SubscriptionOptions.of(QoS.AT_LEAST_ONCE));
  }

  public static FilterHandle handle(String filter, int loops) {
    return FanoutView.handle(filter, loops);
  }

  public static Publication message(String payload) {
    var publisher = new Publisher(Publisher.DEFAULT_TENANT, "publisher");
    byte[] bytes = payload.getBytes(StandardCharsets.UTF_8);
    return Publication.of(publisher, "t", QoS.AT_LEAST_ONCE, false, System.currentTimeMillis(), bytes);
  }

  @Override
  public void close() {
    frontend.close();
    authentication.close();
    for (EmbeddedChannel channel : channels) channel.releaseOutbound();
    drops.close();
  }

  /** Records the combined answer, once all answers have arrived. */
  public static class Answer extends Acknowledgement {
    public final CompletableFuture<ReasonCode> reason = new CompletableFuture<>();

    @Override
    protected void complete(ReasonCode worst) {
      reason.complete(worst);
    }
  }

  /** Records each call; the test decides when a change of routes is answered. */
  public static final class FakeDist implements DistClient {
    /** "+filter number" for a route that was set, "-filter number" for one that was removed. */
    public final List<String> calls = Collections.synchronizedList(new ArrayList<>());

    /** The subscriber's answer to a publish; null if nothing is published. */
    public volatile @Nullable ReasonCode publishAnswer;

    /** Appended publishes, in order; with {@link #answersLater}, the test answers them. */
    public final List<Published> published = Collections.synchronizedList(new ArrayList<>());

    public volatile boolean answersLater;

    /** Messages that the last members of groups have left behind, in order; the test answers them. */
    public final List<Redealt> redealt = Collections.synchronizedList(new ArrayList<>());

    /** @param acknowledgement expects one answer */
    public record Redealt(Publication message, TopicFilter group, Acknowledgement acknowledgement) {
      public String text() {
        return new String(message.payload(), StandardCharsets.UTF_8);
      }
    }

    @Override
    public void redeal(Publication message, TopicFilter group, Acknowledgement acknowledgement) {
      redealt.add(new Redealt(message, group, acknowledgement));
    }

    /** Gets each message on the lane's thread. */
    public volatile Consumer<Publication> onAppend = _ -> {};

    /** @param acknowledgement expects one answer if the test answers */
    public record Published(Publication message, @Nullable Acknowledgement acknowledgement) {
      public String text() {
        return new String(message.payload(), StandardCharsets.UTF_8);
      }

      public Terms terms() {
        if (acknowledgement == null) throw new AssertionError("it has no terms");
        return acknowledgement.terms();
      }

      public void answer(ReasonCode reason) {
        if (acknowledgement == null) throw new AssertionError("nobody waits for an answer");
        acknowledgement.answer(reason);
      }
    }

    public final List<CompletableFuture<Void>> answers = Collections.synchronizedList(new ArrayList<>());

    /** Keeps the routes and answers by itself; null if the test does. */
    public volatile @Nullable RouteClient routes;

    /** Why no route can be set; null if routes can be. */
    public volatile @Nullable RuntimeException refuses;

    @Override
    public Lane openLane(int number, Executor thread, LaneCredit credit) {
      return (message, _, acknowledgement) -> {
        published.add(new Published(message, acknowledgement));
        onAppend.accept(message);
        if (acknowledgement == null) return;
        if (answersLater) {
          acknowledgement.expect();
          acknowledgement.markMatched();
          return;
        }
        ReasonCode answer = publishAnswer;
        if (answer == null) throw new AssertionError("nothing is published in this test");
        acknowledgement.expect();
        acknowledgement.markMatched();
        acknowledgement.answer(answer);
      };
    }

    @Override
    public CompletableFuture<Void> addRoute(Route route) {
      var refusal = refuses;
      if (refusal != null) return CompletableFuture.failedFuture(refusal);
      var kept = routes;
      return kept == null ? called('+', route) : kept.addRoute(route);
    }

    @Override
    public CompletableFuture<Void> removeRoute(Route route) {
      var kept = routes;
      return kept == null ? called('-', route) : kept.removeRoute(route);
    }

    private CompletableFuture<Void> called(char what, Route route) {
      var answer = new CompletableFuture<Void>();
      answers.add(answer);
      calls.add(what + route.filter().text() + ' ' + route.handle());
      return answer;
    }

    @Override
    public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
      return CompletableFuture.completedFuture(0L);
    }

    @Override
    public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
      var kept = routes;
      if (kept == null) throw new UnsupportedOperationException();
      return kept.routesOf(shard, from);
    }
  }

  /** Retains nothing; the test decides when messages to be retained and reads of pages are answered. */
  public static final class FakeRetain implements RetainClient {
    public final List<Consumer<ReasonCode>> answers = Collections.synchronizedList(new ArrayList<>());

    /** Requested pages, in order. */
    public final List<Find> finds = Collections.synchronizedList(new ArrayList<>());

    public record Find(String filter, @Nullable Cursor after, CompletableFuture<RetainClient.Page> page) {
      /** Answers with the last page. */
      public void finds(Publication... messages) {
        page.complete(new RetainClient.Page(List.of(messages), null));
      }

      /** Answers with a page that is followed by another one. */
      public void findsFirst(Publication... messages) {
        page.complete(new RetainClient.Page(List.of(messages), new Cursor(new byte[] {1})));
      }
    }

    @Override
    public CompletableFuture<Long> count() {
      return CompletableFuture.completedFuture(0L);
    }

    @Override
    public void set(Publication message, Consumer<ReasonCode> answer) {
      answers.add(answer);
    }

    @Override
    public void add(Publication message, Consumer<Optional<ReasonCode>> answer) {
      throw new UnsupportedOperationException("no client adds");
    }

    @Override
    public CompletableFuture<RetainClient.Page> find(String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
      var find = new Find(filter, after, new CompletableFuture<>());
      finds.add(find);
      return find.page();
    }
  }

  /**
   * Sessions without stored messages. Each connect gets the next epoch; the test decides when changes are answered.
   */
  public static final class FakeSessions implements InboxClient {
    /** The requests of CONNECTs, in order. */
    public final List<Connect> connects = Collections.synchronizedList(new ArrayList<>());

    /** Whether the client of each still waits. */
    public final List<BooleanSupplier> wanted = Collections.synchronizedList(new ArrayList<>());

    /** Epochs of the sessions whose connections have ended. */
    public final List<Long> disconnected = Collections.synchronizedList(new ArrayList<>());

    /** Connections that were reported as missing. */
    public final List<ConnectionId> missing = Collections.synchronizedList(new ArrayList<>());

    /** Whether disconnects are refused. */
    public volatile boolean refusesDisconnects;

    /** By the epochs of sessions, whether another connection has taken them; the others have ended. */
    public final Map<Long, CompletableFuture<Boolean>> takenOver = new ConcurrentHashMap<>();

    /** Packet identifiers of exchanges that were said to be delivered. */
    public final List<Integer> delivered = Collections.synchronizedList(new ArrayList<>());

    public final List<CompletableFuture<Void>> releases = Collections.synchronizedList(new ArrayList<>());

    /** Reads of inboxes, in order. */
    public final List<Fetch> fetches = Collections.synchronizedList(new ArrayList<>());

    public record Fetch(long fromSequence, CompletableFuture<Page> page) {
      /** Answers with the last page. */
      public void finds(InboxMessage... messages) {
        page.complete(new Page(List.of(messages), fromSequence + messages.length, true));
      }
    }

    /** Pages of retained messages in flight to an inbox, in order. */
    public final List<Append> appends = Collections.synchronizedList(new ArrayList<>());

    public record Append(long from, List<Publication> retained, CompletableFuture<Appended> answer) {
      public void taken(long next, Boolean... taken) {
        answer.complete(new Appended(List.of(taken), next));
      }
    }

    /** Messages for the durable members of a group, in order, if the test answers them; without it, groups have none. */
    public final List<AppendToGroup> toGroups = Collections.synchronizedList(new ArrayList<>());

    public volatile boolean holdsGroups;

    public record AppendToGroup(@Nullable OpenExchange exchange, CompletableFuture<Boolean> answer) {}

    /** Decides when connects are answered. */
    public volatile CompletableFuture<Void> connectGate = CompletableFuture.completedFuture(null);

    /** Packet identifiers of the exchanges that the next connect resumes; null if it begins a session. */
    public volatile int @Nullable [] resumed;

    /** Those of them whose messages may not be delivered. */
    public volatile List<OpenExchange> open = List.of();

    /** Two ranges: the second one has the sessions of clients whose identifiers begin with a capital letter. */
    @Override
    public List<InboxClient> ranges() {
      return List.of(this, this);
    }

    @Override
    public int rangeOf(String tenant, String clientId) {
      return !clientId.isEmpty() && Character.isUpperCase(clientId.charAt(0)) ? 1 : 0;
    }

    @Override
    public CompletableFuture<Statistics> statistics() {
      return CompletableFuture.completedFuture(Statistics.NONE);
    }

    @Override
    public CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
      if (!holdsGroups) return CompletableFuture.completedFuture(false);
      var call = new AppendToGroup(exchange, new CompletableFuture<>());
      toGroups.add(call);
      return call.answer();
    }

    @Override
    public CompletableFuture<Connected> connect(Connect request) {
      connects.add(request);
      var session = new SessionRef(request.tenant(), request.clientId(), connects.size());
      int[] received = resumed;
      var displaced = received == null ? null : connects.get(connects.size() - 2).connection();
      var connected = new Connected(session, 1, received != null, List.of(), 1, 1, received == null ? new int[0] : received, open, displaced);
      return connectGate.thenApply(_ -> connected);
    }

    @Override
    public CompletableFuture<Connected> connect(Connect request, CompletableFuture<Void> over) {
      wanted.add(() -> !over.isDone());
      return connect(request);
    }

    /** SUBSCRIBEs and UNSUBSCRIBEs of durable sessions, in order. */
    public final List<CompletableFuture<List<Boolean>>> changes = Collections.synchronizedList(new ArrayList<>());

    /** What each SUBSCRIBE and UNSUBSCRIBE had, in order. */
    public final List<List<Subscription>> subscribed = Collections.synchronizedList(new ArrayList<>());

    public final List<List<TopicFilter>> unsubscribed = Collections.synchronizedList(new ArrayList<>());

    @Override
    public CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions) {
      subscribed.add(subscriptions);
      return change();
    }

    @Override
    public CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters) {
      unsubscribed.add(filters);
      return change();
    }

    private CompletableFuture<List<Boolean>> change() {
      var change = new CompletableFuture<List<Boolean>>();
      changes.add(change);
      return change;
    }

    @Override
    public CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) {
      if (refusesDisconnects) return CompletableFuture.failedFuture(new IllegalStateException("the disk is full"));
      disconnected.add(session.epoch());
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<Void> settled(ConnectionId displaced) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void missing(ConnectionId connection) {
      missing.add(connection);
    }

    @Override
    public CompletableFuture<Appended> append(SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
      var append = new Append(from, retained, new CompletableFuture<>());
      appends.add(append);
      return append.answer();
    }

    /** Acknowledged sequences, in their order. */
    public final List<Long> acknowledged = Collections.synchronizedList(new ArrayList<>());

    @Override
    public void acknowledge(SessionRef session, long[] sequences) {
      for (long sequence : sequences) acknowledged.add(sequence);
    }

    @Override
    public CompletableFuture<Void> received(SessionRef session, long sequence) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> released(SessionRef session, long birth, int packetId) {
      var released = new CompletableFuture<Void>();
      releases.add(released);
      return released;
    }

    @Override
    public CompletableFuture<Void> forget(SessionRef session, long birth, int packetId) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Boolean> isTakenOver(SessionRef session) {
      return takenOver.getOrDefault(session.epoch(), CompletableFuture.completedFuture(false));
    }

    @Override
    public CompletableFuture<Void> delivered(SessionRef session, List<Integer> packetIds) {
      delivered.addAll(packetIds);
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) {
      var fetch = new Fetch(fromSequence, new CompletableFuture<>());
      fetches.add(fetch);
      return fetch.page();
    }
  }
}

package dunlin.bench.start;

import dunlin.dist.DistSettings;
import dunlin.dist.DistWorker;
import dunlin.dist.route.Route;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.InboxRoutes;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.server.InboxServer;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainServer;
import dunlin.retain.RetainSettings;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import dunlin.transport.Acknowledgement;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Makes a broker's data directory with many offline sessions of one filter each, messages queued for them, and retained
 * messages. It proposes the same commands as the broker does for clients' packets, without any client: {@code BigData
 * DIRECTORY SESSIONS MESSAGES RETAINED FILTERS PAYLOAD-BYTES}.
 */
public final class BigData {
  /*
   * Owner: the main thread proposes; answers come on the store's threads.
   * Bounds: WINDOW commands in flight.
   * Failure: the first failure ends the run.
   */
  private static final int WINDOW = 8_192;
  private static final int TOLD = 1_000_000;
  private static final String TENANT = "default";
  private static final long SESSION_EXPIRY_SECONDS = Duration.ofDays(30).toSeconds();
  private static final Duration DEADLINE = Duration.ofMinutes(5);

  /**
   * The size of the data.
   *
   * @param filters the number of topic filters over which the sessions are spread; each message goes to all sessions of
   *     one filter
   * @param messages queued messages, counted once for each session
   */
  public record Sizes(int sessions, int messages, int retained, int filters, int payloadBytes) {
    public Sizes {
      if (sessions < 1 || filters < 1 || filters > sessions) throw new IllegalArgumentException("at most a filter for each session");
    }
  }

  private final Sizes sizes;
  private final PrintStream out;
  private final Semaphore window = new Semaphore(WINDOW);
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private final InstantSource clock = InstantSource.system();
  private final byte[] payload;

  private BigData(Sizes sizes, PrintStream out) {
    this.sizes = sizes;
    this.out = out;
    payload = new byte[sizes.payloadBytes()];
  }

  public static void main(String[] arguments) {
    int[] sizes = new int[5];
    for (int i = 0; i < sizes.length; i++) sizes[i] = Integer.parseInt(arguments[i + 1]);
    make(Path.of(arguments[0]), new Sizes(sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]), System.out);
  }

  /** Makes the data in a new or empty directory; returns when all of it is on disk. */
  public static void make(Path directory, Sizes sizes, PrintStream out) {
    var data = new BigData(sizes, out);
    var meters = new SimpleMeterRegistry();
    var shards = InboxSettings.defaults().layout().shards();
    try (ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        RangeStore store = RangeStore.open(StoreSettings.defaults(), directory, meters)) {
      DistWorker dist = DistWorker.create(store, DistSettings.defaults(Runtime.getRuntime().maxMemory()), of -> InboxServer.shardOf(shards, of.tenant(), of.clientId()), meters);
      var retain = RetainServer.on(store, RetainSettings.defaults(Runtime.getRuntime().maxMemory(), 0), meters, data.clock, timer);
      try (var inbox =
          new InboxServer(store, InboxSettings.defaults(), new Routes(dist), new NoWills(), data.clock, meters)) {
        store.start(DEADLINE);
        inbox.start().join();
        inbox.attach(store.nodeId(), store.incarnation(), new Nobody()).join();
        data.sessions(inbox, store.nodeId(), store.incarnation());
        data.retained(retain);
        data.messages(inbox);
      } finally {
        retain.close();
      }
    }
  }

  private void sessions(InboxServer inbox, String frontend, long incarnation) {
    each(
        "sessions",
        sizes.sessions(),
        number -> {
          var connection = new ConnectionId(frontend, incarnation, number + 1L);
          var filter = TopicFilter.parse(topic(number % sizes.filters())).orElseThrow();
          var wanted = List.of(new Subscription(filter, SubscriptionOptions.of(QoS.AT_LEAST_ONCE)));
          return inbox
              .connect(new Connect(TENANT, client(number), "", connection, false, true, SESSION_EXPIRY_SECONDS, null))
              .thenCompose(
                  connected ->
                      inbox
                          .subscribe(connected.session(), wanted)
                          .thenCompose(_ -> inbox.disconnect(connected.session(), false, SESSION_EXPIRY_SECONDS)));
        });
  }

  private void messages(InboxServer inbox) {
    int each = Math.max(1, sizes.sessions() / sizes.filters());
    each(
        "messages",
        sizes.messages() / each,
        number -> {
          var stored = new CompletableFuture<Void>();
          inbox.deliver(message(topic(number % sizes.filters()), false), List.of(), answering(stored));
          return stored;
        });
  }

  private void retained(RetainServer retain) {
    each(
        "retained messages",
        sizes.retained(),
        number -> {
          var kept = new CompletableFuture<Void>();
          retain.set(message("retained/" + topic(number), true), reason -> complete(kept, reason));
          return kept;
        });
  }

  private Publication message(String topic, boolean retain) {
    return Publication.of(new Publisher(TENANT, "publisher"), topic, QoS.AT_LEAST_ONCE, retain, clock.millis(), payload);
  }

  private static Acknowledgement answering(CompletableFuture<Void> stored) {
    return new Acknowledgement() {
      @Override
      protected void complete(ReasonCode reason) {
        BigData.complete(stored, reason);
      }
    };
  }

  private static void complete(CompletableFuture<Void> done, ReasonCode reason) {
    if (reason.isError()) done.completeExceptionally(new IllegalStateException("refused with " + reason));
    else done.complete(null);
  }

  private static String topic(int number) {
    return "site/%d/device/%d/state".formatted(number % 1_000, number);
  }

  private static String client(int number) {
    return "device-%07d".formatted(number);
  }

  /** One of many asynchronous calls, of which WINDOW are in flight. */
  private interface Step {
    CompletableFuture<?> take(int number);
  }

  private void each(String what, int count, Step step) {
    long begun = System.nanoTime();
    for (int i = 0; i < count; i++) {
      window.acquireUninterruptibly();
      var _ = step.take(i).whenComplete(this::ended);
      var failed = failure.get();
      if (failed != null) throw new IllegalStateException(what + " " + i + " could not be made", failed);
      if ((i + 1) % TOLD == 0) tell(what, i + 1, begun);
    }
    window.acquireUninterruptibly(WINDOW);
    window.release(WINDOW);
    var failed = failure.get();
    if (failed != null) throw new IllegalStateException(what + " could not be made", failed);
    tell(what, count, begun);
  }

  private void ended(@Nullable Object result, @Nullable Throwable failed) {
    if (failed != null) failure.compareAndSet(null, failed);
    window.release();
  }

  private void tell(String what, int count, long begun) {
    double seconds = (System.nanoTime() - begun) / 1e9;
    out.println(String.format(Locale.ROOT, "%,d %s made, %,.0f a second", count, what, count / Math.max(1e-9, seconds)));
  }

  /** There are no connections: a session fetches its messages later. */
  private static final class Nobody implements Connections {
    @Override
    public void push(ConnectionId connection, InboxMessage message) {}

    @Override
    public void behind(ConnectionId connection) {}

    @Override
    public CompletableFuture<Void> settled(ConnectionId connection) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void displaced(ConnectionId connection) {}

    @Override
    public void dismissed(ConnectionId connection) {}
  }

  /** Announces the filters of the inbox shards as the broker does. */
  private record Routes(DistWorker dist) implements InboxRoutes {
    @Override
    public CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter) {
      return dist.addRoute(new Route(tenant, filter, shard, 1, 0));
    }

    @Override
    public CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter) {
      return dist.removeRoute(new Route(tenant, filter, shard, 1, 0));
    }

    @Override
    public CompletableFuture<Page> announced(byte @Nullable [] from) {
      return dist.routes(ShardId.Kind.INBOX, from)
          .thenApply(
              page ->
                  new Page(
                      page.routes().stream().map(route -> new Announced(route.shard(), route.tenant(), route.filter())).toList(),
                      page.next()));
    }
  }

  private static final class NoWills implements WillPublisher {
    @Override
    public Sending prepare(Publication will, String user, boolean again) {
      return () -> CompletableFuture.completedFuture(new Outcome.Published());
    }
  }
}

package dunlin.subscribing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.TestBroker;
import dunlin.dist.DistSettings;
import dunlin.dist.DistWorker;
import dunlin.dist.route.Route;
import dunlin.dist.route.RoutePage;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxRoutes;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionRef;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.server.InboxServer;
import dunlin.model.Publication;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import dunlin.tiers.DistRoutes;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The session tier and the dist tier over one store, after a run that ended when subscriptions were removed but their routes were not. */
class StrayRoutesIT {
  private static final String TENANT = "default";
  private static final int STRAYS = 600;

  @TempDir Path data;

  @Test
  void onlyStrayRoutesAreRemovedAfterACrash() throws Exception {
    Set<String> expected = new HashSet<>();
    try (var first = new Tiers(data)) {
      var client = first.connect("client");
      for (String filter : List.of("kept", "$share/g/kept", "ended")) get(first.subscribe(client, filter));
      ShardId shard = first.inbox.shardOf(TENANT, "client");
      String group = first.routes().stream().filter(route -> route.endsWith(" $share/g/kept")).findFirst().orElseThrow();
      assertThat(group).as("a group has a shard of its own").startsWith("inbox:");
      assertThat(first.routes()).containsExactlyInAnyOrder(shard + " kept", group, shard + " ended");
      var left = new ArrayList<CompletableFuture<Void>>();
      for (int i = 0; i < STRAYS; i++) left.add(first.addRoute((i % 2 == 0 ? "stray/" : "$share/g/stray/") + i, shard));
      left.add(first.addRoute("kept", ShardId.inbox(shard.equals(ShardId.inbox(0)) ? 1 : 0)));
      left.add(first.addRoute("kept", ShardId.inbox(99))); // there used to be more shards
      left.add(first.addRoute("kept", ShardId.frontend("n")));
      left.add(first.addRoute("a", shard));
      left.add(first.addRoute("b", shard));
      for (var each : left) get(each);
      for (String filter : List.of("kept", "made", "a", "b")) expected.add(shard + " " + filter);
      expected.add(group);
      expected.add("frontend:n kept");
    }

    try (var second = new Tiers(data)) {
      var client = second.connect("client");
      // A stray route that is wanted again before it is checked.
      get(second.subscribe(client, "b"));
      // A route that is in the page read, and removed before the page is checked.
      second.pageGate = new CompletableFuture<>();
      second.mayRead.complete(null);
      await().until(() -> second.pagesRead.get() == 1);
      get(second.subscribe(client, "made"));
      get(second.inbox.unsubscribe(client, List.of(TopicFilter.plain("ended"))));
      await().untilAsserted(() -> assertThat(second.routes()).noneMatch(route -> route.endsWith(" ended")));
      // A stray route that is wanted again while it is being removed.
      second.removalGate = new CompletableFuture<>();
      second.pageGate.complete(null);
      await().until(() -> second.removals.contains("a"));
      var wanted = second.subscribe(client, "a");
      get(second.inbox.released(client, 0, 1));
      assertThat(wanted).as("acknowledged before its route is there").isNotDone();
      second.removalGate.complete(null);
      get(wanted);

      get(second.ended);
      assertThat(second.repaired()).isEqualTo(STRAYS + 3);
      assertThat(second.routes()).containsExactlyInAnyOrderElementsOf(expected);
    }

    try (var third = new Tiers(data)) {
      third.mayRead.complete(null);
      get(third.ended);
      assertThat(third.repaired()).isZero();
      assertThat(third.routes()).containsExactlyInAnyOrderElementsOf(expected);
    }
  }

  private static <T> T get(CompletableFuture<T> future) throws ExecutionException, InterruptedException, TimeoutException {
    return future.get(2, TimeUnit.MINUTES);
  }

  /** Both tiers. The test releases the session tier's reads and removals in the dist tier. */
  private static final class Tiers implements Connections, WillPublisher, InboxRoutes, AutoCloseable {
    /** The key of an extra empty page after the dist tier's last: a request for it shows that all earlier pages were processed. */
    private static final byte[] BEHIND_ALL = {-1};

    final CompletableFuture<Void> mayRead = new CompletableFuture<>();
    final CompletableFuture<Void> ended = new CompletableFuture<>();
    final AtomicInteger pagesRead = new AtomicInteger();
    final Set<String> removals = ConcurrentHashMap.newKeySet();
    volatile CompletableFuture<Void> pageGate = CompletableFuture.completedFuture(null);
    volatile CompletableFuture<Void> removalGate = CompletableFuture.completedFuture(null);

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final RangeStore store;
    private final DistWorker dist;
    private final DistRoutes distRoutes;
    final InboxServer inbox;
    private long connections;

    Tiers(Path data) throws Exception {
      store = RangeStore.open(StoreSettings.defaults(), data, meters);
      var settings = InboxSettings.defaults();
      dist = DistWorker.create(store, DistSettings.defaults(Runtime.getRuntime().maxMemory()), who -> InboxServer.shardOf(settings.layout().shards(), who.tenant(), who.clientId()), meters);
      distRoutes = new DistRoutes(dist, new LongAdder());
      inbox = new InboxServer(store, settings, this, this, InstantSource.system(), meters);
      store.start(TestBroker.SOON);
      get(inbox.start());
      get(inbox.attach(store.nodeId(), store.incarnation(), this));
    }

    SessionRef connect(String clientId) throws Exception {
      var connection = new ConnectionId(store.nodeId(), store.incarnation(), ++connections);
      return get(inbox.connect(new InboxClient.Connect(TENANT, clientId, "", connection, false, true, 3600, null))).session();
    }

    CompletableFuture<List<Boolean>> subscribe(SessionRef session, String filter) {
      return inbox.subscribe(session, List.of(new InboxClient.Subscription(filter(filter), SubscriptionOptions.of(QoS.AT_LEAST_ONCE))));
    }

    /** Adds a route as if announced by the session tier in an earlier run. */
    CompletableFuture<Void> addRoute(String filter, ShardId shard) {
      return dist.addRoute(new Route(TENANT, filter(filter), shard, 1, 0));
    }

    private static TopicFilter filter(String text) {
      return TopicFilter.parse(text).orElseThrow();
    }

    List<String> routes() throws Exception {
      var all = new ArrayList<String>();
      for (ShardId.Kind kind : ShardId.Kind.values()) {
        byte[] next = null;
        do {
          RoutePage page = get(dist.routes(kind, next));
          page.routes().forEach(route -> all.add(route.shard() + " " + route.filter().text()));
          next = page.next();
        } while (next != null);
      }
      return all;
    }

    double repaired() {
      return meters.get("dunlin.inbox.routes-repaired").counter().count();
    }

    @Override
    public CompletableFuture<Void> add(ShardId shard, String tenant, TopicFilter filter) {
      return distRoutes.add(shard, tenant, filter);
    }

    @Override
    public CompletableFuture<Void> remove(ShardId shard, String tenant, TopicFilter filter) {
      removals.add(filter.text());
      return removalGate.thenCompose(_ -> distRoutes.remove(shard, tenant, filter));
    }

    @Override
    public CompletableFuture<Page> announced(byte @Nullable [] from) {
      if (Arrays.equals(from, BEHIND_ALL)) {
        ended.complete(null);
        return CompletableFuture.completedFuture(new Page(List.of(), null));
      }
      return mayRead
          .thenCompose(_ -> distRoutes.announced(from))
          .thenCompose(
              page -> {
                var gate = pageGate;
                pagesRead.incrementAndGet();
                return gate.thenApply(_ -> new Page(page.routes(), page.next() == null ? BEHIND_ALL : page.next()));
              });
    }

    @Override
    public void push(ConnectionId connection, InboxMessage message) {
      throw new AssertionError("nothing is published here");
    }

    @Override
    public void behind(ConnectionId connection) {}

    @Override
    public CompletableFuture<Void> settled(ConnectionId connection) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void displaced(ConnectionId connection) {
      // From the earlier run.
    }

    @Override
    public void dismissed(ConnectionId connection) {
      // No operator in this test.
    }

    @Override
    public Sending prepare(Publication will, String user, boolean again) {
      return () -> CompletableFuture.completedFuture(new Outcome.NotNow(ReasonCode.SERVER_UNAVAILABLE));
    }

    @Override
    public void close() {
      inbox.close();
      store.close();
    }
  }
}

package dunlin.broker;

import static org.awaitility.Awaitility.await;

import dunlin.broker.auth.Authentication;
import dunlin.broker.connect.LoopConnections;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.loop.Tiers;
import dunlin.dist.Deliveries;
import dunlin.dist.Delivery;
import dunlin.dist.DistSettings;
import dunlin.dist.DistWorker;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.inbox.InboxRoutes;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.server.InboxServer;
import dunlin.model.Publication;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainServer;
import dunlin.retain.RetainSettings;
import dunlin.runtime.DropEvents;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A frontend without a listener over all the tiers of a node, with a store that does not wait for the disk. */
public final class RealTiers implements AutoCloseable {
  final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  public final Frontend frontend;
  private final DropEvents drops = new DropEvents("test");
  private final ScheduledExecutorService housekeeping = Executors.newSingleThreadScheduledExecutor();
  private final Path data;
  private final RangeStore store;
  private final RetainServer retain;
  private final InboxServer inbox;

  public RealTiers(Path dataDirectory, FrontendSettings settings) {
    this(dataDirectory, settings, StoreSettings.defaults().queue().commandsMax(), StoreSettings.defaults().entries().commandsMax());
  }

  /**
   * @param queuedCommandsMax maximum number of commands that wait for the log of a range
   * @param commandsPerEntry maximum number of commands in one log entry
   */
  RealTiers(Path dataDirectory, FrontendSettings settings, int queuedCommandsMax, int commandsPerEntry) {
    StoreSettings usual = StoreSettings.defaults();
    data = dataDirectory;
    store =
        RangeStore.open(
            new StoreSettings(
                false,
                usual.cluster(),
                usual.memoryBytes(),
                usual.disk(),
                new StoreSettings.Queue(queuedCommandsMax, usual.queue().bytesMax()),
                new StoreSettings.Entries(usual.entries().inFlight(), commandsPerEntry, usual.entries().fullAt(), usual.entries().bytesMax()),
                usual.snapshots(),
                usual.reads()),
            dataDirectory,
            meters);
    frontend =
        new Frontend(
            settings, Budgets.large(), Authentication.none(meters), new FrontendIdentity(store.nodeId(), store.incarnation()), InstantSource.system(), meters, drops,
            Tracer.idle(),
            OpenFrontend.noListener());
    InboxSettings sessions = InboxSettings.defaults();
    DistWorker dist =
        DistWorker.create(
            store, DistSettings.defaults(Runtime.getRuntime().maxMemory()), p -> InboxServer.shardOf(sessions.layout().shards(), p.tenant(), p.clientId()), meters);
    inbox = new InboxServer(store, sessions, new Routes(dist), frontend.wills(), InstantSource.system(), meters);
    retain = RetainServer.on(store, RetainSettings.defaults(Runtime.getRuntime().maxMemory(), 0), meters, InstantSource.system(), housekeeping);
    dist.attachFrontend(store.nodeId(), Deliveries.of(frontend.delivery()));
    dist.attachInboxShards(Deliveries.of(new Inboxes(inbox)));
    store.start(Duration.ofSeconds(60));
    frontend.open(new Tiers(dist, retain, inbox, true));
    var _ = inbox.start(); // attach waits for it, and fails if it fails
    inbox.attach(store.nodeId(), frontend.life(0), frontend.connections()).orTimeout(60, TimeUnit.SECONDS).join();
  }

  /** The connections of an event loop. */
  public LoopConnections connections(int loop) {
    return frontend.reception().parts().get(loop);
  }

  /** Runs an action on an event loop. */
  public <T> T on(int loop, Callable<T> action) {
    try {
      return frontend.loop(loop).executor().submit(action).get(60, TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  public double count(String meter) {
    return meters.get(meter).counter().count();
  }

  @Override
  public void close() {
    frontend.disconnectAll();
    retain.close();
    inbox.close();
    frontend.close();
    housekeeping.shutdownNow();
    drops.close();
    store.close();
    // A store that is still stopping writes into its directory for a moment longer.
    await().atMost(Duration.ofMinutes(2)).until(() -> !Files.exists(data.resolve("lock.owner")));
  }

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

  private record Inboxes(InboxServer inbox) implements Delivery {
    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      List<TopicFilter> groups = new ArrayList<>();
      for (int i = 0; i < routes.size(); i++) if (routes.get(i).filter().shared()) groups.add(routes.get(i).filter());
      inbox.deliver(message, groups, acknowledgement);
    }

    @Override
    public int groupCredit(Route route) {
      return inbox.groupCredit(route.shard(), route.tenant(), route.filter());
    }
  }
}

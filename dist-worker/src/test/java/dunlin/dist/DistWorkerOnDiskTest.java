package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.LaneCredit;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The dist worker on a real range: Raft log and RocksDB. */
class DistWorkerOnDiskTest {
  private static final Duration DEADLINE = Duration.ofMinutes(2);
  private static final Publisher PUBLISHER = new Publisher("t", "client");
  private static final ShardId INBOX = ShardId.inbox(0);
  private static final ShardId FRONTEND = ShardId.frontend("n");

  @TempDir Path directory;

  private static final class Handles implements Delivery {
    final TreeSet<Integer> delivered = new TreeSet<>();

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      for (int i = 0; i < routes.size(); i++) delivered.add(routes.get(i).handle());
    }

    @Override
    public int groupCredit(Route route) {
      return 1;
    }
  }

  @Test
  void routesSurviveARestartAndMatchAsBefore() throws Exception {
    var random = new Random(3);
    var topics = List.of("a/b", "a/b/c", "x", "$s/b", "a/", "fleet/3/state");
    List<Set<Integer>> before;
    double size;
    try (var store = RangeStore.open(StoreSettings.defaults(), directory, new SimpleMeterRegistry())) {
      var registry = new SimpleMeterRegistry();
      var worker = DistWorker.create(store, DistSettings.defaults(Runtime.getRuntime().maxMemory()), _ -> INBOX, registry);
      store.start(DEADLINE);
      var changes = new ArrayList<CompletableFuture<?>>();
      var filters = List.of("a/b", "a/+", "#", "+/b/#", "$s/#", "x", "fleet/+/state", "a/#", "+/");
      for (int i = 0; i < 3_000; i++) {
        String filter = random.nextBoolean() ? filters.get(random.nextInt(filters.size())) : "fleet/" + i + "/state";
        var shard = random.nextInt(3) == 0 ? FRONTEND : ShardId.inbox(random.nextInt(4));
        var route = new Route("t", new TopicFilter(filter, i % 7 == 0 ? "g" : "", false), shard, i % 2, i);
        changes.add(random.nextInt(4) == 0 ? worker.removeRoute(route) : worker.addRoute(route));
      }
      var purge = worker.removeRoutesBefore(FRONTEND, 1);
      assertThat(purge.get(2, TimeUnit.MINUTES)).isPositive();
      assertThat(changes).allMatch(CompletableFuture::isDone);
      before = matches(worker, topics);
      size = registry.get("dunlin.dist.routes").gauge().value();
      assertThat(size).isGreaterThan(100);
      assertThat(before.getFirst()).isNotEmpty();
    }
    // A store that is still stopping keeps its directory for a moment longer.
    await().atMost(DEADLINE).until(() -> !Files.exists(directory.resolve("lock.owner")));

    try (var store = RangeStore.open(StoreSettings.defaults(), directory, new SimpleMeterRegistry())) {
      var registry = new SimpleMeterRegistry();
      var worker = DistWorker.create(store, DistSettings.defaults(Runtime.getRuntime().maxMemory()), _ -> INBOX, registry);
      store.start(DEADLINE);

      assertThat(matches(worker, topics)).isEqualTo(before);
      assertThat(registry.get("dunlin.dist.routes").gauge().value()).isEqualTo(size);
      worker.addRoute(new Route("t", TopicFilter.plain("new"), INBOX, 9, 77)).get(2, TimeUnit.MINUTES);
      assertThat(matches(worker, List.of("new")).getFirst()).contains(77);
    }
  }

  /** The handles of each topic's routes; for a group, those that are picked in many draws. */
  private static List<Set<Integer>> matches(DistWorker worker, List<String> topics) {
    var lane = worker.openLane(0, Runnable::run, LaneCredit.uncounted());
    var results = new ArrayList<Set<Integer>>();
    for (String topic : topics) {
      var handles = new Handles();
      worker.attachFrontend("n", Deliveries.of(handles));
      worker.attachInboxShards(Deliveries.of(handles));
      var message = Publication.of(PUBLISHER, topic, QoS.AT_MOST_ONCE, false, 0, new byte[1]);
      for (int i = 0; i < 300; i++) lane.append(message, null, null);
      results.add(handles.delivered);
    }
    return results;
  }
}

package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.InMemoryRange;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteCommand;
import dunlin.dist.route.RouteResult;
import dunlin.dist.route.RouteRows;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.CommandCodec;
import dunlin.store.Range;
import dunlin.store.RangeLogic;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A dist worker with several ranges behaves like one with a single range. */
class SeveralRangesTest {
  private static final String[] LEVELS = {"a", "b", "c", "d", "+", "$x"};
  private static final ShardId[] SHARDS = {ShardId.inbox(0), ShardId.inbox(1), ShardId.frontend("n")};

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 20) : LongStream.of(seed);
  }

  /** A worker and its deliveries. */
  private static final class Worker {
    final List<InMemoryRange<RouteCommand, RouteResult>> ranges = new ArrayList<>();
    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final TreeSet<String> delivered = new TreeSet<>();
    final DistWorker dist;
    final Lane lane;

    Worker(List<byte[]> cuts) {
      dist =
          new DistWorker(
              new DistWorker.RangeOpener() {
                @Override
                public Range<RouteCommand, RouteResult> range(
                    String name, CommandCodec<RouteCommand> codec, RangeLogic<RouteCommand, RouteResult> logic) {
                  var range = new InMemoryRange<>(codec, logic);
                  ranges.add(range);
                  return range;
                }
              },
              cuts,
              DistSettings.defaults(Runtime.getRuntime().maxMemory()),
              _ -> SHARDS[0],
              meters,
              Tracer.idle(),
              DeliveryThreads.inline());
      var delivery =
          new Delivery() {
            @Override
            public void deliver(
                Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
              for (int i = 0; i < routes.size(); i++) {
                Route route = routes.get(i);
                // One shard of a group is picked at random.
                delivered.add(route.filter().text() + (route.filter().shared() ? "" : " " + route.shard() + " " + route.handle()));
              }
            }

            @Override
            public int groupCredit(Route route) {
              return 5;
            }
          };
      dist.attachFrontend("n", Deliveries.of(delivery));
      dist.attachInboxShards(Deliveries.of(delivery));
      lane = dist.openLane(0, Runnable::run, LaneCredit.uncounted());
    }

    <T> T done(CompletableFuture<T> change) {
      for (int i = 0; i < 100 && !change.isDone(); i++) ranges.forEach(InMemoryRange::applyAll);
      return change.join();
    }

    Set<String> published(String topic) {
      delivered.clear();
      lane.append(Publication.of(new Publisher("t", "p"), topic, QoS.AT_MOST_ONCE, false, 0, new byte[3]), null, null);
      return new TreeSet<>(delivered);
    }

    Set<String> stored(ShardId.Kind kind) {
      var all = new TreeSet<String>();
      byte[] from = null;
      do {
        var page = done(dist.routes(kind, from));
        page.routes().forEach(route -> assertThat(all.add(route.toString())).as("%s once", route).isTrue());
        from = page.next();
      } while (from != null);
      return all;
    }
  }

  private static String filter(Random random) {
    var levels = new ArrayList<String>();
    for (int i = random.nextInt(3); i >= 0; i--) levels.add(LEVELS[random.nextInt(LEVELS.length)]);
    if (random.nextInt(4) == 0) levels.add("#");
    return String.join("/", levels);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void severalRangesBehaveLikeOne(long seed) {
    var random = new Random(seed);
    var cuts = List.of(cut("a"), cut("a/b"), cut("b/+"), cut("d"));
    var one = new Worker(List.of());
    var several = new Worker(cuts);
    assertThat(several.ranges).hasSize(5);

    for (int i = 0; i < 400; i++) {
      var filter = new TopicFilter(filter(random), random.nextInt(4) == 0 ? "g" : "", false);
      var route = new Route("t", filter, SHARDS[random.nextInt(SHARDS.length)], 1 + random.nextInt(2), random.nextInt(3));
      boolean adds = random.nextInt(3) > 0;
      for (Worker each : List.of(one, several)) {
        try {
          each.done(adds ? each.dist.addRoute(route) : each.dist.removeRoute(route));
        } catch (CompletionException superseded) {
          assertThat(superseded).hasMessageContaining("incarnation");
        }
      }
      String topic = filter(random).replace("+", "b").replace("#", "c");
      assertThat(several.published(topic)).as("%s after %s", topic, route).isEqualTo(one.published(topic));
    }

    for (ShardId.Kind kind : ShardId.Kind.values()) assertThat(several.stored(kind)).isEqualTo(one.stored(kind));
    assertThat(several.done(several.dist.removeRoutesBefore(SHARDS[2], 2))).isEqualTo(one.done(one.dist.removeRoutesBefore(SHARDS[2], 2)));
    assertThat(several.stored(ShardId.Kind.FRONTEND)).isEqualTo(one.stored(ShardId.Kind.FRONTEND));
    assertThat(several.meters.get("dunlin.dist.routes").gauge().value()).isEqualTo(one.meters.get("dunlin.dist.routes").gauge().value());
    double visited = several.meters.get("dunlin.dist.visited").functionCounter().count();
    assertThat(visited).isBetween(400.0, 400.0 * 4);
  }

  private static byte[] cut(String filter) {
    byte[] text = filter.getBytes(StandardCharsets.UTF_8);
    return RouteRows.prefix("t", text, text.length);
  }
}

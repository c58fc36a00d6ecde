package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.deliver.DeliverExecutor;
import dunlin.dist.deliver.DeliverSettings;
import dunlin.dist.deliver.LinkLikeDelivery;
import dunlin.dist.route.InMemoryRange;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteCommand;
import dunlin.dist.route.RouteResult;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** QoS 2 exchanges that are recorded first, among other messages, when workers deliver to many destinations and the lane to few. */
class RecordedOrderTest {
  private static final String TENANT = "t";
  private static final Publisher PUBLISHER = new Publisher(TENANT, "client");
  private static final ShardId HOME = ShardId.inbox(5);
  private static final int FRONTENDS = 3;
  private static final String EXCHANGE = "exchange";
  private static final String PLAIN = "plain";

  private static final class Answer extends Acknowledgement {
    final CompletableFuture<ReasonCode> reason = new CompletableFuture<>();

    @Override
    protected void complete(ReasonCode worst) {
      reason.complete(worst);
    }
  }

  static LongStream seeds() {
    return LongStream.generate(() -> System.nanoTime() ^ new Random().nextLong()).limit(6);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void exchangesReachEachFrontendInTheirOrder(long seed) {
    var random = new Random(seed);
    var lanes = Executors.newSingleThreadExecutor();
    var network = Executors.newSingleThreadExecutor();
    var ranges = new ArrayList<InMemoryRange<RouteCommand, RouteResult>>();
    var worker =
        new DistWorker(
            (_, codec, logic) -> {
              var range = new InMemoryRange<>(codec, logic);
              ranges.add(range);
              return range;
            },
            List.of(),
            DistSettings.defaults(Runtime.getRuntime().maxMemory()),
            _ -> HOME,
            new SimpleMeterRegistry(),
            Tracer.idle(),
            DeliverExecutor.start(new DeliverSettings(1 + random.nextInt(2), 2), new SimpleMeterRegistry()));
    try {
      var frontends = attach(worker, random, network);
      for (int i = 0; i < FRONTENDS; i++) add(worker, "all/#", ShardId.frontend("n" + i));
      add(worker, "one/#", ShardId.frontend("n1"));
      add(worker, "all/#", HOME);
      ranges.forEach(InMemoryRange::applyAll);
      var lane = CompletableFuture.supplyAsync(() -> worker.openLane(0, lanes, LaneCredit.uncounted()), lanes).join();

      var answers = publish(lane, random, lanes);

      for (Answer answer : answers) assertThat(answer.reason.orTimeout(2, TimeUnit.MINUTES).join()).as("seed %d", seed).isEqualTo(ReasonCode.SUCCESS);
      assertThat(frontends).as("seed %d", seed).allMatch(frontend -> frontend.fault().isEmpty());
      for (LinkLikeDelivery frontend : frontends) {
        for (String kind : List.of(EXCHANGE, PLAIN)) {
          var numbers = frontend.arrived().stream().filter(topic -> topic.contains(kind)).map(topic -> Integer.parseInt(topic.substring(topic.lastIndexOf('/') + 1))).toList();
          assertThat(numbers).as("seed %d, %s", seed, kind).isNotEmpty().isSorted().doesNotHaveDuplicates();
        }
      }
      worker.close();
    } finally {
      lanes.shutdownNow();
      network.shutdownNow();
    }
  }

  private static List<LinkLikeDelivery> attach(DistWorker worker, Random random, ExecutorService network) {
    var opened = new ArrayList<LinkLikeDelivery>();
    for (int i = 0; i < FRONTENDS; i++) {
      var shard = ShardId.frontend("n" + i);
      long seed = random.nextLong();
      worker.attachFrontend(
          shard.name(),
          (_, serving) -> {
            var made = new LinkLikeDelivery(shard, seed, false, serving, network);
            opened.add(made);
            return made;
          });
    }
    worker.attachInboxShards((_, serving) -> new LinkLikeDelivery(HOME, 1, true, serving, network));
    return opened;
  }

  private static void add(DistWorker worker, String filter, ShardId shard) {
    var _ = worker.addRoute(new Route(TENANT, TopicFilter.parse(filter).orElseThrow(), shard, 1, 0));
  }

  private static List<Answer> publish(Lane lane, Random random, ExecutorService thread) {
    var answers = new ArrayList<Answer>();
    int number = 0;
    for (int round = 0; round < 300; round++) {
      var messages = new ArrayList<Publication>();
      for (int left = 1 + random.nextInt(10); left > 0; left--) {
        boolean exchange = random.nextBoolean();
        byte[] topic = "%s/%s/%d".formatted(random.nextInt(4) == 0 ? "all" : "one", exchange ? EXCHANGE : PLAIN, number++).getBytes(StandardCharsets.UTF_8);
        messages.add(message(topic, exchange ? new Publication.Exchange(1, 9) : null));
      }
      var ofRound = messages.stream().map(_ -> new Answer()).toList();
      answers.addAll(ofRound);
      thread.execute(
          () -> {
            for (int i = 0; i < messages.size(); i++) {
              lane.append(messages.get(i), null, ofRound.get(i));
              ofRound.get(i).answer(ReasonCode.SUCCESS);
            }
          });
    }
    return answers;
  }

  private static Publication message(byte[] topic, Publication.@Nullable Exchange exchange) {
    return new Publication(
        PUBLISHER, exchange == null ? QoS.AT_LEAST_ONCE : QoS.EXACTLY_ONCE, false, 0, -1, -1, topic.length, 0, topic, exchange);
  }
}

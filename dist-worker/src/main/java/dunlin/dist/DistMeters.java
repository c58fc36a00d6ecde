package dunlin.dist;

import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import java.util.stream.LongStream;

/** The meters of a dist worker; registered until it is closed. */
final class DistMeters implements AutoCloseable {
  /** A lane times one match of this many: the clock and the meter then cost less than a nanosecond and a byte a message. */
  static final int SAMPLED = 1_024;

  private static final Duration[] MATCH_BOUNDS =
      LongStream.of(500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000)
          .mapToObj(Duration::ofNanos)
          .toArray(Duration[]::new);

  private final MeterRegistry registry;
  private final List<LocalLane> lanes;
  private final List<Meter> registered = new ArrayList<>();
  private final Timer matching;
  private final DistributionSummary nodes;

  /** @param lanes grows as lanes are opened; read by any thread */
  DistMeters(MeterRegistry registry, List<LocalLane> lanes) {
    this.registry = registry;
    this.lanes = lanes;
    matching =
        Timer.builder("dunlin.dist.match")
            .description("Time to find the routes of a message in all ranges, without its delivery; of one message in " + SAMPLED)
            .serviceLevelObjectives(MATCH_BOUNDS)
            .register(registry);
    registered.add(matching);
    nodes =
        DistributionSummary.builder("dunlin.dist.match.nodes")
            .description("Steps to find the routes of a message, two at most for each pattern of its tenant's wildcards and each level of its topic; of one message in " + SAMPLED)
            .register(registry);
    registered.add(nodes);
    counter("dunlin.dist.published", LocalLane::published, "Messages that came in for matching");
    counter("dunlin.dist.visited", LocalLane::visited, "Ranges of routes that were searched for messages");
    counter("dunlin.dist.matched", LocalLane::matched, "Messages that matched a route");
    counter("dunlin.dist.unattached", LocalLane::unattached, "Matched routes to a shard that nothing is delivered to: its frontend is detached, or was never attached");
  }

  /** Counts the time of a sampled match, and the nodes that it looked at. */
  void matched(long nanos, int nodesSeen) {
    matching.record(nanos, TimeUnit.NANOSECONDS);
    nodes.record(nodesSeen);
  }

  private void counter(String name, ToLongFunction<LocalLane> of, String description) {
    registered.add(
        FunctionCounter.builder(name, lanes, all -> all.stream().mapToLong(of).sum()).description(description).register(registry));
  }

  /** Adds what the lanes of a cluster wait for. They grow as lanes are opened, and are read by any thread. */
  void gathering(List<GatheringLane> gathering) {
    registered.add(
        Gauge.builder("dunlin.dist.matches.waiting", gathering, all -> all.stream().mapToLong(GatheringLane::waiting).sum())
            .description("Messages that wait until the leaders of other ranges of routes have said what they match there")
            .register(registry));
    gathered(gathering, "dunlin.dist.matches.asked", GatheringLane::asked, "Questions to the leaders of other ranges of routes what a message matches there");
    gathered(gathering, "dunlin.dist.matches.unchanged", GatheringLane::unchanged, "Answers to these that what is known of the topic is still so");
    gathered(
        gathering, "dunlin.dist.matches.repeated", GatheringLane::repeated,
        "Messages that the leaders of other ranges were asked about again, since one of them could not answer, or a range was split");
    gathered(
        gathering, "dunlin.dist.matches.forgotten", GatheringLane::forgotten,
        "Messages whose answers from other ranges were forgotten, since the answers that wait used the memory for them. They are asked about again");
    gathered(
        gathering, "dunlin.dist.matches.given-up", GatheringLane::givenUp,
        "Messages that were given up since another range had no answer for too long. With QoS 1 and 2 they are sent again, for 10 s in all");
  }

  private void gathered(List<GatheringLane> gathering, String name, ToLongFunction<GatheringLane> of, String description) {
    registered.add(FunctionCounter.builder(name, gathering, all -> all.stream().mapToLong(of).sum()).description(description).register(registry));
  }

  @Override
  public void close() {
    registered.forEach(registry::remove);
  }
}

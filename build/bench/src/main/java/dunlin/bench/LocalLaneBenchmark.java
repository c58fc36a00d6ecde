package dunlin.bench;

import dunlin.dist.Deliveries;
import dunlin.dist.Delivery;
import dunlin.dist.DistSettings;
import dunlin.dist.DistWorker;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the cost of a message from the lane's append to the destination's deliver, in one process: the match, the
 * grouping by destination and, for a shared subscription, the pick of a shard. The routes are in a real range on disk;
 * the destination only counts.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 2,
    jvmArgsAppend = {
      "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-XX:+UseCompactObjectHeaders"
    })
public class LocalLaneBenchmark {
  private static final Publisher PUBLISHER = new Publisher(Publisher.DEFAULT_TENANT, "bench");
  private static final int TOPICS = 1_024;

  /** The number of topic filters, with one route each. */
  @Param({"1000", "10000"})
  public int filters;

  /** Whether the filters belong to a shared subscription. */
  @Param({"false", "true"})
  public boolean shared;

  private final Publication[] messages = new Publication[TOPICS];
  private final Answer answer = new Answer();
  private Path directory = Path.of("");
  private @Nullable RangeStore store;
  private Lane lane = (_, _, _) -> {};
  private int next;
  private long delivered;

  /** Counts the messages that reach it, and answers at once. */
  private final class Counter implements Delivery {
    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      delivered += routes.size();
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return 1;
    }
  }

  private static final class Answer {
    int completed;
  }

  private static final class Pending extends Acknowledgement {
    private final Answer answer;

    Pending(Answer answer) {
      this.answer = answer;
    }

    @Override
    protected void complete(ReasonCode reason) {
      answer.completed++;
    }
  }

  @Setup(Level.Trial)
  public void open() throws IOException {
    directory = Files.createTempDirectory("lane");
    RangeStore opened = RangeStore.open(StoreSettings.defaults(), directory, new SimpleMeterRegistry());
    store = opened;
    DistWorker dist = DistWorker.create(opened, DistSettings.defaults(Runtime.getRuntime().maxMemory()), _ -> ShardId.inbox(0), new SimpleMeterRegistry());
    dist.attachFrontend("node", Deliveries.of(new Counter()));
    opened.start(Duration.ofSeconds(30));
    List<CompletableFuture<Void>> set = new ArrayList<>();
    for (int i = 0; i < filters; i++) {
      String filter = "fleet/" + i + "/+/status";
      TopicFilter wanted = shared ? new TopicFilter(filter, "group", false) : TopicFilter.plain(filter);
      set.add(dist.addRoute(new Route(Publisher.DEFAULT_TENANT, wanted, ShardId.frontend("node"), 1, i + 1)));
    }
    CompletableFuture.allOf(set.toArray(CompletableFuture[]::new)).join();
    for (int i = 0; i < TOPICS; i++) {
      String topic = "fleet/" + (int) ((i * 2_654_435_761L) % filters) + "/engine/status";
      messages[i] = Publication.of(PUBLISHER, topic, QoS.AT_MOST_ONCE, false, 0, new byte[256]);
    }
    lane = dist.openLane(0, Runnable::run, LaneCredit.uncounted());
  }

  @TearDown(Level.Trial)
  public void close() throws IOException {
    if (delivered == 0) throw new IllegalStateException("nothing was delivered");
    if (store != null) store.close();
    try (var files = Files.walk(directory)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) Files.delete(file);
    }
  }

  @Benchmark
  public void withoutAcknowledgement() {
    lane.append(messages[next++ & (TOPICS - 1)], null, null);
  }

  @Benchmark
  public int withAcknowledgement() {
    Pending pending = new Pending(answer);
    lane.append(messages[next++ & (TOPICS - 1)], null, pending);
    pending.answer(ReasonCode.SUCCESS);
    return answer.completed;
  }
}

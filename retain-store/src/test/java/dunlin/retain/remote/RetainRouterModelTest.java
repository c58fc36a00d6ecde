package dunlin.retain.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainRangeClient.Listing;
import dunlin.retain.RetainRangeClient.Row;
import dunlin.retain.TopicKeys;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import dunlin.transport.call.CallReceiver;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Ranges that are split while messages are set and found, and maps that show it late: the order of a topic stays, and nothing is lost, doubled or missed. */
class RetainRouterModelTest {
  private static final CallBounds BOUNDS = new CallBounds(100_000, 100 << 20, 10 << 20);
  private static final String TENANT = "t";
  private static final int TOPICS = 26;

  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 60) : LongStream.of(seed);
  }

  @AfterEach
  void close() {
    timer.shutdownNow();
  }

  /** A page that was asked for, with the number of the last message for its topic before it; 0 for none. */
  private record Asked(String topic, int number, CompletableFuture<Page> page) {}

  /** A node that calls, the ranges, and what is between them. */
  private final class Run {
    final Random random;
    final ModelRanges ranges = new ModelRanges();
    final Map<UUID, CallPipes> pipes = new LinkedHashMap<>();
    final Map<UUID, CallReceiver> receivers = new HashMap<>();
    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final RetainRouter router = new RetainRouter(this::open, timer, 10 << 20, 1_000, Duration.ofMinutes(10), meters);

    /** The last number of each topic, and the numbers of its removals. */
    final Map<String, Integer> set = new TreeMap<>();

    final Map<String, TreeSet<Integer>> removed = new HashMap<>();
    final List<ReasonCode> reasons = new ArrayList<>();
    final List<Asked> asked = new ArrayList<>();
    int sets;

    Run(long seed) {
      random = new Random(seed);
      router.begin();
    }

    private RemoteRetain open(UUID range) {
      var pipe = new CallPipes(random, (link, opening) -> Objects.requireNonNull(receivers.get(range)).open(link, opening));
      pipes.put(range, pipe);
      receivers.put(range, receiver(range));
      return new RemoteRetain(new CallLinks(RetainCallCodec.PROTOCOL, "node", 1, pipe::network, pipe.callerTasks::add, pipe.callerTasks::add, BOUNDS), 1_000, () -> true);
    }

    private CallReceiver receiver(UUID range) {
      return RetainCalls.receiver(task -> Objects.requireNonNull(pipes.get(range)).tierTasks.add(task), BOUNDS, Objects.requireNonNull(ranges.leaders.get(range)));
    }

    String topic() {
      return String.valueOf((char) ('a' + random.nextInt(TOPICS)));
    }

    void sets() {
      String topic = topic();
      boolean removes = random.nextInt(6) == 0;
      int number = ++sets;
      set.put(topic, number);
      if (removes) removed.computeIfAbsent(topic, _ -> new TreeSet<>()).add(number);
      router.set(removes ? ModelRanges.removal(topic, number) : ModelRanges.message(topic, number), reasons::add);
    }

    void asks() {
      String topic = topic();
      asked.add(new Asked(topic, set.getOrDefault(topic, 0), router.find(TENANT, topic, null, 1, 100)));
    }

    void step(int splitOneIn, int loseOneIn) {
      int what = random.nextInt(10);
      if (what < 2) sets();
      else if (what < 3) asks();
      else if (what < 5) ranges.apply(random);
      else if (!pipes.isEmpty()) List.copyOf(pipes.values()).get(random.nextInt(pipes.size())).step();
      if (random.nextInt(splitOneIn) == 0) ranges.split(TopicKeys.of(ModelRanges.message(topic(), 1)));
      if (random.nextInt(20) == 0 && !ranges.maps.isEmpty()) router.ranges(ranges.maps.remove());
      if (loseOneIn > 0 && random.nextInt(loseOneIn) == 0 && !pipes.isEmpty()) {
        UUID range = List.copyOf(pipes.keySet()).get(random.nextInt(pipes.size()));
        receivers.put(range, receiver(range));
        Objects.requireNonNull(pipes.get(range)).tierRestarts();
      }
    }

    void rest() {
      boolean more = true;
      while (more) {
        more = !ranges.maps.isEmpty();
        if (more) router.ranges(ranges.maps.remove());
        for (var pipe : List.copyOf(pipes.values())) while (pipe.step()) more = true;
        while (ranges.apply(random)) more = true;
      }
    }

    /** All messages, by pages. */
    Map<String, Integer> found() {
      var found = new TreeMap<String, Integer>();
      @Nullable Cursor after = null;
      do {
        var asked = router.find(TENANT, "#", after, 1 + random.nextInt(5), 1_000);
        rest();
        for (var message : asked.join().messages()) assertThat(found.put(message.topic(), ModelRanges.number(message))).as("%s twice", message.topic()).isNull();
        after = asked.join().next();
      } while (after != null);
      return found;
    }

    List<String> listed() {
      var listed = new ArrayList<String>();
      byte @Nullable [] from = new byte[0];
      while (from != null) {
        CompletableFuture<Listing> asked = router.list(new byte[0], from, 1 + random.nextInt(5));
        rest();
        for (Row row : asked.join().rows()) listed.add(new String(row.key(), StandardCharsets.UTF_8));
        from = asked.join().next();
      }
      return listed;
    }

    boolean removedFrom(String topic, int number) {
      var numbers = removed.get(topic);
      return numbers != null && numbers.ceiling(number) != null;
    }

    double held() {
      return meters.get("dunlin.retain.calls.held").gauge().value();
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void splitsAreNotNoticed(long seed) {
    var run = new Run(seed);

    for (int i = 0; i < 4_000; i++) run.step(100, 0);
    run.rest();

    assertThat(run.reasons).hasSize(run.sets).containsOnly(ReasonCode.SUCCESS);
    assertThat(run.ranges.reversed).isEmpty();
    assertThat(run.ranges.leaders).hasSizeGreaterThan(5);
    for (var each : run.asked) {
      var found = each.page.join().messages();
      // Without a message, it was removed at that time or later.
      if (found.isEmpty()) assertThat(each.number == 0 || run.removedFrom(each.topic, each.number)).as("%s", each).isTrue();
      else assertThat(ModelRanges.number(found.getFirst())).as("%s", each).isGreaterThanOrEqualTo(each.number);
    }
    run.set.entrySet().removeIf(each -> run.removedFrom(each.getKey(), each.getValue()));
    assertThat(run.found()).isEqualTo(run.set);
    assertThat(run.listed()).hasSize(run.set.size()).doesNotHaveDuplicates();
    var count = run.router.count();
    run.rest();
    assertThat(count).isCompletedWithValue((long) run.set.size());
    assertThat(run.held()).isZero();
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void lostLinksAndSplitsKeepTheOrderOfATopic(long seed) {
    var run = new Run(seed);

    for (int i = 0; i < 6_000; i++) run.step(150, 200);
    run.rest();

    assertThat(run.reasons).hasSize(run.sets).containsOnly(ReasonCode.SUCCESS, ReasonCode.SERVER_UNAVAILABLE);
    assertThat(run.ranges.reversed).isEmpty();
    assertThat(run.asked).allSatisfy(each -> assertThat(each.page).isDone());
    assertThat(run.held()).isZero();
    assertThat(run.meters.get("dunlin.retain.links.lost").functionCounter().count()).isPositive();
  }
}

package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.Route;
import dunlin.dist.route.RouteRows;
import dunlin.dist.route.RouteView;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Messages and subscriptions while ranges of routes are split, questions fail and maps are late: a message that is acknowledged has reached every subscription that was
 * confirmed before it came, no delivery has a subscription twice, and subscribers get messages that came after them in their order.
 */
class GatheringLaneModelTest {
  private static final Publisher PUBLISHER = new Publisher("t", "client");
  private static final String[] LEVELS = {"a", "b", "c", "d"};

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 100) : LongStream.of(seed);
  }

  /** A message, with the subscriptions that were confirmed when it came. */
  private static final class Sent {
    final int number;
    final String topic;
    final QoS qos;
    final List<Route> due;
    @Nullable ReasonCode answer;

    Sent(int number, String topic, QoS qos, List<Route> due) {
      this.number = number;
      this.topic = topic;
      this.qos = qos;
      this.due = due;
    }
  }

  /** One publisher, the lane, and a sender that sends again what a link has left. */
  private static final class Run implements GatheringLane.Surroundings {
    final Random random;
    final SplitRoutes routes;
    final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    final List<Runnable> later = new ArrayList<>();
    final GatheringLane lane;
    final List<Route> confirmed = new ArrayList<>();

    /** By the message's number, each subscription that has got it. */
    final Map<Integer, HashSet<Route>> delivered = new HashMap<>();

    /** By subscription, QoS and topic, the number of the last message that it got for the first time. */
    final Map<String, Integer> last = new HashMap<>();

    final List<Sent> all = new ArrayList<>();
    final ArrayDeque<Sent> toSend = new ArrayDeque<>();
    final ArrayDeque<Sent> onLink = new ArrayDeque<>();
    final List<String> wrong = new ArrayList<>();
    boolean ending;
    int dropped;
    long nanos;

    Run(long seed) {
      this(seed, GatheringLane.AHEAD_BYTES);
    }

    Run(long seed, long aheadBytes) {
      random = new Random(seed);
      routes = new SplitRoutes(random);
      var leased = new LeasedLane(this::deliver, () -> routes.barrier(routes.first().id()), () -> routes.first().epoch(), tasks::add);
      lane = new GatheringLane(leased, this, tasks::add, aheadBytes);
    }

    @Override
    public RouteView view() {
      return routes.view();
    }

    @Override
    public long nanoTime() {
      return nanos;
    }

    @Override
    public void later(Runnable task, long millis) {
      later.add(task);
    }

    @Override
    public void dropped(Publication message) {
      dropped++;
    }

    /** As LocalLane does. */
    private void deliver(Publication message, Elsewhere elsewhere, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      if (elsewhere.epoch() != routes.first().epoch()) {
        if (acknowledgement != null) {
          acknowledgement.expect();
          acknowledgement.answer(ReasonCode.USE_ANOTHER_SERVER);
        }
        return;
      }
      int number = (int) message.acceptedAtMillis();
      var found = new ArrayList<>(routes.matching(routes.first(), message.topic()));
      found.addAll(SplitRoutes.all(elsewhere.filters()));
      if (new HashSet<>(found).size() < found.size()) wrong.add("twice in one delivery of " + number + ": " + found);
      for (Route route : found) {
        boolean again = !delivered.computeIfAbsent(number, _ -> new HashSet<>()).add(route);
        if (again || !all.get(number - 1).due.contains(route)) continue;
        var before = last.put(route + " " + message.qos() + " " + message.topic(), number);
        if (before != null && before > number) wrong.add(number + " behind " + before + " at " + route);
      }
    }

    private String topic() {
      return LEVELS[random.nextInt(LEVELS.length)] + "/" + LEVELS[random.nextInt(LEVELS.length)];
    }

    private Route route() {
      String first = random.nextInt(4) == 0 ? "+" : LEVELS[random.nextInt(LEVELS.length)];
      String filter = random.nextInt(12) == 0 ? "#" : first + "/" + (random.nextInt(3) == 0 ? "#" : LEVELS[random.nextInt(LEVELS.length)]);
      return new Route("t", TopicFilter.parse(filter).orElseThrow(), ShardId.inbox(random.nextInt(3)), 1, 0);
    }

    void subscribe() {
      var route = route();
      routes.add(route, () -> confirmed.add(route));
    }

    void publish() {
      String topic = topic();
      var due = confirmed.stream().filter(route -> route.filter().matches(topic)).toList();
      var sent = new Sent(all.size() + 1, topic, random.nextInt(3) == 0 ? QoS.EXACTLY_ONCE : QoS.AT_LEAST_ONCE, due);
      all.add(sent);
      toSend.add(sent);
    }

    /** The link takes a message, unless it is about to end: then the next one begins with what this one leaves, in its order. */
    void send() {
      if (ending) {
        if (onLink.stream().anyMatch(sent -> sent.answer == null)) return;
        var left = onLink.stream().filter(sent -> sent.answer != ReasonCode.SUCCESS).toList();
        onLink.clear();
        for (int i = left.size() - 1; i >= 0; i--) {
          left.get(i).answer = null;
          toSend.addFirst(left.get(i));
        }
        ending = false;
      }
      var next = toSend.poll();
      if (next == null) return;
      onLink.add(next);
      var receipt =
          new Acknowledgement() {
            @Override
            public boolean comesAgain() {
              return ending;
            }

            @Override
            protected void failed(ReasonCode reason) {
              ending = true;
            }

            @Override
            protected void complete(ReasonCode reason) {
              next.answer = reason;
            }
          };
      lane.append(Publication.of(PUBLISHER, next.topic, next.qos, false, next.number, new byte[1]), null, receipt);
      receipt.answer(ReasonCode.SUCCESS);
    }

    void step(int splitOneIn) {
      switch (random.nextInt(12)) {
        case 0 -> subscribe();
        case 1, 2 -> publish();
        case 3, 4 -> send();
        case 5, 6 -> routes.apply();
        case 7, 8 -> routes.arrive();
        default -> run(tasks.poll());
      }
      if (random.nextInt(splitOneIn) == 0) routes.split(cut(route().filter().filter()));
      if (random.nextInt(60) == 0) routes.publishMap();
      if (random.nextInt(30) == 0 && !later.isEmpty()) later.remove(random.nextInt(later.size())).run();
    }

    /** Between two filters: the routes of one stay together. */
    private static byte[] cut(String filter) {
      byte[] text = filter.getBytes(StandardCharsets.UTF_8);
      return RouteRows.prefix("t", text, text.length);
    }

    private static void run(@Nullable Runnable task) {
      if (task != null) task.run();
    }

    void rest() {
      for (int i = 0; i < 1_000_000; i++) {
        routes.publishMap();
        boolean applied = routes.apply();
        boolean arrived = routes.arrive();
        boolean more = applied || arrived || !tasks.isEmpty() || !later.isEmpty() || !toSend.isEmpty() || ending;
        run(tasks.poll());
        if (!later.isEmpty()) later.removeFirst().run();
        send();
        if (!more) return;
      }
      throw new AssertionError("it never rests");
    }

    void check() {
      assertThat(wrong).isEmpty();
      for (Sent sent : all) {
        assertThat(sent.answer).as("message %d", sent.number).isEqualTo(ReasonCode.SUCCESS);
        assertThat(delivered.getOrDefault(sent.number, new HashSet<>())).as("message %d", sent.number).containsAll(sent.due);
      }
      assertThat(lane.waiting()).isZero();
      for (var use : MatchCache.Use.values()) assertThat(lane.bytes(use)).isZero();
      assertThat(dropped).as("none was of QoS 0").isZero();
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void splitsMissNothingAndKeepTheOrder(long seed) {
    var run = new Run(seed);
    for (int i = 0; i < 3_000; i++) run.step(150);
    run.rest();

    run.check();
    assertThat(run.routes.ranges).hasSizeGreaterThan(3);
    assertThat(run.lane.asked()).isPositive();
    assertThat(run.lane.givenUp()).isZero();
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void questionsThatFailAndTakeLongAreAskedAgain(long seed) {
    var run = new Run(seed);
    run.routes.failsOneIn = 5;
    for (int i = 0; i < 3_000; i++) {
      run.step(150);
      run.nanos += TimeUnit.MILLISECONDS.toNanos(run.random.nextInt(20));
    }
    run.routes.failsOneIn = 0;
    run.rest();

    run.check();
    assertThat(run.lane.repeated()).isPositive();
  }

  /** Some four routes are too many for a message that is not the first, and for those that were passed on. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void withLittleMemoryAnswersAreForgottenAndMessagesWait(long seed) {
    var run = new Run(seed, 1_000);
    run.routes.failsOneIn = 20;
    for (int i = 0; i < 3_000; i++) run.step(150);
    run.routes.failsOneIn = 0;
    run.rest();

    run.check();
    assertThat(run.lane.forgotten()).isPositive();
    assertThat(run.lane.givenUp()).isZero();
  }
}

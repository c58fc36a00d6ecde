package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

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
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Messages of recorded exchanges for a group of connected and durable members. They are sent again by their lane and by their client's next connection, while members come and go, answers
 * are late and frontends end: no two members that live have the same message.
 */
class RepeatedToGroupModelTest {
  private static final Publisher PUBLISHER = new Publisher("t", "client");
  private static final ShardId HOME = ShardId.inbox(5);
  private static final TopicFilter GROUP = TopicFilter.parse("$share/g/a").orElseThrow();
  private static final int FRONTENDS = 4;
  private static final int STEPS = 400;

  private final AtomicReference<@Nullable InMemoryRange<RouteCommand, RouteResult>> made = new AtomicReference<>();
  private final DistWorker worker =
      new DistWorker(
          (_, codec, logic) -> {
            var range = new InMemoryRange<>(codec, logic);
            made.set(range);
            return range;
          },
          List.of(),
          DistSettings.defaults(Runtime.getRuntime().maxMemory()),
          _ -> HOME,
          new SimpleMeterRegistry(),
          Tracer.idle(),
          DeliveryThreads.inline());
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final List<Frontend> frontends = new ArrayList<>();
  private final Sessions sessions = new Sessions();

  /** Ranges with the durable members; none when those are in the record's range. */
  private final List<Other> others = new ArrayList<>();

  private final List<Late> late = new ArrayList<>();

  /** The members that have a message and live, by its number. */
  private final Map<Long, List<String>> owners = new HashMap<>();

  /** What the publisher's lane knows of picks. */
  private final Map<Long, List<Long>> told = new HashMap<>();

  /** What happened to members, and to messages, by their numbers. */
  private final List<Happened> history = new ArrayList<>();

  /** @param number of the message; 0 when it was not to a message */
  private record Happened(long number, String what) {}

  private final Random random = new Random();
  private @Nullable LocalLane lane;
  private long last;

  static LongStream seeds() {
    return LongStream.rangeClosed(1, 200);
  }

  private static long numberOf(@Nullable Acknowledgement acknowledgement) {
    return Objects.requireNonNull(Objects.requireNonNull(acknowledgement).terms().origin()).number();
  }

  private void has(long number, String member) {
    history.add(new Happened(number, member + " has it"));
    owners.computeIfAbsent(number, _ -> new ArrayList<>()).add(member);
  }

  /** What happens later; 0 for no message. */
  private record Late(long number, Runnable happens) {}

  /** Answers now or later. */
  private void answer(Acknowledgement acknowledgement, ReasonCode reason) {
    if (random.nextInt(4) == 0) late.add(new Late(numberOf(acknowledgement), () -> acknowledgement.answer(reason)));
    else acknowledgement.answer(reason);
  }

  /** Gives all answers to a message: those of a frontend come in their order, so what was sent before is answered before a repetition is. */
  private void answerAll(long number) {
    for (var of = late.stream().filter(each -> each.number == number).toList(); !of.isEmpty(); of = late.stream().filter(each -> each.number == number).toList()) {
      late.removeAll(of);
      of.forEach(each -> each.happens.run());
      run();
    }
  }

  /** A frontend that remembers what it has delivered, as {@code Repetitions} does. */
  private final class Frontend implements Delivery {
    final ShardId shard;
    final Set<Long> taken = new HashSet<>();
    boolean lives = true;
    boolean hasMember;

    Frontend(int number) {
      shard = ShardId.frontend(Integer.toString(number));
    }

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      long number = numberOf(acknowledgement);
      if (!lives) {
        Objects.requireNonNull(acknowledgement).answer(ReasonCode.SERVER_UNAVAILABLE);
        return;
      }
      boolean takes = taken.contains(number);
      if (!takes && hasMember && random.nextBoolean()) {
        has(number, shard.name());
        takes = true;
      }
      takes |= !takes && sessions.appendToGroup(number);
      if (!takes && hasMember) {
        has(number, shard.name());
        takes = true;
      }
      if (takes) taken.add(number);
      history.add(new Happened(number, shard.name() + (takes ? " takes it" : " returns it")));
      answer(Objects.requireNonNull(acknowledgement), takes ? ReasonCode.SUCCESS : ReasonCode.USE_ANOTHER_SERVER);
    }

    @Override
    public int groupCredit(Route route) {
      return hasMember ? 10 : 0;
    }
  }

  /** The session tier: the records of exchanges, and whether the group has a durable member. */
  private final class Sessions implements Delivery {
    final Map<Long, List<Long>> records = new HashMap<>();
    boolean hasMember;

    boolean appendToGroup(long number) {
      if (!hasMember) return false;
      var picked = Objects.requireNonNull(records.get(number), "not recorded");
      if (picked.stream().noneMatch(Terms.Pick::isStored)) {
        if (others.isEmpty()) has(number, "durable");
        picked.add(Terms.Pick.of(GROUP, others.isEmpty() ? HOME : others.get(random.nextInt(others.size())).shard));
      }
      // The call may be lost between the record and the range that it names; the frontend asks again.
      for (Other other : others) if (picked.contains(Terms.Pick.of(GROUP, other.shard))) other.store(number);
      return true;
    }

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      long number = numberOf(acknowledgement);
      var origin = Objects.requireNonNull(Objects.requireNonNull(acknowledgement).terms().origin());
      var before = List.copyOf(records.getOrDefault(number, List.of()));
      acknowledgement.recorded(before);
      records.putIfAbsent(number, new ArrayList<>());
      if (routes.size() > 0 && Terms.Origin.fromRecord(7, number, before).isKnownTo(origin, GROUP)) appendToGroup(number);
      records.put(number, new ArrayList<>(Terms.Origin.fromRecord(7, number, records.get(number)).withPicksOf(origin).picked()));
      answer(acknowledgement, ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return hasMember ? 10 : 1;
    }
  }

  /** Another range with durable members of the group. It stores a message once. */
  private final class Other implements Delivery {
    final ShardId shard;
    final Set<Long> stored = new HashSet<>();

    Other(ShardId shard) {
      this.shard = shard;
    }

    void store(long number) {
      if (stored.add(number)) has(number, "durable member in " + shard);
    }

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      long number = numberOf(acknowledgement);
      assertThat(sessions.records.get(number)).as("the record comes first, and names the range: %s", historyOf(number)).contains(Terms.Pick.of(GROUP, shard));
      store(number);
      answer(Objects.requireNonNull(acknowledgement), ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return 10;
    }
  }

  private static final class Answer extends Acknowledgement {
    private final Terms terms;
    private final List<Long> told;

    Answer(Terms terms, List<Long> told) {
      this.terms = terms;
      this.told = told;
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    public void picked(long shard) {
      told.remove(shard);
      told.add(shard);
    }

    @Override
    protected void complete(ReasonCode worst) {}
  }

  private void send(Terms.Origin origin, List<Long> toTell) {
    byte[] topic = "a".getBytes(StandardCharsets.UTF_8);
    history.add(new Happened(origin.number(), "sent, " + origin));
    var answer = new Answer(Terms.ANSWERED.from(origin), toTell);
    Objects.requireNonNull(lane).append(new Publication(PUBLISHER, QoS.EXACTLY_ONCE, false, 0, -1, -1, topic.length, 0, topic, new Publication.Exchange(1, 9)), null, answer);
    answer.answer(ReasonCode.SUCCESS);
  }

  private void run() {
    while (!tasks.isEmpty()) tasks.remove().run();
  }

  private void route(ShardId shard, boolean set) {
    var route = new Route("t", GROUP, shard, 1, 1);
    var changed = set ? worker.addRoute(route) : worker.removeRoute(route);
    Objects.requireNonNull(made.get()).applyAll();
    assertThat(changed).isCompleted();
  }

  private void step() {
    var frontend = frontends.get(random.nextInt(FRONTENDS));
    long number = last == 0 ? 0 : 1 + random.nextLong(last);
    int kind = random.nextInt(12);
    if (kind >= 3 && kind <= 6) answerAll(number);
    switch (kind) {
      case 0, 1, 2 -> {
        last++;
        var tells = told.computeIfAbsent(last, _ -> new ArrayList<>());
        send(new Terms.Origin(7, last, 1, false), tells);
      }
      case 3, 4 -> {
        var tells = told.computeIfAbsent(number, _ -> new ArrayList<>());
        // A leader that crashes may not have said what it has picked.
        if (random.nextInt(4) == 0) tells.clear();
        if (number > 0) send(new Terms.Origin(7, number, 1, true, tells), tells);
      }
      case 5, 6 -> {
        var picked = sessions.records.get(number);
        if (picked != null) send(Terms.Origin.fromRecord(7, number, picked), new ArrayList<>());
      }
      case 7, 8 -> changeMember(frontend);
      case 9 -> {
        if (random.nextInt(20) == 0) end(frontend);
      }
      default -> {
        if (!late.isEmpty()) late.remove(random.nextInt(late.size())).happens.run();
      }
    }
    run();
  }

  /** A member that leaves has ended, and what it has goes with it; a frontend takes its route back somewhat later. */
  private void changeMember(Frontend of) {
    if (!of.lives) return;
    of.hasMember = !of.hasMember;
    history.add(new Happened(0, of.shard.name() + (of.hasMember ? " gets a member" : " loses its member")));
    if (of.hasMember) {
      route(of.shard, true);
    } else {
      owners.values().forEach(all -> all.remove(of.shard.name()));
      late.add(
          new Late(
              0,
              () -> {
                if (!of.hasMember) route(of.shard, false);
              }));
    }
  }

  private void end(Frontend frontend) {
    history.add(new Happened(0, frontend.shard.name() + " ends"));
    frontend.lives = false;
    frontend.hasMember = false;
    owners.values().forEach(all -> all.remove(frontend.shard.name()));
    worker.detachFrontend(frontend.shard.name());
  }

  private List<Happened> historyOf(long number) {
    return history.stream().filter(each -> each.number == 0 || each.number == number).toList();
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void noTwoMembersHaveTheSameMessage(long seed) {
    worker.attachInboxShards(Deliveries.of(sessions));
    sessions.hasMember = seed % 4 != 0;
    if (sessions.hasMember) route(HOME, true);
    run(seed);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void noTwoMembersHaveTheSameMessageWhenTheDurableOnesAreInOtherRangesThanTheRecord(long seed) {
    worker.attachInboxShards(0, 6, Deliveries.of(sessions));
    worker.attachInboxShards(6, 11, Deliveries.of(other(7)));
    worker.attachInboxShards(11, Integer.MAX_VALUE, Deliveries.of(other(12)));
    sessions.hasMember = true;
    for (Other other : others) route(other.shard, true);
    run(seed);
  }

  private Other other(int shard) {
    var other = new Other(ShardId.inbox(shard));
    others.add(other);
    return other;
  }

  private void run(long seed) {
    random.setSeed(seed);
    lane = new LocalLane(worker, _ -> HOME, 0, tasks::add, true, new SplittableRandom(seed));
    for (int i = 0; i < FRONTENDS; i++) {
      var frontend = new Frontend(i);
      frontends.add(frontend);
      worker.attachFrontend(frontend.shard.name(), Deliveries.of(frontend));
    }
    for (int i = 0; i < STEPS; i++) {
      step();
      for (var each : owners.entrySet()) if (each.getValue().size() > 1) assertThat(each.getValue()).as("seed %d, step %d: %s", seed, i, historyOf(each.getKey())).hasSizeLessThanOrEqualTo(1);
    }
    assertThat(owners).as("seed %d", seed).isNotEmpty();
  }
}

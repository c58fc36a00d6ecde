package dunlin.retain.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.retain.RetainRangeClient.Listing;
import dunlin.runtime.Failures;
import dunlin.store.WrongEpochException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import dunlin.transport.call.CallReceiver;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The retain tier over pipes that delay and break, beside one that is called directly: the answers are the same, and what is kept at the end. */
class RemoteRetainModelTest {
  private static final CallBounds BOUNDS = new CallBounds(10_000, 10 << 20, 1 << 30);
  private static final int TOPICS = 15;

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 30) : LongStream.of(seed);
  }

  /** A call that was made of both, and its answers. */
  private static final class Asked {
    final List<Object> answers = new ArrayList<>();
    @Nullable Object direct;

    void answered(@Nullable Object value, @Nullable Throwable failure) {
      answers.add(said(value, failure));
    }

    private static Object said(@Nullable Object value, @Nullable Throwable failure) {
      if (failure != null) return Failures.unwrapped(failure).getClass().getSimpleName() + " " + Failures.unwrapped(failure).getMessage();
      return switch (value) {
        case Page page -> new String(RetainCallCodec.encode(page), StandardCharsets.ISO_8859_1);
        case Listing listing -> new String(RetainCallCodec.encode(listing), StandardCharsets.ISO_8859_1);
        case null, default -> String.valueOf(value);
      };
    }
  }

  /** A message that was set, and what the publisher was told. */
  private static final class Was {
    final Publication message;
    final List<ReasonCode> reasons = new ArrayList<>();

    Was(Publication message) {
      this.message = message;
    }

    /** What is refused for its epoch changes nothing. */
    void answered(@Nullable ReasonCode reason, @Nullable Throwable failure) {
      if (reason != null) reasons.add(reason);
      else reasons.add(Failures.unwrapped(Objects.requireNonNull(failure)) instanceof WrongEpochException ? ReasonCode.QUOTA_EXCEEDED : ReasonCode.SERVER_UNAVAILABLE);
    }

  }

  private static final class Run {
    final Random random;
    final List<Runnable> later = new ArrayList<>();
    final List<Asked> asked = new ArrayList<>();
    final Map<String, List<Was>> set = new HashMap<>();
    final MapRetain direct = new MapRetain(Runnable::run);
    final MapRetain tier = new MapRetain(this::answers);
    final CallPipes pipes;
    final RemoteRetain remote;
    CallReceiver receiver;

    Run(long seed) {
      random = new Random(seed);
      receiver = receiver();
      pipes = new CallPipes(random, (link, opening) -> receiver.open(link, opening));
      var links = new CallLinks(RetainCallCodec.PROTOCOL, "frontend", 1, pipes::network, pipes.callerTasks::add, pipes.callerTasks::add, BOUNDS);
      remote = new RemoteRetain(links, 1_000, () -> true);
      remote.begin();
      pipes.drain();
    }

    private CallReceiver receiver() {
      return RetainCalls.receiver(this::tierRuns, BOUNDS, tier);
    }

    private void tierRuns(Runnable task) {
      pipes.tierTasks.add(task);
    }

    private void answers(Runnable answer) {
      if (random.nextBoolean()) answer.run();
      else later.add(answer);
    }

    void sets() {
      var message = MapRetain.message("a/" + random.nextInt(TOPICS), random.nextInt(4) == 0 ? "" : "payload " + random.nextInt(1_000));
      var one = new Asked();
      var was = new Was(message);
      asked.add(one);
      set.computeIfAbsent(message.topic(), _ -> new ArrayList<>()).add(was);
      long epoch = epoch();
      direct.set(epoch, message).whenComplete((value, failure) -> one.direct = Asked.said(value, failure));
      remote
          .set(epoch, message)
          .whenComplete(
              (reason, failure) -> {
                one.answered(reason, failure);
                was.answered(reason, failure);
              });
    }

    /** Mostly that of the range. */
    private long epoch() {
      return random.nextInt(8) == 0 ? 1 + random.nextInt(5) : MapRetain.EPOCH;
    }

    void asks() {
      var one = new Asked();
      asked.add(one);
      if (random.nextInt(4) == 0) {
        direct.sums().whenComplete((value, failure) -> one.direct = Asked.said(value, failure));
        remote.sums().whenComplete(one::answered);
        return;
      }
      long epoch = epoch();
      if (random.nextInt(4) == 0) {
        int max = 1 + random.nextInt(5);
        byte[] prefix = {(byte) random.nextInt()};
        direct.list(epoch, prefix, prefix, max).whenComplete((value, failure) -> one.direct = Asked.said(value, failure));
        remote.list(epoch, prefix, prefix, max).whenComplete(one::answered);
        return;
      }
      String tenant = MapRetain.TENANTS.get(random.nextInt(MapRetain.TENANTS.size()));
      String filter = List.of("#", "a/+", "a/3", "b").get(random.nextInt(4));
      var after = random.nextBoolean() ? null : new Cursor(("a/" + random.nextInt(TOPICS)).getBytes(StandardCharsets.UTF_8));
      int messagesMax = 1 + random.nextInt(5);
      int bytesMax = random.nextInt(100);
      direct.find(epoch, tenant, filter, after, messagesMax, bytesMax).whenComplete((value, failure) -> one.direct = Asked.said(value, failure));
      remote.find(epoch, tenant, filter, after, messagesMax, bytesMax).whenComplete(one::answered);
    }

    void run(int steps, int restartsOneIn) {
      for (int i = 0; i < steps; i++) {
        int what = random.nextInt(12);
        if (what < 2) sets();
        else if (what < 3) asks();
        else if (what < 5 && !later.isEmpty()) later.remove(random.nextInt(later.size())).run();
        else pipes.step();
        if (random.nextInt(60) == 0) pipes.breaks();
        if (restartsOneIn > 0 && random.nextInt(restartsOneIn) == 0) {
          receiver = receiver();
          pipes.tierRestarts();
        }
      }
      do {
        pipes.drain();
        while (!later.isEmpty()) later.removeFirst().run();
        pipes.drain();
      } while (!later.isEmpty());
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void answersAsADirectCallWhateverPipesBreak(long seed) {
    var run = new Run(seed);

    run.run(3_000, 0);

    for (Asked each : run.asked) assertThat(each.answers).containsExactly(each.direct);
    assertThat(run.tier.messages.toString()).isEqualTo(run.direct.messages.toString());
    assertThat(run.remote.links().calls()).isZero();
    assertThat(run.remote.links().bytes()).isZero();
    assertThat(run.remote.links().lost()).isZero();
  }

  /** What a topic has is what was said to be kept last, or something later whose publisher was told that it is not known. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void nothingTakesThePlaceOfWhatCameLaterWhateverLinksAreLost(long seed) {
    var run = new Run(seed);

    run.run(4_000, 150);

    for (Asked each : run.asked) assertThat(each.answers).hasSize(1);
    assertThat(run.remote.links().lost()).isPositive();
    run.set.forEach(
        (topic, all) -> {
          List<@Nullable Publication> possible = new ArrayList<>();
          possible.add(null);
          for (Was each : all) {
            assertThat(each.reasons).hasSize(1);
            var kept = each.message.payloadLength() == 0 ? null : each.message;
            switch (each.reasons.getFirst()) {
              case SUCCESS -> {
                possible.clear();
                possible.add(kept);
              }
              case SERVER_UNAVAILABLE -> possible.add(kept);
              case QUOTA_EXCEEDED -> {} // what it has stays
              default -> throw new AssertionError("told " + each.reasons);
            }
          }
          var kept = run.tier.messages.get(topic);
          assertThat(possible).extracting(RemoteRetainModelTest::payload).contains(payload(kept));
        });
  }

  private static String payload(@Nullable Publication message) {
    return message == null ? "nothing" : new String(message.payload(), StandardCharsets.UTF_8);
  }
}

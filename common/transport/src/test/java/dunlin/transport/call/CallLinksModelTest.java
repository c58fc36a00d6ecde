package dunlin.transport.call;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.transport.call.CallTier.Arrived;
import dunlin.transport.call.CallTier.LimitException;
import dunlin.transport.call.CallTier.NotMadeException;
import dunlin.transport.call.CallTier.UnknownException;
import dunlin.transport.link.Link;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Calls over pipes that delay and break, and links that are lost: each is made once or never, in its order, and ends once, as it does without a link. */
class CallLinksModelTest {
  private static final CallBounds BOUNDS = new CallBounds(40, 20_000, 1_000);

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 40) : LongStream.of(seed);
  }

  /** What becomes of a call that is made directly: a number, or a failure. */
  private static Object direct(long number) {
    return switch ((int) (number % 7)) {
      case 0 -> new IllegalStateException("refused " + number);
      case 1 -> new UnknownException("not known " + number);
      case 2 -> new LimitException(number);
      default -> number * 3;
    };
  }

  /** A call and how often it has ended, and how. */
  private static final class Made {
    final long number;
    final boolean large;
    int ends;
    @Nullable Long value;
    @Nullable Throwable failure;

    Made(long number, boolean large) {
      this.number = number;
      this.large = large;
    }

    private String sentence() {
      return failure == null ? "" : String.valueOf(failure.getMessage());
    }

    /** Whether the link has failed it, and not the tier. */
    boolean wasNotMade() {
      return failure instanceof NotMadeException && !sentence().startsWith("refused");
    }

    boolean wasRefused() {
      return wasNotMade() && sentence().endsWith("wait for the test tier");
    }

    /** The same when it may have been made. */
    boolean mayBeMade() {
      return failure instanceof UnknownException && sentence().contains("the test tier has done");
    }
  }

  private static final class Run {
    final Random random;
    final CallTier tier;
    final List<Made> made = new ArrayList<>();
    final List<Runnable> later = new ArrayList<>();

    Run(long seed) {
      random = new Random(seed);
      var settings = new Link.Settings(random.nextBoolean() ? 30 : 65_536, 64L << 20, Duration.ofSeconds(10));
      tier = new CallTier(random, settings, CallTier.PROTOCOL, BOUNDS, BOUNDS);
      tier.does = this::answers;
      tier.links.begin();
    }

    private CompletableFuture<byte[]> answers(Arrived call) {
      Runnable gives =
          () -> {
            switch (direct(call.number())) {
              case RuntimeException failure -> call.answer().completeExceptionally(failure);
              case Object value -> call.answer().complete(CallTier.bytes((Long) value, 0));
            }
          };
      int when = random.nextInt(4);
      if (when == 0 && direct(call.number()) instanceof RuntimeException failure) throw failure;
      if (when < 2) gives.run();
      else later.add(gives);
      return call.answer();
    }

    void calls() {
      boolean large = random.nextInt(5) == 0;
      var call = new Made(made.size(), large);
      made.add(call);
      int length = random.nextInt(random.nextInt(20) == 0 ? 4_000 : 100);
      tier.call(call.number, length, large ? 1 + random.nextInt(1_500) : 0)
          .whenComplete(
              (value, failure) -> {
                call.ends++;
                call.value = value;
                call.failure = failure;
              });
    }

    void answerOne() {
      if (!later.isEmpty()) later.remove(random.nextInt(later.size())).run();
    }

    void run(int steps, int breaksOneIn, int lossesOneIn) {
      for (int i = 0; i < steps; i++) {
        int what = random.nextInt(10);
        if (what < 2) calls();
        else if (what < 4) answerOne();
        else tier.wires.step();
        if (random.nextInt(breaksOneIn) == 0) tier.wires.breaks();
        if (lossesOneIn > 0 && random.nextInt(lossesOneIn) == 0) {
          if (random.nextBoolean()) tier.restarts();
          else tier.wires.senderGivesUp();
        }
      }
      rest();
    }

    void rest() {
      do {
        while (!later.isEmpty()) answerOne();
        tier.wires.drain();
      } while (!later.isEmpty());
    }

    void everyCallHasOneEnd() {
      for (Made each : made) assertThat(each.ends).as("ends of call %d", each.number).isEqualTo(1);
      assertThat(tier.links.calls()).isZero();
      assertThat(tier.links.bytes()).isZero();
    }

    void isMadeOnceInItsOrder() {
      var numbers = tier.numbers();
      assertThat(numbers).doesNotHaveDuplicates();
      assertThat(numbers.stream().filter(number -> !made.get(Math.toIntExact(number)).large)).isSorted();
    }

    void endsAsADirectCall(Made call) {
      switch (direct(call.number)) {
        case LimitException limit ->
            assertThat(call.failure).isInstanceOfSatisfying(LimitException.class, failure -> assertThat(failure.limit).isEqualTo(limit.limit));
        case UnknownException unknown -> assertThat(call.failure).isExactlyInstanceOf(UnknownException.class).hasMessage(unknown.getMessage());
        case RuntimeException failure -> assertThat(call.failure).isExactlyInstanceOf(NotMadeException.class).hasMessage(failure.getMessage());
        case Object value -> assertThat(call.value).as("call %d", call.number).isEqualTo(value);
      }
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void endsAsADirectCallWhateverPipesBreak(long seed) {
    var run = new Run(seed);

    run.run(3_000, 60, 0);

    run.everyCallHasOneEnd();
    run.isMadeOnceInItsOrder();
    assertThat(run.tier.links.lost()).isZero();
    assertThat(run.tier.receiver.unanswered()).isZero();
    var made = run.made.stream().filter(each -> !each.wasNotMade()).toList();
    assertThat(run.tier.numbers()).containsExactlyInAnyOrderElementsOf(made.stream().map(each -> each.number).toList());
    made.forEach(run::endsAsADirectCall);
    assertThat(run.tier.links.refused()).isEqualTo(run.made.stream().filter(Made::wasRefused).count());
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void isMadeOnceOrNeverAndEndsOnceWhateverLinksAreLost(long seed) {
    var run = new Run(seed);

    run.run(4_000, 100, 200);
    run.calls();
    run.rest();

    run.everyCallHasOneEnd();
    run.isMadeOnceInItsOrder();
    assertThat(run.tier.links.lost()).isPositive();
    var numbers = run.tier.numbers();
    for (Made each : run.made) {
      if (each.wasNotMade()) assertThat(numbers).doesNotContain(each.number);
      else if (!each.mayBeMade()) run.endsAsADirectCall(each);
    }
    assertThat(run.made).anyMatch(Made::mayBeMade);
    run.endsAsADirectCall(run.made.getLast());
  }
}

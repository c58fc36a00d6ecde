package dunlin.store.ways;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RangeRouterTest {
  private static final UUID PARENT = new UUID(0, 1);
  private static final UUID CHILD = new UUID(0, 2);
  private static final RangeDescriptor WHOLE = new RangeDescriptor(PARENT, "kind", KeyInterval.all(), 1, List.of(), null);
  private static final RangeDescriptor LOWER = WHOLE.lower(key("m"));
  private static final RangeDescriptor UPPER = WHOLE.upper(key("m"), CHILD, new RangeDescriptor.Origin(PARENT, 1, 1));

  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final Map<UUID, Leader> leaders = new HashMap<>();
  private final List<UUID> changed = new ArrayList<>();
  private RangeRouter<Leader> router = router(Duration.ofMinutes(10));

  @AfterEach
  void stop() {
    timer.shutdownNow();
  }

  private RangeRouter<Leader> router(Duration patience) {
    return new RangeRouter<>(range -> leaders.computeIfAbsent(range, _ -> new Leader()), changed::add, "word", timer, patience);
  }

  private static byte[] key(String word) {
    return word.getBytes(StandardCharsets.UTF_8);
  }

  /** A range that does what it is asked when the test says so. */
  private static final class Leader implements RangeLink {
    final CompletableFuture<Void> taken = new CompletableFuture<>();
    final ArrayDeque<CompletableFuture<String>> asked = new ArrayDeque<>();
    final List<String> words = new ArrayList<>();
    boolean closed;

    CompletableFuture<String> ask(String word, long epoch) {
      var answer = new CompletableFuture<String>();
      asked.add(answer);
      words.add(word + "@" + epoch);
      return answer;
    }

    void answers() {
      asked.remove().complete("done");
    }

    void refuses(RangeDescriptor now) {
      asked.remove().completeExceptionally(new WrongEpochException(now, 1));
    }

    @Override
    public CompletableFuture<Void> begin() {
      return taken;
    }

    @Override
    public boolean isReached() {
      return taken.isDone();
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  private CompletableFuture<String> ask(String word) {
    return router.call(key(word), (leader, epoch) -> leader.ask(word, epoch));
  }

  private Leader leader(UUID range) {
    return Objects.requireNonNull(leaders.get(range));
  }

  @Test
  void theFirstMapIsReachedOnceAllItsLeadersHaveTakenTheirLinks() {
    router.ranges(List.of(LOWER, UPPER));
    assertThat(leaders).as("made, and not begun").hasSize(2);
    var reached = router.begin();
    leader(PARENT).taken.complete(null);
    assertThat(reached).isNotDone();
    assertThat(router.isReached()).isFalse();

    leader(CHILD).taken.complete(null);

    assertThat(reached).isCompleted();
    assertThat(router.isReached()).isTrue();
    assertThat(router.known()).extracting(RangeRouter.Known::range).containsExactly(PARENT, CHILD);
    assertThat(router.known(key("z"))).hasValueSatisfying(range -> assertThat(range.epoch()).isEqualTo(2));
  }

  @Test
  void noRangeIsKnownBeforeTheFirstMap() {
    router.begin();
    assertThat(router.known()).isEmpty();
    assertThat(router.known(key("a"))).isEmpty();
    assertThat(router.isReached()).isFalse();
    var asked = ask("a");
    router.ranges(List.of());
    assertThat(asked).isNotDone();
    assertThat(router.held()).isEqualTo(1);

    router.ranges(List.of(WHOLE));

    assertThat(leader(PARENT).words).containsExactly("a@1");
  }

  @Test
  void allCallsOfAnOldEpochAreAnsweredBeforeAnyOfTheNextIsMade() {
    router.begin();
    router.ranges(List.of(WHOLE));
    ask("a");
    ask("x");
    leader(PARENT).refuses(LOWER);
    ask("b");
    ask("y");
    router.ranges(List.of(LOWER, UPPER));
    assertThat(leader(PARENT).words).containsExactly("a@1", "x@1");
    assertThat(router.held()).isEqualTo(3);

    leader(PARENT).answers(); // it was done before the split

    assertThat(leader(PARENT).words).containsExactly("a@1", "x@1", "a@2", "b@2");
    assertThat(leader(CHILD).words).containsExactly("y@2");
    assertThat(router.held()).isZero();
    assertThat(changed).contains(PARENT);
  }

  @Test
  void whatARangeHasKeptDoesNotWaitForTheMap() {
    router.begin();
    router.ranges(List.of(WHOLE));
    ask("a");
    ask("x");
    leader(PARENT).refuses(LOWER);
    leader(PARENT).refuses(LOWER);

    assertThat(leader(PARENT).words).containsExactly("a@1", "x@1", "a@2");
    assertThat(router.held()).isEqualTo(1);
  }

  @Test
  void aCallThatNoMapHelpsFails() {
    router = router(Duration.ZERO);
    router.begin();
    var asked = ask("a");

    await().atMost(Duration.ofMinutes(1)).until(asked::isDone);
    assertThatThrownBy(asked::join).hasCauseInstanceOf(StoreException.class).hasMessageContaining("does not show which range has the word");
  }

  @Test
  void aFailureIsNotWrapped() {
    router.begin();
    router.ranges(List.of(WHOLE));
    var seen = new ArrayList<Throwable>();
    ask("a").whenComplete((_, failure) -> seen.add(failure));
    leader(PARENT).asked.remove().completeExceptionally(new StoreException("full"));

    assertThat(seen).hasSize(1).allSatisfy(failure -> assertThat(failure).isExactlyInstanceOf(StoreException.class).hasMessage("full"));
  }

  @Test
  void answersAreGivenOutsideOfTheLock() {
    router.begin();
    var locked = new ArrayList<Boolean>();
    ask("x").whenComplete((_, _) -> locked.add(Thread.holdsLock(router)));
    router.close();
    ask("x").whenComplete((_, _) -> locked.add(Thread.holdsLock(router)));

    assertThat(locked).containsExactly(false, false);
  }

  @Test
  void theEndClosesLinksAndFailsWhatWaits() {
    router.begin();
    router.ranges(List.of(WHOLE));
    var made = ask("a");
    leader(PARENT).refuses(LOWER);
    var waits = ask("x");

    router.close();

    assertThat(leader(PARENT).closed).isTrue();
    assertThatThrownBy(waits::join).hasCauseInstanceOf(StoreException.class);
    assertThat(made).as("its link has it").isNotDone();
    assertThatThrownBy(() -> ask("x").join()).hasCauseInstanceOf(StoreException.class).hasMessageContaining("closing");
  }
}

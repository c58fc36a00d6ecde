package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import dunlin.TestBroker;
import dunlin.harness.LoggedLines;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** When nodes have agreed, and what the log says while they have not, and once they have. */
final class AgreementTest {
  /** The nodes that have not left. */
  private volatile Set<String> members = Set.of("b", "c");

  /** Those that answer, and say that they know it. */
  private final Set<String> ready = ConcurrentHashMap.newKeySet();

  private final AtomicInteger asked = new AtomicInteger();
  private final Agreement agreement = new Agreement("the test", () -> Optional.of(members), () -> Optional.of(members), this::ask);

  /** Those that are up, where it matters. */
  private Set<String> present = Set.of("b", "c");

  /** One whose looks return once the others have answered. */
  private final Agreement atOnce = new Agreement("the test", () -> Optional.of(members), () -> Optional.of(present), this::ask, Runnable::run);

  private SequencedMap<String, String> ask(Set<String> of) {
    asked.incrementAndGet();
    var not = new LinkedHashMap<String, String>();
    for (String node : new TreeSet<>(of)) if (!ready.contains(node)) not.put(node, "node " + node + " has not said so");
    return not;
  }

  /** Looks until all other nodes have been asked anew, and what they have said is taken over. */
  private void lookUntilAsked() {
    int before = asked.get();
    await("asked anew").atMost(TestBroker.SOON).until(() -> looked(agreement) && asked.get() >= before + 2);
    agreement.look();
  }

  private static boolean looked(Agreement at) {
    at.look();
    return true;
  }

  private void lookUntilReached() {
    await("all have said so").atMost(TestBroker.SOON).until(() -> looked(agreement) && agreement.isReached());
  }

  @Test
  void aNodeThatHasNotSaidSoIsNamedOnceUnlessItWasOnlyStarting() {
    var starting = "node b is starting";
    var waiting = "node b has not said so";
    BlockingQueue<String> answers = new LinkedBlockingQueue<>(List.of(starting, waiting, waiting, waiting));
    var named =
        new Agreement(
            "the test", () -> Optional.of(Set.of("b")), () -> Optional.of(Set.of("b")),
            _ -> {
              var not = new LinkedHashMap<String, String>();
              if (!answers.isEmpty()) not.put("b", answers.remove());
              return not;
            });
    try (var lines = new LoggedLines(Agreement.class.getName(), Level.INFO)) {
      await().atMost(TestBroker.SOON).until(() -> looked(named) && named.isReached());

      assertThat(lines.all())
          .containsExactly("All nodes must have said that they know the test before it holds: node b has not said so", "All nodes know the test, which holds from now on (1 others)");
    }
  }

  @Test
  void nothingIsAskedAndNothingHoldsBeforeTheOthersAreKnown() {
    var alone = new Agreement("the test", Optional::empty, Optional::empty, this::ask);

    alone.look();

    assertThat(alone.isReached()).isFalse();
    assertThat(asked).hasValue(0);
  }

  /** Such as one of an earlier version that comes back. */
  @Test
  void aNodeThatIsDownAndHasNeverSaidSoIsWaitedFor() {
    ready.add("b");
    lookUntilAsked();
    assertThat(agreement.isReached()).isFalse();

    ready.add("c");
    lookUntilReached();
  }

  @Test
  void whatANodeHasSaidIsBelievedWhileItIsDown() {
    ready.add("b");
    lookUntilAsked();
    ready.remove("b");
    ready.add("c");

    lookUntilReached();
  }

  @Test
  void aNodeThatComesLaterEndsTheAgreementUntilItHasSaidSoOrHasLeft() {
    ready.addAll(members);
    lookUntilReached();

    try (var lines = new LoggedLines(Agreement.class.getName(), Level.INFO)) {
      members = Set.of("b", "c", "d");
      agreement.look();
      assertThat(agreement.isReached()).isFalse();
      lookUntilAsked();
      assertThat(agreement.isReached()).isFalse();
      members = Set.of("b", "c");
      agreement.look();
      assertThat(agreement.isReached()).isTrue();
      members = Set.of("b", "c", "e");
      ready.add("e");
      agreement.look();
      assertThat(agreement.isReached()).isFalse();
      lookUntilReached();

      assertThat(lines.all()).startsWith("A node has come that has not said that it knows the test, which does not hold until it has").endsWith("All nodes know the test, which holds from now on (3 others)");
    }
  }

  @Test
  void othersAreAskedLessAndLessOftenWhileOneHasNotSaidSo() {
    for (int i = 0; i < 7 * Agreement.PAUSE_MAX; i++) atOnce.look();

    assertThat(asked).as("at the looks 1, 2, 4, 8, 16, 32, 64, 96, 128, 160, 192 and 224").hasValue(12);
  }

  @Test
  void aNodeThatComesUpIsAskedAtTheNextLook() {
    ready.add("b");
    present = Set.of("b");
    for (int i = 0; i < 2 * Agreement.PAUSE_MAX + 2; i++) atOnce.look();
    int before = asked.get();
    ready.add("c");
    atOnce.look();
    assertThat(asked).as("in the pause").hasValue(before);

    present = Set.of("b", "c");
    atOnce.look();

    assertThat(asked).hasValue(before + 1);
    atOnce.look();
    assertThat(atOnce.isReached()).isTrue();
  }

  @Test
  void aNodeThatComesOnceAllHaveAgreedIsAskedAtTheNextLook() {
    ready.addAll(members);
    atOnce.look();
    atOnce.look();
    assertThat(atOnce.isReached()).isTrue();

    for (int i = 1; i <= 3; i++) { // the same node each time, as one that leaves and comes back
      members = Set.of("b", "c", "d");
      atOnce.look();
      assertThat(asked).hasValue(1 + i);
      members = Set.of("b", "c");
      atOnce.look();
    }
  }

  @Test
  void whatWasSaidHoldsWhileOthersAreAsked() {
    members = Set.of("b", "c", "d");
    ready.addAll(Set.of("b", "d"));
    atOnce.look();
    ready.removeAll(Set.of("b", "d")); // they are down
    members = Set.of("b", "c", "d", "e");
    ready.addAll(Set.of("c", "e"));

    atOnce.look();
    atOnce.look();

    assertThat(atOnce.isReached()).isTrue();
  }

  /** Housekeeping would not look again after an exception. */
  @Test
  void aLookThatFailsIsLoggedOnceAndIsNotTheLast() {
    var fails = new AtomicBoolean(true);
    var threads = new AtomicInteger();
    var failing =
        new Agreement(
            "the test",
            () -> {
              if (fails.get()) throw new IllegalStateException("no map");
              return Optional.of(members);
            },
            () -> Optional.of(members), this::ask,
            task -> {
              if (threads.getAndIncrement() < 2) throw new OutOfMemoryError("unable to create native thread");
              task.run();
            });
    ready.addAll(members);
    try (var lines = new LoggedLines(Agreement.class.getName(), Level.ERROR)) {
      failing.look();
      failing.look();
      fails.set(false);
      for (int i = 0; i < 5; i++) failing.look();

      assertThat(lines.all()).hasSize(2).allMatch(line -> line.startsWith("Whether all nodes know the test could not be looked at"));
    }
    assertThat(failing.isReached()).isTrue();
  }

  @Test
  void aQuestionThatFailsIsLoggedWhenItFailsInAnotherWay() {
    BlockingQueue<String> failures = new LinkedBlockingQueue<>(List.of("one", "one", "one", "two", "two"));
    var failing =
        new Agreement(
            "the test", () -> Optional.of(members), () -> Optional.of(members),
            of -> {
              if (!failures.isEmpty()) throw new IllegalStateException(failures.remove());
              return ask(of);
            });
    ready.addAll(members);
    try (var lines = new LoggedLines(Agreement.class.getName(), Level.WARN)) {
      await().atMost(TestBroker.SOON).until(() -> looked(failing) && failing.isReached());

      assertThat(lines.all()).hasSize(2).allMatch(line -> line.startsWith("Other nodes could not be asked whether they know the test"));
    }
  }
}

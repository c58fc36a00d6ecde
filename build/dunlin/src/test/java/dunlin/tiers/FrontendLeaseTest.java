package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.store.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class FrontendLeaseTest {
  private static final Duration SOON = Duration.ofMinutes(1);

  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().factory());
  private final AtomicBoolean leased = new AtomicBoolean(true);
  private final AtomicLong losses = new AtomicLong(3);
  private final AtomicReference<CompletableFuture<Void>> renewal = new AtomicReference<>(new CompletableFuture<>());
  private final List<String> seen = new CopyOnWriteArrayList<>();
  private final FrontendLease lease =
      new FrontendLease(
          leased::get, losses::get, timer, Duration.ofMillis(1), () -> seen.add("ended"),
          () -> {
            seen.add("renewing");
            return renewal.get();
          });

  @AfterEach
  void stops() {
    timer.shutdownNow();
  }

  private void awaitSeen(String... what) {
    await().atMost(SOON).untilAsserted(() -> assertThat(seen).containsExactly(what));
  }

  /** Returns when two checks have begun since. */
  private void checked() {
    for (int i = 0; i < 2; i++) {
      var passed = new CompletableFuture<Void>();
      var _ = timer.schedule(() -> passed.complete(null), 2, TimeUnit.MILLISECONDS);
      assertThat(passed).succeedsWithin(SOON);
    }
  }

  @Test
  void theRoutesAreSetAnewBeforeALeaseThatWasLostIsHeldAgain() {
    leased.set(false);
    awaitSeen("ended");
    assertThat(lease.held()).isFalse();

    leased.set(true);
    awaitSeen("ended", "renewing");
    checked();
    assertThat(lease.held()).as("while routes are set").isFalse();
    renewal.get().complete(null);
    await().atMost(SOON).until(lease::held);
    checked();
    assertThat(seen).containsExactly("ended", "renewing");
  }

  @Test
  void aProcessThatHasCountedAsDeadHasLostItsLeaseWhateverItsClockSays() {
    losses.incrementAndGet();
    awaitSeen("ended", "renewing");
    assertThat(lease.held()).isFalse();

    renewal.get().complete(null);
    await().atMost(SOON).until(lease::held);
    checked();
    assertThat(seen).containsExactly("ended", "renewing");
  }

  @Test
  void aDeathWhileRoutesAreSetAnewBeginsThatAgain() {
    losses.incrementAndGet();
    awaitSeen("ended", "renewing");
    losses.incrementAndGet();
    awaitSeen("ended", "renewing", "renewing");

    renewal.get().complete(null);
    await().atMost(SOON).until(lease::held);
  }

  @Test
  void whatWasHeardBeforeItBeganDoesNotCount() {
    checked();

    assertThat(lease.held()).isTrue();
    assertThat(seen).isEmpty();
  }

  @Test
  void routesThatCannotBeSetAreTriedAgain() {
    renewal.get().completeExceptionally(new StoreException("no leader"));
    leased.set(false);
    awaitSeen("ended");
    leased.set(true);
    await().atMost(SOON).until(() -> seen.size() > 2);
    assertThat(lease.held()).isFalse();

    renewal.set(CompletableFuture.completedFuture(null));
    await().atMost(SOON).until(lease::held);
    assertThat(seen).startsWith("ended", "renewing", "renewing");
  }

  @Test
  void aRenewalThatTheNextLossOvertakesDoesNotCount() {
    leased.set(false);
    awaitSeen("ended");
    leased.set(true);
    awaitSeen("ended", "renewing");
    leased.set(false);
    checked();
    renewal.get().complete(null);
    checked();
    assertThat(lease.held()).isFalse();

    leased.set(true);
    await().atMost(SOON).until(lease::held);
    assertThat(seen).containsExactly("ended", "renewing", "renewing");
  }
}

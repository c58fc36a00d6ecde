package dunlin.broker.limit;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.runtime.memory.HeapGuard;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class BudgetTest {
  private static final long LIMIT = 1 << 20;

  static LongStream seeds() {
    return LongStream.generate(() -> ThreadLocalRandom.current().nextLong()).limit(20);
  }

  @Test
  void oneHolderGetsHalfAndLeavesTheRest() {
    Budget.Share share = new Budget("test", LIMIT).share();
    long held = spend(share, 0);

    assertThat(held).isBetween(LIMIT / 2 - 2_000, LIMIT / 2);
    assertThat(share.allows(0, LIMIT / 2 - 2_000)).as("a holder of nothing").isTrue();
    assertThat(share.allows(held, 2_000)).isFalse();
  }

  @Test
  void tenHoldersOnTwoThreadsGetAnEleventhEachAndLeaveOne() {
    Budget budget = new Budget("test", LIMIT);
    Budget.Share[] shares = {budget.share(), budget.share()};
    long[] held = new long[10];
    for (int round = 0; round < 100_000; round++) {
      int i = round % held.length;
      if (!shares[i % 2].allows(held[i], 100)) continue;
      shares[i % 2].add(100);
      held[i] += 100;
    }

    for (long each : held) assertThat(each).isBetween(LIMIT / 12, LIMIT / 10);
    assertThat(shares[0].free()).isGreaterThan(LIMIT / 13);
  }

  /** Many holders together take everything, and clients with small messages must not wait for them. */
  @Test
  void aFewBytesAreAllowedHoweverLittleIsLeft() {
    long limit = 64 << 20;
    Budget.Share share = new Budget("test", limit).share();
    while (share.allows(0, 4_097)) share.add(4_097);
    share.add(share.free());

    assertThat(share.allows(0, 4_096)).isTrue();
    assertThat(share.allows(2_096, 2_000)).isTrue();
    assertThat(share.allows(2_096, 2_001)).isFalse();
    assertThat(share.allows(0, 4_097)).isFalse();
  }

  @Test
  void itHasALowerLimitWhileTheHeapIsFull() {
    double[] live = {0.9};
    HeapGuard heap = new HeapGuard(() -> new HeapGuard.Found(live[0], HeapGuard.Found.EXACT, 0), 80);
    heap.look();
    Budget.Share share = new Budget("test", LIMIT, heap, held -> Math.max(LIMIT / 4, held + LIMIT / 16)).share();

    assertThat(spend(share, 0)).as("half of that").isBetween(LIMIT / 8 - 2_000, LIMIT / 8);
    live[0] = 0.5;
    heap.look();
    assertThat(share.allows(LIMIT / 8, LIMIT / 4)).isTrue();
  }

  /** Clients that release nothing hold more than that when the heap becomes full. */
  @Test
  void aLittleMoreThanWhatIsHeldIsLeftForOthersWhenTheHeapBecomesFull() {
    double[] live = {0.5};
    HeapGuard heap = new HeapGuard(() -> new HeapGuard.Found(live[0], HeapGuard.Found.EXACT, 0), 80);
    Budget.Share share = new Budget("test", LIMIT, heap, held -> Math.max(LIMIT / 4, held + LIMIT / 16)).share();
    long silent = spend(share, 0);
    live[0] = 0.9;
    heap.look();

    assertThat(share.allows(silent, 1_000)).as("the one that holds it").isFalse();
    assertThat(spend(share, 0)).as("half of the little").isBetween(LIMIT / 32 - 2_000, LIMIT / 32 + 1_024);
    Budget.Share none = new Budget("none", LIMIT, heap, _ -> 0).share();
    assertThat(none.free()).isZero();

    live[0] = 0.5;
    heap.look();
    assertThat(none.free()).isEqualTo(LIMIT);
    share.add(-silent);
    live[0] = 0.9;
    heap.look();
    assertThat(share.free()).as("when it is full again, from what is held then").isLessThan(LIMIT / 3);
  }

  private static long spend(Budget.Share share, long held) {
    long all = held;
    while (share.allows(all, 1_000)) {
      share.add(1_000);
      all += 1_000;
    }
    return all;
  }

  /** Whatever is taken and returned by any holder, the sum is right up to the chunks that shares keep. */
  @ParameterizedTest
  @MethodSource("seeds")
  void whatSharesKeepIsLittle(long seed) {
    Random random = new Random(seed);
    Budget budget = new Budget("test", LIMIT);
    List<Budget.Share> shares = List.of(budget.share(), budget.share(), budget.share());
    long[] held = new long[shares.size()];
    List<long[]> taken = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      if (taken.isEmpty() || random.nextInt(5) < 3) {
        int share = random.nextInt(shares.size());
        long bytes = random.nextInt(10_000);
        if (!shares.get(share).allows(0, bytes)) continue;
        shares.get(share).add(bytes);
        held[share] += bytes;
        taken.add(new long[] {share, bytes});
      } else {
        long[] back = taken.remove(random.nextInt(taken.size()));
        shares.get((int) back[0]).add(-back[1]);
        held[(int) back[0]] -= back[1];
      }
      long sum = LongStream.of(held).sum();
      assertThat(budget.used()).as("seed %d", seed).isBetween(sum, sum + 3 * 3 * LIMIT / 1_024);
      assertThat(budget.used()).isLessThanOrEqualTo(LIMIT + LIMIT / 1_024);
    }
    for (long[] back : taken) shares.get((int) back[0]).add(-back[1]);
    assertThat(budget.used()).as("seed %d", seed).isBetween(0L, 3 * 3 * LIMIT / 1_024);
  }
}

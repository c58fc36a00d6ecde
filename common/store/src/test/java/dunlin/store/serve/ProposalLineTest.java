package dunlin.store.serve;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.store.Completion;
import dunlin.store.Range;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class ProposalLineTest {
  private final FullRange range = new FullRange(4);
  private final ProposalLine<String, String> line = new ProposalLine<>(range, 1_000);
  private final List<String> ended = new ArrayList<>();

  /** A range with a bounded queue, from which the test takes commands. */
  private static final class FullRange implements Range<String, String> {
    private record Proposal(String command, Completion<String> completion) {}

    private final int most;
    private final ArrayDeque<Proposal> queue = new ArrayDeque<>();
    private final ArrayList<Runnable> callers = new ArrayList<>();
    final ArrayList<String> applied = new ArrayList<>();
    boolean failed;
    int callersMax = Integer.MAX_VALUE;

    FullRange(int most) {
      this.most = most;
    }

    @Override
    public boolean propose(String command, Completion<String> completion) {
      synchronized (this) {
        if (!failed) {
          if (queue.size() >= most) return false;
          if (command.equals("throws")) throw new IllegalArgumentException("as the test wants it");
          queue.add(new Proposal(command, completion));
          return true;
        }
      }
      completion.failed(new StoreException("failed"));
      return true;
    }

    @Override
    public synchronized boolean whenRoom(Runnable caller) {
      if (callers.size() >= callersMax) return false;
      callers.add(caller);
      return true;
    }

    /** Applies some of the queued commands, then reports room. */
    void step(int commands) {
      List<Runnable> told;
      var taken = new ArrayList<Proposal>();
      synchronized (this) {
        while (taken.size() < commands && !queue.isEmpty()) taken.add(queue.remove());
        for (Proposal each : taken) applied.add(each.command());
        told = List.copyOf(callers);
        callers.clear();
      }
      for (Proposal each : taken) each.completion().done(each.command());
      told.forEach(Runnable::run);
    }

    synchronized int appliedCount() {
      return applied.size();
    }

    @Override
    public RangeReader reader() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Executor readers() {
      throw new UnsupportedOperationException();
    }
  }

  private boolean propose(String command) {
    return line.propose(command, completing(command));
  }

  private Completion<String> completing(String command) {
    return new Completion<>() {
      @Override
      public void done(String result) {
        ended.add(result);
      }

      @Override
      public void failed(StoreException failure) {
        ended.add(command + " failed");
      }
    };
  }

  @Test
  void refusedCommandsAreAppliedLaterInOrder() {
    var all = new ArrayList<String>();
    for (int i = 0; i < 11; i++) {
      all.add("c" + i);
      assertThat(propose("c" + i)).isTrue();
    }
    assertThat(line.waiting()).isEqualTo(7);
    assertThat(line.oldestSeconds()).isPositive();

    range.step(3);
    assertThat(line.waiting()).isEqualTo(4);
    all.add("behind");
    propose("behind");
    assertThat(line.waiting()).as("goes behind what waits").isEqualTo(5);
    while (line.waiting() > 0) range.step(1);
    all.add("straight");
    range.step(4);
    propose("straight");
    assertThat(line.waiting()).isZero();
    range.step(4);

    assertThat(range.applied).isEqualTo(all);
    assertThat(ended).isEqualTo(all);
    assertThat(line.oldestSeconds()).isZero();
  }

  @Test
  void aSourceThatIsRefusedDoesNotHoldUpOthers() {
    var refused = new ProposalLine<String, String>(
        (command, completion) -> !command.startsWith("flood") && range.propose(command, completion), range::whenRoom, command -> command.substring(0, 5), 1_000);
    for (String each : List.of("flood 1", "flood 2", "quiet 1", "quiet 2")) assertThat(refused.propose(each, completing(each))).isTrue();

    assertThat(refused.waiting()).isEqualTo(2);
    assertThat(refused.oldestSeconds()).isPositive();
    range.step(4);
    assertThat(ended).containsExactly("quiet 1", "quiet 2");
    assertThat(refused.waiting()).isEqualTo(2);
  }

  @Test
  void sourcesKeepTheirOrderWhileTheyWait() {
    var lines = new ProposalLine<String, String>(range::propose, range::whenRoom, command -> command.substring(0, 1), 1_000);
    for (int i = 10; i < 40; i++) for (String source : List.of("a", "b", "c")) assertThat(lines.propose(source + i, completing(source + i))).isTrue();

    while (ended.size() < 90) range.step(3);

    for (String source : List.of("a", "b", "c")) assertThat(ended.stream().filter(each -> each.startsWith(source))).hasSize(30).isSorted();
    assertThat(lines.waiting()).isZero();
    assertThat(lines.oldestSeconds()).isZero();
    assertThat(lines.propose("a99", completing("a99"))).isTrue();
    range.step(1);
    assertThat(ended).endsWith("a99");
  }

  @Test
  void isBounded() {
    for (int i = 0; i < 1_004; i++) assertThat(propose("c" + i)).isTrue();

    assertThat(propose("one too many")).isFalse();

    while (line.waiting() > 0) range.step(4);
    range.step(4);
    assertThat(ended).hasSize(1_004).doesNotContain("one too many");
    assertThat(propose("again")).isTrue();
  }

  @Test
  void isBoundedInBytesOfThoseThatHaveSome() {
    var bounded = new ProposalLine<>(range, 1_000, new ProposalLine.Bytes<>((String command) -> command.startsWith("small") ? 0 : command.length(), 10));
    for (int i = 0; i < 4; i++) assertThat(bounded.propose("large " + i, completing("large " + i))).isTrue();
    assertThat(bounded.waitingBytes()).as("they are in the range's queue").isZero();

    assertThat(bounded.propose("12345", completing("12345"))).isTrue();
    assertThat(bounded.propose("678901", completing("678901"))).isFalse();
    assertThat(bounded.propose("67890", completing("67890"))).isTrue();
    assertThat(bounded.propose("1", completing("1"))).isFalse();
    assertThat(bounded.propose("small", completing("small"))).isTrue();
    assertThat(bounded.waitingBytes()).isEqualTo(10);

    range.step(4);
    assertThat(bounded.waitingBytes()).isZero();
    range.step(4);
    assertThat(ended).endsWith("12345", "67890", "small").hasSize(7);
    assertThat(bounded.propose("1", completing("1"))).isTrue();
  }

  @Test
  void aFailedRangeFailsWaitingCommands() {
    for (int i = 0; i < 6; i++) propose("c" + i);

    range.failed = true;
    range.step(4);

    assertThat(ended).containsExactly("c0", "c1", "c2", "c3", "c4 failed", "c5 failed");
    assertThat(line.waiting()).isZero();
  }

  @Test
  void aCommandThatCannotBeProposedDoesNotBlockOthers() {
    for (int i = 0; i < 4; i++) propose("c" + i);
    propose("throws");
    propose("last");

    range.step(4);
    range.step(4);

    assertThat(ended).containsExactly("c0", "c1", "c2", "c3", "throws failed", "last");
  }

  @Test
  void retriesByATimerWhenTheRangeHasTooManyCallers() throws Exception {
    range.callersMax = 0;
    for (int i = 0; i < 4; i++) propose("c" + i);
    var done = new CountDownLatch(1);
    line.propose(
        "late",
        new Completion<>() {
          @Override
          public void done(String result) {
            done.countDown();
          }

          @Override
          public void failed(StoreException failure) {}
        });

    while (range.appliedCount() < 5) {
      range.step(4);
      Thread.onSpinWait();
    }
    assertThat(done.await(10, TimeUnit.SECONDS)).isTrue();
  }

  /** Each thread's commands stay in order, whatever is refused and whenever there is room. */
  @RepeatedTest(5)
  void keepsTheOrderOfEachOfManyThreads() throws Exception {
    long seed = Long.getLong("dunlin.test.seed", System.nanoTime());
    var random = new Random(seed);
    int threads = 4;
    int each = 20_000;
    var wide = new ProposalLine<String, String>(range, threads * each);
    Completion<String> ignored =
        new Completion<>() {
          @Override
          public void done(String result) {}

          @Override
          public void failed(StoreException failure) {}
        };
    var running = new ArrayList<Thread>();
    for (int t = 0; t < threads; t++) {
      int thread = t;
      running.add(
          Thread.ofPlatform().start(
              () -> {
                for (int i = 0; i < each; i++) wide.propose(thread + " " + i, ignored);
              }));
    }
    while (range.appliedCount() < threads * each) range.step(random.nextInt(5));
    for (Thread thread : running) thread.join();

    int[] next = new int[threads];
    for (String command : range.applied) {
      String[] parts = command.split(" ", 2);
      assertThat(Integer.parseInt(parts[1])).as("seed %s, command %s", seed, command).isEqualTo(next[Integer.parseInt(parts[0])]++);
    }
    assertThat(wide.waiting()).isZero();
  }
}

package dunlin.store.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.RangeLogic;
import dunlin.store.RangeProgress;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import dunlin.store.StoreException;
import dunlin.store.raft.Command.Put;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A start may take any time while it makes progress, and fails when it stalls. */
class StartByProgressTest {
  private static final Duration STALL_MAX = Duration.ofSeconds(1);
  private static final int STEPS = 5;

  @TempDir Path directory;
  private final HandClock clock = new HandClock();

  /** A clock that the test advances: with each step of the start, or with each look at it. */
  private static final class HandClock implements LongSupplier {
    private long now;
    private long looks;
    private long leapNanos;

    @Override
    public synchronized long getAsLong() {
      looks++;
      notifyAll();
      return now += leapNanos;
    }

    synchronized void leapWithEachLook(Duration leap) {
      leapNanos = leap.toNanos();
    }

    /** Advances by nearly the longest time, and returns after the next look. */
    synchronized void passAndAwaitLook() {
      now += STALL_MAX.toNanos() * 9 / 10;
      long before = looks;
      try {
        while (looks == before) wait();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError(e);
      }
    }

    synchronized Duration passed() {
      return Duration.ofNanos(now);
    }
  }

  /** A logic that takes time for each row that is read at the start, and for each entry that is replayed. */
  private final class Slow implements RangeLogic<Command, String> {
    private final Command.Logic logic = new Command.Logic();
    private volatile boolean started;

    @Override
    public void open(RangeReader state) {
      state.scan(
          new byte[0],
          null,
          (_, _) -> {
            clock.passAndAwaitLook();
            return true;
          });
    }

    @Override
    public List<String> apply(List<Command> commands, RangeWriter out) {
      if (!started) clock.passAndAwaitLook();
      return logic.apply(commands, out);
    }
  }

  private Path writtenBefore(Path copied) throws Exception {
    try (var before = OneRange.start(directory.resolve("before"))) {
      for (int i = 0; i < STEPS; i++) before.apply(new Put("key" + i, "value"));
      OneRange.copy(directory.resolve("before"), copied);
    }
    return directory.resolve("before");
  }

  private Duration started(Path data, Slow logic) {
    var store = RangeStore.open(StoreSettings.defaults(), data, new SimpleMeterRegistry(), clock);
    store.range("routes", Command.CODEC, logic);
    try {
      store.start(STALL_MAX);
      logic.started = true;
      return clock.passed();
    } finally {
      logic.started = true;
      OneRange.close(store);
    }
  }

  @Test
  void readingRowsIsProgress() throws Exception {
    Path stopped = writtenBefore(directory.resolve("copy"));

    assertThat(started(stopped, new Slow())).isGreaterThan(STALL_MAX.multipliedBy(STEPS / 2));
  }

  @Test
  void replayingEntriesIsProgress() throws Exception {
    Path crashed = directory.resolve("copy");
    writtenBefore(crashed);

    assertThat(started(crashed, new Slow())).isGreaterThan(STALL_MAX.multipliedBy(STEPS / 2));
  }

  @Test
  void aRowThatIsNeverReadFailsTheStartAndIsVisible() throws Exception {
    Path stopped = writtenBefore(directory.resolve("copy"));
    var held = new CountDownLatch(1);
    var store = RangeStore.open(StoreSettings.defaults(), stopped, new SimpleMeterRegistry(), clock);
    var reading = new CountDownLatch(1);
    store.range(
        "routes",
        Command.CODEC,
        new RangeLogic<Command, String>() {
          @Override
          public void open(RangeReader state) {
            state.scan(
                new byte[0],
                null,
                (_, _) -> {
                  reading.countDown();
                  hold(held);
                  return true;
                });
          }

          @Override
          public List<String> apply(List<Command> commands, RangeWriter out) {
            return commands.stream().map(_ -> "applied").toList();
          }
        });

    var start = CompletableFuture.runAsync(() -> store.start(STALL_MAX), task -> Thread.ofPlatform().daemon().start(task));
    hold(reading);
    clock.leapWithEachLook(STALL_MAX.dividedBy(2));
    assertThat(store.progress())
        .singleElement()
        .satisfies(range -> assertThat(range.step()).isEqualTo(RangeProgress.Step.ROWS))
        .satisfies(range -> assertThat(range.rowsRead()).isEqualTo(1));
    assertThatThrownBy(() -> start.get(OneRange.DEADLINE.toSeconds(), TimeUnit.SECONDS))
        .hasCauseInstanceOf(StoreException.class)
        .hasMessageContaining("there was no progress for PT1S; not led yet: routes");

    held.countDown();
    OneRange.close(store);
  }

  @Test
  void theOldestWaitingCommandIsKnown() {
    var held = new CountDownLatch(1);
    var store = RangeStore.open(StoreSettings.defaults(), directory, new SimpleMeterRegistry());
    var range =
        store.range(
            "routes",
            Command.CODEC,
            new RangeLogic<Command, String>() {
              @Override
              public void open(RangeReader state) {}

              @Override
              public List<String> apply(List<Command> commands, RangeWriter out) {
                hold(held);
                return commands.stream().map(_ -> "applied").toList();
              }
            });
    store.start(OneRange.DEADLINE);
    assertThat(store.progress()).singleElement().satisfies(idle -> assertThat(idle.oldest()).isZero());
    assertThat(store.progress().getFirst().step()).isEqualTo(RangeProgress.Step.ENTRIES);

    var result = new CompletableFuture<String>();
    range.propose(new Put("a", "b"), OneRange.completing(result));
    await().atMost(OneRange.DEADLINE).until(() -> store.progress().getFirst().oldest().compareTo(Duration.ofMillis(50)) > 0);
    held.countDown();

    assertThat(result).succeedsWithin(OneRange.DEADLINE);
    await().atMost(OneRange.DEADLINE).untilAsserted(() -> assertThat(store.progress().getFirst().oldest()).isZero());
    OneRange.close(store);
  }

  private static void hold(CountDownLatch until) {
    try {
      until.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }
}

package dunlin.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HopLedgerTest {
  private final MeterRegistry registry = new SimpleMeterRegistry();
  private final AtomicLong held = new AtomicLong();

  @Test
  void theLedgerBalancesOnlyWhenEveryMessageIsAccountedFor() {
    HopLedger ledger = new HopLedger(registry, "session", held::get);
    HopLedger.Local local = ledger.local();
    assertThat(ledger.balanced()).isTrue();

    local.received(10);
    assertThat(ledger.balanced()).isFalse();
    local.delivered(6);
    local.dropped(DropReason.EXPIRED, 2);
    local.dropped(DropReason.QUEUE_FULL);
    held.set(1);

    assertThat(ledger.balanced()).isTrue();
    assertThat(ledger.received()).isEqualTo(10);
    assertThat(ledger.delivered()).isEqualTo(6);
    assertThat(ledger.dropped()).isEqualTo(3);
    assertThat(ledger.dropped(DropReason.EXPIRED)).isEqualTo(2);
    assertThat(ledger.dropped(DropReason.OVERLOADED)).isZero();
    assertThat(ledger.inFlight()).isEqualTo(1);
  }

  @Test
  void everyCountIsAMeter() {
    HopLedger ledger = new HopLedger(registry, "session", held::get);
    HopLedger.Local local = ledger.local();
    local.received(4);
    local.delivered();
    local.dropped(DropReason.NOT_WRITABLE);
    held.set(2);

    assertThat(count("dunlin.messages.received")).isEqualTo(4);
    assertThat(count("dunlin.messages.delivered")).isEqualTo(1);
    assertThat(registry.get("dunlin.messages.in-flight").tag("hop", "session").gauge().value()).isEqualTo(2);
    for (DropReason reason : ofSession()) {
      double expected = reason == DropReason.NOT_WRITABLE ? 1 : 0;
      assertThat(
              registry
                  .get("dunlin.messages.dropped")
                  .tags("hop", "session", "reason", reason.tag())
                  .functionCounter()
                  .count())
          .as(reason.tag())
          .isEqualTo(expected);
    }
    assertThat(registry.find("dunlin.messages.dropped").functionCounters()).as("none for a reason that the hop does not have").hasSameSizeAs(ofSession());
    assertThatThrownBy(() -> local.dropped(DropReason.OFFLINE)).isInstanceOf(AssertionError.class).hasMessageContaining("session has no meter for OFFLINE");
  }

  private static List<DropReason> ofSession() {
    return Arrays.stream(DropReason.values()).filter(reason -> reason.hops().contains("session")).toList();
  }

  @Test
  void hopsHaveSeparateLedgersAndRemoveTheirMeters() {
    HopLedger frontend = new HopLedger(registry, "frontend", held::get);
    HopLedger session = new HopLedger(registry, "session", held::get);
    frontend.local().received(3);
    assertThat(session.received()).isZero();

    session.close();

    assertThat(registry.find("dunlin.messages.received").tag("hop", "session").meter()).isNull();
    assertThat(registry.find("dunlin.messages.received").tag("hop", "frontend").meter()).isNotNull();
    frontend.close();
    assertThat(registry.getMeters()).isEmpty();
  }

  /** Four loops pass messages to each other and drop some, while a reader reads the counts. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void nothingIsLostBetweenThreads(long seed) throws InterruptedException {
    int threads = 4;
    int messages = 50_000;
    BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(threads * messages);
    HopLedger ledger = new HopLedger(registry, "session", queue::size);
    List<Thread> loops = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      HopLedger.Local local = ledger.local();
      SplittableRandom random = new SplittableRandom(seed * 31 + i);
      loops.add(Thread.ofPlatform().start(() -> passMessages(local, queue, random, messages)));
    }
    long before = 0;
    while (loops.stream().anyMatch(Thread::isAlive)) {
      long received = ledger.received();
      assertThat(received).as("seed %d", seed).isBetween(before, (long) threads * messages);
      before = received;
    }
    for (Thread loop : loops) loop.join();

    assertThat(ledger.received()).as("seed %d", seed).isEqualTo((long) threads * messages);
    assertThat(ledger.balanced()).as("seed %d", seed).isTrue();
    assertThat(ledger.dropped()).as("seed %d", seed).isPositive();
  }

  private static void passMessages(
      HopLedger.Local local, BlockingQueue<Integer> queue, SplittableRandom random, int messages) {
    List<DropReason> reasons = ofSession();
    for (int message = 0; message < messages; message++) {
      local.received();
      queue.add(message);
      // Sometimes nothing is taken, so that messages remain in flight; a taken message may be of another thread.
      if (random.nextInt(10) == 0 || queue.poll() == null) continue;
      if (random.nextInt(10) == 0) local.dropped(reasons.get(random.nextInt(reasons.size())));
      else local.delivered();
    }
  }

  @Test
  void readingsOfThreadsAddUp() throws InterruptedException {
    HopLedger ledger = new HopLedger(registry, "session", held::get);
    HopLedger.Local one = ledger.local();
    one.received(5);
    one.delivered(2);
    one.dropped(DropReason.EXPIRED, 2);
    List<HopLedger.Reading> others = new ArrayList<>();
    Thread.ofPlatform()
        .start(
            () -> {
              HopLedger.Local other = ledger.local();
              other.received(3);
              other.returned();
              other.dropped(DropReason.EXPIRED);
              other.dropped(DropReason.QUEUE_FULL);
              others.add(other.reading(0));
            })
        .join();

    HopLedger.Reading mine = one.reading(1);
    HopLedger.Reading both = mine.plus(others.getFirst());

    assertThat(both).isEqualTo(new HopLedger.Reading("session", 8, 2, 1, Map.of(DropReason.EXPIRED, 3L, DropReason.QUEUE_FULL, 1L), 1));
    assertThat(List.of(mine, others.getFirst(), both)).allMatch(HopLedger.Reading::balanced);
    assertThat(one.reading(0).balanced()).as("a message is missing").isFalse();
    assertThat(mine.dropped()).as("without those of which there are none").containsOnlyKeys(DropReason.EXPIRED);
  }

  @Test
  void onlyTheOwnerMayCount() throws InterruptedException {
    HopLedger.Local local = new HopLedger(registry, "session", held::get).local();
    Thread owner = Thread.ofPlatform().start(local::received);
    owner.join();

    local.received(); // the owner has ended, so this thread may take over

    List<Throwable> thrown = new ArrayList<>();
    Thread intruder = Thread.ofPlatform().uncaughtExceptionHandler((_, e) -> thrown.add(e)).start(local::received);
    intruder.join();
    assertThat(thrown).singleElement().isInstanceOf(AssertionError.class);
    assertThatThrownBy(() -> local.received(-1)).isInstanceOf(AssertionError.class);
  }

  private double count(String name) {
    return registry.get(name).tag("hop", "session").functionCounter().count();
  }
}

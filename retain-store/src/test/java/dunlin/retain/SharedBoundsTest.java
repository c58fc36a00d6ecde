package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.retain.RetainCommand.Clear;
import dunlin.retain.RetainCommand.Set;
import dunlin.retain.RetainResult.Limit;
import dunlin.runtime.memory.HeapGuard;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The shares of several ranges in one node's limits. */
class SharedBoundsTest {
  private final List<RetainRange> ranges = List.of(new RetainRange(), new RetainRange(), new RetainRange());
  private final List<FakeRange.Rows> rows = List.of(new FakeRange.Rows(), new FakeRange.Rows(), new FakeRange.Rows());

  static LongStream seeds() {
    return LongStream.rangeClosed(1, 20);
  }

  private RetainResult apply(int range, RetainCommand command) {
    return ranges.get(range).apply(List.of(command), rows.get(range)).getFirst();
  }

  private static int keyLength(String topic) {
    return TopicKeys.of(Messages.TENANT, topic).length;
  }

  private RetainResult keep(SharedBounds bounds, int range, String topic, String payload) {
    var message = Messages.message(topic, payload);
    var claim = bounds.claim(range, keyLength(topic), message.encodedLength());
    RetainResult result = apply(range, new Set(claim.bounds(), message));
    bounds.release(claim);
    return result;
  }

  private long messages() {
    return ranges.stream().mapToLong(range -> range.index().size()).sum();
  }

  @Test
  void allRangesTogetherShareTheLimitOfOne() {
    var bounds = new SharedBounds(Messages.atMost(3), ranges);

    assertThat(keep(bounds, 0, "a", "1")).isEqualTo(RetainResult.STORED);
    assertThat(keep(bounds, 0, "b", "1")).isEqualTo(RetainResult.STORED);
    assertThat(keep(bounds, 1, "c", "1")).isEqualTo(RetainResult.STORED);
    assertThat(keep(bounds, 2, "d", "1")).isEqualTo(Limit.MESSAGES.refused());
    assertThat(keep(bounds, 1, "e", "1")).isEqualTo(Limit.MESSAGES.refused());
    assertThat(keep(bounds, 1, "c", "larger than before")).as("a topic that has one").isEqualTo(RetainResult.STORED);
    apply(0, new Clear(TopicKeys.of(Messages.TENANT, "b")));
    assertThat(keep(bounds, 2, "d", "1")).as("one has gone elsewhere").isEqualTo(RetainResult.STORED);
  }

  @Test
  void onAFullHeapOnlyTopicsThatHaveAMessageGetOne() {
    var bounds = new SharedBounds(Messages.atMost(3), ranges);
    assertThat(keep(bounds, 0, "a", "1")).isEqualTo(RetainResult.STORED);
    var heap = new HeapGuard(() -> new HeapGuard.Found(0.9, HeapGuard.Found.EXACT, 0), 80);
    heap.look();
    bounds.guard(heap);

    assertThat(keep(bounds, 1, "b", "1")).isEqualTo(Limit.TOPIC_BYTES.refused());
    assertThat(keep(bounds, 0, "a", "larger than before")).isEqualTo(RetainResult.STORED);
  }

  @Test
  void pendingMessagesOfOneRangeReduceTheShareOfAnother() {
    var bounds = new SharedBounds(Messages.atMost(1), ranges);
    var message = Messages.message("a", "1");

    var claim = bounds.claim(0, keyLength("a"), message.encodedLength());
    assertThat(keep(bounds, 1, "b", "1")).isEqualTo(Limit.MESSAGES.refused());

    assertThat(apply(0, new Set(claim.bounds(), message))).isEqualTo(RetainResult.STORED);
    bounds.release(claim);
    assertThat(keep(bounds, 1, "b", "1")).isEqualTo(Limit.MESSAGES.refused());
  }

  @Test
  void manyAtOnceAreAllAcceptedWhenThereIsRoomForAll() {
    var bounds = new SharedBounds(Messages.atMost(100), ranges);
    var sets = new ArrayDeque<Set>();
    for (int i = 0; i < 100; i++) {
      var message = Messages.message("t" + i, "1");
      sets.add(new Set(bounds.claim(0, keyLength("t" + i), message.encodedLength()).bounds(), message));
    }

    for (Set set : sets) assertThat(apply(0, set)).isEqualTo(RetainResult.STORED);
  }

  private record UnderWay(int range, SharedBounds.Claim claim, Set set) {}

  /** Commands are applied in any order, since threads that propose to one range may overtake each other. */
  @ParameterizedTest
  @MethodSource("seeds")
  void theSumsNeverExceedTheLimitsWhateverIsPending(long seed) {
    var random = new Random(seed);
    var most = new RetainBounds(20, 400, 3_000);
    var bounds = new SharedBounds(most, ranges);
    var underWay = new ArrayList<UnderWay>();
    int refused = 0;
    for (int step = 0; step < 4_000; step++) {
      String topic = "t" + random.nextInt(40) + "x".repeat(random.nextInt(10));
      int range = Math.floorMod(topic.hashCode(), 3);
      if (random.nextInt(5) == 0) {
        apply(range, new Clear(TopicKeys.of(Messages.TENANT, topic)));
      } else if (random.nextBoolean() && underWay.size() < 6) {
        var message = Messages.message(topic, "y".repeat(1 + random.nextInt(300)));
        var claim = bounds.claim(range, keyLength(topic), message.encodedLength());
        underWay.add(new UnderWay(range, claim, new Set(claim.bounds(), message)));
      } else if (!underWay.isEmpty()) {
        var next = underWay.remove(random.nextInt(underWay.size()));
        if (apply(next.range(), next.set()) instanceof RetainResult.Refused) refused++;
        bounds.release(next.claim());
      }
      String at = "seed %d, step %d".formatted(seed, step);
      assertThat(messages()).as(at).isLessThanOrEqualTo(most.messagesMax());
      assertThat(ranges.stream().mapToLong(RetainRange::topicBytes).sum()).as(at).isLessThanOrEqualTo(most.topicBytesMax());
      assertThat(ranges.stream().mapToLong(RetainRange::bytes).sum()).as(at).isLessThanOrEqualTo(most.bytesMax());
    }
    assertThat(refused).as("seed %d", seed).isPositive();

    for (var rest : underWay) bounds.release(rest.claim());
    for (int range = 0; range < 3; range++) {
      var left = new ArrayList<byte[]>();
      rows.get(range).scan(new byte[0], null, (key, _) -> left.add(key));
      for (byte[] key : left) apply(range, new Clear(key));
    }
    for (int i = 0; i < 20; i++) assertThat(bounds.claim(0, 20, 120).bounds()).as("seed %d: nothing stays claimed", seed).isEqualTo(most);
  }

  @Test
  void concurrentClaimsDoNotExceedTheLimits() throws Exception {
    int rounds = 2_000;
    var bounds = new SharedBounds(Messages.atMost(rounds / 2), ranges);
    var start = new CyclicBarrier(ranges.size());
    try (var threads = Executors.newFixedThreadPool(ranges.size())) {
      var tasks = new ArrayList<Callable<Integer>>();
      for (int range = 0; range < ranges.size(); range++) {
        int own = range; // each thread is the applying thread of its range
        tasks.add(
            () -> {
              start.await();
              for (int i = 0; i < rounds; i++) keep(bounds, own, own + "/" + i, "1");
              return own;
            });
      }
      for (var done : threads.invokeAll(tasks)) done.get();
    }

    assertThat(messages()).isEqualTo(rounds / 2);
  }
}

package dunlin.retain.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.model.ReasonCode;
import dunlin.retain.RetainRangeClient.Held;
import dunlin.retain.RetainRangeClient.Sums;
import dunlin.retain.TopicKeys;
import dunlin.store.KeyInterval;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RetainRouterTest {
  private static final CallBounds BOUNDS = new CallBounds(10_000, 10 << 20, 10 << 20);

  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final Random random = new Random(1);
  private final ModelRanges ranges = new ModelRanges();
  private final Map<UUID, CallPipes> pipes = new HashMap<>();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final List<ReasonCode> reasons = new ArrayList<>();
  private RetainRouter router = router(Duration.ofMinutes(10));

  private RetainRouter router(Duration patience) {
    return new RetainRouter(this::open, timer, 10 << 20, 1_000, patience, meters);
  }

  private RemoteRetain open(UUID range) {
    var leader = Objects.requireNonNull(ranges.leaders.get(range));
    var pipe = new CallPipes(random, (link, opening) -> RetainCalls.receiver(task -> Objects.requireNonNull(pipes.get(range)).tierTasks.add(task), BOUNDS, leader).open(link, opening));
    pipes.put(range, pipe);
    return new RemoteRetain(new CallLinks(RetainCallCodec.PROTOCOL, "node", 1, pipe::network, pipe.callerTasks::add, pipe.callerTasks::add, BOUNDS), 1_000, () -> true);
  }

  @AfterEach
  void close() {
    timer.shutdownNow();
  }

  private void set(String topic, int number) {
    router.set(ModelRanges.message(topic, number), reasons::add);
  }

  private void drain() {
    boolean more = true;
    while (more) {
      more = ranges.apply(random);
      for (var pipe : pipes.values()) while (pipe.step()) more = true;
    }
  }

  private void split(String topic) {
    ranges.split(TopicKeys.of(ModelRanges.message(topic, 1)));
  }

  private double held() {
    return meters.get("dunlin.retain.calls.held").gauge().value();
  }

  @Test
  void callsWaitForTheFirstMap() {
    var reached = router.begin();
    set("a", 1);
    assertThat(router.count()).isCompletedExceptionally();
    assertThat(router.isReached()).isFalse();
    assertThat(held()).isEqualTo(1);

    router.ranges(ranges.maps.remove());
    drain();

    assertThat(reasons).containsExactly(ReasonCode.SUCCESS);
    assertThat(reached).isCompleted();
    assertThat(router.isReached()).isTrue();
    assertThat(held()).isZero();
  }

  @Test
  void rangesThatAreKnownBeforeTheLinksAreBegunWaitForThem() {
    router.ranges(ranges.maps.remove());
    set("a", 1);
    drain();
    assertThat(reasons).isEmpty();

    var reached = router.begin();
    drain();

    assertThat(reasons).containsExactly(ReasonCode.SUCCESS);
    assertThat(reached).isCompleted();
  }

  @Test
  void whatIsOnItsWayWhenTheLinksAreRenewedIsNotSetAfterwards() {
    router.ranges(ranges.maps.remove());
    router.begin();
    drain();
    set("a", 1);

    var renewed = router.renew("a test wants it");
    assertThat(renewed).isNotDone();
    drain();
    assertThat(renewed).isCompleted();
    set("b", 2);
    drain();

    assertThat(reasons).containsExactly(ReasonCode.SERVER_UNAVAILABLE, ReasonCode.SUCCESS);
  }

  @Test
  void aMessageIsAddedByTheRangeThatHasItsTopic() {
    router.begin();
    router.ranges(ranges.maps.remove());
    drain();
    split("m");
    drain();
    router.ranges(ranges.maps.remove());
    drain();
    List<Optional<ReasonCode>> added = new ArrayList<>();
    for (String topic : List.of("a", "x")) {
      for (int number = 1; number <= 2; number++) {
        router.add(ModelRanges.message(topic, number), added::add);
        drain();
      }
    }

    assertThat(added).containsExactly(Optional.of(ReasonCode.SUCCESS), Optional.empty(), Optional.of(ReasonCode.SUCCESS), Optional.empty());
    assertThat(ranges.rows.values()).extracting(ModelRanges::number).containsOnly(1).hasSize(2);
  }

  @Test
  void callsForWhatARangeHasKeptDoNotWaitForTheMap() {
    router.begin();
    router.ranges(ranges.maps.remove());
    drain();
    split("m");
    drain();
    set("x", 1); // refused, and waits
    set("a", 2); // refused, and made again
    drain();
    set("b", 3);
    drain();

    assertThat(reasons).containsExactly(ReasonCode.SUCCESS, ReasonCode.SUCCESS);
    assertThat(held()).isEqualTo(1);
    router.ranges(ranges.maps.remove());
    drain();
    assertThat(reasons).hasSize(3).containsOnly(ReasonCode.SUCCESS);
  }

  @Test
  void aMapThatDoesNotShowTheSplitYetChangesNothing() {
    router.begin();
    var old = ranges.maps.remove();
    router.ranges(old);
    drain();
    split("m");
    drain();
    set("x", 1);
    set("a", 2);
    drain();

    router.ranges(old);
    drain();
    assertThat(reasons).containsExactly(ReasonCode.SUCCESS);
    assertThat(held()).isEqualTo(1);

    router.ranges(ranges.maps.remove());
    drain();
    assertThat(reasons).containsExactly(ReasonCode.SUCCESS, ReasonCode.SUCCESS);
  }

  /** It stood still when the range was split, and has not noticed yet that another node leads it. */
  @Test
  void aLeaderThatKnowsLessThanTheMapFailsItsCallsAlone() {
    router.begin();
    router.ranges(ranges.maps.remove());
    drain();
    split("m");
    drain();
    router.ranges(ranges.maps.remove());
    drain();
    var lower = ranges.descriptors().stream().filter(range -> range.keys().end() != null).findFirst().orElseThrow();
    var leader = Objects.requireNonNull(ranges.leaders.get(lower.id()));
    leader.now = new RangeDescriptor(lower.id(), lower.kind(), KeyInterval.all(), 1, lower.peers(), null);
    set("a", 1);
    set("x", 2);
    drain();
    assertThat(reasons).containsExactlyInAnyOrder(ReasonCode.SERVER_UNAVAILABLE, ReasonCode.SUCCESS);
    assertThat(held()).isZero();

    leader.now = lower;
    set("a", 3);
    drain();
    assertThat(reasons).hasSize(3).endsWith(ReasonCode.SUCCESS);
  }

  @Test
  void aCallThatIsRefusedIsMadeAgainBeforeThoseBehindIt() {
    router.begin();
    router.ranges(ranges.maps.remove());
    drain();
    split("m");
    drain();
    set("x", 1); // refused: the range has been split
    drain();
    set("x", 2);
    set("y", 3);
    assertThat(held()).isEqualTo(3);
    assertThat(reasons).isEmpty();

    router.ranges(ranges.maps.remove());
    drain();

    assertThat(reasons).hasSize(3).containsOnly(ReasonCode.SUCCESS);
    assertThat(ranges.reversed).isEmpty();
    assertThat(ranges.rows).hasSize(2);
  }

  @Test
  void aMapThatShowsASplitEarlyWaitsForWhatIsOnItsWay() {
    router.begin();
    router.ranges(ranges.maps.remove());
    drain();
    set("x", 1);
    pipes.values().forEach(CallPipes::drain); // in the log, not applied
    split("m");
    while (ranges.apply(random)) assertThat(ranges.reversed).isEmpty();
    router.ranges(ranges.maps.remove());
    set("x", 2);
    assertThat(held()).isEqualTo(1);

    drain();

    assertThat(reasons).containsExactly(ReasonCode.SUCCESS, ReasonCode.SUCCESS);
    assertThat(ranges.reversed).isEmpty();
    assertThat(held()).isZero();
  }

  @Test
  void aCallThatNoMapHelpsFails() {
    router = router(Duration.ZERO);
    router.begin();
    router.ranges(ranges.maps.remove());
    drain();
    split("m");
    drain();
    set("x", 1);
    var page = router.find("t", "x", null, 1, 100);
    drain();

    await().atMost(Duration.ofMinutes(1)).untilAsserted(() -> assertThat(reasons).containsExactly(ReasonCode.SERVER_UNAVAILABLE));
    assertThatThrownBy(page::join).hasCauseInstanceOf(StoreException.class).hasMessageContaining("does not show which range has the topic");
  }

  /** A topic is in the lower range then, and two are in the upper one. */
  private void splitBelowTwoOfThree() {
    router.begin();
    router.ranges(ranges.maps.remove());
    drain();
    set("a", 1);
    set("x", 2);
    set("y", 3);
    split("m");
    drain();
    router.ranges(ranges.maps.remove());
    drain();
  }

  @Test
  void sumsOfOtherRangesAreThoseOfTheLastAnswers() {
    splitBelowTwoOfThree();
    var map = ranges.descriptors();
    var upper = map.stream().filter(range -> range.keys().end() == null).findFirst().orElseThrow();
    assertThat(router.elsewhere(upper.id()).sums()).isEqualTo(Sums.NONE);

    router.ask();
    router.ask();
    drain();

    assertThat(router.elsewhere(upper.id()).sums()).isEqualTo(new Sums(1, 10, 100));
    assertThat(router.elsewhere(new UUID(0, 0)).sums()).isEqualTo(new Sums(3, 30, 300));
    assertThat(router.present().messages()).isEqualTo(3);
  }

  @Test
  void whatATenantHasInOtherRangesIsAskedOnceItIsWanted() {
    splitBelowTwoOfThree();
    var upper = ranges.descriptors().stream().filter(range -> range.keys().end() == null).findFirst().orElseThrow();
    assertThat(router.elsewhere(upper.id()).of("blue")).as("not asked yet").isEqualTo(Held.NONE);

    router.ask();
    drain();

    assertThat(router.elsewhere(upper.id()).of("blue")).isEqualTo(new Held(1, 100));
    assertThat(router.elsewhere(new UUID(0, 0)).of("blue")).isEqualTo(new Held(3, 300));
    assertThat(router.elsewhere(upper.id()).of("green")).as("not wanted before").isEqualTo(Held.NONE);
  }

  @Test
  void aTopicWithoutAKeyIsInvalid() {
    router.set(MapRetain.message("a\0b", "1"), reasons::add);

    assertThat(reasons).containsExactly(ReasonCode.TOPIC_NAME_INVALID);
  }

  @Test
  void theEndFailsWhatWaits() {
    set("a", 1);
    router.close();
    set("a", 2);

    assertThat(reasons).containsExactly(ReasonCode.SERVER_UNAVAILABLE, ReasonCode.SERVER_UNAVAILABLE);
  }
}

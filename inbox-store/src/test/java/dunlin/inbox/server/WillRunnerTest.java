package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.WillPublisher;
import dunlin.inbox.WillPublisher.Outcome;
import dunlin.inbox.range.Effects.DueWill;
import dunlin.inbox.rows.SessionKey;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Tests the runner with a publisher, a range and a clock that the test controls. */
final class WillRunnerTest {
  private static final Outcome BUSY = new Outcome.NotNow(ReasonCode.SERVER_BUSY);

  private record Attempt(String will, CompletableFuture<Outcome> answer) {}

  private record Prepared(Publication.@Nullable Exchange exchange, boolean again) {}

  private final List<Prepared> prepared = new ArrayList<>();
  private final List<Attempt> attempts = new ArrayList<>();
  private final List<Long> recorded = new ArrayList<>();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final List<ConnectionId> asked = new ArrayList<>();
  private final CompletableFuture<Void> settled = new CompletableFuture<>();
  private long nanos;
  private boolean full;

  /** What is left of a will that goes back to its range. */
  private Supplier<Optional<WillPublisher.Rest>> rest = Optional::empty;

  private final WillRunner runner =
      new WillRunner(
          this::prepare,
          displaced -> {
            asked.add(displaced);
            return settled;
          },
          () -> nanos,
          new InboxMeters(meters, Tracer.idle()),
          will -> {
            if (!full) recorded.add(will.epoch());
            return !full;
          });

  private WillPublisher.Sending prepare(Publication will, String user, boolean again) {
    prepared.add(new Prepared(will.exchange(), again));
    var left = rest;
    return new WillPublisher.Sending() {
      @Override
      public CompletableFuture<Outcome> attempt() {
        attempts.add(new Attempt(new String(will.payload(), StandardCharsets.UTF_8), new CompletableFuture<>()));
        return attempts.getLast().answer();
      }

      @Override
      public Optional<WillPublisher.Rest> giveBack() {
        return left.get();
      }
    };
  }

  private static DueWill will(int epoch, int bytes) {
    byte[] payload = ("will " + epoch + " ".repeat(bytes)).getBytes(StandardCharsets.UTF_8);
    var message = Publication.of(new Publisher("default", "c"), "wills", QoS.AT_LEAST_ONCE, false, 0, payload);
    return new DueWill(new SessionKey("default", "c" + epoch), epoch, "", message, false, false, null);
  }

  private static DueWill displaced(int epoch) {
    return new DueWill(new SessionKey("default", "c" + epoch), epoch, "", will(epoch, 0).message(), false, false, new ConnectionId("f", 1, epoch));
  }

  private void start(int from, int count) {
    var wills = new ArrayList<DueWill>();
    for (int i = from; i < from + count; i++) wills.add(will(i, 0));
    runner.start(wills);
  }

  private void pass(long nanos) {
    this.nanos += nanos;
    runner.turn();
  }

  private double refused(String reason) {
    return meters.get("dunlin.inbox.wills-refused").tag("reason", reason).counter().count();
  }

  @Test
  void aRefusalByARuleEndsTheWillAndIsCounted() {
    start(1, 1);
    attempts.getFirst().answer().complete(new Outcome.Refused(ReasonCode.QUOTA_EXCEEDED));

    assertThat(recorded).containsExactly(1L);
    runner.recorded(1);
    for (int i = 0; i < 100; i++) pass(TimeUnit.SECONDS.toNanos(10));

    assertThat(attempts).hasSize(1);
    assertThat(refused("quota-exceeded")).isEqualTo(1);
    assertThat(runner.running()).isZero();
  }

  @Test
  void aWillThatCannotBeAcceptedNowIsTriedUntilItIs() {
    start(1, 1);
    for (int i = 0; i < 50; i++) {
      attempts.getLast().answer().complete(BUSY);
      pass(TimeUnit.SECONDS.toNanos(10));
      assertThat(attempts).hasSize(i + 2);
    }
    attempts.getLast().answer().complete(new Outcome.Published());

    assertThat(recorded).containsExactly(1L);
    assertThat(meters.get("dunlin.inbox.will-failures").counter().count()).isEqualTo(50);
    assertThat(meters.get("dunlin.inbox.wills-published").counter().count()).isEqualTo(1);
  }

  @Test
  void aWillNamesItselfWhileSendingIsRecordedOrOnceItIsStored() {
    boolean[] records = {false};
    runner.recordWhile(() -> records[0]);
    start(1, 1);
    var before = will(2, 0);
    runner.start(List.of(new DueWill(before.session(), 2, "", before.message(), true, true, null)));
    records[0] = true;
    start(3, 1);
    var unstored = Publication.of(new Publisher("default", "c"), "wills", QoS.AT_MOST_ONCE, false, 0, new byte[0]);
    runner.start(List.of(new DueWill(new SessionKey("default", "c"), 4, "", unstored, true, false, null)));

    assertThat(prepared)
        .containsExactly(
            new Prepared(null, false), new Prepared(Publication.Exchange.ofWill(2), true), new Prepared(Publication.Exchange.ofWill(3), false), new Prepared(null, true));
  }

  @Test
  void waitsForADisplacedConnectionToSettle() {
    runner.start(List.of(displaced(7)));
    pass(WillRunner.SETTLE_NANOS - 1);
    assertThat(asked).containsExactly(new ConnectionId("f", 1, 7));
    assertThat(attempts).isEmpty();

    settled.complete(null);
    assertThat(attempts).hasSize(1);
    pass(WillRunner.SETTLE_NANOS);
    assertThat(attempts).hasSize(1);
  }

  @Test
  void aWillThatIsDiscardedBeforeItsConnectionHasSettledIsNotPublished() {
    runner.start(List.of(displaced(7)));
    runner.recorded(7);
    settled.complete(null);
    pass(WillRunner.SETTLE_NANOS);

    assertThat(attempts).isEmpty();
    assertThat(runner.running()).isZero();
    assertThat(runner.room()).isEqualTo(WillRunner.PLACES);
  }

  @Test
  void publishesWhenADisplacedConnectionDoesNotSettleOrCannotBeAsked() {
    runner.start(List.of(displaced(7)));
    pass(WillRunner.SETTLE_NANOS);
    assertThat(attempts).hasSize(1);
    settled.completeExceptionally(new IllegalStateException("the link is lost"));
    assertThat(attempts).hasSize(1);
    runner.start(List.of(displaced(8)));
    assertThat(attempts).hasSize(2);
  }

  @Test
  void connectionsThatSettleAtOnceTakeTurns() {
    for (int i = 0; i < 3 * WillRunner.PLACES; i++) runner.start(List.of(displaced(i + 1)));
    assertThat(runner.room()).isEqualTo(WillRunner.PLACES);
    settled.complete(null);
    assertThat(attempts).hasSize(WillRunner.PLACES);
    for (int i = 0; i < WillRunner.PLACES; i++) attempts.get(i).answer().complete(new Outcome.Published());
    pass(1);
    assertThat(attempts).extracting(Attempt::will).hasSize(2 * WillRunner.PLACES).doesNotHaveDuplicates();
  }

  @Test
  void theDelayBetweenAttemptsGrows() {
    start(1, 1);
    attempts.getLast().answer().complete(BUSY);
    pass(TimeUnit.MILLISECONDS.toNanos(199));
    assertThat(attempts).hasSize(1);
    pass(TimeUnit.MILLISECONDS.toNanos(1));
    assertThat(attempts).hasSize(2);
    attempts.getLast().answer().complete(BUSY);
    pass(TimeUnit.MILLISECONDS.toNanos(399));
    assertThat(attempts).hasSize(2);
    pass(TimeUnit.MILLISECONDS.toNanos(1));
    assertThat(attempts).hasSize(3);
  }

  @Test
  void slowReceiversKeepTheirPlacesOnlyForASecond() {
    start(0, WillRunner.PLACES);
    assertThat(runner.room()).isZero();

    pass(WillRunner.PLACE_NANOS);
    assertThat(runner.room()).isEqualTo(WillRunner.PLACES);
    start(1_000, 1);
    attempts.getLast().answer().complete(new Outcome.Published());
    assertThat(recorded).containsExactly(1_000L);

    attempts.getFirst().answer().complete(new Outcome.Published());
    assertThat(recorded).containsExactly(1_000L, 0L);
    assertThat(attempts).hasSize(WillRunner.PLACES + 1);
  }

  @Test
  void aMissingAnswerEndsTheWillAndALateOneChangesNothing() {
    start(1, 1);
    pass(WillRunner.ANSWER_NANOS - 1);
    assertThat(recorded).isEmpty();
    pass(1);

    assertThat(recorded).containsExactly(1L);
    assertThat(refused("unanswered")).isEqualTo(1);
    attempts.getFirst().answer().complete(BUSY);
    pass(TimeUnit.SECONDS.toNanos(10));
    assertThat(attempts).hasSize(1);
    runner.recorded(1);
    assertThat(runner.running()).isZero();
  }

  @Test
  void aWillIsPublishedOnceWhileTheRangeHasNotRecordedIt() {
    full = true;
    start(1, 1);
    attempts.getFirst().answer().complete(new Outcome.Published());
    for (int i = 0; i < 10; i++) pass(TimeUnit.SECONDS.toNanos(60));
    start(1, 1); // as the range reports it again
    full = false;
    pass(TimeUnit.SECONDS.toNanos(1));
    assertThat(recorded).containsExactly(1L);
    runner.notRecorded(1);
    start(1, 1);
    pass(TimeUnit.SECONDS.toNanos(1));
    assertThat(recorded).containsExactly(1L, 1L);
    runner.recorded(1);

    assertThat(attempts).hasSize(1);
    assertThat(runner.running()).isZero();
  }

  @Test
  void theNumberAndSizeOfWillsAreBounded() {
    for (int i = 0; runner.room() > 0; i += WillRunner.PLACES) {
      start(i, runner.room());
      pass(WillRunner.PLACE_NANOS);
      assertThat(i).isLessThan(10_000);
    }
    assertThat(runner.running()).isEqualTo(WillRunner.WILLS_MAX);
    for (Attempt each : List.copyOf(attempts)) each.answer().complete(new Outcome.Published());
    for (long epoch : List.copyOf(recorded)) runner.recorded(epoch);
    assertThat(runner.room()).isEqualTo(WillRunner.PLACES);

    for (int i = 0; i < 16; i++) runner.start(List.of(will(20_000 + i, 1 << 20)));
    assertThat(runner.room()).isZero();
  }

  private double meter(String name) {
    return meters.get(name).counter().count();
  }

  /** Wills that no destination takes now, and that are tried again. */
  private void busy(int from, int count) {
    for (int i = from; i < from + count; i += WillRunner.PLACES) {
      start(i, Math.min(WillRunner.PLACES, from + count - i));
      for (Attempt each : attempts) each.answer().complete(BUSY);
      attempts.clear();
    }
  }

  @Test
  void slowFurtherAttemptsDoNotHoldUpWhatBecomesDue() {
    busy(0, 2_000);
    for (int second = 0; second < 60; second++) {
      pass(WillRunner.PLACE_NANOS); // each takes longer than its place, and fails
      assertThat(attempts).as("places are taken").hasSizeGreaterThanOrEqualTo(second == 0 ? WillRunner.PLACES : 1);
      assertThat(runner.room()).isEqualTo(WillRunner.PLACES);
      if (second % 10 == 9) {
        for (Attempt each : List.copyOf(attempts)) each.answer().complete(BUSY);
        attempts.clear();
      }
    }
    attempts.clear();
    start(10_000, 1);
    assertThat(attempts).extracting(Attempt::will).containsExactly("will 10000");
  }

  @Test
  void willsThatCannotBePublishedMakeRoomForOthersAndComeAgain() {
    busy(0, WillRunner.WILLS_MAX);
    assertThat(runner.running()).isEqualTo(WillRunner.WILLS_MAX);

    for (int i = 10_000; i < 11_000; i++) {
      assertThat(runner.room()).isEqualTo(WillRunner.PLACES);
      start(i, 1);
      assertThat(attempts.getLast().will()).isEqualTo("will " + i);
      attempts.getLast().answer().complete(new Outcome.Published());
      runner.recorded(i);
    }
    assertThat(runner.running()).isEqualTo(WillRunner.WILLS_MAX - 1);
    assertThat(meter("dunlin.inbox.wills-withdrawn")).as("only as many as others needed the room of").isEqualTo(1);

    for (int i = 11_000; i < 11_200; i++) start(i, 1);
    assertThat(runner.running()).isEqualTo(WillRunner.WILLS_MAX);
    attempts.clear();
    start(0, 1);
    assertThat(attempts).as("as the range reports it again").extracting(Attempt::will).containsExactly("will 0");
    assertThat(meter("dunlin.inbox.wills-due")).isEqualTo(meter("dunlin.inbox.wills-published") + meter("dunlin.inbox.wills-withdrawn") + runner.publishing());
  }

  @Test
  void largeWillsThatCannotBePublishedMakeRoomForOthers() {
    for (int i = 0; i < 16; i++) runner.start(List.of(will(i, 1 << 20)));
    assertThat(runner.room()).as("their first attempts are waited for").isZero();
    for (Attempt each : attempts) each.answer().complete(BUSY);
    assertThat(runner.room()).isPositive();
    attempts.clear();

    start(100, 1);
    assertThat(attempts).extracting(Attempt::will).containsExactly("will 100");
    assertThat(runner.running()).isEqualTo(16);
  }

  @Test
  void aWillThatComesAgainGoesOnWhereItHasEnded() {
    var gaveBack = new ArrayList<String>();
    rest = () -> Optional.of(will -> {
      gaveBack.add(new String(will.payload(), StandardCharsets.UTF_8).strip());
      return () -> CompletableFuture.completedFuture(new Outcome.Published());
    });
    for (int i = 0; i < 16; i++) runner.start(List.of(will(i, 1 << 20)));
    for (Attempt each : attempts) each.answer().complete(BUSY);
    start(100, 1);
    int before = prepared.size();

    runner.start(List.of(will(0, 1 << 20)));

    assertThat(gaveBack).containsExactly("will 0");
    assertThat(prepared).hasSize(before);
    assertThat(recorded).containsExactly(0L);
  }

  @Test
  void attemptsAtATimeAreBoundedByThePlaces() {
    for (int i = 0; i < 256; i += 64) {
      start(i, 64);
      for (Attempt each : attempts) each.answer().complete(BUSY);
    }
    attempts.clear();
    pass(TimeUnit.SECONDS.toNanos(10));
    assertThat(attempts).hasSize(WillRunner.PLACES);
    pass(WillRunner.PLACE_NANOS);
    assertThat(attempts).extracting(Attempt::will).hasSize(2 * WillRunner.PLACES).doesNotHaveDuplicates();
  }
}

package dunlin.broker.meter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.runtime.DropEvents;
import dunlin.runtime.DropReason;
import dunlin.runtime.HopLedger;
import dunlin.transport.TierAnswers;
import dunlin.transport.trace.Trace.Party;
import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Trace.Event;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What the ledgers count is what traces say. */
class LoopCountsTest {
  private static final Publication MESSAGE = Publication.of(new Publisher("default", "p"), "t", QoS.AT_LEAST_ONCE, false, 0, new byte[0]);
  private static final Party CLIENT = Party.named("c");

  private final DropEvents drops = new DropEvents("test");
  private final Tracer tracer = Tracer.idle();
  private final FrontendMeters meters = new FrontendMeters("test", new SimpleMeterRegistry(), drops, tracer, () -> 0, () -> 0);
  private final LoopCounts counts = meters.newCounts();
  private final Trace trace = tracer.begin("t", "default", "", "t", "", Duration.ofMinutes(1));

  @AfterEach
  void close() {
    meters.close();
    drops.close();
  }

  private List<Event> events() {
    return trace.read(0, 100).events();
  }

  private static void assertDropped(HopLedger ledger, DropReason reason) {
    for (DropReason each : DropReason.values()) assertThat(ledger.dropped(each)).as(each.tag()).isEqualTo(each == reason ? 1 : 0);
  }

  @ParameterizedTest
  @MethodSource("reasonsOfSessions")
  void theReasonForADropIsTheOneThatIsCounted(DropReason reason) {
    counts.copies().dropped(reason, MESSAGE, CLIENT);

    assertDropped(meters.copies(), reason);
    assertThat(events()).extracting(Event::hop, Event::step, Event::reason, Event::client).containsExactly(tuple("session", "dropped", reason.tag(), "c"));
  }

  static List<DropReason> reasonsOfSessions() {
    return Arrays.stream(DropReason.values()).filter(reason -> reason.hops().contains("session")).toList();
  }

  @ParameterizedTest
  @EnumSource(
      value = ReasonCode.class,
      names = {"QUOTA_EXCEEDED", "SESSION_TAKEN_OVER", "SERVER_BUSY", "SERVER_UNAVAILABLE", "NOT_AUTHORIZED", "UNSPECIFIED_ERROR"})
  void anErrorForThePublisherIsNotedWithTheReasonThatIsCounted(ReasonCode code) {
    counts.publishAnswered(code, MESSAGE, CLIENT);

    assertThat(events()).extracting(Event::step).containsExactly("dropped", "answered");
    assertThat(events().getLast().reason()).isEqualTo(code.label());
    String counted = events().getFirst().reason();
    assertDropped(meters.publishes(), Arrays.stream(DropReason.values()).filter(each -> each.tag().equals(counted)).findFirst().orElseThrow());
  }

  @Test
  void whatTiersTellApartIsCountedApartAndIsOneReasonCodeForThePublisher() {
    for (ReasonCode answer : List.of(ReasonCode.QUOTA_EXCEEDED, TierAnswers.NO_MEMBER, TierAnswers.RETAINED_FULL)) counts.publishAnswered(answer, MESSAGE, CLIENT);

    for (DropReason each : List.of(DropReason.QUEUE_FULL, DropReason.NO_MEMBER, DropReason.RETAINED_FULL)) {
      assertThat(meters.publishes().dropped(each)).as(each.tag()).isEqualTo(1);
    }
    assertThat(meters.publishes().dropped()).isEqualTo(3);
    assertThat(events()).filteredOn(event -> event.step().equals("dropped")).extracting(Event::reason).containsExactly("queue-full", "no-member", "retained-full");
    assertThat(events()).filteredOn(event -> event.step().equals("answered")).extracting(Event::reason).containsOnly("quota-exceeded");
  }

  @ParameterizedTest
  @EnumSource(value = ReasonCode.class, names = {"SUCCESS", "NO_MATCHING_SUBSCRIBERS"})
  void aSuccessIsNoDrop(ReasonCode code) {
    counts.publishAnswered(code, MESSAGE, CLIENT);

    assertThat(meters.publishes().dropped()).isZero();
    assertThat(meters.publishes().delivered()).isEqualTo(1);
    assertThat(events()).extracting(Event::reason).containsExactly(code.label());
  }

  @Test
  void whatHasNoMessageIsCountedOnly() {
    counts.copies().received(null, null);
    counts.copies().dropped(DropReason.OVERLOADED, null, null);
    counts.publishAnswered(ReasonCode.SUCCESS, null, CLIENT);

    assertDropped(meters.copies(), DropReason.OVERLOADED);
    assertThat(events()).isEmpty();
  }

  @Test
  void aReadingOfTheLoopBalances() {
    counts.copies().received(MESSAGE, CLIENT);
    counts.copies().waiting(1);
    counts.copies().received(MESSAGE, CLIENT);
    counts.copies().dropped(DropReason.QUEUE_FULL, MESSAGE, CLIENT);

    assertThat(counts.copies().reading()).isEqualTo(new HopLedger.Reading("session", 2, 0, 0, Map.of(DropReason.QUEUE_FULL, 1L), 1));
    assertThat(counts.publishes().reading()).isEqualTo(new HopLedger.Reading("publish", 0, 0, 0, Map.of(), 0));
  }

  @Test
  void onlyWhatATraceFollowsIsKeptForItsAnswer() {
    assertThat(counts.publishes().follows(MESSAGE, CLIENT)).isTrue();
    tracer.end("t");
    assertThat(counts.publishes().follows(MESSAGE, CLIENT)).isFalse();
    assertThat(counts.publishes().notes()).isFalse();
  }
}

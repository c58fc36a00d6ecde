package dunlin.retain.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.ReasonCode;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import dunlin.transport.lane.FrameWriter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The retain tier of another process at its bounds, and when the link is lost. */
class RemoteRetainTest {
  private static final CallBounds BOUNDS = new CallBounds(2, 10_000, 10_000);

  private final List<Runnable> held = new ArrayList<>();
  private final MapRetain tier = new MapRetain(held::add);
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final SimpleMeterRegistry tierMeters = new SimpleMeterRegistry();
  private final CallPipes pipes = new CallPipes(new Random(1), (link, opening) -> RetainCalls.receiver(this::tierRuns, BOUNDS, tier, tierMeters).open(link, opening));
  private final RemoteRetain retain =
      new RemoteRetain(
          new CallLinks(RetainCallCodec.PROTOCOL, "frontend", 1, pipes::network, pipes.callerTasks::add, pipes.callerTasks::add, BOUNDS), 100, meters);
  private final List<ReasonCode> reasons = new ArrayList<>();

  private void tierRuns(Runnable task) {
    pipes.tierTasks.add(task);
  }

  private void begin() {
    retain.begin();
    pipes.drain();
  }

  private void set(String topic) {
    retain.set(MapRetain.message(topic, "payload"), reasons::add);
  }

  private double gauge(String name) {
    return meters.get(name).gauge().value();
  }

  @Test
  void withoutALinkASetIsUnavailableAndAllElseFails() {
    set("a");
    var page = retain.find("t", "#", null, 1, 1);

    assertThat(reasons).containsExactly(ReasonCode.SERVER_UNAVAILABLE);
    assertThatThrownBy(page::join).hasCauseExactlyInstanceOf(StoreException.class).hasMessageContaining("there is no link to the retain tier");
    assertThat(retain.count()).isCompletedExceptionally();
  }

  @Test
  void callsAreCountedUntilTheyAreAnswered() {
    begin();
    set("a");
    pipes.drain();
    assertThat(gauge("dunlin.retain.calls")).isEqualTo(1);
    assertThat(gauge("dunlin.retain.calls.size")).isGreaterThan(64);
    assertThat(tierMeters.get("dunlin.retain.calls.served").gauge().value()).isEqualTo(1);

    held.removeFirst().run();
    pipes.drain();
    assertThat(reasons).containsExactly(ReasonCode.SUCCESS);
    assertThat(gauge("dunlin.retain.calls")).isZero();
    assertThat(gauge("dunlin.retain.calls.size")).isZero();
  }

  @Test
  void beyondTheBoundASetIsUnavailableAndCounted() {
    begin();
    set("a");
    set("b");
    set("c");

    assertThat(reasons).containsExactly(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(meters.get("dunlin.retain.calls.refused").functionCounter().count()).isEqualTo(1);
    pipes.drain();
    assertThat(tier.messages).containsOnlyKeys("a", "b");
  }

  @Test
  void whatWasOnItsWayOverALostLinkIsUnavailableOrUnknown() {
    begin();
    set("a");
    var count = retain.count();
    pipes.drain();

    pipes.tierRestarts();
    pipes.drain();

    assertThat(reasons).containsExactly(ReasonCode.SERVER_UNAVAILABLE);
    assertThatThrownBy(count::join).hasCauseInstanceOf(OutcomeUnknownException.class);
    assertThat(meters.get("dunlin.retain.links.lost").functionCounter().count()).isEqualTo(1);
    assertThat(retain.count()).isNotDone();
  }

  @Test
  void aCallThatCannotBeReadEndsTheLink() {
    begin();
    var count = retain.count();
    pipes.drain();
    pipes.link().send(new FrameWriter().bytes(new byte[] {9}).take());
    pipes.drain();

    assertThatThrownBy(count::join).hasCauseInstanceOf(OutcomeUnknownException.class);
  }

  @Test
  void aPageOfNoMessagesIsRefusedAsByADirectCall() {
    assertThatThrownBy(() -> retain.find("t", "#", null, 0, 1)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void theEndOfTheFrontendFailsWhatIsNotAnswered() {
    begin();
    CompletableFuture<Long> count = retain.count();
    pipes.drain();
    retain.close();
    pipes.drain();

    assertThat(count).isCompletedExceptionally();
    set("a");
    assertThat(reasons).containsExactly(ReasonCode.SERVER_UNAVAILABLE);
  }
}

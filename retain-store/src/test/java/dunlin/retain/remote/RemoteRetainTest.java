package dunlin.retain.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.model.ReasonCode;
import dunlin.retain.RetainRangeClient.Sums;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.store.WrongEpochException;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallLinks;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.FrameWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A range of retained messages in another process at its bounds, and when the link is lost. */
class RemoteRetainTest {
  private static final CallBounds BOUNDS = new CallBounds(2, 10_000, 10_000);

  private boolean maySet = true;
  private final List<Runnable> held = new ArrayList<>();
  private final MapRetain tier = new MapRetain(held::add);
  private final CallReceiver receiver = RetainCalls.receiver(this::tierRuns, BOUNDS, tier);
  private final CallPipes pipes = new CallPipes(new Random(1), receiver);
  private final RemoteRetain retain =
      new RemoteRetain(
          new CallLinks(RetainCallCodec.PROTOCOL, "frontend", 1, pipes::network, pipes.callerTasks::add, pipes.callerTasks::add, BOUNDS), 100, () -> maySet);

  private void tierRuns(Runnable task) {
    pipes.tierTasks.add(task);
  }

  private void begin() {
    retain.begin();
    pipes.drain();
  }

  private CompletableFuture<ReasonCode> set(String topic) {
    return retain.set(MapRetain.EPOCH, MapRetain.message(topic, "payload"));
  }

  @Test
  void withoutALinkAllCallsFail() {
    var page = retain.find(MapRetain.EPOCH, "t", "#", null, 1, 1);

    assertThat(set("a")).isCompletedExceptionally();
    assertThatThrownBy(page::join).hasCauseExactlyInstanceOf(StoreException.class).hasMessageContaining("there is no link to the retain tier");
    assertThat(retain.sums()).isCompletedExceptionally();
  }

  @Test
  void callsAreCountedUntilTheyAreAnswered() {
    begin();
    var set = set("a");
    pipes.drain();
    assertThat(retain.links().calls()).isEqualTo(1);
    assertThat(retain.links().bytes()).isGreaterThan(64);
    assertThat(receiver.unanswered()).isEqualTo(1);

    held.removeFirst().run();
    pipes.drain();
    assertThat(set).isCompletedWithValue(ReasonCode.SUCCESS);
    assertThat(retain.links().calls()).isZero();
    assertThat(retain.links().bytes()).isZero();
  }

  @Test
  void beyondTheBoundACallFailsAndIsCounted() {
    begin();
    set("a");
    set("b");

    assertThat(set("c")).isCompletedExceptionally();
    assertThat(retain.links().refused()).isEqualTo(1);
    pipes.drain();
    assertThat(tier.messages).containsOnlyKeys("a", "b");
  }

  @Test
  void whatWasOnItsWayOverALostLinkIsUnknown() {
    begin();
    var set = set("a");
    var sums = retain.sums();
    pipes.drain();

    pipes.tierRestarts();
    pipes.drain();

    assertThatThrownBy(set::join).hasCauseInstanceOf(OutcomeUnknownException.class);
    assertThatThrownBy(sums::join).hasCauseInstanceOf(OutcomeUnknownException.class);
    assertThat(retain.links().lost()).isEqualTo(1);
    assertThat(retain.sums()).isNotDone();
  }

  @Test
  void aMessageThatMayNotBeSetAnyMoreWhenItIsItsTurnIsNotSent() {
    begin();
    var set = set("a");
    var sums = retain.sums();
    maySet = false;
    pipes.drain();

    assertThatThrownBy(set::join).hasCauseExactlyInstanceOf(StoreException.class);
    assertThat(tier.messages).isEmpty();
    held.removeFirst().run();
    pipes.drain();
    assertThat(sums).isCompleted();
  }

  @Test
  void aCallThatCannotBeReadEndsTheLink() {
    begin();
    var sums = retain.sums();
    pipes.drain();
    pipes.link().send(new FrameWriter().bytes(new byte[] {9}).take());
    pipes.drain();

    assertThatThrownBy(sums::join).hasCauseInstanceOf(OutcomeUnknownException.class);
  }

  @Test
  void aCallAtAnotherEpochIsRefusedWithTheRangeAsItIs() {
    begin();
    var set = retain.set(MapRetain.EPOCH - 1, MapRetain.message("a", "payload"));
    pipes.drain();

    assertThatThrownBy(set::join)
        .cause()
        .isInstanceOfSatisfying(
            WrongEpochException.class,
            refused -> {
              assertThat(refused.asked()).isEqualTo(MapRetain.EPOCH - 1);
              assertThat(refused.now()).isEqualTo(MapRetain.descriptor());
            });
    assertThat(tier.messages).isEmpty();
  }

  @Test
  void theEndOfTheCallerFailsWhatIsNotAnswered() {
    begin();
    CompletableFuture<Sums> sums = retain.sums();
    pipes.drain();
    retain.close();
    pipes.drain();

    assertThat(sums).isCompletedExceptionally();
    assertThat(set("a")).isCompletedExceptionally();
  }
}

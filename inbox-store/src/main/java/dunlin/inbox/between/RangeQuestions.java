package dunlin.inbox.between;

import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.MalformedFrameException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** The questions of other leaders, as they arrive at the leader of a range of sessions. */
public final class RangeQuestions implements CallReceiver.Answerer {
  private final OtherRange range;

  private RangeQuestions(OtherRange range) {
    this.range = range;
  }

  static RangeQuestions of(OtherRange range) {
    return new RangeQuestions(range);
  }

  /**
   * Takes the links of those who ask.
   *
   * @param owner runs tasks on the thread of the links, soon, in their order; questions are asked on it
   * @param bounds of each caller
   */
  public static CallReceiver receiver(Executor owner, CallBounds bounds, OtherRange range) {
    return new CallReceiver(RangeQuestionCodec.PROTOCOL, owner, bounds, of(range));
  }

  @Override
  public CompletableFuture<byte[]> answer(byte[] call) throws MalformedFrameException {
    return switch (RangeQuestionCodec.decode(call)) {
      case RangeQuestion.AskSums() -> range.sums().thenApply(RangeQuestionCodec::encode);
      case RangeQuestion.AskHeld(var tenants) -> range.held(tenants).thenApply(RangeQuestionCodec::encodeHeld);
      case RangeQuestion.AskEnded(var sessions) -> range.ended(sessions).thenApply(RangeQuestionCodec::encode);
      case RangeQuestion.AskParts(var groups) -> range.parts(groups).thenApply(RangeQuestionCodec::encodeParts);
      case RangeQuestion.AskOver(var numbers) -> range.over(numbers).thenApply(RangeQuestionCodec::encode);
      case RangeQuestion.Pick(var pick) -> range.pick(pick).thenApply(RangeQuestionCodec::encode);
      case RangeQuestion.Store(var messages) -> range.store(messages).thenApply(RangeQuestionCodec::encode);
    };
  }
}

package dunlin.retain.remote;

import dunlin.retain.RetainRangeClient;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.MalformedFrameException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** The calls of other processes, as they arrive at the leader of a range of retained messages: makes them, in their order. */
public final class RetainCalls implements CallReceiver.Answerer {
  private final RetainRangeClient range;

  private RetainCalls(RetainRangeClient range) {
    this.range = range;
  }

  /**
   * Takes the links of callers.
   *
   * @param owner runs tasks on the thread of the links, soon, in their order; calls are made on it
   * @param bounds of each caller
   */
  public static CallReceiver receiver(Executor owner, CallBounds bounds, RetainRangeClient range) {
    return new CallReceiver(RetainCallCodec.PROTOCOL, owner, bounds, new RetainCalls(range));
  }

  @Override
  public CompletableFuture<byte[]> answer(byte[] call) throws MalformedFrameException {
    return switch (RetainCallCodec.decode(call)) {
      case RetainCall.Set(var epoch, var message) -> range.set(epoch, message).thenApply(RetainCallCodec::encode);
      case RetainCall.Add(var epoch, var message) -> range.add(epoch, message).thenApply(RetainCallCodec::encodeAdded);
      case RetainCall.Find(var epoch, var tenant, var filter, var after, var messagesMax, var bytesMax) ->
          range.find(epoch, tenant, filter, after, messagesMax, bytesMax).thenApply(RetainCallCodec::encode);
      case RetainCall.ListKeys(var epoch, var prefix, var from, var max) -> range.list(epoch, prefix, from, max).thenApply(RetainCallCodec::encode);
      case RetainCall.AskSums() -> range.sums().thenApply(RetainCallCodec::encode);
      case RetainCall.AskHeld(var tenants) -> range.held(tenants).thenApply(RetainCallCodec::encode);
    };
  }
}

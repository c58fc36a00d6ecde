package dunlin.retain.remote;

import dunlin.retain.RetainClient;
import dunlin.transport.call.CallBounds;
import dunlin.transport.call.CallReceiver;
import dunlin.transport.lane.MalformedFrameException;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** The calls of frontends in other processes, as they arrive at the retain tier: makes them, in their order. */
public final class RetainCalls implements CallReceiver.Answerer {
  /** The gauge that {@link #receiver} registers. Its owner removes it with the receiver. */
  public static final String SERVED = "dunlin.retain.calls.served";

  private final RetainClient retain;

  private RetainCalls(RetainClient retain) {
    this.retain = retain;
  }

  /**
   * Takes the links of frontends.
   *
   * @param owner runs tasks on the thread of the links, soon, in their order; calls are made on it
   * @param bounds of each frontend
   */
  public static CallReceiver receiver(Executor owner, CallBounds bounds, RetainClient retain, MeterRegistry registry) {
    var receiver = new CallReceiver(RetainCallCodec.PROTOCOL, owner, bounds, new RetainCalls(retain));
    Gauge.builder(SERVED, receiver, CallReceiver::unanswered)
        .description("Calls of other processes that the retain tier has not answered")
        .register(registry);
    return receiver;
  }

  @Override
  public CompletableFuture<byte[]> answer(byte[] call) throws MalformedFrameException {
    return switch (RetainCallCodec.decode(call)) {
      case RetainCall.Set(var message) -> {
        var answer = new CompletableFuture<byte[]>();
        retain.set(message, reason -> answer.complete(RetainCallCodec.encode(reason)));
        yield answer;
      }
      case RetainCall.Find(var tenant, var filter, var after, var messagesMax, var bytesMax) ->
          retain.find(tenant, filter, after, messagesMax, bytesMax).thenApply(RetainCallCodec::encode);
      case RetainCall.Count() -> retain.count().thenApply(RetainCallCodec::encode);
    };
  }
}

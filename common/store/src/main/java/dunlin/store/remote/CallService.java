package dunlin.store.remote;

import dunlin.store.grpc.Caller;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.Status;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Passes calls from other nodes to their handler. */
final class CallService implements AutoCloseable {
  /*
   * Owner: calls come on gRPC's event loops and are answered by threads of its own, which may block.
   * Bounds: CALLS_MAX calls are answered at a time, with requests of BYTES_MAX together. Full: RESOURCE_EXHAUSTED, and
   * counted; nothing was done then.
   * Failure: an error in a call is reported to its caller and affects no other. After close, no call is accepted, and
   * none in progress is interrupted: an interrupt would close a file that is being written. The handler knows when they
   * have ended.
   */
  private static final Logger log = LoggerFactory.getLogger(CallService.class);
  static final int CALLS_MAX = 128;
  private static final long BYTES_MAX = 4L * RemoteCalls.BYTES_MAX;

  private final RangeService.CallHandler answers;
  private final ServiceMeters meters;
  private final AtomicLong bytes = new AtomicLong();
  private final ThreadPoolExecutor threads =
      new ThreadPoolExecutor(
          0,
          CALLS_MAX,
          10,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          Thread.ofPlatform().daemon().name("dunlin-store-call-", 0).factory());

  CallService(RangeService.CallHandler answers, ServiceMeters meters) {
    this.answers = answers;
    this.meters = meters;
    meters.gauge("dunlin.store.service.calls", "Calls from other nodes that are being answered", threads, ThreadPoolExecutor::getActiveCount);
    meters.gauge("dunlin.store.service.calls.bytes", "Bytes of calls from other nodes that are not answered yet", bytes, AtomicLong::get);
  }

  ServerCallHandler<byte[], byte[]> answering() {
    return (call, _) -> {
      call.request(2); // one message, and proof that there is no second one
      return new Arriving(call);
    };
  }

  @Override
  public void close() {
    threads.shutdown();
  }

  private void answer(ServerCall<byte[], byte[]> call, byte[] request) {
    byte[] answer;
    try {
      if (call.isCancelled()) return; // a cancelled call is closed already
      answer = answers.answer(request, Caller.of(call));
    } catch (RuntimeException | Error e) { // whatever it was, the caller must not wait for its deadline
      log.error("A call from another node has failed", e);
      OneAnswer.refuse(call, Status.INTERNAL.withDescription("the node has failed to answer"));
      return;
    } finally {
      bytes.addAndGet(-request.length);
    }
    if (answer.length <= RemoteCalls.BYTES_MAX) OneAnswer.send(call, answer);
    else OneAnswer.refuse(call, Status.OUT_OF_RANGE.withDescription("the answer has " + answer.length + " bytes, at most " + RemoteCalls.BYTES_MAX));
  }

  /** One call until it is passed to the handler; used by its event loop only. */
  private final class Arriving extends ServerCall.Listener<byte[]> {
    private final ServerCall<byte[], byte[]> call;
    private byte @Nullable [] request; // its bytes are reserved
    private boolean refused;

    Arriving(ServerCall<byte[], byte[]> call) {
      this.call = call;
    }

    @Override
    public void onMessage(byte[] message) {
      if (refused) return;
      if (request != null) {
        refuse(Status.INVALID_ARGUMENT.withDescription("a call with two messages"));
      } else if (message.length > RemoteCalls.BYTES_MAX) {
        refuse(Status.RESOURCE_EXHAUSTED.withDescription("a call of " + message.length + " bytes, at most " + RemoteCalls.BYTES_MAX));
      } else if (bytes.addAndGet(message.length) > BYTES_MAX) {
        bytes.addAndGet(-message.length);
        refuse(Status.RESOURCE_EXHAUSTED.withDescription("the calls in progress have too many bytes"));
      } else {
        request = message;
      }
    }

    @Override
    public void onHalfClose() {
      if (refused) return;
      var asked = request;
      if (asked == null) {
        refuse(Status.INVALID_ARGUMENT.withDescription("a call without a message"));
        return;
      }
      try {
        threads.execute(() -> answer(call, asked));
        request = null; // answer() releases its bytes
      } catch (RejectedExecutionException _) {
        refuse(Status.RESOURCE_EXHAUSTED.withDescription("too many calls"));
      }
    }

    @Override
    public void onCancel() {
      forget();
    }

    private void refuse(Status status) {
      refused = true;
      forget();
      meters.callRefused();
      OneAnswer.refuse(call, status);
    }

    private void forget() {
      var held = request;
      request = null;
      if (held != null) bytes.addAndGet(-held.length);
    }
  }
}

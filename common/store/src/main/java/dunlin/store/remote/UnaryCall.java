package dunlin.store.remote;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** A call with one message each way, under way to another node; the thread that began it waits for the answer. */
final class UnaryCall {
  private final String to;
  private final ClientCall<byte[], byte[]> call;
  private final CompletableFuture<byte[]> answer;

  private UnaryCall(String to, ClientCall<byte[], byte[]> call, CompletableFuture<byte[]> answer) {
    this.to = to;
    this.call = call;
    this.answer = answer;
  }

  /**
   * Sends the request. It ends within the timeout, one way or the other.
   *
   * @param to who is called, in the words of what goes wrong
   */
  static UnaryCall start(Channel channel, MethodDescriptor<byte[], byte[]> method, byte[] request, Duration timeout, String to) {
    var options = CallOptions.DEFAULT.withDeadlineAfter(Math.max(1, timeout.toMillis()), TimeUnit.MILLISECONDS);
    var call = channel.newCall(method, options);
    var answer = new CompletableFuture<byte[]>();
    call.start(
        new ClientCall.Listener<>() {
          private byte @Nullable [] message;

          @Override
          public void onMessage(byte[] message) {
            this.message = message;
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            var came = message;
            if (status.isOk() && came != null) answer.complete(came);
            else answer.completeExceptionally(status.asRuntimeException());
          }
        },
        new Metadata());
    call.request(2); // one, and proof that there is no other
    call.sendMessage(request);
    call.halfClose();
    return new UnaryCall(to, call, answer);
  }

  /** Waits for the end, be it good or bad, and answers whether it has come in this time. */
  boolean ended(Duration within) throws IOException {
    try {
      answer.get(within.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      return true;
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
    return true;
  }

  byte[] answer() throws IOException {
    try {
      return answer.get();
    } catch (ExecutionException e) {
      Status status = e.getCause() instanceof StatusRuntimeException refused ? refused.getStatus() : Status.UNKNOWN;
      throw new IOException(to + ": " + status.getCode() + ", " + status.getDescription(), e);
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  void cancel(String why) {
    call.cancel(why, null);
  }

  private InterruptedIOException interrupted(InterruptedException e) {
    call.cancel("interrupted", e);
    Thread.currentThread().interrupt();
    return new InterruptedIOException("interrupted while " + to + " was called");
  }
}

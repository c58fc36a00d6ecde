package dunlin.store.remote;

import dunlin.store.grpc.FailureText;
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

/** A pending call to another node with one message each way; the thread that started it waits for the answer. */
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
   * Sends the request. The call ends within the timeout.
   *
   * @param to the called node, for error messages
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
    call.request(2); // one message, and proof that there is no second one
    call.sendMessage(request);
    call.halfClose();
    return new UnaryCall(to, call, answer);
  }

  /** Waits for the call to end, and answers whether it has within this time. */
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
      throw new IOException(to + ": " + status.getCode() + ", " + FailureText.of(status), e);
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
    return new InterruptedIOException("interrupted while calling " + to);
  }
}

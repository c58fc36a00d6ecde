package dunlin.store.remote;

import static org.assertj.core.api.Assertions.assertThat;

import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class OneAnswerTest {
  /** A call that refuses to be closed twice, as gRPC's do. */
  private static final class Call extends ServerCall<byte[], byte[]> {
    final List<byte[]> sent = new ArrayList<>();
    final List<Status.Code> closed = new ArrayList<>();
    @Nullable RuntimeException failsToSend;
    @Nullable Error endsTheCallBy;

    @Override
    public void request(int messages) {}

    @Override
    public void sendHeaders(Metadata headers) {}

    @Override
    public void sendMessage(byte[] message) {
      if (failsToSend != null) throw failsToSend;
      if (endsTheCallBy != null) {
        close(Status.CANCELLED, new Metadata());
        throw endsTheCallBy;
      }
      sent.add(message);
    }

    @Override
    public void close(Status status, Metadata trailers) {
      if (!closed.isEmpty()) throw new IllegalStateException("call already closed");
      closed.add(status.getCode());
    }

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public MethodDescriptor<byte[], byte[]> getMethodDescriptor() {
      return ServiceMethods.CALL;
    }
  }

  private final Call call = new Call();

  @Test
  void anAnswerIsSentAndEndsTheCall() {
    OneAnswer.send(call, new byte[] {1});

    assertThat(call.sent).singleElement().isEqualTo(new byte[] {1});
    assertThat(call.closed).containsExactly(Status.Code.OK);
  }

  @Test
  void aCallIsClosedWhenItsAnswerCannotBeSent() {
    call.failsToSend = new IllegalStateException("on purpose");

    OneAnswer.send(call, new byte[] {1});

    assertThat(call.closed).containsExactly(Status.Code.INTERNAL);
  }

  @Test
  void aCallThatGrpcHasClosedWhileSendingIsNotClosedAgain() {
    call.endsTheCallBy = new AssertionError("on purpose");

    OneAnswer.send(call, new byte[] {1});

    assertThat(call.closed).containsExactly(Status.Code.CANCELLED);
  }
}

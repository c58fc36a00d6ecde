package dunlin.store.remote;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Ends a call with its single answer, or with the reason why there is none. */
final class OneAnswer {
  /*
   * Owner: the thread that answers the call; used once.
   * Failure: when sending throws an Error, gRPC may have closed the call itself. So closing it again may fail, which
   * does no harm.
   */
  private static final Logger log = LoggerFactory.getLogger(OneAnswer.class);

  private OneAnswer() {}

  static void send(ServerCall<byte[], byte[]> call, byte[] answer) {
    try {
      call.sendHeaders(new Metadata());
      call.sendMessage(answer);
      call.close(Status.OK, new Metadata());
    } catch (RuntimeException | Error e) {
      log.warn("An answer to a call from another node cannot be sent", e);
      closeUnsent(call);
    }
  }

  static void refuse(ServerCall<byte[], byte[]> call, Status why) {
    call.close(why, new Metadata());
  }

  private static void closeUnsent(ServerCall<byte[], byte[]> call) {
    try {
      call.close(Status.INTERNAL.withDescription("the answer cannot be sent"), new Metadata());
    } catch (IllegalStateException e) {
      log.debug("The call was closed already", e);
    }
  }
}

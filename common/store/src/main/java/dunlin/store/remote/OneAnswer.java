package dunlin.store.remote;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The end of a call that asks for one answer: with that, or with why there is none. */
final class OneAnswer {
  /*
   * Owner: the one that answers the call; used once.
   * Failure: gRPC closes a call itself when sending ends with an Error, and does not say whether it has: so closing it after
   * sending has failed may be once too often, which gRPC refuses and which does no harm.
   */
  private static final Logger log = LoggerFactory.getLogger(OneAnswer.class);

  private OneAnswer() {}

  static void send(ServerCall<byte[], byte[]> call, byte[] answer) {
    try {
      call.sendHeaders(new Metadata());
      call.sendMessage(answer);
      call.close(Status.OK, new Metadata());
    } catch (RuntimeException | Error e) {
      log.warn("An answer to a call of another node cannot be sent", e);
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

package dunlin.store.remote;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;

/** The answer to who asks whether this node is alive; given on the connection's event loop, so that a slow disk does not matter. */
final class Pinged extends ServerCall.Listener<byte[]> {
  private static final byte[] ALIVE = {};

  private final ServerCall<byte[], byte[]> call;

  Pinged(ServerCall<byte[], byte[]> call) {
    this.call = call;
    call.request(2); // one, and proof that there is no other
  }

  @Override
  public void onHalfClose() {
    call.sendHeaders(new Metadata());
    call.sendMessage(ALIVE);
    call.close(Status.OK, new Metadata());
  }
}

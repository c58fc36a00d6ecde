package dunlin.store.grpc;

import dunlin.store.node.CertificateNames;
import io.grpc.Grpc;
import io.grpc.ServerCall;
import java.util.UUID;
import java.util.function.BiPredicate;

/** What a caller has proved by its certificate. */
public final class CallerProof {
  private CallerProof() {}

  /** Whether a caller has proved to be a node at a host; always true without TLS, which proves nothing. */
  public static BiPredicate<UUID, String> of(ServerCall<?, ?> call) {
    var session = call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
    return session == null ? (_, _) -> true : CertificateNames.of(session)::belongTo;
  }
}

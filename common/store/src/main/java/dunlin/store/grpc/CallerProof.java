package dunlin.store.grpc;

import dunlin.store.node.CertificateNames;
import io.grpc.Grpc;
import io.grpc.ServerCall;
import java.util.UUID;
import java.util.function.BiPredicate;

/** Verifies callers by their certificates. */
public final class CallerProof {
  private CallerProof() {}

  /** Whether a caller's certificate is that of a node at a host; always true without TLS. */
  public static BiPredicate<UUID, String> of(ServerCall<?, ?> call) {
    var session = call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
    return session == null ? (_, _) -> true : CertificateNames.of(session)::belongTo;
  }
}

package dunlin.store.grpc;

import dunlin.store.node.CertificateNames;
import io.grpc.Grpc;
import io.grpc.ServerCall;
import java.util.UUID;

/** Who makes a call, by the certificate of the connection. */
@FunctionalInterface
public interface Caller {
  /** Whether the certificate is that of a node at a host; always true without TLS, which proves nothing. */
  boolean belongsTo(UUID node, String host);

  /** Whether the certificate is that of a frontend, which has no replicas and leads nothing. */
  default boolean isFrontend() {
    return false;
  }

  /** The caller of a call. */
  static Caller of(ServerCall<?, ?> call) {
    var session = call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION);
    if (session == null) return (_, _) -> true;
    var names = CertificateNames.of(session);
    return new Caller() {
      @Override
      public boolean belongsTo(UUID node, String host) {
        return names.belongTo(node, host);
      }

      @Override
      public boolean isFrontend() {
        return names.areOfFrontend();
      }
    };
  }
}

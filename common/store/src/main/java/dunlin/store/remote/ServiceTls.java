package dunlin.store.remote;

import dunlin.store.PeerSecurity;
import dunlin.store.StoreException;
import io.grpc.ChannelCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Mutual TLS between nodes: both sides show a certificate of the same authority, and the one that is called must have the
 * name by which it is called.
 *
 * @param certificate this node's certificate and what leads to the authority, PEM
 * @param key its private key, PEM, PKCS#8, not encrypted
 * @param authority the authority's certificates, PEM
 */
public record ServiceTls(Path certificate, Path key, Path authority) {
  /** The same files as on the cluster port; empty where that is without TLS. */
  public static Optional<ServiceTls> of(PeerSecurity security) {
    return switch (security) {
      case PeerSecurity.Plaintext _ -> Optional.empty();
      case PeerSecurity.MutualTls(var key, var certificates, var authority) ->
          Optional.of(new ServiceTls(certificates, key, authority));
    };
  }

  ServerCredentials server() {
    try {
      return TlsServerCredentials.newBuilder()
          .keyManager(file(certificate), file(key))
          .trustManager(file(authority))
          .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE)
          .build();
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  ChannelCredentials client() {
    try {
      return TlsChannelCredentials.newBuilder().keyManager(file(certificate), file(key)).trustManager(file(authority)).build();
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  private static File file(Path path) {
    return path.toFile();
  }

  private StoreException unreadable(IOException e) {
    return new StoreException("TLS between nodes: " + certificate + ", " + key + " or " + authority + " cannot be read: " + e, e);
  }
}

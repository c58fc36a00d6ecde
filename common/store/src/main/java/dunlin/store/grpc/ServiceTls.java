package dunlin.store.grpc;

import dunlin.store.node.PeerTls;
import dunlin.store.settings.PeerSecurity;
import io.grpc.ChannelCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import java.util.Optional;

/**
 * Mutual TLS between nodes: both sides present a certificate of the same authority, and the server's must have the name
 * that the caller has used.
 */
public final class ServiceTls {
  private final PeerTls files;

  /** @throws dunlin.store.StoreException naming the file that cannot be used */
  public ServiceTls(PeerSecurity.MutualTls files) {
    this.files = new PeerTls(files);
  }

  /** The same files as for the cluster port; empty where that has no TLS. */
  public static Optional<ServiceTls> of(PeerSecurity security) {
    return switch (security) {
      case PeerSecurity.Plaintext _ -> Optional.empty();
      case PeerSecurity.MutualTls files -> Optional.of(new ServiceTls(files));
    };
  }

  /** Reloads the files, for new connections. Blocks on the disk. */
  public void refresh() {
    files.refresh();
  }

  /** Credentials of a server that nodes call. */
  public ServerCredentials server() {
    return TlsServerCredentials.newBuilder()
        .keyManager(files.keys())
        .trustManager(files.trust())
        .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE)
        .build();
  }

  /** Credentials of a caller. */
  public ChannelCredentials client() {
    return TlsChannelCredentials.newBuilder().keyManager(files.keys()).trustManager(files.trust()).build();
  }
}

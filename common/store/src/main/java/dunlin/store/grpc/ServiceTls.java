package dunlin.store.grpc;

import dunlin.store.node.PeerTls;
import dunlin.store.settings.PeerSecurity;
import io.grpc.ChannelCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import java.util.Optional;

/**
 * Mutual TLS between nodes: both sides show a certificate of the same authority, and the one that is called must have the
 * name by which it is called.
 */
public final class ServiceTls {
  private final PeerTls files;

  /** @throws dunlin.store.StoreException naming the file that cannot be used */
  public ServiceTls(PeerSecurity.MutualTls files) {
    this.files = new PeerTls(files);
  }

  /** The same files as on the cluster port; empty where that is without TLS. */
  public static Optional<ServiceTls> of(PeerSecurity security) {
    return switch (security) {
      case PeerSecurity.Plaintext _ -> Optional.empty();
      case PeerSecurity.MutualTls files -> Optional.of(new ServiceTls(files));
    };
  }

  /** Takes over what the files say now, for connections that come; reads them, so not on a thread that must not wait. */
  public void refresh() {
    files.refresh();
  }

  /** Of a server that nodes call. */
  public ServerCredentials server() {
    return TlsServerCredentials.newBuilder()
        .keyManager(files.keys())
        .trustManager(files.trust())
        .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE)
        .build();
  }

  /** Of a caller. */
  public ChannelCredentials client() {
    return TlsChannelCredentials.newBuilder().keyManager(files.keys()).trustManager(files.trust()).build();
  }
}

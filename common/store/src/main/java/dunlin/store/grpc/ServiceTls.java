package dunlin.store.grpc;

import dunlin.store.StoreException;
import dunlin.store.node.PeerTls;
import dunlin.store.settings.PeerSecurity;
import io.grpc.ChannelCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.InternalNettyServerCredentials;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContextBuilder;
import java.util.Optional;
import javax.net.ssl.SSLException;

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

  /** Credentials of a server that nodes call. It logs handshakes that fail. */
  public ServerCredentials server() {
    try {
      var context = SslContextBuilder.forServer(files.keys()).trustManager(files.trust()).clientAuth(ClientAuth.REQUIRE);
      return InternalNettyServerCredentials.create(new WatchedHandshakes(GrpcSslContexts.configure(context).build()));
    } catch (SSLException e) {
      throw new StoreException("the TLS between nodes cannot be set up: " + e.getMessage(), e);
    }
  }

  /** Credentials of a caller. */
  public ChannelCredentials client() {
    return TlsChannelCredentials.newBuilder().keyManager(files.keys()).trustManager(files.trust()).build();
  }
}

package dunlin.store.grpc;

import dunlin.store.StoreException;
import dunlin.store.node.PeerTls;
import dunlin.store.settings.PeerSecurity;
import io.grpc.ChannelCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.InternalNettyServerCredentials;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContextBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
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

  /** Whether this node's own certificate is only for a frontend. */
  public boolean isOfFrontend() {
    return files.names().areOfFrontend();
  }

  /** Registers how long the certificates are valid, and how often their files were read again. */
  public void show(MeterRegistry meters) {
    Gauge.builder("dunlin.cluster.tls.certificate-seconds", files, each -> Duration.between(Instant.now(), each.expiry()).toSeconds())
        .description("Seconds until the first of the certificates between nodes expires: the node's own or that of an authority")
        .register(meters);
    reloads(meters, "ok", PeerTls::reloads);
    reloads(meters, "failed", PeerTls::failedReloads);
  }

  private void reloads(MeterRegistry meters, String result, ToDoubleFunction<PeerTls> count) {
    FunctionCounter.builder("dunlin.cluster.tls.reloads", files, count)
        .description("Times that the certificate files between nodes had changed and were read again")
        .tag("result", result)
        .register(meters);
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

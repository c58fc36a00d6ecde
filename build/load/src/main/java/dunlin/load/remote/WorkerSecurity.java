package dunlin.load.remote;

import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Authentication between the director and its workers. */
public sealed interface WorkerSecurity {
  /** Mutual TLS: both certificates are of the same authority, and the worker's is for the host name that the director uses. */
  record MutualTls(Path ca, Path certificate, Path key) implements WorkerSecurity {}

  /**
   * Plain text.
   *
   * @param everywhere allowed with other machines too
   */
  record PlainText(boolean everywhere) implements WorkerSecurity {}

  /** Refuses plain text with another machine, unless it is allowed. */
  default void check(String host) {
    if (!(this instanceof PlainText(boolean everywhere)) || everywhere) return;
    try {
      if (InetAddress.getByName(host).isLoopbackAddress()) return;
    } catch (UnknownHostException unknown) {
      throw new IllegalArgumentException("the host %s is not known".formatted(host), unknown);
    }
    throw new IllegalArgumentException("%s is another machine: give --ca, --cert and --key for TLS, or ask for --plain-text".formatted(host));
  }

  default ServerCredentials server() {
    return switch (this) {
      case PlainText _ -> InsecureServerCredentials.create();
      case MutualTls(Path ca, Path certificate, Path key) -> {
        try {
          yield TlsServerCredentials.newBuilder()
              .keyManager(readable(certificate).toFile(), readable(key).toFile())
              .trustManager(readable(ca).toFile())
              .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE)
              .build();
        } catch (IOException | RuntimeException wrong) {
          throw unfit(wrong);
        }
      }
    };
  }

  default ChannelCredentials client() {
    return switch (this) {
      case PlainText _ -> InsecureChannelCredentials.create();
      case MutualTls(Path ca, Path certificate, Path key) -> {
        try {
          yield TlsChannelCredentials.newBuilder().keyManager(readable(certificate).toFile(), readable(key).toFile()).trustManager(readable(ca).toFile()).build();
        } catch (IOException | RuntimeException wrong) {
          throw unfit(wrong);
        }
      }
    };
  }

  /** An error for unusable certificates. */
  default IllegalArgumentException unfit(Exception wrong) {
    if (wrong instanceof IllegalArgumentException known && known.getMessage() != null && known.getMessage().endsWith("cannot be read")) return known;
    if (!(this instanceof MutualTls(Path ca, Path certificate, Path key))) return new IllegalArgumentException(WorkerLink.root(wrong), wrong);
    return new IllegalArgumentException("the certificates %s, %s and the key %s do not fit: %s".formatted(ca, certificate, key, WorkerLink.root(wrong)), wrong);
  }

  private static Path readable(Path file) {
    if (!Files.isReadable(file)) throw new IllegalArgumentException("%s cannot be read".formatted(file));
    return file;
  }
}

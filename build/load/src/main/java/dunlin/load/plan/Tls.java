package dunlin.load.plan;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The TLS settings of clients.
 *
 * @param ca certificates to trust; null for those of the JVM
 * @param certificate the client's own, null for none; likewise the key
 * @param insecure accepts any certificate
 */
public record Tls(@Nullable Path ca, @Nullable Path certificate, @Nullable Path key, boolean insecure) {
  public Tls {
    if ((certificate == null) != (key == null)) throw new IllegalArgumentException("a client certificate and its key come together or not at all");
  }

  Tls with(Path ownCertificate, Path ownKey) {
    return new Tls(ca, ownCertificate, ownKey, insecure);
  }
}

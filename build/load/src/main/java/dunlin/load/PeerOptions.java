package dunlin.load;

import dunlin.load.remote.WorkerSecurity;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options for authentication between the director and its workers. */
final class PeerOptions {
  @Option(names = "--ca", paramLabel = "FILE", description = "The authority that both certificates are of, PEM.")
  private @Nullable Path ca;

  @Option(names = "--cert", paramLabel = "FILE", description = "The own certificate, PEM. A worker's has the name or address by which the director calls it.")
  private @Nullable Path certificate;

  @Option(names = "--key", paramLabel = "FILE", description = "Its key, PEM (PKCS #8).")
  private @Nullable Path key;

  @Option(names = "--plain-text", description = "Speaks without TLS, also with other machines. On one machine it does without being asked.")
  private boolean plainText;

  WorkerSecurity security() {
    if (ca == null && certificate == null && key == null) return new WorkerSecurity.PlainText(plainText);
    if (ca == null || certificate == null || key == null) throw new IllegalArgumentException("--ca, --cert and --key come together");
    if (plainText) throw new IllegalArgumentException("--plain-text needs no certificates");
    return new WorkerSecurity.MutualTls(ca, certificate, key);
  }
}

package dunlin.load.client;

import dunlin.load.plan.Plan;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Tls;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** TLS contexts of a plan, one for each set of certificates, made before the first connection. */
final class TlsContexts {
  /* Owner: made by one thread, read-only from then on. Bounds: Credentials.CERTIFICATES_MAX for each pool. */
  private final Map<Tls, SslContext> contexts = new HashMap<>();

  TlsContexts(Plan plan) {
    for (Pool pool : plan.pools()) {
      if (pool.access().tls() == null) continue;
      int different = pool.credentials() == null ? 1 : Math.min(pool.clients(), pool.credentials().rows().size());
      for (int client = 0; client < different; client++) {
        Tls tls = pool.tls(client);
        if (tls != null && !contexts.containsKey(tls)) contexts.put(tls, make(tls));
      }
    }
  }

  private static SslContext make(Tls tls) {
    try {
      SslContextBuilder builder = SslContextBuilder.forClient();
      if (tls.insecure()) builder.trustManager(InsecureTrustManagerFactory.INSTANCE).endpointIdentificationAlgorithm(null);
      else if (tls.ca() != null) builder.trustManager(readable(tls.ca()).toFile());
      if (tls.certificate() != null && tls.key() != null) builder.keyManager(readable(tls.certificate()).toFile(), readable(tls.key()).toFile());
      return builder.build();
    } catch (IOException | RuntimeException failure) {
      if (failure instanceof BadCertificateException known) throw known;
      throw new BadCertificateException("the certificates %s do not fit: %s".formatted(names(tls), root(failure)), failure);
    }
  }

  private static Path readable(Path file) {
    if (!Files.isReadable(file)) throw new BadCertificateException("%s cannot be read".formatted(file), null);
    return file;
  }

  private static String names(Tls tls) {
    var names = new StringBuilder();
    for (Path file : new Path[] {tls.ca(), tls.certificate(), tls.key()}) {
      if (file != null) names.append(names.isEmpty() ? "" : ", ").append(file);
    }
    return names.toString();
  }

  private static String root(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null) root = root.getCause();
    return String.valueOf(root.getMessage());
  }

  SslContext of(Tls tls) {
    SslContext context = contexts.get(tls);
    if (context == null) throw new IllegalStateException("no context for " + tls);
    return context;
  }
}

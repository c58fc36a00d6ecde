package dunlin.broker.listen;

import dunlin.broker.auth.CertificateSubject;
import dunlin.broker.tls.HandshakeSignatures;
import dunlin.broker.tls.OcspWatch;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.OpenSslContextOption;
import io.netty.handler.ssl.OpenSslX509KeyManagerFactory;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The TLS context of a listener, from its certificate files. The files are read again when their content changes, also
 * through symbolic links; open connections keep the context that they began with.
 */
final class TlsContext implements AutoCloseable {
  /*
   * Owner: one thread at a time calls reload and close; all event loops call newHandler.
   * Bounds: one context in use; a replaced context stays until the last connection that began with it has ended.
   * Failure: if the files cannot be used, for example because only one of them was replaced so far, the old context
   * stays in use; that is logged once. Revocation lists are read by themselves: files that cannot be used do not hold them up.
   */
  private static final Logger log = LoggerFactory.getLogger(TlsContext.class);

  private final ListenerSettings settings;
  private final TlsProfile profile;
  private final Counter reloads;
  private final Counter failedReloads;
  private final @Nullable RevocationWatch revocations;
  private final @Nullable OcspWatch responder;

  private TlsFiles files;

  /** The last logged problem, so that a file that stays missing is not logged every few seconds. */
  private String failure = "";

  private volatile InUse inUse;

  /**
   * @param expiry that of the certificate that expires first of those that the server sends
   * @param names the DNS names of the server's certificate, in lower case
   */
  private record InUse(SslContext context, Instant expiry, List<X509Certificate> authorities, Set<String> names) {
    InUse {
      names = Set.copyOf(names);
    }

    Instant authoritiesExpiry() {
      return firstExpiry(authorities);
    }
  }

  private TlsContext(ListenerSettings settings, TlsFiles files, InUse inUse, MeterRegistry meters) {
    this.settings = settings;
    this.profile = TlsProfile.of(settings);
    this.files = files;
    this.inUse = inUse;
    this.reloads = counter(meters, "ok");
    this.failedReloads = counter(meters, "failed");
    Gauge.builder("dunlin.listener.tls.certificate-seconds", this, each -> secondsTo(each.inUse.expiry()))
        .description("Seconds until the certificate in use expires, or an intermediate one that is sent with it")
        .tag("listener", settings.name())
        .register(meters);
    if (!inUse.authorities().isEmpty()) {
      Gauge.builder("dunlin.listener.tls.client-ca-seconds", this, each -> secondsTo(each.inUse.authoritiesExpiry()))
          .description("Seconds until the first of the certificates expires that client certificates are verified against")
          .tag("listener", settings.name())
          .register(meters);
    }
    this.revocations = settings.tls().clients().revoked().map(path -> new RevocationWatch(settings, path, inUse.authorities(), meters)).orElse(null);
    this.responder =
        settings.tls().clients().ocsp()
            .map(ocsp -> new OcspWatch(ocsp, settings.name(), () -> this.inUse.authorities(), RevocationWatch.ending(settings, meters), meters))
            .orElse(null);
  }

  private Counter counter(MeterRegistry meters, String result) {
    return Counter.builder("dunlin.listener.tls.reloads")
        .description("Times that a listener's certificate files had changed and were read again")
        .tag("listener", settings.name())
        .tag("result", result)
        .register(meters);
  }

  private static double secondsTo(Instant expiry) {
    return Duration.between(Instant.now(), expiry).toSeconds();
  }

  /** @throws ListenerException that names the setting of a file that is missing or cannot be used */
  static TlsContext load(ListenerSettings settings, MeterRegistry meters) {
    TlsFiles files = TlsFiles.read(settings);
    InUse first = build(settings, TlsProfile.of(settings), files);
    try {
      return new TlsContext(settings, files, first, meters);
    } catch (ListenerException e) {
      ReferenceCountUtil.release(first.context());
      throw e;
    }
  }

  /** @throws ListenerException under the same conditions as load */
  static void check(ListenerSettings settings) {
    InUse built = build(settings, TlsProfile.of(settings), TlsFiles.read(settings));
    ReferenceCountUtil.release(built.context());
    settings.tls().clients().revoked().ifPresent(path -> RevocationWatch.check(settings, path, built.authorities()));
  }

  /**
   * The handler of a new connection.
   *
   * @param steps runs the costly steps of its handshake
   */
  SslHandler newHandler(ByteBufAllocator allocator, Executor steps) {
    SslContext context = retained();
    try {
      SslHandler handler = context.newHandler(allocator, steps);
      profile.applyTo(handler.engine());
      handler.setHandshakeTimeoutMillis(settings.tls().handshakeTimeout().toMillis());
      return handler;
    } finally {
      ReferenceCountUtil.release(context); // the handler's engine retains it as long as necessary
    }
  }

  private SslContext retained() {
    while (true) {
      SslContext context = inUse.context();
      try {
        return ReferenceCountUtil.retain(context);
      } catch (IllegalReferenceCountException e) {
        if (inUse.context().equals(context)) throw e; // it was not replaced, so it was closed
      }
    }
  }

  /** Which certificates are revoked; null if there is no list. */
  @Nullable RevocationWatch revocations() {
    return revocations;
  }

  /** What asks a responder whether certificates are revoked; null if there is none. */
  @Nullable OcspWatch responder() {
    return responder;
  }

  Instant expiry() {
    return inUse.expiry();
  }

  /** The DNS names of the certificate in use, in lower case. */
  Set<String> names() {
    return inUse.names();
  }

  /** Reads the files, and uses their content if it has changed. */
  void reload() {
    reloadKeys();
    if (revocations != null) revocations.reload(inUse.authorities());
    if (responder != null) responder.tick();
  }

  private void reloadKeys() {
    try {
      TlsFiles now = TlsFiles.read(settings);
      if (now.same(files)) return;
      files = now;
      InUse next = build(settings, profile, now);
      SslContext replaced = inUse.context();
      inUse = next;
      ReferenceCountUtil.release(replaced);
      reloads.increment();
      log.info("Listener {} uses a new certificate, valid until {}", settings.name(), next.expiry());
      failure = "";
    } catch (ListenerException e) {
      String message = String.valueOf(e.getMessage());
      if (message.equals(failure)) return;
      failure = message;
      failedReloads.increment();
      log.warn("Listener {} keeps its old certificate: {}", settings.name(), message);
    }
  }

  @Override
  public void close() {
    if (responder != null) responder.close();
    ReferenceCountUtil.release(inUse.context());
  }

  private static InUse build(ListenerSettings settings, TlsProfile profile, TlsFiles files) {
    TlsFiles.Contents contents = files.contents(settings);
    try {
      SslContextBuilder builder = builder(contents);
      profile.applyTo(builder);
      builder.clientAuth(
          switch (settings.tls().clients().auth()) {
            case NONE -> ClientAuth.NONE;
            case OPTIONAL -> ClientAuth.OPTIONAL;
            case REQUIRED -> ClientAuth.REQUIRE;
          });
      if (!contents.authorities().isEmpty()) builder.trustManager(contents.authorities());
      return new InUse(builder.build(), firstExpiry(contents.chain()), contents.authorities(), names(contents.chain().getFirst()));
    } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
      throw new ListenerException("listener " + settings.name() + " cannot use its TLS settings: " + e.getMessage(), e);
    }
  }

  private static SslContextBuilder builder(TlsFiles.Contents contents) throws IOException, GeneralSecurityException {
    if (!OpenSsl.isAvailable()) return SslContextBuilder.forServer(contents.key(), contents.chain());
    return SslContextBuilder.forServer(OpenSslX509KeyManagerFactory.newKeyless(contents.chain().toArray(X509Certificate[]::new)))
        .option(OpenSslContextOption.PRIVATE_KEY_METHOD, new HandshakeSignatures(contents.key()));
  }

  private static Set<String> names(X509Certificate certificate) {
    return CertificateSubject.alternativeNames(certificate, CertificateSubject.DNS).stream().map(name -> name.toLowerCase(Locale.ROOT)).collect(Collectors.toSet());
  }

  private static Instant firstExpiry(List<X509Certificate> certificates) {
    return certificates.stream().map(each -> each.getNotAfter().toInstant()).min(Comparator.naturalOrder()).orElseThrow();
  }
}

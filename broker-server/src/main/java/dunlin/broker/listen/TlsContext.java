package dunlin.broker.listen;

import dunlin.runtime.LogText;
import dunlin.runtime.Secret;
import dunlin.runtime.SettingException;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import io.netty.util.IllegalReferenceCountException;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import javax.net.ssl.SSLServerSocketFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The TLS context of a listener, from its certificate files. The files are read again when their content changes, also
 * through symbolic links; open connections keep the context that they began with. BoringSSL is used where it is
 * available, else the JDK.
 */
final class TlsContext implements AutoCloseable {
  /*
   * Owner: one thread at a time calls reload and close; all event loops call newHandler.
   * Bounds: one context in use; a replaced context stays until the last connection that began with it has ended.
   * Failure: if the files cannot be used, for example because only one of them was replaced so far, the old context
   * stays in use; that is logged once.
   */
  private static final Logger log = LoggerFactory.getLogger(TlsContext.class);
  private static final int FILE_MAX = 1 << 20;

  /** The default cipher suites: with forward secrecy and authenticated encryption. */
  static final List<String> SUITES =
      List.of(
          "TLS_AES_128_GCM_SHA256",
          "TLS_AES_256_GCM_SHA384",
          "TLS_CHACHA20_POLY1305_SHA256",
          "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
          "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
          "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
          "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
          "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
          "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256");

  private final ListenerSettings settings;
  private final Counter reloads;
  private final Counter failedReloads;

  private Content content;

  /** The last logged problem, so that a file that stays missing is not logged every few seconds. */
  private String failure = "";

  private volatile InUse inUse;

  /** The bytes of the files, and the password of the key. */
  private record Content(byte[] certificate, byte[] key, String password, byte[] clientCa) {
    boolean same(Content other) {
      return password.equals(other.password)
          && Arrays.equals(certificate, other.certificate)
          && Arrays.equals(key, other.key)
          && Arrays.equals(clientCa, other.clientCa);
    }
  }

  private record InUse(SslContext context, Instant expiry) {}

  private TlsContext(ListenerSettings settings, Content content, InUse inUse, MeterRegistry meters) {
    this.settings = settings;
    this.content = content;
    this.inUse = inUse;
    this.reloads = counter(meters, "ok");
    this.failedReloads = counter(meters, "failed");
    Gauge.builder("dunlin.listener.tls.certificate-seconds", this, TlsContext::secondsToExpiry)
        .description("Seconds until the certificate in use expires")
        .tag("listener", settings.name())
        .register(meters);
  }

  private Counter counter(MeterRegistry meters, String result) {
    return Counter.builder("dunlin.listener.tls.reloads")
        .description("Times that a listener's certificate files had changed and were read again")
        .tag("listener", settings.name())
        .tag("result", result)
        .register(meters);
  }

  /** @throws ListenerException that names the setting of a file that is missing or cannot be used */
  static TlsContext load(ListenerSettings settings, MeterRegistry meters) {
    Content content = read(settings);
    return new TlsContext(settings, content, build(settings, content), meters);
  }

  /** @throws ListenerException under the same conditions as load */
  static void check(ListenerSettings settings) {
    ReferenceCountUtil.release(build(settings, read(settings)).context());
  }

  /** The handler of a new connection. */
  SslHandler newHandler(ByteBufAllocator allocator) {
    SslContext context = retained();
    try {
      SslHandler handler = context.newHandler(allocator);
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

  Instant expiry() {
    return inUse.expiry();
  }

  private double secondsToExpiry() {
    return Duration.between(Instant.now(), inUse.expiry()).toSeconds();
  }

  /** Reads the files, and uses their content if it has changed. */
  void reload() {
    try {
      Content now = read(settings);
      if (now.same(content)) return;
      content = now;
      InUse next = build(settings, now);
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
    ReferenceCountUtil.release(inUse.context());
  }

  private static Content read(ListenerSettings settings) {
    ListenerSettings.Tls tls = settings.tls();
    boolean asks = tls.clientAuth() != ListenerSettings.ClientAuth.NONE;
    return new Content(
        read(settings, "tls.certificate", tls.certificate()),
        read(settings, "tls.key", tls.key()),
        password(tls.keyPassword()),
        asks ? read(settings, "tls.client-ca", tls.clientCa()) : new byte[0]);
  }

  private static String password(Secret secret) {
    try {
      return secret.value();
    } catch (SettingException e) {
      throw new ListenerException(e.getMessage(), e);
    }
  }

  private static byte[] read(ListenerSettings settings, String key, Optional<Path> file) {
    if (file.isEmpty()) {
      throw new ListenerException("listener " + settings.name() + " needs " + settings.key(key) + ", a file in PEM format");
    }
    Path path = file.get();
    try {
      if (Files.size(path) > FILE_MAX) throw new IOException("larger than " + FILE_MAX + " bytes");
      return Files.readAllBytes(path);
    } catch (IOException e) {
      throw unusable(settings, key, path, e);
    }
  }

  private static ListenerException unusable(ListenerSettings settings, String key, Path file, Exception cause) {
    return new ListenerException("cannot use " + file + " (" + settings.key(key) + "): " + cause, cause);
  }

  private static InUse build(ListenerSettings settings, Content content) {
    ListenerSettings.Tls tls = settings.tls();
    List<X509Certificate> chain = certificates(settings, "tls.certificate", tls.certificate(), content.certificate());
    PrivateKey key;
    try {
      key = PemFiles.key(content.key(), content.password(), chain.getFirst());
    } catch (GeneralSecurityException | IOException e) {
      throw unusable(settings, "tls.key", tls.key().orElseThrow(), e);
    }
    try {
      SslContextBuilder builder =
          SslContextBuilder.forServer(key, chain)
              .sslProvider(OpenSsl.isAvailable() ? SslProvider.OPENSSL_REFCNT : SslProvider.JDK)
              .protocols(versions(settings))
              .ciphers(suites(settings), SupportedCipherSuiteFilter.INSTANCE);
      switch (tls.clientAuth()) {
        case NONE -> builder.clientAuth(ClientAuth.NONE);
        case OPTIONAL -> builder.clientAuth(ClientAuth.OPTIONAL);
        case REQUIRED -> builder.clientAuth(ClientAuth.REQUIRE);
      }
      if (tls.clientAuth() != ListenerSettings.ClientAuth.NONE) {
        builder.trustManager(certificates(settings, "tls.client-ca", tls.clientCa(), content.clientCa()));
      }
      return new InUse(builder.build(), chain.getFirst().getNotAfter().toInstant());
    } catch (IOException | IllegalArgumentException e) {
      throw new ListenerException("listener " + settings.name() + " cannot use its TLS settings: " + e.getMessage(), e);
    }
  }

  /** The cipher suites to use: configured ones must be available; of the defaults, the available ones are used. */
  private static List<String> suites(ListenerSettings settings) {
    List<String> wanted = settings.tls().cipherSuites();
    if (wanted.isEmpty()) return SUITES;
    for (String suite : wanted)
      if (!isSupported(suite))
        throw new ListenerException(
            "%s names the cipher suite %s, which this platform does not support"
                .formatted(settings.key("tls.cipher-suites"), LogText.quoted(suite)));
    return wanted;
  }

  /**
   * The TLS versions to use. TLS 1.2 is left out if none of its suites is configured, because BoringSSL would then
   * enable all of its suites.
   */
  private static List<String> versions(ListenerSettings settings) {
    Set<ListenerSettings.TlsVersion> versions = EnumSet.copyOf(settings.tls().versions());
    List<String> named = settings.tls().cipherSuites();
    if (!named.isEmpty() && named.stream().noneMatch(suite -> suite.contains("_WITH_"))) versions.remove(ListenerSettings.TlsVersion.TLS_1_2);
    if (versions.isEmpty()) {
      throw new ListenerException(
          "%s names no suite of TLS 1.2, and %s allows no other version".formatted(settings.key("tls.cipher-suites"), settings.key("tls.protocols")));
    }
    return versions.stream().map(ListenerSettings.TlsVersion::toString).toList();
  }

  private static boolean isSupported(String suite) {
    if (OpenSsl.isAvailable()) return OpenSsl.isCipherSuiteAvailable(suite);
    return List.of(((SSLServerSocketFactory) SSLServerSocketFactory.getDefault()).getSupportedCipherSuites()).contains(suite);
  }

  private static List<X509Certificate> certificates(
      ListenerSettings settings, String key, Optional<Path> file, byte[] content) {
    try {
      return PemFiles.certificates(content);
    } catch (GeneralSecurityException e) {
      throw unusable(settings, key, file.orElseThrow(), e);
    }
  }
}

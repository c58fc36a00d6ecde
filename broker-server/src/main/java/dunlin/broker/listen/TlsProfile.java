package dunlin.broker.listen;

import dunlin.broker.listen.ListenerSettings.TlsCurve;
import dunlin.broker.listen.ListenerSettings.TlsVersion;
import dunlin.runtime.LogText;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.OpenSslContextOption;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;

/**
 * The versions, cipher suites and curves that a listener accepts. BoringSSL is used where it is available, else the JDK.
 *
 * @param curves in the order in which the server prefers them; empty for those of the library
 */
record TlsProfile(List<String> versions, List<String> suites, List<String> curves) {
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

  TlsProfile {
    versions = List.copyOf(versions);
    suites = List.copyOf(suites);
    curves = List.copyOf(curves);
  }

  /** @throws ListenerException if this platform does not have a suite that is named, or no version is left */
  static TlsProfile of(ListenerSettings settings) {
    return new TlsProfile(versionsOf(settings), suitesOf(settings), curvesOf(settings));
  }

  void applyTo(SslContextBuilder builder) {
    builder
        .sslProvider(OpenSsl.isAvailable() ? SslProvider.OPENSSL_REFCNT : SslProvider.JDK)
        .protocols(versions)
        .ciphers(suites, SupportedCipherSuiteFilter.INSTANCE);
    if (OpenSsl.isAvailable() && !curves.isEmpty()) builder.option(OpenSslContextOption.GROUPS, curves.toArray(String[]::new));
  }

  /** What the JDK wants to know of each connection; BoringSSL has it in the context. */
  void applyTo(SSLEngine engine) {
    if (OpenSsl.isAvailable() || curves.isEmpty()) return;
    SSLParameters parameters = engine.getSSLParameters();
    parameters.setNamedGroups(curves.toArray(String[]::new));
    engine.setSSLParameters(parameters);
  }

  /** All that are known are the default: then the library takes those that it has, in its own order. */
  private static List<String> curvesOf(ListenerSettings settings) {
    Set<TlsCurve> curves = settings.tls().protocols().curves();
    if (curves.size() == TlsCurve.values().length) return List.of();
    return curves.stream().sorted().map(TlsCurve::toString).toList();
  }

  /** The cipher suites to use: configured ones must be available; of the defaults, the available ones are used. */
  private static List<String> suitesOf(ListenerSettings settings) {
    List<String> wanted = settings.tls().protocols().cipherSuites();
    if (wanted.isEmpty()) return SUITES;
    Collection<String> known = known();
    for (String suite : wanted)
      if (!known.contains(suite) && !(OpenSsl.isAvailable() && OpenSsl.isCipherSuiteAvailable(suite)))
        throw new ListenerException(
            "%s names the cipher suite %s, which this platform does not support; it supports %s"
                .formatted(settings.key("tls.cipher-suites"), LogText.quoted(suite), String.join(", ", known)));
    return wanted;
  }

  /** The suites of this platform, by their names in the TLS standards. */
  private static Collection<String> known() {
    Set<String> known =
        new TreeSet<>(
            OpenSsl.isAvailable()
                ? OpenSsl.availableJavaCipherSuites()
                : List.of(((SSLServerSocketFactory) SSLServerSocketFactory.getDefault()).getSupportedCipherSuites()));
    known.removeIf(suite -> !suite.startsWith("TLS_")); // SSL_ is an older name of the same suites
    return known;
  }

  /**
   * The TLS versions to use. TLS 1.2 is left out if none of its suites is configured, because BoringSSL would then
   * enable all of its suites.
   */
  private static List<String> versionsOf(ListenerSettings settings) {
    Set<TlsVersion> versions = EnumSet.copyOf(settings.tls().protocols().versions());
    List<String> named = settings.tls().protocols().cipherSuites();
    if (!named.isEmpty() && named.stream().noneMatch(suite -> suite.contains("_WITH_"))) versions.remove(TlsVersion.TLS_1_2);
    if (versions.isEmpty()) {
      throw new ListenerException(
          "%s names no suite of TLS 1.2, and %s allows no other version".formatted(settings.key("tls.cipher-suites"), settings.key("tls.protocols")));
    }
    return versions.stream().map(TlsVersion::toString).toList();
  }
}

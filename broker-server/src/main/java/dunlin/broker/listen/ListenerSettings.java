package dunlin.broker.listen;

import dunlin.broker.codec.ProtocolVersion;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * One place that clients connect to, and what it asks of them.
 *
 * @param name names it in settings, metrics and JMX
 * @param address where it is
 * @param versions those of MQTT that are served
 * @param limits how many connections it takes, and what they may send
 * @param proxy whether a proxy is in front of it
 * @param origins web pages that may open a WebSocket, {@code *} for all; empty for those of the same host
 */
public record ListenerSettings(
    String name, Type type, Address address, Set<ProtocolVersion> versions, Limits limits, Proxy proxy, List<String> origins, Tls tls) {

  /**
   * Where a listener is.
   *
   * @param host address that it binds to; not for a Unix domain socket
   * @param port its port, 0 for any free one
   * @param path of the URL for WebSocket, of the file for a Unix domain socket; empty for none
   * @param backlog connections that the operating system keeps until they are accepted
   */
  public record Address(String host, int port, String path, int backlog) {}

  /**
   * How many connections a listener takes, and what they may send.
   *
   * @param connectionsMax connections at the same time
   * @param connectionsPerAddressMax those of one client address, 0 for as many as there may be
   * @param connectRate new connections a second, 0 for as many as come
   * @param connectBurst how many may come at once before the rate counts
   * @param packetMax largest packet in bytes that a client may send, 0 for what all listeners have
   */
  public record Limits(int connectionsMax, int connectionsPerAddressMax, int connectRate, int connectBurst, int packetMax) {}

  /**
   * Whether a proxy is in front of a listener.
   *
   * @param header whether a PROXY protocol header must come first, of version 1 or 2
   * @param from addresses and networks that such a header is believed of
   */
  public record Proxy(boolean header, List<String> from) {
    public Proxy {
      from = List.copyOf(from);
    }
  }

  /** What the bytes of MQTT travel in. */
  public enum Type {
    TCP,
    TLS,
    WS,
    WSS,
    UNIX;

    boolean encrypted() {
      return this == TLS || this == WSS;
    }

    boolean webSocket() {
      return this == WS || this == WSS;
    }
  }

  /** Whether a client must show a certificate. */
  public enum ClientAuth {
    NONE,
    OPTIONAL,
    REQUIRED
  }

  /** What a client's certificate says of it, and by which of its names: the subject's common name, or the first alternative name. */
  public enum Identity {
    NONE,
    CN_USER_NAME,
    CN_CLIENT_ID,
    SAN_USER_NAME,
    SAN_CLIENT_ID;

    boolean commonName() {
      return this == CN_USER_NAME || this == CN_CLIENT_ID;
    }

    boolean userName() {
      return this == CN_USER_NAME || this == SAN_USER_NAME;
    }
  }

  /** Versions of TLS, spelled as everywhere. */
  public enum TlsVersion {
    TLS_1_2("TLSv1.2"),
    TLS_1_3("TLSv1.3");

    private final String spelled;

    TlsVersion(String spelled) {
      this.spelled = spelled;
    }

    @Override
    public String toString() {
      return spelled;
    }
  }

  /**
   * How a listener of TLS proves who it is, and what of its clients it wants proven.
   *
   * @param certificate PEM file with the certificate, and behind it those between it and the root
   * @param key PEM file with its private key
   * @param keyPassword opens an encrypted key; empty for one that is not
   * @param clientCa PEM file with the roots that clients' certificates must come from
   * @param cipherSuites by their names in the standards; empty for {@link TlsContext#SUITES}
   * @param handshakeTimeout how long a handshake may take
   */
  public record Tls(
      Optional<Path> certificate,
      Optional<Path> key,
      String keyPassword,
      Optional<Path> clientCa,
      ClientAuth clientAuth,
      Identity identity,
      Set<TlsVersion> versions,
      List<String> cipherSuites,
      Duration handshakeTimeout) {

    public Tls {
      versions = Set.copyOf(versions);
      cipherSuites = List.copyOf(cipherSuites);
    }

    /** No certificate, as for listeners without TLS. */
    public static Tls none() {
      return new Tls(
          Optional.empty(), Optional.empty(), "", Optional.empty(), ClientAuth.NONE, Identity.NONE, Set.of(TlsVersion.values()), List.of(),
          Duration.ofSeconds(10));
    }

    @Override
    public String toString() {
      return "Tls[" + certificate.map(Path::toString).orElse("") + ", clients " + clientAuth + ", " + identity + "]";
    }
  }

  public ListenerSettings {
    versions = Set.copyOf(versions);
    origins = List.copyOf(origins);
  }

  /** MQTT over TCP with nothing asked of clients. */
  public static ListenerSettings tcp(String name, String host, int port) {
    return new ListenerSettings(
        name,
        Type.TCP,
        new Address(host, port, "", 4_096),
        Set.of(ProtocolVersion.values()),
        new Limits(Integer.MAX_VALUE, 0, 0, 1, 0),
        new Proxy(false, List.of()),
        List.of(),
        Tls.none());
  }

  /** One of its keys, for messages. */
  String key(String last) {
    return "dunlin.listeners." + name + "." + last;
  }
}

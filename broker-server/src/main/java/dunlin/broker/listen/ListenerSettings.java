package dunlin.broker.listen;

import dunlin.broker.codec.ProtocolVersion;
import dunlin.runtime.Secret;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The settings of one listener.
 *
 * @param name its name in settings, metrics and JMX
 * @param address where it listens
 * @param versions the accepted versions of MQTT
 * @param limits bounds on its connections
 * @param proxy whether a proxy is in front of it
 * @param origins web pages that may open a WebSocket, {@code *} for all; empty for pages of the same host
 */
public record ListenerSettings(
    String name, Type type, Address address, Set<ProtocolVersion> versions, Limits limits, Proxy proxy, List<String> origins, Tls tls) {

  /**
   * Where a listener listens.
   *
   * @param host address that it binds to; not for a Unix domain socket
   * @param port its port, 0 for any free one
   * @param path path of the URL of a WebSocket, or of the file of a Unix domain socket; empty for none
   * @param backlog connections that the operating system queues until they are accepted
   */
  public record Address(String host, int port, String path, int backlog) {}

  /**
   * Bounds on the connections of a listener.
   *
   * @param connectionsMax open connections
   * @param connectionsPerAddressMax open connections of one client address, 0 for no limit
   * @param connectRate new connections per second, 0 for no limit
   * @param connectBurst new connections that may exceed the rate in a burst
   * @param packetMax maximum size of a client's packet in bytes, 0 for the limit of all listeners
   */
  public record Limits(int connectionsMax, int connectionsPerAddressMax, int connectRate, int connectBurst, int packetMax) {}

  /**
   * Whether a proxy is in front of a listener.
   *
   * @param header whether a PROXY protocol header must come first, of version 1 or 2
   * @param from addresses and networks of trusted proxies
   */
  public record Proxy(boolean header, List<String> from) {
    public Proxy {
      from = List.copyOf(from);
    }
  }

  /** The transport of MQTT. */
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

  /** Whether a client must present a certificate. */
  public enum ClientAuth {
    NONE,
    OPTIONAL,
    REQUIRED
  }

  /**
   * What a client's certificate determines, and by which name: the subject's common name, or the first alternative
   * name.
   */
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

  /** Versions of TLS with their usual names. */
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
   * The TLS settings of a listener.
   *
   * @param certificate PEM file with the certificate, followed by its intermediate certificates
   * @param key PEM file with its private key
   * @param keyPassword password of an encrypted key; empty for a key without password
   * @param clientCa PEM file with the root certificates for client certificates
   * @param cipherSuites cipher suites by their standard names; empty for {@link TlsContext#SUITES}
   * @param handshakeTimeout how long a handshake may take
   */
  public record Tls(
      Optional<Path> certificate,
      Optional<Path> key,
      Secret keyPassword,
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

    /** No TLS. */
    public static Tls none() {
      return new Tls(
          Optional.empty(), Optional.empty(), Secret.none(), Optional.empty(), ClientAuth.NONE, Identity.NONE, Set.of(TlsVersion.values()), List.of(),
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

  /** A listener for MQTT over TCP without restrictions. */
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

  /** The full key of one of its settings, for messages. */
  String key(String last) {
    return "dunlin.listeners." + name + "." + last;
  }
}

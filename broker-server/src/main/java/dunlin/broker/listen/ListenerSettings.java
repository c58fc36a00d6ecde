package dunlin.broker.listen;

import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.tls.OcspSettings;
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
  private static final String ADMIN = "admin API";

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
   * What a client's certificate determines, and by which name: the subject's common name, the first alternative name, or
   * the whole subject.
   */
  public enum Identity {
    NONE,
    CN_USER_NAME,
    CN_CLIENT_ID,
    SAN_USER_NAME,
    SAN_CLIENT_ID,
    SUBJECT_USER_NAME;

    boolean userName() {
      return this == CN_USER_NAME || this == SAN_USER_NAME || this == SUBJECT_USER_NAME;
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

  /** Curves and other groups for the exchange of keys, with their usual names, in the order in which a server prefers them. */
  public enum TlsCurve {
    HYBRID("X25519MLKEM768"),
    X25519("x25519"),
    SECP256R1("secp256r1"),
    SECP384R1("secp384r1"),
    SECP521R1("secp521r1");

    private final String spelled;

    TlsCurve(String spelled) {
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
   * @param handshakeTimeout how long a handshake may take
   */
  public record Tls(TlsKeys keys, TlsClients clients, TlsProtocols protocols, Duration handshakeTimeout) {
    /** No TLS. */
    public static Tls none() {
      return new Tls(
          new TlsKeys(Optional.empty(), Optional.empty(), Secret.none(), Optional.empty(), Secret.none()),
          new TlsClients(ClientAuth.NONE, Identity.NONE, Optional.empty(), Optional.empty(), Optional.empty()),
          new TlsProtocols(Set.of(TlsVersion.values()), List.of(), Set.of(TlsCurve.values())),
          Duration.ofSeconds(10));
    }
  }

  /**
   * The certificate of a listener and its key: in two PEM files, or in a key store.
   *
   * @param certificate PEM file with the certificate, followed by its intermediate certificates
   * @param key PEM file with its private key
   * @param keyPassword password of an encrypted key; empty for a key without password
   * @param store file in PKCS#12 with the certificate, its intermediate certificates and the key
   * @param storePassword password of the key store; empty for none
   */
  public record TlsKeys(Optional<Path> certificate, Optional<Path> key, Secret keyPassword, Optional<Path> store, Secret storePassword) {}

  /**
   * What a listener does with certificates of clients.
   *
   * @param authorities PEM file with the root certificates for client certificates
   * @param revoked file with certificate revocation lists
   * @param ocsp the responder that is asked whether they are revoked
   */
  public record TlsClients(ClientAuth auth, Identity identity, Optional<Path> authorities, Optional<Path> revoked, Optional<OcspSettings> ocsp) {}

  /**
   * What a listener accepts of TLS.
   *
   * @param cipherSuites cipher suites by their standard names; empty for {@link TlsProfile#SUITES}
   */
  public record TlsProtocols(Set<TlsVersion> versions, List<String> cipherSuites, Set<TlsCurve> curves) {
    public TlsProtocols {
      versions = Set.copyOf(versions);
      cipherSuites = List.copyOf(cipherSuites);
      curves = Set.copyOf(curves);
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

  /** What {@link AdminFront} has in common with a listener: a name, which no listener can have, an address and keys. */
  static ListenerSettings ofAdmin(String host, int port, TlsKeys keys) {
    ListenerSettings tcp = tcp(ADMIN, host, port);
    Tls usual = tcp.tls();
    return new ListenerSettings(
        ADMIN, Type.TLS, tcp.address(), tcp.versions(), tcp.limits(), tcp.proxy(), tcp.origins(),
        new Tls(keys, usual.clients(), usual.protocols(), usual.handshakeTimeout()));
  }

  /** The full key of one of its settings, for messages. */
  String key(String last) {
    return (name.equals(ADMIN) ? "dunlin.admin." : "dunlin.listeners." + name + ".") + last;
  }
}

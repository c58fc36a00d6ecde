package dunlin.broker.listen;

import dunlin.broker.codec.ProtocolVersion;
import dunlin.broker.http.ServiceUrl;
import dunlin.broker.listen.ListenerSettings.ClientAuth;
import dunlin.broker.listen.ListenerSettings.Identity;
import dunlin.broker.listen.ListenerSettings.TlsCurve;
import dunlin.broker.listen.ListenerSettings.TlsVersion;
import dunlin.broker.tls.HandshakeSettings;
import dunlin.broker.tls.OcspSettings;
import dunlin.runtime.Secret;
import dunlin.runtime.Setting;
import dunlin.runtime.Settings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The settings of listeners. There is a set of them for each listener name; {@code tcp} always exists. */
public final class ListenerKeys {
  private static final String ROOT = "dunlin.listeners.*.";
  private static final Path NONE = Path.of("");
  private static final String ON_REQUEST = "not set";

  private static final Setting<ListenerSettings.Type> TYPE =
      Setting.choice(ROOT + "type", ListenerSettings.Type.TCP, "Transport of the listener: TCP, TLS, WebSocket, secure WebSocket, or a Unix domain"
          + " socket.")
          .withName("tcp");
  private static final Setting<Boolean> ENABLED = Setting.flag(ROOT + "enabled", true, "Whether the listener is opened.");
  private static final Setting<String> HOST = Setting.text(ROOT + "host", "127.0.0.1", "Address that the listener binds to.");
  public static final Setting<Integer> PORT =
      Setting.integer(ROOT + "port", 1_883, 0, 65_535, "Port that the listener binds to. 0 takes any free port.")
          .defaultFrom(TYPE, ListenerKeys::usualPort, "1883 for tcp, 8883 for tls, 8083 for ws, 8084 for wss");
  private static final Setting<String> PATH =
      Setting.text(ROOT + "path", "", "Path in the URL of a WebSocket listener, or file of a Unix domain socket.")
          .defaultFrom(TYPE, type -> type == ListenerSettings.Type.WS || type == ListenerSettings.Type.WSS ? "/mqtt" : "", "/mqtt for ws and wss");
  private static final Setting<Set<ProtocolVersion>> VERSIONS =
      Setting.choices(
          ROOT + "versions", ProtocolVersion.class, EnumSet.allOf(ProtocolVersion.class),
          "MQTT versions that the listener accepts. Clients with another version receive CONNACK 0x01, or 0x84 with MQTT 5.");
  private static final Setting<Integer> BACKLOG =
      Setting.integer(ROOT + "backlog", 4_096, 1, 65_535, "Maximum number of connections that the operating system queues until they are accepted.");

  private static final Setting<Integer> CONNECTIONS_MAX =
      Setting.integer(ROOT + "connections-max", 1_000_000, 1, 10_000_000, "Maximum number of open connections. Further connections are closed at"
          + " once.");
  private static final Setting<Integer> CONNECTIONS_PER_ADDRESS_MAX =
      Setting.integer(
          ROOT + "connections-per-address-max", 0, 0, 10_000_000,
          "Maximum number of open connections from one IPv4 address or IPv6 /64 network. 0 means no limit.");
  private static final Setting<Integer> CONNECT_RATE =
      Setting.integer(ROOT + "connect-rate", 0, 0, 1_000_000, "Maximum number of new connections per second. Further connections are closed at"
          + " once. 0 means no limit.");
  private static final Setting<Integer> CONNECT_BURST =
      Setting.integer(ROOT + "connect-burst", 1_000, 1, 1_000_000, "Number of new connections that may exceed the connect rate in a burst.");
  private static final Setting<Long> PACKET_MAX =
      Setting.bytes(ROOT + "packet-max", 1 << 20, 1 << 10, 2 << 20, "Maximum size of a packet that a client of this listener may send.")
          .defaultMeans("dunlin.mqtt.packet-max");

  private static final Setting<ProxyProtocol> PROXY_PROTOCOL =
      Setting.choice(
          ROOT + "proxy-protocol", ProxyProtocol.OFF, "Whether each connection must begin with a PROXY protocol header of version 1 or 2.");
  private static final Setting<List<String>> PROXY_PROTOCOL_FROM =
      Setting.textList(
          ROOT + "proxy-protocol-from", List.of("127.0.0.0/8", "::1"),
          "Addresses and networks of trusted proxies. Connections from other addresses are closed.");

  private static final Setting<List<String>> ORIGINS =
      Setting.textList(
          ROOT + "origins", List.of(),
          "Origins of the web pages that may open a WebSocket, such as https://app.example.com. * admits all pages. Without a value, pages from the"
              + " host of the listener are admitted. Clients that are not browsers send no origin and are always admitted.");

  private static final Setting<Path> TLS_CERTIFICATE =
      Setting.path(ROOT + "tls.certificate", NONE, "PEM file with the server certificate and its intermediate certificates. Reloaded when it"
          + " changes.")
          .defaultMeans(ON_REQUEST);
  private static final Setting<Path> TLS_KEY =
      Setting.path(ROOT + "tls.key", NONE, "PEM file with the private key of the server certificate, in PKCS#8, PKCS#1 or SEC 1 format. Reloaded"
          + " when it changes.")
          .defaultMeans(ON_REQUEST);
  private static final Setting<Secret> TLS_KEY_PASSWORD =
      Setting.secret(ROOT + "tls.key-password", "Password of the private key, if it is encrypted (PKCS#8). As file:PATH, read again with the key.");
  private static final Setting<Path> TLS_KEY_STORE =
      Setting.path(ROOT + "tls.key-store", NONE, "File in PKCS#12 format with the server certificate, its intermediate certificates and the private key,"
          + " in place of tls.certificate and tls.key. Reloaded when it changes.")
          .defaultMeans(ON_REQUEST);
  private static final Setting<Secret> TLS_KEY_STORE_PASSWORD =
      Setting.secret(ROOT + "tls.key-store-password", "Password of the key store and of its key. As file:PATH, read again with the key store.");
  private static final Setting<Path> TLS_CLIENT_CA =
      Setting.path(ROOT + "tls.client-ca", NONE, "PEM file with the root certificates that client certificates are verified against. Reloaded when"
          + " it changes.")
          .defaultMeans(ON_REQUEST);
  private static final Setting<Path> TLS_CLIENT_CRL =
      Setting.path(ROOT + "tls.client-crl", NONE, "File with certificate revocation lists, in PEM format or a single one in DER, of authorities in"
          + " tls.client-ca. Clients with a revoked certificate are refused, and disconnected when the file changes.")
          .defaultMeans(ON_REQUEST);
  private static final Setting<String> TLS_CLIENT_OCSP =
      Setting.text(
              ROOT + "tls.client-ocsp", "",
              "URL of an OCSP responder, http or https, that is asked whether clients' certificates are revoked. Redirects, and URLs in certificates, are not followed.")
          .defaultMeans(ON_REQUEST);
  private static final Setting<Duration> TLS_CLIENT_OCSP_TIMEOUT =
      Setting.duration(
          ROOT + "tls.client-ocsp-timeout", Duration.ofSeconds(3), Duration.ofMillis(50), Duration.ofMinutes(1),
          "Maximum time from a question to the responder to the end of its answer, and the longest that a question waits before.");
  private static final Setting<Duration> TLS_CLIENT_OCSP_INTERVAL =
      Setting.duration(
          ROOT + "tls.client-ocsp-interval", Duration.ofMinutes(5), Duration.ofSeconds(1), Duration.ofDays(1),
          "How long an answer of the responder is used. Then it is asked again, also about clients that are connected.");
  private static final Setting<OcspSettings.Failure> TLS_CLIENT_OCSP_FAILURE =
      Setting.choice(
          ROOT + "tls.client-ocsp-failure", OcspSettings.Failure.REFUSE,
          "What becomes of clients that connect while the responder does not say whether their certificates are good or revoked. Clients that are connected stay.");
  private static final Setting<ClientAuth> TLS_CLIENT_AUTH =
      Setting.choice(ROOT + "tls.client-auth", ClientAuth.NONE, "Whether clients are asked for a certificate: none asks for none, optional"
          + " asks and accepts clients without one, required refuses clients without one.");
  private static final Setting<Identity> TLS_IDENTITY =
      Setting.choice(
          ROOT + "tls.identity", Identity.NONE,
          "What the client certificate determines, the user name or the client identifier, and from which name: the common name, the subject"
              + " alternative name"
              + " (the first DNS name, else the first URI, else the first e-mail address), or the whole subject as in RFC 2253.");
  private static final Setting<Set<TlsVersion>> TLS_PROTOCOLS =
      Setting.choices(ROOT + "tls.protocols", TlsVersion.class, EnumSet.allOf(TlsVersion.class), "TLS versions that the listener accepts.");
  private static final Setting<List<String>> TLS_CIPHER_SUITES =
      Setting.textList(
          ROOT + "tls.cipher-suites", List.of(),
          "Cipher suites of TLS 1.2 that the listener accepts, by their names in the TLS standards, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256."
              + " Without a value, those that are forward-secret and authenticate what they encrypt: ECDHE with AES-GCM or ChaCha20-Poly1305. TLS 1.3 has"
              + " suites of its own, which are all accepted.");
  private static final Setting<Set<TlsCurve>> TLS_CURVES =
      Setting.choices(
          ROOT + "tls.curves", TlsCurve.class, EnumSet.allOf(TlsCurve.class),
          "Curves, and the hybrid group of curve and ML-KEM, that the listener accepts for the exchange of keys. Of all of them, those that the platform"
              + " has are used.");
  private static final Setting<Duration> TLS_HANDSHAKE_TIMEOUT =
      Setting.duration(
          ROOT + "tls.handshake-timeout", Duration.ofSeconds(10), Duration.ofMillis(100), Duration.ofMinutes(5),
          "Maximum duration of a TLS handshake.");

  private static final Setting<IoTransport> IO_TRANSPORT =
      Setting.choice("dunlin.io.transport", IoTransport.AUTO, "I/O transport of the event loops. auto takes epoll where it is available, otherwise"
          + " nio.");

  private static final Setting<Integer> HANDSHAKES_MAX =
      Setting.integer(
          "dunlin.tls.handshakes-max", HandshakeSettings.defaults().atOnceMax(), 1, 1_000_000,
          "Maximum number of TLS handshakes of all listeners that have begun and not ended. Further connections are closed.");
  private static final Setting<Integer> HANDSHAKES_PER_ADDRESS_MAX =
      Setting.integer(
          "dunlin.tls.handshakes-per-address-max", HandshakeSettings.defaults().perAddressMax(), 1, 1_000_000,
          "Maximum number of these handshakes from one IPv4 address or IPv6 /64 network. Further connections from it are closed.");
  private static final Setting<Integer> TLS_THREADS =
      Setting.integer(
              "dunlin.tls.threads", HandshakeSettings.THREADS, 1, 1_024,
              "Number of threads that check certificates and sign for TLS handshakes of listeners. Addresses take turns.")
          .defaultMeans("half of the cores, 1 at least");

  private static final Setting<Long> OUTBOUND_MAX =
      Setting.bytes(
          "dunlin.session.outbound-max", 1L << 20, 1L << 14, 1L << 30,
          "Maximum number of bytes that wait for a client's socket. Beyond it, QoS 0 messages to this client are dropped.");

  /** The settings that this class reads. */
  public static final List<Setting<?>> ALL =
      List.of(
          IO_TRANSPORT, OUTBOUND_MAX, TYPE, ENABLED, HOST, PORT, PATH, VERSIONS, BACKLOG, CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX,
          CONNECT_RATE, CONNECT_BURST, PACKET_MAX, PROXY_PROTOCOL, PROXY_PROTOCOL_FROM, ORIGINS, TLS_CERTIFICATE, TLS_KEY, TLS_KEY_PASSWORD,
          TLS_KEY_STORE, TLS_KEY_STORE_PASSWORD, TLS_CLIENT_CA, TLS_CLIENT_CRL, TLS_CLIENT_OCSP, TLS_CLIENT_OCSP_TIMEOUT,
          TLS_CLIENT_OCSP_INTERVAL, TLS_CLIENT_OCSP_FAILURE, TLS_CLIENT_AUTH, TLS_IDENTITY, TLS_PROTOCOLS, TLS_CIPHER_SUITES,
          TLS_CURVES, TLS_HANDSHAKE_TIMEOUT, HANDSHAKES_MAX, HANDSHAKES_PER_ADDRESS_MAX, TLS_THREADS);

  /** Whether a connection begins with a PROXY header. */
  enum ProxyProtocol {
    OFF,
    REQUIRED
  }

  private ListenerKeys() {}

  private static int usualPort(ListenerSettings.Type type) {
    return switch (type) {
      case TCP -> 1_883;
      case TLS -> 8_883;
      case WS -> 8_083;
      case WSS -> 8_084;
      case UNIX -> 0;
    };
  }

  public static ListeningSettings read(Settings settings) {
    return new ListeningSettings(
        listeners(settings),
        settings.get(IO_TRANSPORT),
        Math.toIntExact(settings.get(OUTBOUND_MAX)),
        new HandshakeSettings(settings.get(HANDSHAKES_MAX), settings.get(HANDSHAKES_PER_ADDRESS_MAX), settings.get(TLS_THREADS)));
  }

  /** The enabled listeners, in the order of their names. */
  private static List<ListenerSettings> listeners(Settings settings) {
    List<ListenerSettings> listeners = new ArrayList<>();
    for (String name : settings.names(TYPE)) {
      if (settings.get(ENABLED, name)) listeners.add(listener(settings, name));
    }
    return listeners;
  }

  private static ListenerSettings listener(Settings settings, String name) {
    return new ListenerSettings(
        name,
        settings.get(TYPE, name),
        new ListenerSettings.Address(settings.get(HOST, name), settings.get(PORT, name), settings.get(PATH, name), settings.get(BACKLOG, name)),
        settings.get(VERSIONS, name),
        new ListenerSettings.Limits(
            settings.get(CONNECTIONS_MAX, name),
            settings.get(CONNECTIONS_PER_ADDRESS_MAX, name),
            settings.get(CONNECT_RATE, name),
            settings.get(CONNECT_BURST, name),
            settings.isSet(PACKET_MAX, name) ? Math.toIntExact(settings.get(PACKET_MAX, name)) : 0),
        new ListenerSettings.Proxy(settings.get(PROXY_PROTOCOL, name) == ProxyProtocol.REQUIRED, settings.get(PROXY_PROTOCOL_FROM, name)),
        settings.get(ORIGINS, name),
        new ListenerSettings.Tls(
            new ListenerSettings.TlsKeys(
                file(settings, TLS_CERTIFICATE, name), file(settings, TLS_KEY, name), settings.get(TLS_KEY_PASSWORD, name),
                file(settings, TLS_KEY_STORE, name), settings.get(TLS_KEY_STORE_PASSWORD, name)),
            new ListenerSettings.TlsClients(
                settings.get(TLS_CLIENT_AUTH, name), settings.get(TLS_IDENTITY, name),
                file(settings, TLS_CLIENT_CA, name), file(settings, TLS_CLIENT_CRL, name), ocsp(settings, name)),
            new ListenerSettings.TlsProtocols(
                settings.get(TLS_PROTOCOLS, name), settings.get(TLS_CIPHER_SUITES, name), settings.get(TLS_CURVES, name)),
            settings.get(TLS_HANDSHAKE_TIMEOUT, name)));
  }

  private static Optional<OcspSettings> ocsp(Settings settings, String name) {
    if (!settings.isSet(TLS_CLIENT_OCSP, name)) return Optional.empty();
    return Optional.of(
        new OcspSettings(
            ServiceUrl.readSigned(TLS_CLIENT_OCSP.key(name), settings.get(TLS_CLIENT_OCSP, name)),
            settings.get(TLS_CLIENT_OCSP_TIMEOUT, name),
            settings.get(TLS_CLIENT_OCSP_INTERVAL, name),
            settings.get(TLS_CLIENT_OCSP_FAILURE, name)));
  }

  private static Optional<Path> file(Settings settings, Setting<Path> setting, String name) {
    return settings.isSet(setting, name) ? Optional.of(settings.get(setting, name)) : Optional.empty();
  }
}

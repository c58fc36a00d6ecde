package dunlin.load;

import dunlin.load.mqtt.Version;
import dunlin.load.plan.Access;
import dunlin.load.plan.Credentials;
import dunlin.load.plan.Endpoint;
import dunlin.load.plan.Pool;
import dunlin.load.plan.Publishing;
import dunlin.load.plan.Rate;
import dunlin.load.plan.Subscribing;
import dunlin.load.plan.Template;
import dunlin.load.plan.Tls;
import dunlin.load.plan.Units;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of conn, pub and sub: the clients, and how they reach the broker. Their names are the same as in emqtt-bench and mqttx. */
final class ClientOptions {
  private static final int PORT = 1883;
  private static final int TLS_PORT = 8883;

  @Option(names = {"-h", "--host", "--hostname"}, split = ",", defaultValue = "127.0.0.1", paramLabel = "HOST", description = "Brokers, with commas; clients take turns. Each may have a port, as in host:1884. Default: ${DEFAULT-VALUE}")
  private List<String> hosts = List.of();

  @Option(names = {"-p", "--port"}, defaultValue = "0", hideParamSyntax = true, paramLabel = "PORT", description = "Default: 1883, or 8883 with TLS")
  private int port;

  @Option(names = {"-c", "--count"}, defaultValue = "200", paramLabel = "N", description = "How many clients. Default: ${DEFAULT-VALUE}")
  private int count;

  @Option(names = {"-n", "--startnumber"}, defaultValue = "0", paramLabel = "N", description = "The number of the first client, which %%i stands for. Default: ${DEFAULT-VALUE}")
  private int first;

  @Option(names = {"-i", "--interval"}, defaultValue = "10", paramLabel = "MS", description = "Milliseconds from one connect to the next; 0 for none. Default: ${DEFAULT-VALUE}")
  private double interval;

  @Option(names = {"-R", "--connrate"}, defaultValue = "0", paramLabel = "N", description = "Connects in a second, in place of -i.")
  private double connectRate;

  @Option(names = {"-V", "--version", "--mqtt-version"}, defaultValue = "5", paramLabel = "VERSION", description = "3.1.1 (or 4), or 5. Default: ${DEFAULT-VALUE}")
  private String version = "";

  @Option(names = "--prefix", defaultValue = "bench", paramLabel = "TEXT", description = "What client identifiers begin with. Default: ${DEFAULT-VALUE}")
  private String prefix = "";

  @Option(names = "--client-id", paramLabel = "TEMPLATE", description = "Client identifiers, with %%i, in place of --prefix.")
  private @Nullable String clientId;

  @Option(names = {"-u", "--username"}, paramLabel = "TEMPLATE", description = "User name; may have %%i and %%c.")
  private @Nullable String user;

  @Option(names = {"-P", "--password"}, paramLabel = "TEMPLATE", description = "Password; may have %%i, %%c and %%u.")
  private @Nullable String password;

  @Option(names = "--credentials", paramLabel = "FILE", description = "A CSV file with the columns user, password, client-id, certificate and key, as far as it has them.")
  private @Nullable Path credentials;

  @Option(names = {"-k", "--keepalive"}, defaultValue = "300", paramLabel = "S", description = "Keep Alive in seconds. Default: ${DEFAULT-VALUE}")
  private int keepAlive;

  @Option(names = {"-C", "--clean"}, defaultValue = "true", arity = "0..1", fallbackValue = "true", paramLabel = "BOOL", description = "Whether sessions end with their connections. Default: ${DEFAULT-VALUE}")
  private boolean clean;

  @Option(names = {"-x", "--session-expiry"}, defaultValue = "3600", paramLabel = "S", description = "Session Expiry Interval of sessions that are kept, in seconds. Default: ${DEFAULT-VALUE}")
  private long sessionExpiry;

  @Option(names = "--reconnect", paramLabel = "DURATION", description = "Connects again so long after a connection was lost, for example 1s. Default: does not.")
  private @Nullable String reconnect;

  @Option(names = {"-S", "--ssl", "--tls"}, arity = "0..1", fallbackValue = "true", defaultValue = "false", description = "Speaks TLS.")
  private boolean tls;

  @Option(names = {"--cacertfile", "--ca"}, paramLabel = "FILE", description = "Certificates to trust, PEM.")
  private @Nullable Path ca;

  @Option(names = {"--certfile", "--cert"}, paramLabel = "FILE", description = "The clients' certificate, PEM.")
  private @Nullable Path certificate;

  @Option(names = {"--keyfile", "--key"}, paramLabel = "FILE", description = "Its key, PEM (PKCS #8).")
  private @Nullable Path key;

  @Option(names = "--insecure", description = "Takes any certificate.")
  private boolean insecure;

  @Option(names = "--ws", arity = "0..1", fallbackValue = "true", defaultValue = "false", description = "Speaks WebSocket.")
  private boolean webSocket;

  @Option(names = {"--ws-path", "--path"}, defaultValue = "/mqtt", paramLabel = "PATH", description = "Default: ${DEFAULT-VALUE}")
  private String webSocketPath = "";

  @Option(names = "--proxy-protocol", description = "Begins each connection with a header of the PROXY protocol.")
  private boolean proxyHeader;

  @Option(names = "--ifaddr", split = ",", paramLabel = "ADDRESS", description = "Addresses to connect from, with commas; clients take turns. Each has some 28,000 ports.")
  private List<String> sources = List.of();

  @Option(names = {"-F", "--inflight"}, defaultValue = "100", paramLabel = "N", description = "Messages of QoS 1 and 2 of a client that are not acknowledged, at most. Default: ${DEFAULT-VALUE}")
  private int inflight;

  @Option(names = "--queue-max", defaultValue = "1000", paramLabel = "N", description = "Messages of a client that are due and wait to be sent; more are dropped, and counted. Default: ${DEFAULT-VALUE}")
  private int queueMax;

  Pool pool(String name, List<Subscribing> subscriptions, List<Publishing> publishings) {
    return new Pool(
        name,
        count,
        first,
        new Template(clientId == null ? prefix + "-" + name + "-" + ProcessHandle.current().pid() + "-%i" : clientId),
        List.of(version(version)),
        clean,
        Duration.ofSeconds(sessionExpiry),
        Duration.ofSeconds(keepAlive),
        user == null ? null : new Template(user),
        password == null ? null : new Template(password),
        credentials == null ? null : Credentials.read(credentials),
        null,
        subscriptions,
        publishings,
        connectRate > 0 ? new Rate(connectRate) : interval > 0 ? new Rate(1_000 / interval) : null,
        reconnect == null ? null : Units.duration(reconnect),
        inflight,
        queueMax,
        access());
  }

  private static Version version(String text) {
    return switch (text) {
      case "4", "3", "3.1.1", "311" -> Version.V3_1_1;
      case "5", "5.0" -> Version.V5;
      default -> throw new IllegalArgumentException("-V is 3.1.1 or 5, and not " + text);
    };
  }

  private Access access() {
    boolean secure = tls || ca != null || certificate != null || insecure;
    int usual = port > 0 ? port : secure ? TLS_PORT : PORT;
    var endpoints = new ArrayList<Endpoint>();
    for (String host : hosts) endpoints.add(endpoint(host, usual));
    return new Access(endpoints, secure ? new Tls(ca, certificate, key, insecure) : null, webSocket ? webSocketPath : null, proxyHeader, sources);
  }

  static Endpoint endpoint(String text, int usualPort) {
    int colon = text.lastIndexOf(':');
    boolean bracketed = text.startsWith("[");
    boolean bare = !bracketed && text.indexOf(':') != colon; // an IPv6 address
    if (colon < 0 || bare || text.endsWith("]")) {
      return new Endpoint(bracketed ? text.substring(1, text.length() - 1) : text, usualPort);
    }
    String host = text.substring(0, colon);
    String number = text.substring(colon + 1);
    if (!number.matches("[0-9]{1,5}")) throw new IllegalArgumentException("\"%s\" has no port behind its colon".formatted(text));
    return new Endpoint(bracketed ? host.substring(1, host.length() - 1) : host, Integer.parseInt(number));
  }
}

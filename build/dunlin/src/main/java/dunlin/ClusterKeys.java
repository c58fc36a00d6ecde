package dunlin;

import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import dunlin.store.ClusterSettings;
import dunlin.store.PeerSecurity;
import dunlin.store.remote.RangeClientSettings;
import dunlin.store.remote.RangeServiceSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/** The settings by which a node and the others of its cluster reach and know each other. */
final class ClusterKeys {
  private static final ClusterSettings USUAL = ClusterSettings.NONE;
  private static final RangeServiceSettings SERVICE = RangeServiceSettings.defaults();
  private static final RangeClientSettings CLIENT = RangeClientSettings.defaults();
  private static final long MIB = 1L << 20;
  private static final Path NONE = Path.of("");
  private static final String ON_REQUEST = "not set";

  static final Setting<Integer> PORT =
      Setting.integer("dunlin.cluster.port", 0, 0, 65_535, "Port of Raft towards other nodes; 0 opens none, which is right for a node that runs alone.");
  static final Setting<String> HOST =
      Setting.text("dunlin.cluster.host", USUAL.host(), "Name or address by which the other nodes reach this one; a name outlives a change of address.");
  static final Setting<String> BIND =
      Setting.text("dunlin.cluster.bind", USUAL.bindAddress(), "Name or address of this machine that the port is opened on; beyond loopback only with TLS.");
  static final Setting<Path> TLS_CERTIFICATE =
      Setting.path(
              "dunlin.cluster.tls.certificate", NONE,
              "PEM file with the node's certificate, which names its host, and those between it and its root; read again when it changes.")
          .defaultMeans(ON_REQUEST);
  static final Setting<Path> TLS_KEY =
      Setting.path("dunlin.cluster.tls.key", NONE, "PEM file with the certificate's private key, PKCS#8 without a password; read again when it changes.")
          .defaultMeans(ON_REQUEST);
  static final Setting<Path> TLS_CA =
      Setting.path("dunlin.cluster.tls.ca", NONE, "PEM file with the roots of all nodes' certificates; read again when it changes.")
          .defaultMeans(ON_REQUEST);
  static final Setting<Boolean> PLAINTEXT =
      Setting.flag(
          "dunlin.cluster.plaintext", false,
          "Whether the ports between nodes may be open beyond loopback without TLS, where whoever reaches them is taken for a node.");
  static final Setting<Duration> ELECTION_TIMEOUT =
      Setting.duration(
          "dunlin.cluster.election-timeout", USUAL.electionTimeout(), Duration.ofMillis(300), Duration.ofMinutes(1),
          "Silence of a range's leader after which the others may elect a new one, mostly within three times of it; one that stands still for longer is deposed.");
  static final Setting<Integer> LOG_KEPT =
      Setting.integer(
          "dunlin.cluster.log-entries-kept", USUAL.entriesKept(), 200, 10_000_000,
          "Log entries that stay for a follower that is a little behind; one further behind gets a copy of all rows.");
  static final Setting<Long> COPY_RATE =
      Setting.bytes(
          "dunlin.cluster.copy-rate", USUAL.installBytesPerSecond(), 64 << 10, 1L << 40, "Bytes a second at which such a copy is fetched.");
  static final Setting<Duration> COPY_TIME =
      Setting.duration(
          "dunlin.cluster.copy-time", USUAL.installDeadline(), Duration.ofSeconds(1), Duration.ofDays(1),
          "How long fetching one copy may take; what is there then is kept for the next try.");
  static final Setting<Integer> SERVICE_PORT =
      Setting.integer(
          "dunlin.cluster.service-port", 0, 0, 65_535,
          "Port by which other nodes call the ranges of this one; this version runs alone and refuses to start with any.");
  static final Setting<Integer> SERVICE_STREAMS_MAX =
      Setting.integer(
          "dunlin.cluster.service-streams-max", SERVICE.streamsMax(), 1, 65_536,
          "Streams of callers that may be open there, about one for each other node; more are refused.");
  static final Setting<Long> SERVICE_BYTES_MAX =
      Setting.bytes(
          "dunlin.cluster.service-bytes-max", SERVICE.nodeBytesMax(), SERVICE.bytesMax(), 1_024 * 1_024 * MIB,
          "Bytes of callers' commands that may be under way there; more are refused as by a busy node.");
  static final Setting<Duration> CALL_TIMEOUT =
      Setting.duration(
          "dunlin.cluster.call-timeout", CLIENT.timeout(), Duration.ofMillis(100), Duration.ofHours(1),
          "How long a call of a range on another node may take, over all attempts.");
  static final Setting<Duration> CALL_STALL =
      Setting.duration(
          "dunlin.cluster.call-stall", CLIENT.stallAfter(), Duration.ofMillis(10), Duration.ofMinutes(1),
          "Silence of another node that owes replies, after which calls go to others.");
  static final Setting<List<String>> SEEDS =
      Setting.textList(
          "dunlin.cluster.seeds", List.of(), "Other nodes to join; this version runs alone and refuses to start with any.");

  static final List<Setting<?>> ALL =
      List.of(PORT, HOST, BIND, TLS_CERTIFICATE, TLS_KEY, TLS_CA, PLAINTEXT, ELECTION_TIMEOUT, LOG_KEPT, COPY_RATE, COPY_TIME, SERVICE_PORT,
          SERVICE_STREAMS_MAX, SERVICE_BYTES_MAX, CALL_TIMEOUT, CALL_STALL, SEEDS);

  private ClusterKeys() {}

  static ClusterSettings read(Settings settings) {
    return new ClusterSettings(
        settings.get(PORT),
        host(settings),
        settings.get(BIND),
        security(settings),
        settings.get(ELECTION_TIMEOUT),
        settings.get(LOG_KEPT),
        settings.get(COPY_RATE),
        settings.get(COPY_TIME));
  }

  /** Of what answers other nodes' calls. */
  static RangeServiceSettings service(Settings settings) {
    return new RangeServiceSettings(
        settings.get(SERVICE_STREAMS_MAX),
        SERVICE.requestsMax(),
        SERVICE.bytesMax(),
        settings.get(SERVICE_BYTES_MAX),
        SERVICE.frameBytesMax(),
        SERVICE.closeTimeout(),
        settings.get(PLAINTEXT));
  }

  /** Of what calls other nodes. */
  static RangeClientSettings client(Settings settings) {
    return new RangeClientSettings(
        CLIENT.rangeRequestsMax(),
        CLIENT.rangeBytesMax(),
        CLIENT.nodeRequestsMax(),
        CLIENT.commandBytesMax(),
        CLIENT.frameRequests(),
        CLIENT.frameBytes(),
        settings.get(CALL_TIMEOUT),
        CLIENT.backoffFirst(),
        CLIENT.backoffMost(),
        CLIENT.hopsMax(),
        CLIENT.connectTimeout(),
        settings.get(CALL_STALL),
        CLIENT.keepAlive());
  }

  private static String host(Settings settings) {
    String host = settings.get(HOST);
    if (host.isBlank() || host.chars().anyMatch(c -> c <= ' ' || c == '/' || c == '@'))
      throw new SettingException("dunlin.cluster.host: '" + host + "' is no name or address of a host");
    return host;
  }

  private static PeerSecurity security(Settings settings) {
    long files = Stream.of(TLS_CERTIFICATE, TLS_KEY, TLS_CA).filter(settings::isSet).count();
    if (files == 0) return new PeerSecurity.Plaintext(settings.get(PLAINTEXT));
    if (files < 3)
      throw new SettingException("dunlin.cluster.tls: certificate, key and ca are needed together, " + files + " of them are set");
    if (settings.get(PLAINTEXT))
      throw new SettingException("dunlin.cluster.plaintext: the port has TLS by dunlin.cluster.tls, set one or the other");
    return new PeerSecurity.MutualTls(settings.get(TLS_KEY), settings.get(TLS_CERTIFICATE), settings.get(TLS_CA));
  }
}

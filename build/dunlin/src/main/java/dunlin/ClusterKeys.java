package dunlin;

import dunlin.cluster.MemberSettings;
import dunlin.placement.OperationSettings;
import dunlin.placement.SplitSettings;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import dunlin.store.ClusterSettings;
import dunlin.store.PeerSecurity;
import dunlin.store.remote.RangeServiceSettings;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** The settings by which a node and the others of its cluster reach and know each other. */
final class ClusterKeys {
  private static final ClusterSettings USUAL = ClusterSettings.NONE;
  private static final RangeServiceSettings SERVICE = RangeServiceSettings.defaults();
  private static final MemberSettings MEMBER = MemberSettings.of("", 1, USUAL.host(), 1, Set.of());
  private static final SplitSettings SPLITS = MEMBER.operations().splits();
  private static final long MIB = 1L << 20;
  private static final Path NONE = Path.of("");
  private static final String ON_REQUEST = "not set";
  private static final int PLACE_LENGTH_MAX = 255;

  static final Setting<Integer> PORT =
      Setting.integer("dunlin.cluster.port", 0, 0, 65_535, "Port of Raft towards other nodes; 0 opens none, which is right for a node that runs alone.");
  static final Setting<String> HOST =
      Setting.text("dunlin.cluster.host", USUAL.host(), "Name or address by which the other nodes reach this one; a name outlives a change of address.");
  static final Setting<String> BIND =
      Setting.text("dunlin.cluster.bind", USUAL.bindAddress(), "Name or address of this machine that the port is opened on; beyond loopback only with TLS.");
  static final Setting<Path> TLS_CERTIFICATE =
      Setting.path(
              "dunlin.cluster.tls.certificate", NONE,
              "PEM file with the node's certificate, which has its host among its names and that of a dns: seed, and those between it and its root;"
                  + " read again when it changes.")
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
          "Port by which other nodes call this one; a store node needs one, a broker of this version runs alone and refuses to start with any.");
  static final Setting<Integer> SERVICE_STREAMS_MAX =
      Setting.integer(
          "dunlin.cluster.service-streams-max", SERVICE.streamsMax(), 1, 65_536,
          "Streams of callers that may be open there, about one for each other node; more are refused.");
  static final Setting<Long> SERVICE_BYTES_MAX =
      Setting.bytes(
          "dunlin.cluster.service-bytes-max", SERVICE.nodeBytesMax(), SERVICE.bytesMax(), 1_024 * 1_024 * MIB,
          "Bytes of callers' commands that may be under way there; more are refused as by a busy node.");
  static final Setting<List<String>> SEEDS =
      Setting.textList(
          "dunlin.cluster.seeds", List.of(),
          "Where a store node finds its cluster, the same on each: host:service-port, or dns:name:port for all addresses of a name; a broker"
              + " of this version runs alone and refuses to start with any.");
  static final Setting<Integer> BOOTSTRAP_EXPECT =
      Setting.integer(
          "dunlin.cluster.bootstrap-expect", 1, 1, 1_024,
          "Number of nodes with which a new cluster is founded, the same on each: so many seeds must answer, all of them empty.");
  static final Setting<Duration> JOIN_TIMEOUT =
      Setting.duration(
          "dunlin.cluster.join-timeout", Duration.ofMinutes(5), Duration.ofSeconds(1), Duration.ofDays(1),
          "How long a store node looks for its cluster, or waits to found it, before its start fails.");
  static final Setting<String> REGION =
      Setting.text("dunlin.cluster.region", "", "Region of the node; replicas of a range are put into different ones where that is possible.");
  static final Setting<String> ZONE =
      Setting.text("dunlin.cluster.zone", "", "Zone of the node inside its region; replicas are put into different ones where that is possible.");
  static final Setting<Duration> HEARTBEAT =
      Setting.duration(
          "dunlin.cluster.heartbeat", MEMBER.heartbeat(), Duration.ofMillis(10), Duration.ofMinutes(1),
          "How often a node says how it is doing.");
  static final Setting<Duration> LEASE =
      Setting.duration(
          "dunlin.cluster.lease", MEMBER.lease(), Duration.ofMillis(20), Duration.ofMinutes(10),
          "Silence after which a node is suspected and gets nothing new; at least two heartbeats.");
  static final Setting<Duration> DOWN_AFTER =
      Setting.duration(
          "dunlin.cluster.down-after", MEMBER.downAfter(), Duration.ofMillis(20), Duration.ofDays(1),
          "Silence after which a node counts as dead; at least a lease.");
  static final Setting<Duration> REPLACE_AFTER =
      Setting.duration(
          "dunlin.cluster.replace-after", Duration.ZERO, Duration.ZERO, Duration.ofDays(7),
          "Silence after which a node's replicas are made anew on others; 0 leaves that to an operator.");
  static final Setting<Integer> REPLICAS =
      Setting.integer(
          "dunlin.cluster.replicas", MEMBER.operations().replicas(), 0, 7,
          "Replicas that each range is brought to as soon as there are nodes for them; 0 leaves that to an operator.");
  static final Setting<Long> SPLIT_BYTES =
      Setting.bytes(
          "dunlin.cluster.split-bytes", SPLITS.bytes(), 0, 1L << 50, "Size at which a range is split into two; 0 leaves that to an operator.");
  static final Setting<Integer> SPLIT_RATE =
      Setting.integer(
          "dunlin.cluster.split-rate", (int) SPLITS.operationsPerSecond(), 0, 1_000_000_000,
          "Writes and reads a second at which a range is split, there where it is written to; 0 leaves that to an operator.");
  static final Setting<Long> SPLIT_BYTES_MIN =
      Setting.bytes(
          "dunlin.cluster.split-bytes-min", SPLITS.bytesMin(), 0, 1L << 50, "Size below which a range is not split, however busy it is; at most split-bytes.");
  static final Setting<Integer> SPLITS_MAX =
      Setting.integer("dunlin.cluster.splits-max", SPLITS.atOnceMax(), 0, 1_024, "Ranges that may be split at a time, in the whole cluster.");

  static final List<Setting<?>> ALL =
      List.of(PORT, HOST, BIND, TLS_CERTIFICATE, TLS_KEY, TLS_CA, PLAINTEXT, ELECTION_TIMEOUT, LOG_KEPT, COPY_RATE, COPY_TIME, SERVICE_PORT,
          SERVICE_STREAMS_MAX, SERVICE_BYTES_MAX, SEEDS, BOOTSTRAP_EXPECT, JOIN_TIMEOUT, REGION, ZONE, HEARTBEAT, LEASE, DOWN_AFTER,
          REPLACE_AFTER, REPLICAS, SPLIT_BYTES, SPLIT_RATE, SPLIT_BYTES_MIN, SPLITS_MAX);

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

  /**
   * Of a store node's part in its cluster.
   *
   * @param founds the kinds of ranges that a new cluster begins with
   */
  static MemberSettings member(Settings settings, Set<String> founds) {
    requirePort(settings, PORT);
    requirePort(settings, SERVICE_PORT);
    if (settings.get(PORT).equals(settings.get(SERVICE_PORT)))
      throw new SettingException("dunlin.cluster.service-port: is the same as dunlin.cluster.port, each needs one of its own");
    var usual = MEMBER.operations();
    var replaceAfter = settings.get(REPLACE_AFTER);
    try {
      var splits =
          new SplitSettings(
              settings.get(SPLIT_BYTES), settings.get(SPLIT_RATE), settings.get(SPLIT_BYTES_MIN), settings.get(SPLITS_MAX), SPLITS.replicasMax());
      return new MemberSettings(
          String.join(",", settings.get(SEEDS)),
          settings.get(BOOTSTRAP_EXPECT),
          host(settings),
          settings.get(SERVICE_PORT),
          place(settings, REGION),
          place(settings, ZONE),
          founds,
          settings.get(HEARTBEAT),
          settings.get(LEASE),
          settings.get(DOWN_AFTER),
          new OperationSettings(
              usual.lagMax(), usual.unflushedMax(), usual.automaticMax(), settings.get(REPLICAS), splits,
              replaceAfter.isZero() ? null : replaceAfter, usual.balance()));
    } catch (IllegalArgumentException e) {
      throw new SettingException("dunlin.cluster: " + e.getMessage());
    }
  }

  private static void requirePort(Settings settings, Setting<Integer> port) {
    if (settings.get(port) == 0) throw new SettingException(port.key() + ": a store node needs a port of its own, the others call it there");
  }

  private static String place(Settings settings, Setting<String> key) {
    String name = settings.get(key);
    if (name.length() > PLACE_LENGTH_MAX) throw new SettingException(key.key() + ": more than " + PLACE_LENGTH_MAX + " characters");
    return name;
  }

  /** Where the service for other nodes is opened. */
  static InetSocketAddress serviceAddress(Settings settings) {
    return new InetSocketAddress(settings.get(BIND), settings.get(SERVICE_PORT));
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

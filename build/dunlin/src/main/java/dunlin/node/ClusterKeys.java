package dunlin.node;

import dunlin.broker.users.UsersSettings;
import dunlin.cluster.MemberSettings;
import dunlin.inbox.InboxSettings;
import dunlin.placement.plan.OperationSettings;
import dunlin.placement.plan.SplitSettings;
import dunlin.runtime.LogText;
import dunlin.runtime.Secret;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import dunlin.store.grpc.ServiceTls;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.PeerSecurity;
import dunlin.store.settings.RangeServiceSettings;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The settings by which the nodes of a cluster reach and authenticate each other. */
public final class ClusterKeys {
  private static final ClusterSettings USUAL = ClusterSettings.NONE;
  private static final RangeServiceSettings SERVICE = RangeServiceSettings.defaults();
  private static final MemberSettings MEMBER = MemberSettings.of("", 1, USUAL.host(), 1, Set.of());
  private static final SplitSettings SPLITS = MEMBER.operations().splits();
  private static final Path NONE = Path.of("");
  private static final String ON_REQUEST = "not set";
  private static final Pattern SAME_MACHINE = Pattern.compile("^(dns:)?(localhost|127\\.[0-9.]+|\\[::1])(:|$)");
  private static final int PORT_MAX = 65_535;
  private static final int USUAL_SERVICE_PORT = 7_100;
  private static final int PLACE_LENGTH_MAX = 255;

  public static final Setting<Integer> PORT =
      Setting.integer(
              "dunlin.cluster.port", 0, 0, PORT_MAX, "Port for Raft traffic between nodes. 0 opens no port, which is right for a node that runs alone.")
          .defaultMeans("in a cluster the port after dunlin.cluster.service-port, otherwise 0");
  public static final Setting<String> HOST =
      Setting.text("dunlin.cluster.host", USUAL.host(), "Host name or address at which other nodes reach this node. A host name remains valid when"
          + " the address changes. Must be set when seeds are on other machines.");
  public static final Setting<String> BIND =
      Setting.text("dunlin.cluster.bind", USUAL.bindAddress(), "Local address or host name that the cluster ports bind to. An address other than"
          + " loopback requires TLS.");
  public static final Setting<Path> TLS_CERTIFICATE =
      Setting.path(
              "dunlin.cluster.tls.certificate", NONE,
              "PEM file with the node's certificate and its intermediate certificates. Its subject alternative names must contain the node's host,"
                  + " and the name of a dns: seed if one is used. Other nodes accept the node under that host only. Reloaded when it changes.")
          .defaultMeans(ON_REQUEST);
  public static final Setting<Path> TLS_KEY =
      Setting.path("dunlin.cluster.tls.key", NONE, "PEM file with the private key of the node's certificate, in PKCS#8, PKCS#1 or SEC 1 format."
          + " Reloaded when it changes.")
          .defaultMeans(ON_REQUEST);
  public static final Setting<Secret> TLS_KEY_PASSWORD =
      Setting.secret("dunlin.cluster.tls.key-password", "Password of the private key, if it is encrypted (PKCS#8). As file:PATH, read again with the key.");
  public static final Setting<Path> TLS_KEY_STORE =
      Setting.path(
              "dunlin.cluster.tls.key-store", NONE,
              "File in PKCS#12 format with the node's certificate, its intermediate certificates and the private key, in place of dunlin.cluster.tls.certificate and"
                  + " dunlin.cluster.tls.key. Reloaded when it changes.")
          .defaultMeans(ON_REQUEST);
  public static final Setting<Secret> TLS_KEY_STORE_PASSWORD =
      Setting.secret("dunlin.cluster.tls.key-store-password", "Password of the key store and of its key. As file:PATH, read again with the key store.");
  public static final Setting<Path> TLS_CA =
      Setting.path("dunlin.cluster.tls.ca", NONE, "PEM file with the root certificates that all nodes' certificates are verified against. Reloaded"
          + " when it changes.")
          .defaultMeans(ON_REQUEST);
  public static final Setting<Boolean> PLAINTEXT =
      Setting.flag(
          "dunlin.cluster.plaintext", false,
          "Whether the cluster ports may bind to an address other than loopback without TLS. Any host that reaches them is then trusted as a node.");
  public static final Setting<Duration> ELECTION_TIMEOUT =
      Setting.duration(
          "dunlin.cluster.election-timeout", USUAL.electionTimeout(), Duration.ofMillis(300), Duration.ofMinutes(1),
          "Time without a heartbeat from a range's leader after which its followers may elect a new leader. An election usually ends within three"
              + " times this"
              + " value. A leader that pauses for longer is deposed.");
  public static final Setting<Integer> LOG_KEPT =
      Setting.integer(
          "dunlin.cluster.log-entries-kept", USUAL.entriesKept(), 200, 10_000_000,
          "Number of log entries that are kept for followers. A follower that is further behind receives a snapshot.");
  public static final Setting<Long> SNAPSHOT_RATE =
      Setting.bytes(
          "dunlin.cluster.snapshot-rate", USUAL.installBytesPerSecond(), 64 << 10, 1L << 40, "Maximum rate at which a node fetches a snapshot, in bytes"
              + " per second.");
  public static final Setting<Duration> SNAPSHOT_TIME =
      Setting.duration(
          "dunlin.cluster.snapshot-time", USUAL.installDeadline(), Duration.ofSeconds(1), Duration.ofDays(1),
          "Maximum duration of fetching one snapshot. What was fetched by then is kept for the next attempt.");
  public static final Setting<Integer> SERVICE_PORT =
      Setting.integer(
              "dunlin.cluster.service-port", 0, 0, PORT_MAX,
              "Port for calls from other nodes. Every node of a cluster requires it. Must not be set for a broker without dunlin.cluster.seeds.")
          .defaultMeans("in a cluster 7100, otherwise 0");
  public static final Setting<List<String>> SEEDS =
      Setting.textList(
          "dunlin.cluster.seeds", List.of(),
          "Addresses at which a node finds its cluster: host:service-port, or dns:name:port for all addresses of a name. Must be the same on all"
              + " nodes. A broker without seeds runs alone.");
  public static final Setting<Integer> BOOTSTRAP_EXPECT =
      Setting.integer(
          "dunlin.cluster.bootstrap-expect", 1, 1, 1_024,
          "Number of nodes that found a new cluster. This many seeds must answer, all with empty data directories. Must be the same on all nodes.");
  public static final Setting<Duration> JOIN_TIMEOUT =
      Setting.duration(
          "dunlin.cluster.join-timeout", Duration.ofMinutes(5), Duration.ofSeconds(1), Duration.ofDays(1),
          "Maximum time that a node looks for its cluster, or waits to found it. After that its start fails.");
  public static final Setting<String> REGION =
      Setting.text("dunlin.cluster.region", "", "Region of the node. Replicas of a range are placed in different zones where possible; zones of different regions are different. Nothing else depends on it.");
  public static final Setting<String> ZONE =
      Setting.text("dunlin.cluster.zone", "", "Zone of the node within its region. Replicas of a range are placed in different zones where"
          + " possible. Nothing else depends on it.");
  public static final Setting<Duration> HEARTBEAT =
      Setting.duration(
          "dunlin.cluster.heartbeat", MEMBER.heartbeat(), Duration.ofMillis(10), Duration.ofMinutes(1),
          "Interval of a node's heartbeats to the leader of the meta group.");
  public static final Setting<Duration> LEASE =
      Setting.duration(
          "dunlin.cluster.lease", MEMBER.lease(), Duration.ofMillis(20), Duration.ofMinutes(10),
          "Time without a heartbeat after which a node is suspected to have failed and receives no new replicas. A broker whose heartbeats"
              + " have not been answered for this long disconnects its clients. At least two heartbeat intervals.");
  public static final Setting<Duration> DOWN_AFTER =
      Setting.duration(
          "dunlin.cluster.down-after", MEMBER.downAfter(), Duration.ofMillis(20), Duration.ofDays(1),
          "Time without a heartbeat after which a node is considered dead. At least the lease and two heartbeat intervals.");
  public static final Setting<Duration> REPLACE_AFTER =
      Setting.duration(
          "dunlin.cluster.replace-after", Duration.ZERO, Duration.ZERO, Duration.ofDays(7),
          "Time without a heartbeat after which a node's replicas are recreated on other nodes. 0 leaves this to an operator.");
  public static final Setting<Integer> REPLICAS =
      Setting.integer(
          "dunlin.cluster.replicas", MEMBER.operations().replicas(), 0, 7,
          "Number of replicas that each range is brought to when enough nodes are available. 0 leaves this to an operator.");
  public static final Setting<Long> SPLIT_BYTES =
      Setting.bytes(
          "dunlin.cluster.split-bytes", SPLITS.bytes(), 0, 1L << 50, "Size at which a range is split into two. 0 leaves this to an operator. A broker"
              + " splits ranges of retained messages and of routes only.");
  public static final Setting<Integer> SPLIT_RATE =
      Setting.integer(
          "dunlin.cluster.split-rate", (int) SPLITS.operationsPerSecond(), 0, 1_000_000_000,
          "Rate of writes and reads per second at which a range is split, at the keys that are written most. 0 leaves this to an operator."
              + " A broker splits ranges of retained messages and of routes only.");
  public static final Setting<Long> SPLIT_BYTES_MIN =
      Setting.bytes(
          "dunlin.cluster.split-bytes-min", SPLITS.bytesMin(), 0, 1L << 50, "Size below which a range is never split, however busy it is. At most"
              + " dunlin.cluster.split-bytes. A broker splits ranges of retained messages and of routes only.");
  public static final Setting<Integer> SPLITS_MAX =
      Setting.integer("dunlin.cluster.splits-max", SPLITS.atOnceMax(), 0, 1_024, "Maximum number of ranges that are split at the same time in the"
          + " whole cluster. A broker splits ranges of retained messages and of routes only.");

  public static final List<Setting<?>> ALL =
      List.of(PORT, HOST, BIND, TLS_CERTIFICATE, TLS_KEY, TLS_KEY_PASSWORD, TLS_KEY_STORE, TLS_KEY_STORE_PASSWORD, TLS_CA, PLAINTEXT, ELECTION_TIMEOUT, LOG_KEPT, SNAPSHOT_RATE, SNAPSHOT_TIME, SERVICE_PORT,
          SEEDS, BOOTSTRAP_EXPECT, JOIN_TIMEOUT, REGION, ZONE, HEARTBEAT, LEASE, DOWN_AFTER,
          REPLACE_AFTER, REPLICAS, SPLIT_BYTES, SPLIT_RATE, SPLIT_BYTES_MIN, SPLITS_MAX);

  private ClusterKeys() {}

  public static ClusterSettings read(Settings settings) {
    return new ClusterSettings(
        raftPort(settings),
        host(settings),
        settings.get(BIND),
        security(settings),
        settings.get(ELECTION_TIMEOUT),
        settings.get(LOG_KEPT),
        settings.get(SNAPSHOT_RATE),
        settings.get(SNAPSHOT_TIME));
  }

  /** The port for Raft; 0 for a node that runs alone. */
  public static int raftPort(Settings settings) {
    if (settings.isSet(PORT) || !NodeSettings.isInCluster(settings)) return settings.get(PORT);
    return (servicePort(settings) + 1) % (PORT_MAX + 1);
  }

  /** The port for calls of other nodes; 0 for a node that runs alone. */
  public static int servicePort(Settings settings) {
    if (settings.isSet(SERVICE_PORT) || !NodeSettings.isInCluster(settings)) return settings.get(SERVICE_PORT);
    return USUAL_SERVICE_PORT;
  }

  /** The settings of the service that answers other nodes. */
  public static RangeServiceSettings service(Settings settings) {
    return new RangeServiceSettings(
        SERVICE.streamsMax(),
        SERVICE.requestsMax(),
        SERVICE.bytesMax(),
        SERVICE.nodeBytesMax(),
        SERVICE.frameBytesMax(),
        SERVICE.closeTimeout(),
        settings.get(PLAINTEXT));
  }

  /** The settings of a node as a member of its cluster. */
  public static MemberSettings member(Settings settings) {
    return member(settings, UsersSettings.from(settings).enabled());
  }

  /** @param users whether the cluster is to have the range of users, roles and bans, whatever the setting says */
  static MemberSettings member(Settings settings, boolean users) {
    NodeRoles roles = NodeRoles.of(settings);
    if (roles.stores()) requirePort(PORT, raftPort(settings));
    requirePort(SERVICE_PORT, servicePort(settings));
    if (raftPort(settings) == servicePort(settings))
      throw new SettingException("dunlin.cluster.service-port: is the same as dunlin.cluster.port; each needs a port of its own");
    var usual = MEMBER.operations();
    var replaceAfter = settings.get(REPLACE_AFTER);
    try {
      var splits =
          new SplitSettings(
              settings.get(SPLIT_BYTES), settings.get(SPLIT_RATE), settings.get(SPLIT_BYTES_MIN), settings.get(SPLITS_MAX), SPLITS.replicasMax());
      var member = new MemberSettings(
          String.join(",", settings.get(SEEDS)),
          settings.get(BOOTSTRAP_EXPECT),
          host(settings),
          servicePort(settings),
          place(settings, REGION),
          place(settings, ZONE),
          roles.member(users),
          settings.get(HEARTBEAT),
          settings.get(LEASE),
          settings.get(DOWN_AFTER),
          new OperationSettings(
              usual.lagMax(), usual.unflushedMax(), usual.automaticMax(), settings.get(REPLICAS), splits,
              replaceAfter.isZero() ? null : replaceAfter, usual.balance()),
          agreed(settings));
      requireReachable(settings);
      return member;
    } catch (IllegalArgumentException e) {
      throw new SettingException("dunlin.cluster: " + e.getMessage());
    }
  }

  /** The settings that must be the same on all nodes, and that the founder writes down. One range of sessions is what a cluster has that says nothing of ranges. */
  private static NavigableMap<String, String> agreed(Settings settings) {
    var agreed = new TreeMap<String, String>();
    agreed.put(InboxSettings.SHARDS.key(), String.valueOf(settings.get(InboxSettings.SHARDS)));
    int ranges = settings.get(InboxSettings.RANGES);
    if (ranges != 1) agreed.put(InboxSettings.RANGES.key(), String.valueOf(ranges));
    return agreed;
  }

  private static void requirePort(Setting<Integer> setting, int port) {
    if (port == 0) throw new SettingException(setting.key() + ": a node of a cluster needs this port, where other nodes call it");
  }

  /** The default of the host is this machine, as seen from itself. */
  private static void requireReachable(Settings settings) {
    if (settings.isSet(HOST)) return;
    for (String seed : settings.get(SEEDS))
      if (!SAME_MACHINE.matcher(seed.strip()).find())
        throw new SettingException(
            "dunlin.cluster.host: must be the name or address by which other nodes reach this one, since the seed " + LogText.escaped(seed) + " may be on another machine");
  }

  private static String place(Settings settings, Setting<String> key) {
    String name = settings.get(key);
    if (name.length() > PLACE_LENGTH_MAX) throw new SettingException(key.key() + ": more than " + PLACE_LENGTH_MAX + " characters");
    return name;
  }

  /** The address that the service for other nodes binds to. */
  public static InetSocketAddress serviceAddress(Settings settings) {
    return new InetSocketAddress(settings.get(BIND), servicePort(settings));
  }

  private static String host(Settings settings) {
    String host = settings.get(HOST);
    if (host.isBlank() || host.chars().anyMatch(c -> c <= ' ' || c == '/' || c == '@'))
      throw new SettingException("dunlin.cluster.host: '" + host + "' is not a name or address of a host");
    return host;
  }

  /**
   * The TLS between this node and others; empty without.
   *
   * @throws SettingException if the node's certificate is not for its roles
   * @throws dunlin.store.StoreException naming the file that cannot be used
   */
  public static Optional<ServiceTls> tls(Settings settings) {
    Optional<ServiceTls> tls = ServiceTls.of(security(settings));
    NodeRoles roles = NodeRoles.of(settings);
    if (roles.stores() && tls.filter(ServiceTls::isOfFrontend).isPresent()) {
      throw new SettingException(
          "dunlin.roles: the node's certificate is only for a frontend (urn:dunlin:role:frontend), so that other nodes refuse what these roles are for: %s".formatted(roles.labels()));
    }
    return tls;
  }

  private static PeerSecurity security(Settings settings) {
    boolean store = settings.isSet(TLS_KEY_STORE);
    if (store && (settings.isSet(TLS_CERTIFICATE) || settings.isSet(TLS_KEY)))
      throw new SettingException("dunlin.cluster.tls.key-store: has certificate and key, so dunlin.cluster.tls.certificate and dunlin.cluster.tls.key must not be set");
    long files = Stream.of(TLS_CERTIFICATE, TLS_KEY, TLS_KEY_STORE, TLS_CA).filter(settings::isSet).count();
    if (files == 0) return new PeerSecurity.Plaintext(settings.get(PLAINTEXT));
    if (files < (store ? 2 : 3))
      throw new SettingException("dunlin.cluster.tls: certificate, key and ca, or key-store and ca, must be set together, " + files + " of them " + (files == 1 ? "is" : "are") + " set");
    if (settings.get(PLAINTEXT))
      throw new SettingException("dunlin.cluster.plaintext: the port already has TLS by dunlin.cluster.tls; set only one of them");
    PeerSecurity.Own own =
        store
            ? new PeerSecurity.Store(settings.get(TLS_KEY_STORE), settings.get(TLS_KEY_STORE_PASSWORD))
            : new PeerSecurity.Pem(settings.get(TLS_KEY), settings.get(TLS_KEY_PASSWORD), settings.get(TLS_CERTIFICATE));
    return new PeerSecurity.MutualTls(own, settings.get(TLS_CA));
  }
}

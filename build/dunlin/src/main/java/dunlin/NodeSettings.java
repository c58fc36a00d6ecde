package dunlin;

import dunlin.broker.AuthenticationSettings;
import dunlin.broker.FrontendSettings;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.OverflowPolicy;
import dunlin.model.QoS;
import dunlin.retain.RetainSettings;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import dunlin.store.StoreSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Every setting of a node, declared once, and how the tiers' records are made of them. */
final class NodeSettings {
  /** What a process can be: all parts of a broker, or a store node. */
  enum Role {
    FRONTEND,
    DIST,
    RETAIN,
    INBOX,
    /** Keeps replicas for a cluster and serves no clients. */
    STORE
  }

  private static final Set<Role> BROKER = Set.of(Role.FRONTEND, Role.DIST, Role.RETAIN, Role.INBOX);

  private static final AuthenticationSettings AUTHENTICATION = AuthenticationSettings.defaults();
  private static final StoreSettings STORE = StoreSettings.defaults();
  private static final InboxSettings INBOX = InboxSettings.defaults();
  private static final RetainSettings RETAIN = RetainSettings.defaults();
  private static final long KIB = 1_024;
  private static final long MIB = 1_024 * KIB;
  private static final int CORES = Math.clamp(Runtime.getRuntime().availableProcessors(), 1, 64);

  static final Setting<Path> DATA_DIR =
      Setting.path("dunlin.data-dir", Path.of("data"), "Where the node keeps everything that must survive a restart.");
  static final Setting<String> NODE_NAME =
      Setting.text("dunlin.node.name", "", "Name of the node in JMX and metrics.")
          .defaultMeans("the beginning of the node's id");
  static final Setting<Set<Role>> ROLES =
      Setting.choices(
          "dunlin.roles", Role.class, BROKER,
          "What this process does: a broker, which has all roles of the default and runs alone, or store by itself, a node of a cluster that"
              + " keeps replicas and serves no clients.");
  static final Setting<Integer> LANES =
      Setting.integer(
              "dunlin.lanes", CORES, 1, 64, "Lanes, each an event loop with a thread of its own; the same number on all nodes.")
          .defaultMeans("the number of cores");

  static final Setting<Boolean> ANONYMOUS =
      Setting.flag(
          "dunlin.auth.anonymous",
          false,
          "Lets clients connect that show nothing of themselves. Without it they may where nobody is authenticated, on loopback only.");
  static final Setting<Path> PASSWORD_FILE =
      Setting.path(
              "dunlin.auth.password-file", Path.of(""), "File with the users and their passwords, made by `bin/dunlin passwd`; read again when it changes.")
          .defaultMeans("not set");
  static final Setting<String> AUTH_PROVIDER =
      Setting.text(
          "dunlin.auth.provider", "", "Name or class name of a dunlin.broker.AuthenticationProvider on the class path, which authenticates clients.");
  static final Setting<String> AUTH_PROVIDER_OPTIONS =
      Setting.text("dunlin.auth.provider-options", "", "What the provider is told when it begins, in a form of its own.").secret();
  static final Setting<Duration> AUTH_TIMEOUT =
      Setting.duration(
          "dunlin.auth.timeout", AUTHENTICATION.timeout(), Duration.ofMillis(100), Duration.ofMinutes(5),
          "How long one step of an authentication may take on the server's side.");
  static final Setting<Integer> AUTH_THREADS =
      Setting.integer("dunlin.auth.threads", AUTHENTICATION.threads(), 1, 1_024, "Threads that authenticate clients.")
          .defaultMeans("the number of cores, 2 at least");
  static final Setting<Integer> AUTH_QUEUE_MAX =
      Setting.integer(
          "dunlin.auth.queue-max", AUTHENTICATION.queueMax(), 1, 10_000_000, "Clients that may wait for these threads; more are refused as by a busy server.");
  static final Setting<Integer> AUTH_FAILURES_MAX =
      Setting.integer(
          "dunlin.auth.failures-max", AUTHENTICATION.failuresMax(), 0, 1_000_000,
          "Refused authentications of one address (of IPv6, of one /64) in a minute, after which no more are looked at in that minute; 0 for no limit.");

  static final Setting<Integer> ADMIN_PORT =
      Setting.integer(
              "dunlin.admin.port", 8_080, -1, 65_535, "Port of /health, /ready and /metrics, on loopback; 0 takes any, -1 opens none.")
          .defaultMeans("8080, or any free port when that is taken");

  static final Setting<Duration> CONNECT_TIMEOUT =
      Setting.duration(
          "dunlin.mqtt.connect-timeout", Duration.ofSeconds(10), Duration.ofMillis(100), Duration.ofMinutes(5),
          "How long a new connection may take to send CONNECT.");
  static final Setting<Long> PACKET_MAX =
      Setting.bytes("dunlin.mqtt.packet-max", MIB, KIB, 2 * MIB, "Largest packet that a client may send.");
  static final Setting<Long> CONNECT_PACKET_MAX =
      Setting.bytes(
          "dunlin.mqtt.connect-packet-max", 128 * KIB, KIB, 2 * MIB, "Largest CONNECT packet, which is held before anybody is known.");
  static final Setting<Integer> RECEIVE_MAXIMUM =
      Setting.integer(
          "dunlin.mqtt.receive-maximum", 1_024, 1, 65_535, "Publishes of QoS 1 and 2 that a client may have unacknowledged.");
  static final Setting<Integer> TOPIC_ALIAS_MAXIMUM =
      Setting.integer("dunlin.mqtt.topic-alias-maximum", 10, 0, 65_535, "Topic aliases that a client of MQTT 5 may set.");
  static final Setting<Integer> TOPIC_ALIAS_MAXIMUM_OUT =
      Setting.integer(
          "dunlin.mqtt.topic-alias-maximum-out", 10, 0, 1_024,
          "Topic aliases used towards a client of MQTT 5 that takes any; fewer when it takes fewer, 0 for none.");
  static final Setting<Integer> IN_FLIGHT_MAX =
      Setting.integer(
          "dunlin.mqtt.in-flight-max", 1_024, 1, 65_535,
          "Messages of QoS 1 and 2 that a client may have unacknowledged; fewer when its Receive Maximum says so.");
  static final Setting<Integer> TOPIC_LENGTH_MAX =
      Setting.integer("dunlin.mqtt.topic-length-max", 65_535, 1, 65_535, "Bytes of a topic name or filter.");
  static final Setting<Integer> TOPIC_LEVELS_MAX =
      Setting.integer("dunlin.mqtt.topic-levels-max", 128, 1, 65_536, "Levels of a topic name or filter.");
  static final Setting<Integer> USER_PROPERTIES_MAX =
      Setting.integer(
          "dunlin.mqtt.user-properties-max", 64, 0, 1_000_000,
          "User properties that a packet of MQTT 5 may have; those of a will are counted by themselves.");
  static final Setting<Integer> FILTERS_MAX =
      Setting.integer("dunlin.mqtt.filters-max", 10_000, 1, 1_000_000, "Topic filters of one SUBSCRIBE or UNSUBSCRIBE packet.");
  static final Setting<Integer> CLIENT_ID_MAX =
      Setting.integer("dunlin.mqtt.client-id-max", 1_024, 23, 65_535, "Bytes of a client identifier.");
  static final Setting<Integer> WILL_PAYLOAD_MAX =
      Setting.integer(
          "dunlin.mqtt.will-payload-max", 65_535, 0, 65_535, "Bytes of a will's payload, which the largest CONNECT packet limits as well.");
  static final Setting<Integer> MAXIMUM_QOS =
      Setting.integer(
          "dunlin.mqtt.maximum-qos", 2, 0, 2, "Highest QoS that clients may publish with and that subscriptions are granted.");
  static final Setting<Boolean> RETAIN_AVAILABLE =
      Setting.flag("dunlin.mqtt.retain-available", true, "Whether messages may be retained, and retained messages are delivered.");
  static final Setting<Boolean> WILDCARD_SUBSCRIPTION_AVAILABLE =
      Setting.flag("dunlin.mqtt.wildcard-subscription-available", true, "Whether topic filters may have wildcards.");
  static final Setting<Boolean> SUBSCRIPTION_IDENTIFIERS_AVAILABLE =
      Setting.flag("dunlin.mqtt.subscription-identifiers-available", true, "Whether subscriptions may have identifiers.");
  static final Setting<Boolean> SHARED_SUBSCRIPTION_AVAILABLE =
      Setting.flag("dunlin.mqtt.shared-subscription-available", true, "Whether there are shared subscriptions.");
  static final Setting<Boolean> PAYLOAD_FORMAT_CHECK =
      Setting.flag(
          "dunlin.mqtt.payload-format-check", false,
          "Whether a message whose Payload Format Indicator says UTF-8 is refused when its payload is something else.");
  static final Setting<String> RESPONSE_INFORMATION =
      Setting.text(
          "dunlin.mqtt.response-information", "",
          "Beginning of the topic that clients of MQTT 5 which ask for it are told to have responses sent to; the client identifier follows.");
  static final Setting<String> SERVER_REFERENCE =
      Setting.text(
          "dunlin.drain.server-reference", "",
          "Where clients of MQTT 5 are sent when the node stops or is drained, such as other.example.com:1883.");
  static final Setting<Duration> KEEP_ALIVE_MAX =
      Setting.duration(
          "dunlin.mqtt.keep-alive-max", Duration.ofHours(18), Duration.ZERO, Duration.ofSeconds(65_535),
          "Longest keep alive granted to clients of MQTT 5; 0 grants any, also none.");
  static final Setting<Integer> SUBSCRIPTIONS_MAX =
      Setting.integer(
          "dunlin.session.subscriptions-max", 10_000, 1, 10_000_000, "Subscriptions that one session may hold.");
  static final Setting<Long> SESSIONS_MAX =
      Setting.longInteger(
          "dunlin.session.sessions-max", INBOX.sessionsMax(), 1, 1_000_000_000,
          "Sessions that outlive their connection; a client that asks for one more is refused.");
  static final Setting<Long> SESSION_EXPIRY_MAX =
      Setting.longInteger(
          "dunlin.session.expiry-max", FrontendSettings.NEVER, 0, FrontendSettings.NEVER,
          "Longest Session Expiry Interval granted, in seconds; 4294967295 for never.");
  static final Setting<Long> OUTBOUND_MAX =
      Setting.bytes(
          "dunlin.session.outbound-max", MIB, 16 * KIB, 1_024 * MIB,
          "Bytes that may wait for a client's socket before messages of QoS 0 to it are dropped.");
  static final Setting<Integer> QUEUE_MESSAGES_MAX =
      Setting.integer(
          "dunlin.session.queue-messages-max", 10_000, 1, 10_000_000,
          "Messages of QoS 1 and 2 that may wait for a connected session without expiry; more are dropped.");
  static final Setting<Long> QUEUE_BYTES_MAX =
      Setting.bytes(
          "dunlin.session.queue-bytes-max", 16 * MIB, 16 * KIB, 1_024 * MIB, "Bytes of the messages that may wait likewise.");
  static final Setting<Integer> LANE_MESSAGES_MAX =
      Setting.integer(
          "dunlin.lane.messages-max", 16_384, 16, 1_000_000,
          "Messages of one lane that may be on their way before its publishers are not read from.");
  static final Setting<Long> LANE_BYTES_MAX =
      Setting.bytes("dunlin.lane.bytes-max", 32 * MIB, MIB, 1_024 * MIB, "Bytes of the messages that may be on their way likewise.");
  static final Setting<Duration> SHARED_WAIT =
      Setting.duration(
          "dunlin.shared.wait", Duration.ofSeconds(5), Duration.ZERO, Duration.ofMinutes(5),
          "How long a message of QoS 1 or 2 waits for a member of a shared subscription that takes it.");
  static final Setting<Duration> SHARED_WAIT_QOS0 =
      Setting.duration(
          "dunlin.shared.wait-qos0", Duration.ofSeconds(1), Duration.ZERO, Duration.ofMinutes(1),
          "How long a message of QoS 0 waits likewise, with its publisher not read from meanwhile; 0 drops it at once.");
  static final Setting<Long> SHARED_WAITING_MAX =
      Setting.bytes(
          "dunlin.shared.waiting-bytes-max", 16 * MIB, 16 * KIB, 1_024 * MIB,
          "Bytes of messages of QoS 0 that may wait so on one event loop; more are dropped.");

  static final Setting<Duration> SYS_INTERVAL =
      Setting.duration(
          "dunlin.sys.interval", Duration.ofSeconds(10), Duration.ZERO, Duration.ofHours(1),
          "How often the node publishes what it counts under $SYS/broker/, at full intervals of the clock; 0 for never.");
  static final Setting<Integer> INLINE_FANOUT_THRESHOLD =
      Setting.integer(
          "dunlin.dist.inline-fanout-threshold", 1_024, 16, 1_000_000,
          "Subscribers of one message on one event loop that are served in one go; more are served in slices of so many, between"
              + " which others have their turn.");

  static final Setting<Boolean> FSYNC =
      Setting.flag(
          "dunlin.store.fsync",
          true,
          "Whether what is acknowledged was forced to disk; without it a power loss can take acknowledged messages.");
  static final Setting<Long> STORE_MEMORY =
      Setting.bytes("dunlin.store.memory", 64 * MIB, 8 * MIB, 1_024 * 1_024 * MIB, "RocksDB's memory over all ranges of the node.");
  static final Setting<Long> STORE_DISK_FREE_MIN =
      Setting.bytes(
          "dunlin.store.disk-free-min", 0, 0, 1_024 * 1_024 * MIB,
          "Bytes that must stay free on the data directory's disk; with less the node stores nothing new until there is a quarter more"
              + " than this. 0 stands for 1 GiB, or a twentieth of a disk smaller than 20 GiB.");
  static final Setting<Integer> STORE_SNAPSHOT_ENTRIES =
      Setting.integer(
          "dunlin.store.snapshot-entries", STORE.snapshotEntries(), 1, 10_000_000,
          "Log entries after which a range's rows are flushed and its log is cut.");
  static final Setting<Duration> STORE_SNAPSHOT_AGE =
      Setting.duration(
          "dunlin.store.snapshot-age", STORE.snapshotAge(), Duration.ofSeconds(1), Duration.ofDays(1),
          "Time after which the same is done.");

  static final Setting<Integer> INBOX_SHARDS =
      Setting.integer(
          "dunlin.inbox.shards", INBOX.shards(), 1, 4_096, "Hash buckets of durable sessions; never to be changed for existing data.");
  static final Setting<Integer> INBOX_MESSAGES_MAX =
      Setting.integer("dunlin.inbox.messages-max", INBOX.messagesMax(), 1, 100_000_000, "Messages that one durable session may have waiting.");
  static final Setting<Long> INBOX_BYTES_MAX =
      Setting.bytes("dunlin.inbox.bytes-max", INBOX.bytesMax(), KIB, 1_024 * 1_024 * MIB, "Bytes of the messages that may wait likewise.");
  static final Setting<OverflowPolicy> INBOX_OVERFLOW =
      Setting.choice("dunlin.inbox.overflow", INBOX.overflow(), "What happens to a message that finds the inbox full.");
  static final Setting<Integer> INBOX_GROUP_WINDOW =
      Setting.integer(
          "dunlin.inbox.group-window", INBOX.groupWindow(), 1, 65_535,
          "Unacknowledged messages that a durable member of a shared subscription may have; the rest waits for any member.");

  static final Setting<Long> RETAIN_MESSAGES_MAX =
      Setting.longInteger(
          "dunlin.retain.messages-max", RETAIN.messagesMax(), 1, 1_000_000_000, "Topics that may have a retained message.");

  /** Every setting there is, in the order of the reference page. */
  static final List<Setting<?>> ALL =
      withFamilies(
          Settings.CONFIG, DATA_DIR, NODE_NAME, ROLES, LANES, LANE_MESSAGES_MAX, LANE_BYTES_MAX, ANONYMOUS,
          PASSWORD_FILE, AUTH_PROVIDER, AUTH_PROVIDER_OPTIONS, AUTH_TIMEOUT, AUTH_THREADS, AUTH_QUEUE_MAX, AUTH_FAILURES_MAX,
          ADMIN_PORT, CONNECT_TIMEOUT, PACKET_MAX, CONNECT_PACKET_MAX, RECEIVE_MAXIMUM,
          IN_FLIGHT_MAX, TOPIC_ALIAS_MAXIMUM, TOPIC_ALIAS_MAXIMUM_OUT, TOPIC_LENGTH_MAX, TOPIC_LEVELS_MAX, USER_PROPERTIES_MAX,
          FILTERS_MAX, CLIENT_ID_MAX, WILL_PAYLOAD_MAX, MAXIMUM_QOS, RETAIN_AVAILABLE, WILDCARD_SUBSCRIPTION_AVAILABLE,
          SUBSCRIPTION_IDENTIFIERS_AVAILABLE, SHARED_SUBSCRIPTION_AVAILABLE, PAYLOAD_FORMAT_CHECK, RESPONSE_INFORMATION,
          SERVER_REFERENCE, KEEP_ALIVE_MAX, SUBSCRIPTIONS_MAX, SESSIONS_MAX, SESSION_EXPIRY_MAX, OUTBOUND_MAX, QUEUE_MESSAGES_MAX,
          QUEUE_BYTES_MAX, SHARED_WAIT, SHARED_WAIT_QOS0, SHARED_WAITING_MAX, INLINE_FANOUT_THRESHOLD, SYS_INTERVAL, FSYNC,
          STORE_MEMORY, STORE_DISK_FREE_MIN, STORE_SNAPSHOT_ENTRIES, STORE_SNAPSHOT_AGE, INBOX_SHARDS,
          INBOX_MESSAGES_MAX, INBOX_BYTES_MAX, INBOX_OVERFLOW, INBOX_GROUP_WINDOW, RETAIN_MESSAGES_MAX);

  private NodeSettings() {}

  private static List<Setting<?>> withFamilies(Setting<?>... others) {
    return Stream.of(List.of(others), ClusterKeys.ALL, ListenerKeys.ALL).<Setting<?>>flatMap(List::stream).toList();
  }

  static StoreSettings store(Settings settings) {
    return new StoreSettings(
        settings.get(FSYNC),
        ClusterKeys.read(settings),
        settings.get(STORE_MEMORY),
        settings.get(STORE_DISK_FREE_MIN),
        STORE.queuedCommandsMax(),
        STORE.queuedBytesMax(),
        STORE.entriesInFlight(),
        STORE.commandsPerEntry(),
        STORE.bytesPerEntry(),
        STORE.entryBytesMax(),
        settings.get(STORE_SNAPSHOT_ENTRIES),
        STORE.snapshotLogBytes(),
        settings.get(STORE_SNAPSHOT_AGE),
        STORE.readers(),
        STORE.queuedReadsMax());
  }

  static InboxSettings inbox(Settings settings) {
    return new InboxSettings(
        settings.get(INBOX_SHARDS),
        settings.get(INBOX_MESSAGES_MAX),
        settings.get(INBOX_BYTES_MAX),
        settings.get(INBOX_OVERFLOW),
        settings.get(SUBSCRIPTIONS_MAX),
        settings.get(INBOX_GROUP_WINDOW),
        settings.get(SESSIONS_MAX));
  }

  static RetainSettings retain(Settings settings) {
    return new RetainSettings(settings.get(RETAIN_MESSAGES_MAX), RETAIN.sweepInterval(), RETAIN.sweepMessages());
  }

  static AuthenticationSettings authentication(Settings settings) {
    return new AuthenticationSettings(
        settings.get(ANONYMOUS),
        settings.get(PASSWORD_FILE).toString(),
        settings.get(AUTH_PROVIDER),
        settings.get(AUTH_PROVIDER_OPTIONS),
        settings.get(AUTH_TIMEOUT),
        settings.get(AUTH_THREADS),
        settings.get(AUTH_QUEUE_MAX),
        settings.get(AUTH_FAILURES_MAX));
  }

  static FrontendSettings frontend(Settings settings) {
    return new FrontendSettings(
        ListenerKeys.read(settings),
        settings.get(ListenerKeys.IO_TRANSPORT),
        settings.get(LANES),
        settings.get(CONNECT_TIMEOUT),
        packets(settings),
        features(settings),
        settings.get(RECEIVE_MAXIMUM),
        settings.get(IN_FLIGHT_MAX),
        settings.get(TOPIC_ALIAS_MAXIMUM),
        settings.get(TOPIC_ALIAS_MAXIMUM_OUT),
        settings.get(KEEP_ALIVE_MAX),
        settings.get(SESSION_EXPIRY_MAX),
        settings.get(SUBSCRIPTIONS_MAX),
        Math.toIntExact(settings.get(OUTBOUND_MAX)),
        settings.get(QUEUE_MESSAGES_MAX),
        Math.toIntExact(settings.get(QUEUE_BYTES_MAX)),
        settings.get(LANE_MESSAGES_MAX),
        Math.toIntExact(settings.get(LANE_BYTES_MAX)),
        new FrontendSettings.GroupWaits(
            settings.get(SHARED_WAIT), settings.get(SHARED_WAIT_QOS0), Math.toIntExact(settings.get(SHARED_WAITING_MAX))),
        settings.get(SERVER_REFERENCE),
        settings.get(INLINE_FANOUT_THRESHOLD));
  }

  private static FrontendSettings.PacketLimits packets(Settings settings) {
    return new FrontendSettings.PacketLimits(
        Math.toIntExact(settings.get(PACKET_MAX)),
        Math.toIntExact(settings.get(CONNECT_PACKET_MAX)),
        settings.get(TOPIC_LENGTH_MAX),
        settings.get(TOPIC_LEVELS_MAX),
        settings.get(USER_PROPERTIES_MAX),
        settings.get(FILTERS_MAX),
        settings.get(CLIENT_ID_MAX),
        settings.get(WILL_PAYLOAD_MAX));
  }

  private static FrontendSettings.Features features(Settings settings) {
    return new FrontendSettings.Features(
        QoS.of(settings.get(MAXIMUM_QOS)),
        settings.get(RETAIN_AVAILABLE),
        settings.get(WILDCARD_SUBSCRIPTION_AVAILABLE),
        settings.get(SUBSCRIPTION_IDENTIFIERS_AVAILABLE),
        settings.get(SHARED_SUBSCRIPTION_AVAILABLE),
        settings.get(PAYLOAD_FORMAT_CHECK),
        settings.get(RESPONSE_INFORMATION));
  }

  /** Refuses what the settings allow to say but this version cannot do. */
  static void check(Settings settings) {
    if (!isStore(settings)) checkBroker(settings);
    if (isUnfit(settings.get(RESPONSE_INFORMATION), 16_384, "+#")) {
      throw new SettingException("dunlin.mqtt.response-information: no wildcards, no control characters, at most 16384 characters");
    }
    if (isUnfit(settings.get(SERVER_REFERENCE), FrontendSettings.SERVER_REFERENCE_MAX, "")) {
      throw new SettingException("dunlin.drain.server-reference: no control characters, at most 1024 characters");
    }
  }

  /** Whether this is a node of a cluster, without a broker. */
  static boolean isStore(Settings settings) {
    return settings.get(ROLES).equals(Set.of(Role.STORE));
  }

  /** What a broker has acknowledged is on this node alone: it must not look as if it were in a cluster. */
  private static void checkBroker(Settings settings) {
    if (!settings.get(ROLES).equals(BROKER)) {
      throw new SettingException(
          "dunlin.roles: this version runs all roles of a broker in one process, or store by itself; leave it at its default or say store");
    }
    if (!settings.get(ClusterKeys.SEEDS).isEmpty()) {
      throw new SettingException(
          "dunlin.cluster.seeds: a broker of this version runs alone and cannot join other nodes, leave it empty; only dunlin.roles=store joins");
    }
    if (settings.get(ClusterKeys.SERVICE_PORT) != 0) {
      throw new SettingException(
          "dunlin.cluster.service-port: a broker of this version runs alone and answers no other nodes, leave it at 0");
    }
  }

  private static boolean isUnfit(String text, int lengthMax, String forbidden) {
    return text.length() > lengthMax || text.chars().anyMatch(c -> Character.isISOControl(c) || forbidden.indexOf(c) >= 0);
  }
}

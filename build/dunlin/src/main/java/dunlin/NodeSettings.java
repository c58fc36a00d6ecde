package dunlin;

import dunlin.broker.FrontendSettings;
import dunlin.broker.auth.AuthenticationSettings;
import dunlin.broker.listen.ListeningSettings;
import dunlin.dist.DistSettings;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.OverflowPolicy;
import dunlin.model.FilterIndex;
import dunlin.model.QoS;
import dunlin.retain.RetainSettings;
import dunlin.runtime.Setting;
import dunlin.runtime.SettingException;
import dunlin.runtime.Settings;
import dunlin.store.settings.StoreSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
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
  private static final long KIB = 1_024;
  private static final long MIB = 1_024 * KIB;
  private static final int CORES = Math.clamp(Runtime.getRuntime().availableProcessors(), 1, 64);

  static final Setting<Path> DATA_DIR =
      Setting.path("dunlin.data-dir", Path.of("data"), "Directory for everything that must survive a restart: sessions, messages, routes and the"
          + " log.");
  static final Setting<String> NODE_NAME =
      Setting.text("dunlin.node.name", "", "Name of the node in JMX and in metrics.")
          .defaultMeans("the beginning of the node's id");
  static final Setting<Set<Role>> ROLES =
      Setting.choices(
          "dunlin.roles", Role.class, BROKER,
          "Roles of this process. A broker has all roles of the default and runs alone. A node with the role store alone is a member of a cluster;"
              + " it keeps replicas and serves no clients.");
  static final Setting<Integer> LANES =
      Setting.integer(
              "dunlin.lanes", CORES, 1, 64, "Number of lanes. Each lane is an event loop with its own thread. Must be the same on all nodes.")
          .defaultMeans("the number of cores");

  static final Setting<Boolean> ANONYMOUS =
      Setting.flag(
          "dunlin.auth.anonymous",
          false,
          "Allows clients without credentials. If false, they may connect only while no authentication is configured, and only on loopback.");
  static final Setting<String> AUTH_CLIENT_IDS =
      Setting.text(
          "dunlin.auth.client-ids", "*",
          "Template of the client identifiers that a user may have. %u stands for the user name, one * for any text: * allows all, %u the user name"
              + " only, %u* what begins with it, %u-* what begins with it and a dash. Others are refused with 0x85. With %u, clients without a user"
              + " name are refused.");
  static final Setting<Path> PASSWORD_FILE =
      Setting.path(
              "dunlin.auth.password-file", Path.of(""), "File with users and password verifiers, written by `bin/dunlin passwd`. Reloaded when it"
                  + " changes.")
          .defaultMeans("not set");
  static final Setting<Duration> PASSWORD_CACHE =
      Setting.duration(
          "dunlin.auth.password-cache", AUTHENTICATION.passwordCache(), Duration.ZERO, Duration.ofHours(1),
          "How long a correct password of the password file is recognized by a keyed hash in memory, so that the client need not wait for the"
              + " verifier again. A changed password file ends it at once. 0 turns it off.");
  static final Setting<String> AUTH_PROVIDER =
      Setting.text(
          "dunlin.auth.provider", "", "Name or class name of the dunlin.broker.auth.AuthenticationProvider that authenticates clients. It must be on the"
              + " class path.");
  static final Setting<String> AUTH_PROVIDER_OPTIONS =
      Setting.text("dunlin.auth.provider-options", "", "Options for the authentication provider, in the provider's own format.").secret();
  static final Setting<Duration> AUTH_TIMEOUT =
      Setting.duration(
          "dunlin.auth.timeout", AUTHENTICATION.timeout(), Duration.ofMillis(100), Duration.ofMinutes(5),
          "Maximum time that the server may take for one step of an authentication.");
  static final Setting<Integer> AUTH_THREADS =
      Setting.integer("dunlin.auth.threads", AUTHENTICATION.threads(), 1, 1_024, "Number of threads that authenticate clients.")
          .defaultMeans("the number of cores, 2 at least");
  static final Setting<Integer> AUTH_QUEUE_MAX =
      Setting.integer(
          "dunlin.auth.queue-max", AUTHENTICATION.queueMax(), 1, 10_000_000, "Maximum number of clients that wait to be authenticated. Addresses"
              + " take turns. When it is reached, clients of the address with the most waiting ones are refused with \"server busy\".");
  static final Setting<Integer> AUTH_FAILURES_MAX =
      Setting.integer(
          "dunlin.auth.failures-max", AUTHENTICATION.failuresMax(), 0, 1_000_000,
          "Maximum number of failed authentications per minute from one IPv4 address or IPv6 /64 network. Beyond it, the address is refused for the"
              + " rest of the"
              + " minute. 0 means no limit.");

  static final Setting<Integer> ADMIN_PORT =
      Setting.integer(
              "dunlin.admin.port", 8_080, -1, 65_535, "Port of the HTTP endpoints /health, /ready and /metrics, on loopback. 0 takes any free port,"
                  + " -1 opens no port.")
          .defaultMeans("8080, or any free port when that is taken");

  static final Setting<String> HEALTH_HOST =
      Setting.text(
          "dunlin.health.host", "127.0.0.1", "Address of the HTTP endpoint that dunlin.health.port opens. 0.0.0.0 lets other machines ask, such as a"
              + " kubelet.");
  static final Setting<Integer> HEALTH_PORT =
      Setting.integer(
          "dunlin.health.port", -1, -1, 65_535, "Port of an HTTP endpoint with /health and /ready only, beside the admin port. 0 takes any free"
              + " port, -1 opens no port.");

  static final Setting<Duration> START_STALL_MAX =
      Setting.duration(
          "dunlin.start.stall-max", Duration.ofSeconds(60), Duration.ofSeconds(1), Duration.ofHours(1),
          "How long a start may stand still before it is given up. It goes on, however long it takes, while stored rows are read, log entries"
              + " are replayed or routes are announced.");
  static final Setting<Duration> READY_COMMAND_AGE_MAX =
      Setting.duration(
          "dunlin.ready.command-age-max", Duration.ofSeconds(5), Duration.ofMillis(100), Duration.ofHours(1),
          "How long the oldest command of a range may wait to be stored and applied before /ready answers 503.");

  static final Setting<Duration> CONNECT_TIMEOUT =
      Setting.duration(
          "dunlin.mqtt.connect-timeout", Duration.ofSeconds(10), Duration.ofMillis(100), Duration.ofMinutes(5),
          "Maximum time between the opening of a connection and its CONNECT packet.");
  static final Setting<Long> PACKET_MAX =
      Setting.bytes("dunlin.mqtt.packet-max", MIB, KIB, 2 * MIB, "Maximum size of a packet that a client may send.");
  static final Setting<Long> CONNECT_PACKET_MAX =
      Setting.bytes(
          "dunlin.mqtt.connect-packet-max", 128 * KIB, KIB, 2 * MIB, "Maximum size of a CONNECT packet, which is buffered before the client is"
              + " authenticated.");
  static final Setting<Integer> RECEIVE_MAXIMUM =
      Setting.integer(
          "dunlin.mqtt.receive-maximum", 1_024, 1, 65_535, "Maximum number of unacknowledged QoS 1 and 2 publishes that a client may send (Receive"
              + " Maximum of the server).");
  static final Setting<Integer> TOPIC_ALIAS_MAXIMUM =
      Setting.integer("dunlin.mqtt.topic-alias-maximum", 10, 0, 65_535, "Maximum number of topic aliases that an MQTT 5 client may set.");
  static final Setting<Integer> TOPIC_ALIAS_MAXIMUM_OUT =
      Setting.integer(
          "dunlin.mqtt.topic-alias-maximum-out", 10, 0, 1_024,
          "Maximum number of topic aliases that the broker uses towards an MQTT 5 client. The client's own Topic Alias Maximum applies as well. 0"
              + " means none.");
  static final Setting<Integer> IN_FLIGHT_MAX =
      Setting.integer(
          "dunlin.mqtt.in-flight-max", 1_024, 1, 65_535,
          "Maximum number of unacknowledged QoS 1 and 2 messages that the broker sends to a client. The client's Receive Maximum applies as well.");
  static final Setting<Integer> TOPIC_LENGTH_MAX =
      Setting.integer("dunlin.mqtt.topic-length-max", 65_535, 1, 65_535, "Maximum length of a topic name or topic filter, in bytes.");
  static final Setting<Integer> TOPIC_LEVELS_MAX =
      Setting.integer(
          "dunlin.mqtt.topic-levels-max", 128, 1, FilterIndex.LEVELS_MAX, "Maximum number of levels of a topic name or topic filter.");
  static final Setting<Integer> USER_PROPERTIES_MAX =
      Setting.integer(
          "dunlin.mqtt.user-properties-max", 64, 0, 1_000_000,
          "Maximum number of user properties in an MQTT 5 packet. The user properties of a will are counted separately.");
  static final Setting<Integer> FILTERS_MAX =
      Setting.integer("dunlin.mqtt.filters-max", 10_000, 1, 1_000_000, "Maximum number of topic filters in one SUBSCRIBE or UNSUBSCRIBE packet.");
  static final Setting<Integer> CLIENT_ID_MAX =
      Setting.integer("dunlin.mqtt.client-id-max", 1_024, 23, 65_535, "Maximum length of a client identifier, in bytes.");
  static final Setting<Integer> WILL_PAYLOAD_MAX =
      Setting.integer(
          "dunlin.mqtt.will-payload-max", 65_535, 0, 65_535, "Maximum size of a will's payload, in bytes. The maximum size of a CONNECT packet"
              + " applies as well.");
  static final Setting<Integer> MAXIMUM_QOS =
      Setting.integer(
          "dunlin.mqtt.maximum-qos", 2, 0, 2, "Highest QoS that clients may publish with and that subscriptions are granted.");
  static final Setting<Boolean> RETAIN_AVAILABLE =
      Setting.flag("dunlin.mqtt.retain-available", true, "Whether clients may publish retained messages and receive them.");
  static final Setting<Boolean> WILDCARD_SUBSCRIPTION_AVAILABLE =
      Setting.flag("dunlin.mqtt.wildcard-subscription-available", true, "Whether topic filters may have wildcards.");
  static final Setting<Boolean> SUBSCRIPTION_IDENTIFIERS_AVAILABLE =
      Setting.flag("dunlin.mqtt.subscription-identifiers-available", true, "Whether subscriptions may have identifiers.");
  static final Setting<Boolean> SHARED_SUBSCRIPTION_AVAILABLE =
      Setting.flag("dunlin.mqtt.shared-subscription-available", true, "Whether there are shared subscriptions.");
  static final Setting<Boolean> PAYLOAD_FORMAT_CHECK =
      Setting.flag(
          "dunlin.mqtt.payload-format-check", false,
          "Whether a message is refused if its Payload Format Indicator says UTF-8 and its payload is not valid UTF-8.");
  static final Setting<String> RESPONSE_INFORMATION =
      Setting.text(
          "dunlin.mqtt.response-information", "",
          "Prefix of the Response Information for MQTT 5 clients that request it. The client identifier is appended.");
  static final Setting<String> SERVER_REFERENCE =
      Setting.text(
          "dunlin.drain.server-reference", "",
          "Server Reference that MQTT 5 clients receive when the node stops or is drained, such as other.example.com:1883.");
  static final Setting<Duration> KEEP_ALIVE_MAX =
      Setting.duration(
          "dunlin.mqtt.keep-alive-max", Duration.ofHours(18), Duration.ZERO, Duration.ofSeconds(65_535),
          "Maximum Keep Alive that MQTT 5 clients are granted. 0 means no limit.");
  static final Setting<Integer> SUBSCRIPTIONS_MAX =
      Setting.integer(
          "dunlin.session.subscriptions-max", 10_000, 1, 10_000_000, "Maximum number of subscriptions of one session.");
  static final Setting<Long> SESSIONS_MAX =
      Setting.longInteger(
          "dunlin.session.sessions-max", INBOX.sums().sessions(), 1, 1_000_000_000,
          "Maximum number of durable sessions. Beyond it, clients that request a new one are refused.");
  static final Setting<Long> SESSION_EXPIRY_MAX =
      Setting.longInteger(
          "dunlin.session.expiry-max", FrontendSettings.NEVER, 0, FrontendSettings.NEVER,
          "Maximum Session Expiry Interval that clients are granted, in seconds. 4294967295 means that sessions never expire.");
  static final Setting<Long> SESSION_EXPIRY_OF_MQTT3 =
      Setting.longInteger(
          "dunlin.session.mqtt3-expiry", TimeUnit.DAYS.toSeconds(7), 1, FrontendSettings.NEVER,
          "How long the session of an MQTT 3 client that connects without Clean Session is kept after its connection has ended, in seconds, at most"
              + " `dunlin.session.expiry-max`. MQTT 3 clients cannot request an expiry. 4294967295 means that these sessions never expire.");
  static final Setting<Long> OUTBOUND_MAX =
      Setting.bytes(
          "dunlin.session.outbound-max", MIB, 16 * KIB, 1_024 * MIB,
          "Maximum number of bytes that wait for a client's socket. Beyond it, QoS 0 messages to this client are dropped.");
  static final Setting<Integer> QUEUE_MESSAGES_MAX =
      Setting.integer(
          "dunlin.session.queue-messages-max", 10_000, 1, 10_000_000,
          "Maximum number of QoS 1 and 2 messages that wait for a connected session that is not durable. Further messages are dropped.");
  static final Setting<Long> QUEUE_BYTES_MAX =
      Setting.bytes(
          "dunlin.session.queue-bytes-max", 16 * MIB, 16 * KIB, 1_024 * MIB, "Maximum number of bytes of QoS 1 and 2 messages that wait for a"
              + " connected session that is not durable. Further messages are dropped.");
  static final Setting<Integer> LANE_MESSAGES_MAX =
      Setting.integer(
          "dunlin.lane.messages-max", 16_384, 16, 1_000_000,
          "Maximum number of messages of one lane that are being delivered. Beyond it, the lane's publishers are not read from.");
  static final Setting<Long> LANE_BYTES_MAX =
      Setting.bytes("dunlin.lane.bytes-max", 32 * MIB, MIB, 1_024 * MIB, "Maximum number of bytes of messages of one lane that are being delivered."
          + " Beyond it, the lane's publishers are not read from.");
  static final Setting<Duration> SHARED_WAIT =
      Setting.duration(
          "dunlin.shared.wait", Duration.ofSeconds(5), Duration.ZERO, Duration.ofMinutes(5),
          "Maximum time that a QoS 1 or 2 message waits for a member of a shared subscription that can take it.");
  static final Setting<Duration> SHARED_WAIT_QOS0 =
      Setting.duration(
          "dunlin.shared.wait-qos0", Duration.ofSeconds(1), Duration.ZERO, Duration.ofMinutes(1),
          "Maximum time that a QoS 0 message waits for a member of a shared subscription that can take it. Until then its publisher is"
              + " not read from. 0 drops the message at once.");
  static final Setting<Long> SHARED_WAITING_MAX =
      Setting.bytes(
          "dunlin.shared.waiting-bytes-max", 16 * MIB, 16 * KIB, 1_024 * MIB,
          "Maximum number of bytes of QoS 0 messages that wait for members of shared subscriptions on one event loop. Further messages are dropped.");

  static final Setting<Duration> SYS_INTERVAL =
      Setting.duration(
          "dunlin.sys.interval", Duration.ofSeconds(10), Duration.ZERO, Duration.ofHours(1),
          "Interval at which the node publishes its statistics under $SYS/broker/. 0 means never.");
  static final Setting<Integer> INLINE_FANOUT_THRESHOLD =
      Setting.integer(
          "dunlin.dist.inline-fanout-threshold", 1_024, 16, 1_000_000,
          "Maximum number of subscribers on one event loop that receive a message in one go. More subscribers are served in slices of this size,"
              + " and other"
              + " work is done between the slices.");

  static final Setting<Boolean> FSYNC =
      Setting.flag(
          "dunlin.store.fsync",
          true,
          "Whether the log is forced to disk before a message is acknowledged. If false, a power loss can lose acknowledged messages.");
  static final Setting<Long> STORE_MEMORY =
      Setting.bytes("dunlin.store.memory", 64 * MIB, 8 * MIB, 1_024 * 1_024 * MIB, "Memory for RocksDB's block cache and write buffers, for all"
          + " ranges of the node together.");
  static final Setting<Long> STORE_DISK_FREE_MIN =
      Setting.bytes(
          "dunlin.store.disk-free-min", 0, 0, 1_024 * 1_024 * MIB,
          "Minimum free space on the data directory's disk. Below it the node stores no new data, until a quarter more than this is free. What frees space goes"
              + " on. 0 means 1 GiB, or a twentieth of the disk if that is smaller than 20 GiB.");
  static final Setting<Long> STORE_DISK_CRITICAL_MIN =
      Setting.bytes(
          "dunlin.store.disk-critical-min", 0, 0, 1_024 * 1_024 * MIB,
          "Free space below which the node stops freeing space as well, until a quarter more than this is free. The space between this and"
              + " `dunlin.store.disk-free-min` is a reserve for acknowledgements, removals and expiry. 0 means half of `dunlin.store.disk-free-min`.");
  static final Setting<Integer> STORE_SNAPSHOT_ENTRIES =
      Setting.integer(
          "dunlin.store.snapshot-entries", STORE.snapshots().entries(), 1, 10_000_000,
          "Maximum number of log entries between snapshots of a range. A snapshot flushes the rows and truncates the log.");
  static final Setting<Duration> STORE_SNAPSHOT_AGE =
      Setting.duration(
          "dunlin.store.snapshot-age", STORE.snapshots().age(), Duration.ofSeconds(1), Duration.ofDays(1),
          "Maximum time between snapshots of a range.");

  static final Setting<Integer> INBOX_SHARDS =
      Setting.integer(
          "dunlin.inbox.shards", INBOX.shards(), 1, InboxSettings.SHARDS_MAX, "Number of shards that durable sessions are divided into. It cannot be"
              + " changed for an existing data directory; the broker refuses to start.");
  static final Setting<Integer> INBOX_MESSAGES_MAX =
      Setting.integer("dunlin.inbox.messages-max", INBOX.messagesMax(), 1, 100_000_000, "Maximum number of messages that wait for one durable"
          + " session, for a shared subscription with durable sessions, or for one of these in an ordered one (`$oshare`).");
  static final Setting<Long> INBOX_BYTES_MAX =
      Setting.bytes("dunlin.inbox.bytes-max", INBOX.bytesMax(), KIB, 1_024 * 1_024 * MIB, "Maximum number of bytes of messages that wait for one"
          + " durable session, for a shared subscription with durable sessions, or for one of these in an ordered one (`$oshare`).");
  static final Setting<Long> INBOX_TOTAL_BYTES_MAX =
      Setting.bytes("dunlin.inbox.total-bytes-max", 0, 0, 1_024 * 1_024 * MIB, "Maximum number of bytes of messages that wait for all durable sessions"
          + " together. Near it, the inboxes that hold most count as full. 0: half of the size of the disk.");
  static final Setting<Long> INBOX_MEMORY_MAX =
      Setting.bytes("dunlin.inbox.memory-max", 0, 0, 1_024 * 1_024 * MIB, "Maximum amount of memory that all durable sessions and their subscriptions"
          + " take: 256 bytes for each, twice the lengths of a session's client identifier and user, and four times the length of a subscription's topic filter. Beyond it,"
          + " new ones are refused with 0x97. 0: three eighths of the maximum heap.");
  static final Setting<OverflowPolicy> INBOX_OVERFLOW =
      Setting.choice("dunlin.inbox.overflow", INBOX.overflow(), "What happens when a message arrives and the inbox of a durable session is full:"
          + " drop the oldest message, drop the new one, or reject the publish.");
  static final Setting<Integer> INBOX_GROUP_WINDOW =
      Setting.integer(
          "dunlin.inbox.group-window", INBOX.groupWindow(), 1, 65_535,
          "Maximum number of unacknowledged messages of a durable member of a shared subscription. Further messages wait for any member, or in an ordered"
              + " one (`$oshare`) for that member.");

  /** Every setting there is, in the order of the reference page. */
  static final List<Setting<?>> ALL =
      withFamilies(
          Settings.CONFIG, DATA_DIR, NODE_NAME, ROLES, LANES, LANE_MESSAGES_MAX, LANE_BYTES_MAX, ANONYMOUS, AUTH_CLIENT_IDS,
          PASSWORD_FILE, PASSWORD_CACHE, AUTH_PROVIDER, AUTH_PROVIDER_OPTIONS, AUTH_TIMEOUT, AUTH_THREADS, AUTH_QUEUE_MAX, AUTH_FAILURES_MAX,
          ADMIN_PORT, HEALTH_HOST, HEALTH_PORT, START_STALL_MAX, READY_COMMAND_AGE_MAX, CONNECT_TIMEOUT, PACKET_MAX, CONNECT_PACKET_MAX, RECEIVE_MAXIMUM,
          IN_FLIGHT_MAX, TOPIC_ALIAS_MAXIMUM, TOPIC_ALIAS_MAXIMUM_OUT, TOPIC_LENGTH_MAX, TOPIC_LEVELS_MAX, USER_PROPERTIES_MAX,
          FILTERS_MAX, CLIENT_ID_MAX, WILL_PAYLOAD_MAX, MAXIMUM_QOS, RETAIN_AVAILABLE, WILDCARD_SUBSCRIPTION_AVAILABLE,
          SUBSCRIPTION_IDENTIFIERS_AVAILABLE, SHARED_SUBSCRIPTION_AVAILABLE, PAYLOAD_FORMAT_CHECK, RESPONSE_INFORMATION,
          SERVER_REFERENCE, KEEP_ALIVE_MAX, SUBSCRIPTIONS_MAX, SESSIONS_MAX, SESSION_EXPIRY_MAX, SESSION_EXPIRY_OF_MQTT3, OUTBOUND_MAX, QUEUE_MESSAGES_MAX,
          QUEUE_BYTES_MAX, SHARED_WAIT, SHARED_WAIT_QOS0, SHARED_WAITING_MAX, INLINE_FANOUT_THRESHOLD, SYS_INTERVAL, FSYNC,
          STORE_MEMORY, STORE_DISK_FREE_MIN, STORE_DISK_CRITICAL_MIN, STORE_SNAPSHOT_ENTRIES, STORE_SNAPSHOT_AGE, INBOX_SHARDS,
          INBOX_MESSAGES_MAX, INBOX_BYTES_MAX, INBOX_TOTAL_BYTES_MAX, INBOX_MEMORY_MAX, INBOX_OVERFLOW, INBOX_GROUP_WINDOW);

  private NodeSettings() {}

  private static List<Setting<?>> withFamilies(Setting<?>... others) {
    return Stream.of(List.of(others), MemoryKeys.ALL, DistSettings.ALL, RetainSettings.ALL, ClusterKeys.ALL, ListenerKeys.ALL)
        .<Setting<?>>flatMap(List::stream)
        .toList();
  }

  static StoreSettings store(Settings settings) {
    return new StoreSettings(
        settings.get(FSYNC),
        ClusterKeys.read(settings),
        settings.get(STORE_MEMORY),
        new StoreSettings.Disk(settings.get(STORE_DISK_FREE_MIN), settings.get(STORE_DISK_CRITICAL_MIN)),
        STORE.queue(),
        STORE.entries(),
        new StoreSettings.Snapshots(settings.get(STORE_SNAPSHOT_ENTRIES), STORE.snapshots().logBytes(), settings.get(STORE_SNAPSHOT_AGE)),
        STORE.reads());
  }

  /**
   * @param heapBytes the largest heap of this process
   * @param diskBytes the size of the disk of the data directory
   */
  static InboxSettings inbox(Settings settings, long heapBytes, long diskBytes) {
    long memory = settings.get(INBOX_MEMORY_MAX);
    long messages = settings.get(INBOX_TOTAL_BYTES_MAX);
    var sums =
        new InboxSettings.Sums(
            settings.get(SESSIONS_MAX), memory == 0 ? heapBytes * 3 / 8 : memory, messages == 0 ? diskBytes / 2 : messages);
    return new InboxSettings(
        settings.get(INBOX_SHARDS),
        settings.get(INBOX_MESSAGES_MAX),
        settings.get(INBOX_BYTES_MAX),
        settings.get(INBOX_OVERFLOW),
        settings.get(SUBSCRIPTIONS_MAX),
        settings.get(INBOX_GROUP_WINDOW),
        sums);
  }

  static AuthenticationSettings authentication(Settings settings) {
    return new AuthenticationSettings(
        settings.get(ANONYMOUS),
        settings.get(AUTH_CLIENT_IDS),
        settings.get(PASSWORD_FILE).toString(),
        settings.get(PASSWORD_CACHE),
        settings.get(AUTH_PROVIDER),
        settings.get(AUTH_PROVIDER_OPTIONS),
        settings.get(AUTH_TIMEOUT),
        settings.get(AUTH_THREADS),
        settings.get(AUTH_QUEUE_MAX),
        settings.get(AUTH_FAILURES_MAX));
  }

  static FrontendSettings frontend(Settings settings) {
    return new FrontendSettings(
        new ListeningSettings(
            ListenerKeys.read(settings), settings.get(ListenerKeys.IO_TRANSPORT), Math.toIntExact(settings.get(OUTBOUND_MAX))),
        packets(settings),
        features(settings),
        new FrontendSettings.Connections(
            settings.get(CONNECT_TIMEOUT),
            settings.get(KEEP_ALIVE_MAX),
            settings.get(RECEIVE_MAXIMUM),
            settings.get(TOPIC_ALIAS_MAXIMUM),
            settings.get(TOPIC_ALIAS_MAXIMUM_OUT),
            settings.get(SERVER_REFERENCE)),
        new FrontendSettings.Sessions(
            settings.get(SESSION_EXPIRY_MAX),
            settings.get(SESSION_EXPIRY_OF_MQTT3),
            settings.get(SUBSCRIPTIONS_MAX),
            settings.get(IN_FLIGHT_MAX),
            settings.get(QUEUE_MESSAGES_MAX),
            Math.toIntExact(settings.get(QUEUE_BYTES_MAX))),
        new FrontendSettings.Lanes(
            settings.get(LANES),
            settings.get(LANE_MESSAGES_MAX),
            Math.toIntExact(settings.get(LANE_BYTES_MAX)),
            settings.get(INLINE_FANOUT_THRESHOLD)),
        new FrontendSettings.GroupWaits(
            settings.get(SHARED_WAIT), settings.get(SHARED_WAIT_QOS0), Math.toIntExact(settings.get(SHARED_WAITING_MAX))));
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
    List<String> problems = problems(settings);
    if (!problems.isEmpty()) throw new SettingException(problems.getFirst());
  }

  /** All that {@link #check} would refuse, a sentence for each. */
  static List<String> problems(Settings settings) {
    List<String> problems = new ArrayList<>();
    if (!isStore(settings)) {
      findInBroker(settings, problems);
      problems.addAll(MemoryKeys.problems(settings));
    }
    if (isUnfit(settings.get(RESPONSE_INFORMATION), 16_384, "+#")) {
      problems.add("dunlin.mqtt.response-information: no wildcards, no control characters, at most 16384 characters");
    }
    if (isUnfit(settings.get(SERVER_REFERENCE), FrontendSettings.SERVER_REFERENCE_MAX, "")) {
      problems.add("dunlin.drain.server-reference: no control characters, at most 1024 characters");
    }
    return problems;
  }

  /** Whether this is a node of a cluster, without a broker. */
  static boolean isStore(Settings settings) {
    return settings.get(ROLES).equals(Set.of(Role.STORE));
  }

  /** What a broker has acknowledged is on this node alone: it must not look as if it were in a cluster. */
  private static void findInBroker(Settings settings, List<String> problems) {
    if (!settings.get(ROLES).equals(BROKER)) {
      problems.add(
          "dunlin.roles: this version runs all roles of a broker in one process, or store by itself; leave it at its default or say store");
    }
    if (!settings.get(ClusterKeys.SEEDS).isEmpty()) {
      problems.add(
          "dunlin.cluster.seeds: a broker of this version runs alone and cannot join other nodes, leave it empty; only dunlin.roles=store joins");
    }
    if (settings.get(ClusterKeys.SERVICE_PORT) != 0) {
      problems.add(
          "dunlin.cluster.service-port: a broker of this version runs alone and answers no other nodes, leave it at 0");
    }
  }

  private static boolean isUnfit(String text, int lengthMax, String forbidden) {
    return text.length() > lengthMax || text.chars().anyMatch(c -> Character.isISOControl(c) || forbidden.indexOf(c) >= 0);
  }
}

package dunlin.node;

import dunlin.broker.SysTopics;
import dunlin.broker.auth.AuthenticationSettings;
import dunlin.broker.limit.MemoryKeys;
import dunlin.broker.listen.ListenerKeys;
import dunlin.broker.loop.FrontendSettings;
import dunlin.dist.DistSettings;
import dunlin.dist.deliver.DeliverSettings;
import dunlin.inbox.InboxSettings;
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
import java.util.stream.Stream;

/** All settings of a node. Each feature declares and reads its own; those of the node itself are declared here. */
public final class NodeSettings {
  /** The roles of a process: all parts of a broker, or a store node. */
  enum Role {
    FRONTEND,
    DIST,
    RETAIN,
    INBOX,
    /** Keeps replicas for a cluster and serves no clients. */
    STORE
  }

  private static final Set<Role> BROKER = Set.of(Role.FRONTEND, Role.DIST, Role.RETAIN, Role.INBOX);

  public static final Setting<Path> DATA_DIR =
      Setting.path("dunlin.data-dir", Path.of("data"), "Directory for everything that must survive a restart: sessions, messages, routes and the"
          + " log.");
  public static final Setting<String> NODE_NAME =
      Setting.text("dunlin.node.name", "", "Name of the node in JMX and in metrics.")
          .defaultMeans("the beginning of the node's id");
  public static final Setting<Set<Role>> ROLES =
      Setting.choices(
          "dunlin.roles", Role.class, BROKER,
          "Roles of this process. It is either a broker, with all roles of the default, or a store node, with the role store alone. No other"
              + " combination is supported: the node does not start with it. A broker with dunlin.cluster.seeds is a member of a cluster of brokers, and one without runs"
              + " alone. A store node is a member of a cluster of store nodes and serves no clients.");

  public static final Setting<Integer> ADMIN_PORT =
      Setting.integer(
              "dunlin.admin.port", 8_080, -1, 65_535, "Port of the HTTP endpoints /health, /ready and /metrics, on loopback. 0 takes any free port,"
                  + " -1 opens no port.")
          .defaultMeans("8080, or any free port when that is taken");

  public static final Setting<String> HEALTH_HOST =
      Setting.text(
          "dunlin.health.host", "127.0.0.1", "Address of the HTTP endpoint that dunlin.health.port opens. 0.0.0.0 lets other machines ask, such as a"
              + " kubelet.");
  public static final Setting<Integer> HEALTH_PORT =
      Setting.integer(
          "dunlin.health.port", -1, -1, 65_535, "Port of an HTTP endpoint with /health and /ready only, beside the admin port. 0 takes any free"
              + " port, -1 opens no port.");

  public static final Setting<Duration> START_STALL_MAX =
      Setting.duration(
          "dunlin.start.stall-max", Duration.ofSeconds(60), Duration.ofSeconds(1), Duration.ofHours(1),
          "Maximum time without progress after which a start fails. It may take any time while stored rows are read, log entries"
              + " are replayed or routes are announced.");
  public static final Setting<Duration> READY_COMMAND_AGE_MAX =
      Setting.duration(
          "dunlin.ready.command-age-max", Duration.ofSeconds(5), Duration.ofMillis(100), Duration.ofHours(1),
          "Time that the oldest command of a range may wait to be stored and applied before /ready answers 503.");

  /** Every setting there is, in the order of the reference page. */
  public static final List<Setting<?>> ALL =
      withFamilies(
          Settings.CONFIG, DATA_DIR, NODE_NAME, ROLES, ADMIN_PORT, HEALTH_HOST, HEALTH_PORT, START_STALL_MAX, READY_COMMAND_AGE_MAX, SysTopics.INTERVAL);

  private NodeSettings() {}

  private static List<Setting<?>> withFamilies(Setting<?>... others) {
    return Stream.of(
            List.of(others), AuthenticationSettings.ALL, FrontendSettings.ALL, MemoryKeys.ALL, DistSettings.ALL, DeliverSettings.ALL, InboxSettings.ALL, RetainSettings.ALL, StoreSettings.ALL,
            ClusterKeys.ALL, ListenerKeys.ALL)
        .<Setting<?>>flatMap(List::stream)
        .toList();
  }

  /** Refuses settings that are valid but that this version does not support. */
  public static void check(Settings settings) {
    List<String> problems = problems(settings);
    if (!problems.isEmpty()) throw new SettingException(problems.getFirst());
  }

  /** All problems that {@link #check} would report, one sentence each. */
  public static List<String> problems(Settings settings) {
    List<String> problems = new ArrayList<>();
    if (!isStore(settings)) {
      findInBroker(settings, problems);
      problems.addAll(MemoryKeys.problems(settings));
      problems.addAll(InboxSettings.problems(settings));
    }
    problems.addAll(FrontendSettings.problems(settings));
    return problems;
  }

  /** Whether this is a node of a cluster, without a broker. */
  public static boolean isStore(Settings settings) {
    return settings.get(ROLES).equals(Set.of(Role.STORE));
  }

  /** Whether this is a broker of a cluster. */
  public static boolean isMember(Settings settings) {
    return !isStore(settings) && !settings.get(ClusterKeys.SEEDS).isEmpty();
  }

  /** Whether this node is one of a cluster, with a broker or without. */
  public static boolean isInCluster(Settings settings) {
    return isStore(settings) || isMember(settings);
  }

  private static void findInBroker(Settings settings, List<String> problems) {
    if (!settings.get(ROLES).equals(BROKER)) {
      problems.add(
          "dunlin.roles: this version runs all roles of a broker in one process, or store by itself; leave it at its default or set it to store");
    }
    if (isMember(settings)) {
      try {
        var _ = ClusterKeys.member(settings, Set.of());
      } catch (SettingException e) {
        problems.add(String.valueOf(e.getMessage()));
      }
      Duration noticed = settings.get(ClusterKeys.LEASE).plus(settings.get(ClusterKeys.HEARTBEAT).multipliedBy(2));
      if (settings.get(ClusterKeys.DOWN_AFTER).compareTo(noticed) < 0) {
        problems.add(
            "dunlin.cluster.down-after: must be at least the lease and two heartbeats, so that a broker that is cut off disconnects its clients before others treat it"
                + " as dead");
      }
      if (settings.get(InboxSettings.RANGES) != 1) {
        problems.add("dunlin.inbox.ranges: a cluster has one range of sessions, leave it at 1");
      }
    } else if (settings.get(ClusterKeys.SERVICE_PORT) != 0) {
      problems.add("dunlin.cluster.service-port: a broker that runs alone answers no other nodes; leave it at 0, or set dunlin.cluster.seeds");
    }
  }
}

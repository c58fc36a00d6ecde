package dunlin.node;

import dunlin.admin.spans.SpanSettings;
import dunlin.broker.SysTopics;
import dunlin.broker.auth.AuthenticationSettings;
import dunlin.broker.limit.MemoryKeys;
import dunlin.broker.listen.ListenerKeys;
import dunlin.broker.loop.FrontendSettings;
import dunlin.dist.DistSettings;
import dunlin.dist.deliver.DeliverSettings;
import dunlin.inbox.InboxSettings;
import dunlin.node.NodeRoles.Role;
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
  public static final Setting<Path> DATA_DIR =
      Setting.path("dunlin.data-dir", Path.of("data"), "Directory for everything that must survive a restart: sessions, messages, routes and the"
          + " log.");
  public static final Setting<String> NODE_NAME =
      Setting.text("dunlin.node.name", "", "Name of the node in JMX and in metrics.")
          .defaultMeans("the beginning of the node's id");
  public static final Setting<Set<Role>> ROLES =
      Setting.choices(
          "dunlin.roles", Role.class, Set.of(Role.values()),
          "Roles of this process in its cluster, any combination. frontend: accepts clients. dist, retain and inbox: keeps replicas of the routes, of the retained messages and of the"
              + " sessions, and is preferred for them and for leading them. store: founds the cluster, keeps replicas of everything, and leads what no preferred node is there for."
              + " A process without all roles must have dunlin.cluster.seeds. A cluster needs nodes with the role store, three to survive the loss of one.");

  public static final Setting<Integer> ADMIN_PORT =
      Setting.integer(
              "dunlin.admin.port", 8_080, -1, 65_535, "Port of the HTTP endpoints /health, /ready and /metrics, of the admin API and its page, on loopback. Other machines reach dunlin.admin.tls.port. 0 takes any free port,"
                  + " -1 opens no port.")
          .defaultMeans("8080, or any free port when that is taken");

  public static final Setting<String> ADMIN_TOKEN_FILE =
      Setting.text(
          "dunlin.admin.token-file", "", "File with tokens for the admin API, beside the one in the data directory: in each line a name, a role (viewer, operator or"
              + " admin) and the SHA-256 of the token; bin/dunlinctl token makes one. The file may change while the node runs.");

  public static final Setting<String> HEALTH_HOST =
      Setting.text(
          "dunlin.health.host", "127.0.0.1", "Address of the HTTP endpoint that dunlin.health.port opens. 0.0.0.0 lets other machines ask, such as a"
              + " kubelet.");
  public static final Setting<Integer> HEALTH_PORT =
      Setting.integer(
          "dunlin.health.port", -1, -1, 65_535, "Port of an HTTP endpoint with /health and /ready only, beside the admin port. 0 takes any free"
              + " port, -1 opens no port.");

  public static final Setting<Path> BACKUP_DIRECTORY =
      Setting.path(
              "dunlin.backup.directory", Path.of(""), "Directory for the backups that the admin API begins at this node, each in a directory of its own. It may be on another disk. Without it, no backups"
                  + " are made.")
          .defaultMeans("not set");
  public static final Setting<Long> BACKUP_RATE =
      Setting.bytes(
          "dunlin.backup.bytes-per-second", 64L << 20, 64L << 10, 1L << 40, "Rate at which a backup is copied, at most. It reads what it has written twice more, for counts and checksums.");

  public static final Setting<Duration> START_STALL_MAX =
      Setting.duration(
          "dunlin.start.stall-max", Duration.ofSeconds(60), Duration.ofSeconds(1), Duration.ofHours(1),
          "Maximum time without progress after which a start fails. It may take any time while stored rows are read, log entries"
              + " are replayed or routes are announced.");
  public static final Setting<Duration> READY_COMMAND_AGE_MAX =
      Setting.duration(
          "dunlin.ready.command-age-max", Duration.ofSeconds(5), Duration.ofMillis(100), Duration.ofHours(1),
          "Time that the oldest command of a range may wait to be stored and applied before /ready answers 503.");

  public static final Setting<Duration> DRAIN_TIME =
      Setting.duration(
          "dunlin.drain.time", Duration.ZERO, Duration.ZERO, Duration.ofHours(1),
          "Time over which a process that receives SIGTERM disconnects its clients one after another, before it stops. New clients are refused"
              + " during this time. 0 disconnects all clients at once. What stops the process must wait this much longer before it kills it.");

  /** Every setting there is, in the order of the reference page. */
  public static final List<Setting<?>> ALL =
      withFamilies(
          Settings.CONFIG, DATA_DIR, NODE_NAME, ROLES, ADMIN_PORT, ADMIN_TOKEN_FILE, HEALTH_HOST, HEALTH_PORT, BACKUP_DIRECTORY, BACKUP_RATE, START_STALL_MAX,
          READY_COMMAND_AGE_MAX, DRAIN_TIME, SysTopics.INTERVAL);

  private NodeSettings() {}

  private static List<Setting<?>> withFamilies(Setting<?>... others) {
    return Stream.of(
            List.of(others), AuthenticationSettings.ALL, FrontendSettings.ALL, MemoryKeys.ALL, DistSettings.ALL, DeliverSettings.ALL, InboxSettings.ALL, RetainSettings.ALL, StoreSettings.ALL,
            ClusterKeys.ALL, AdminKeys.ALL, SpanSettings.ALL, ListenerKeys.ALL)
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
    findInCluster(settings, problems);
    AdminKeys.find(settings, problems);
    SpanSettings.find(settings, problems);
    problems.addAll(MemoryKeys.problems(settings));
    problems.addAll(InboxSettings.problems(settings));
    problems.addAll(AuthenticationSettings.problems(settings));
    problems.addAll(FrontendSettings.problems(settings));
    return problems;
  }

  /** Whether this node is a member of a cluster; otherwise it is a broker that runs alone. */
  public static boolean isInCluster(Settings settings) {
    return !settings.get(ClusterKeys.SEEDS).isEmpty();
  }

  /** Whether clients connect to this node. */
  public static boolean hasFrontend(Settings settings) {
    return NodeRoles.of(settings).frontend();
  }

  /** Whether this node has replicas, and so a port for Raft. */
  public static boolean hasStore(Settings settings) {
    return NodeRoles.of(settings).stores();
  }

  private static void findInCluster(Settings settings, List<String> problems) {
    NodeRoles roles = NodeRoles.of(settings);
    if (!isInCluster(settings)) {
      if (!roles.isAll()) {
        problems.add("dunlin.cluster.seeds: a process with only some of the roles belongs to a cluster; set the seeds of that cluster, or leave dunlin.roles at its default");
      } else if (settings.get(ClusterKeys.SERVICE_PORT) != 0) {
        problems.add("dunlin.cluster.service-port: a broker that runs alone answers no other nodes; leave it at 0, or set dunlin.cluster.seeds");
      }
      return;
    }
    try {
      var _ = ClusterKeys.member(settings);
    } catch (SettingException e) {
      problems.add(String.valueOf(e.getMessage()));
    }
    Duration noticed = settings.get(ClusterKeys.LEASE).plus(settings.get(ClusterKeys.HEARTBEAT).multipliedBy(2));
    if (settings.get(ClusterKeys.DOWN_AFTER).compareTo(noticed) < 0) {
      problems.add(
          "dunlin.cluster.down-after: must be at least the lease and two heartbeats, so that a broker that is cut off disconnects its clients before others treat it"
              + " as dead");
    }
  }
}

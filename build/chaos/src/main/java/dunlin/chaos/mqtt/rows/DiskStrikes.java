package dunlin.chaos.mqtt.rows;

import dunlin.chaos.Damage.Kind;
import dunlin.chaos.Damage;
import dunlin.chaos.TrialException;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Scene;
import dunlin.chaos.mqtt.check.Event.Deed;
import dunlin.chaos.mqtt.rows.Strikes.Strike;
import dunlin.cluster.ClusterMXBean;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What can befall the disk of one process of a cluster. */
final class DiskStrikes {
  private static final Logger log = LoggerFactory.getLogger(DiskStrikes.class);

  static final int SLOW_FSYNC_MILLIS = 300;

  /** The exit code of a process whose store cannot go on. */
  private static final int STORE_FAILED = 2;

  private static final Duration ENDS_MAX = Duration.ofMinutes(1);
  /** A process that is not served any more by its disk may go on without it. */
  private static final Duration FULL_MAX = Duration.ofSeconds(20);
  private static final Duration LEAVES_MAX = Duration.ofMinutes(2);
  /** What a process logs when it puts a replica aside. */
  private static final String PUT_ASIDE = "its files here are damaged or lost, and the remaining ones are in";

  private static final String MENDED = "replicas that an operator had made again";

  private DiskStrikes() {}

  /** A power loss with slow fsyncs: only messages in flight can be lost. */
  static void power(Scene scene, List<Node> nodes, int fsyncMillis) throws InterruptedException {
    for (var node : nodes) node.site.steeredFsync().slow(fsyncMillis);
    scene.during(scene.random.nextInt(2000, 4000));
    scene.journal.broker(Deed.KILLED, 0, "power");
    for (var node : nodes) node.site.ownDisk().cutPower();
    for (var node : nodes) node.killWithoutAsking();
    for (var node : nodes) node.site.steeredFsync().none();
    for (var node : nodes) node.site.ownDisk().restorePower();
  }

  static void powerOfOne(Scene scene, Node node) throws InterruptedException {
    power(scene, List.of(node), SLOW_FSYNC_MILLIS);
    scene.outage();
    node.start();
  }

  /** An fsync of its log fails: it has to end by itself, and acknowledge nothing that it has not stored. */
  static void fsyncFails(Scene scene, Node node) throws InterruptedException {
    node.leaveAlone();
    node.site.steeredFsync().fail();
    scene.outage();
    int code = node.broker.ends(ENDS_MAX);
    scene.expect(code == STORE_FAILED, "%s ended with %d when fsync failed".formatted(node.name(), code));
    node.site.steeredFsync().none();
    var _ = mend(scene, node);
  }

  /** Not a byte is left on its disk: it ends by itself, or goes on without its disk, until there is room again. */
  static void full(Scene scene, Node node) throws InterruptedException {
    node.leaveAlone();
    boolean ended =
        scene.await(
            FULL_MAX,
            () -> {
              if (node.broker.alive()) node.site.ownDisk().fill(0); // what it has freed since, too
              return !node.broker.alive();
            });
    scene.outage();
    node.site.ownDisk().empty();
    scene.figures.put(node.name() + " on a full disk", ended ? "ended" : "went on");
    if (ended) {
      int code = node.broker.ends(ENDS_MAX);
      scene.expect(code == STORE_FAILED, "%s ended with %d when its disk was full".formatted(node.name(), code));
    }
    var _ = mend(scene, node);
  }

  /** Its files are damaged in one of these ways while it is stopped. What is damaged is served to none, and comes back from the others. */
  static Strike corrupt(Kind... kinds) {
    return (scene, node) -> {
      node.kill();
      var damaged = Damage.any(kinds[scene.random.nextInt(kinds.length)], node.site.data(), scene.random);
      log.info("{}: {}", node.name(), damaged.what());
      long before = node.logged(PUT_ASIDE);
      scene.outage();
      var aside = mend(scene, node);
      // The cluster may have made the replica again before it is seen aside; the log keeps it.
      long found = node.logged(PUT_ASIDE) - before;
      scene.expect(found > 0 || !damaged.mustBeFound(), "%s has not noticed its damage: %s".formatted(node.name(), damaged.what()));
      scene.figures.put("damaged at " + node.name(), "%s; put aside %d times%s".formatted(damaged.what(), found, aside.isEmpty() ? "" : ", and seen: " + aside));
    };
  }

  /** It loses its disk, and is started as a new one; the one that it was leaves. */
  static void wiped(Scene scene, Node node) throws InterruptedException {
    String before = node.id();
    node.kill();
    Damage.wipe(node.site.data());
    scene.outage();
    node.start();
    try (var operator = other(scene, node).operator()) {
      leave(scene, operator.cluster(), before, "the node that %s was".formatted(node.name()));
    }
    Strikes.awaitReady(scene, node);
  }

  /** Has a node leave the cluster for good, and waits until it has. */
  static void leave(Scene scene, ClusterMXBean cluster, String node, String name) throws InterruptedException {
    scene.expect(scene.await(LEAVES_MAX, () -> accepted(() -> cluster.leaveNode(node))), name + " cannot leave");
    boolean left =
        scene.await(LEAVES_MAX, () -> cluster.getNodes().stream().filter(row -> row.id().equals(node)).allMatch(row -> row.state().equals("LEFT")) && cluster.getOperations().isEmpty());
    scene.expect(left, name + " has not left");
  }

  /** An operator's command is refused while the cluster changes something else, or has not noticed yet that a node is gone or has come. */
  static boolean accepted(Supplier<String> command) {
    try {
      var _ = command.get();
      return true;
    } catch (RuntimeException e) {
      log.info("refused for now: {}", e.getMessage());
      return false;
    }
  }

  /**
   * Starts a process as often as it ends, and replaces its replicas that are put aside, as an operator does. A process that finds damage ends, and puts the replica aside at
   * its next start; one that finds it at its start puts it aside at once.
   *
   * @return the ranges whose replicas were put aside
   */
  private static Set<String> mend(Scene scene, Node node) throws InterruptedException {
    var all = new TreeSet<String>();
    try (var operator = other(scene, node).operator()) {
      var cluster = operator.cluster();
      boolean mended =
          scene.await(
              Strikes.READY_MAX,
              () -> {
                if (!node.broker.alive()) {
                  restart(node);
                  return false;
                }
                var aside = node.quarantined();
                all.addAll(aside);
                for (String range : aside) if (cluster.getOperations().isEmpty()) replace(scene, cluster, range, node.id());
                return aside.isEmpty() && node.ready() && node.knowsAllReplicas();
              });
      scene.expect(mended, node.name() + " has not come back with all its replicas");
    }
    node.resume();
    return all;
  }

  private static void restart(Node node) {
    try {
      node.startAlone();
    } catch (TrialException e) {
      log.info("{} does not start, and is started again: {}", node.name(), e.getMessage());
    }
  }

  private static void replace(Scene scene, ClusterMXBean cluster, String range, String node) {
    if (accepted(() -> cluster.replaceReplica(scene.cluster().range(cluster, range).id(), node))) scene.count(MENDED);
  }

  private static Node other(Scene scene, Node node) {
    return scene.cluster().running().stream().filter(each -> each != node && each.isStore()).findFirst().orElseThrow();
  }
}

package dunlin.chaos.mqtt.rows;

import dunlin.chaos.Damage.Kind;
import dunlin.chaos.Need;
import dunlin.chaos.mqtt.MqttCluster.Node;
import dunlin.chaos.mqtt.Row;
import dunlin.chaos.mqtt.Row.Form;
import dunlin.chaos.mqtt.Row.Script;
import java.util.List;
import java.util.Set;

/** The rows of a cluster of separate services, in the order of the table. A strike at disks is at those that can have replicas. */
final class ServiceRows {
  static final List<Row> ALL =
      List.of(
          row("services-none", "nothing happens", Set.of(), scene -> scene.during(5000L * scene.rounds)),
          row("services-kill", "kill -9 of each, one after the other", Set.of(), Strikes.each(Strikes::kill)),
          row("services-kill-all", "kill -9 of all", Set.of(), ClusterRows::killAll),
          row("services-down", "kill -9 of each, which is started 20 s later, one after the other", Set.of(), Strikes.eachWithReplicas(Strikes::down)),
          row("services-pause", "SIGSTOP for 8 s of each, one after the other", Set.of(), Strikes.each(Strikes::pause)),
          row("services-stop", "each is stopped and started again, one after the other", Set.of(), Strikes.each(Strikes::stop)),
          row("services-wiped", "each store loses its disk and is replaced by a new one, one after the other", Set.of(), Strikes.each(ServiceRows::stores, DiskStrikes::wiped)),
          row("services-corrupt", "a file of each is damaged while it is stopped, one after the other", Set.of(), Strikes.eachWithReplicas(DiskStrikes.corrupt(Kind.values()))),
          row(
              "services-corrupt-short", "a file of the log of each is cut short while it is stopped, one after the other", Set.of(),
              Strikes.eachWithReplicas(DiskStrikes.corrupt(Kind.LOG_CUT_SHORT))),
          row(
              "services-corrupt-zeros", "4 KB of the log of each are zeros after it was stopped, one after the other", Set.of(),
              Strikes.eachWithReplicas(DiskStrikes.corrupt(Kind.LOG_ZEROED))),
          row(
              "services-corrupt-snapshot", "each is killed while a snapshot takes the place of its rows, and that is cut short, one after the other", Set.of(),
              Strikes.eachWithReplicas(DiskStrikes.corrupt(Kind.SNAPSHOT_CUT_SHORT))),
          row("services-slow", "fsyncs of each take 200 ms longer, one after the other", Set.of(Need.FSYNC), Strikes.eachWithReplicas(Strikes::slow)),
          row("services-fsync-fails", "EIO from an fsync of each, one after the other", Set.of(Need.FSYNC), Strikes.eachWithReplicas(DiskStrikes::fsyncFails)),
          row("services-disk-full", "no byte is left on the disk of each, one after the other", Set.of(Need.DISK), Strikes.eachWithReplicas(DiskStrikes::full)),
          row(
              "services-power", "power loss of all, with fsyncs that take 300 ms longer", Set.of(Need.DISK, Need.FSYNC),
              scene -> ClusterRows.powerOfAll(scene, DiskStrikes.SLOW_FSYNC_MILLIS)),
          row("services-power-one", "the same of each, one after the other", Set.of(Need.DISK, Need.FSYNC), Strikes.eachWithReplicas(DiskStrikes::powerOfOne)),
          row("services-cut", "each out of reach of the others and of clients for 13 s, one after the other", Set.of(Need.NETWORK), Strikes.each(Strikes::cut)),
          row("services-cut-nodes", "each out of reach of the others, not of clients, for 13 s, one after the other", Set.of(Need.NETWORK), Strikes.each(Strikes::cutFromNodes)),
          row("services-cut-pairs", "two out of reach of each other for 13 s, one pair after the other", Set.of(Need.NETWORK), Strikes.each(Strikes::cutPair)),
          row(
              "services-cut-stores", "each frontend out of reach of all stores, not of dist workers, for 13 s, one after the other", Set.of(Need.NETWORK),
              Strikes.each(nodes -> nodes.stream().filter(Node::isFrontend).toList(), Strikes::cutFromStores)),
          row(
              "services-cut-majority", "a store, a dist worker and a frontend out of reach of the others, not of clients and of each other, for 13 s", Set.of(Need.NETWORK), Halves::play),
          row("services-deafen", "each is heard by the others and hears nothing of them for 13 s, one after the other", Set.of(Need.NETWORK), Strikes.each(Strikes::deafen)),
          row(
              "services-flap", "a store, a dist worker and a frontend, each out of reach of the others, not of clients, for 1 s, 20 times", Set.of(Need.NETWORK),
              Strikes.each(ServiceRows::oneOfEachRole, Strikes::flap)),
          row("services-far", "all links take 80 ms, 5 more or less, and lose 1 % of the packets", Set.of(Need.NETWORK), ClusterRows::far),
          row("services-soak", "kill -9, a stop, a pause, a cut or a move of a leadership, of any of them, every 20 s", Set.of(Need.NETWORK), Soak.OF_ALL),
          row("services-kills", "kill -9 of any of them, the next once that one serves again and all ranges have leaders, about every 8 s at most", Set.of(), Soak.OF_KILLS),
          new Row(
              "services-replace",
              "three stores, two dist workers, two frontends: one more store comes, one of the three is drained and leaves, and another one loses its disk and is replaced by a new one; and the same of dist workers",
              Set.of(), ClusterRows.TIMEOUTS, Form.SPARE_SERVICES, Replacing::play),
          row(
              "services-clock",
              "the wall clock of each leader and each frontend goes 10 minutes forth, back, back and forth, and that of the leader of the sessions forth while it does not run", Set.of(Need.CLOCK),
              ClockSteps::play),
          new Row(
              "services-scale", "the same with half a million routes of 10,000 clients: one more of each service comes, the routes are split, and the three go again", Set.of(),
              Scaling.SETTINGS, Form.MORE_SERVICES, Scaling::play));

  private ServiceRows() {}

  private static Row row(String name, String what, Set<Need> needs, Script script) {
    return new Row(name, "three stores, two dist workers, two frontends: " + what, needs, ClusterRows.TIMEOUTS, Form.SERVICES, script);
  }

  private static List<Node> stores(List<Node> nodes) {
    return nodes.stream().filter(Node::isStore).toList();
  }

  private static List<Node> oneOfEachRole(List<Node> nodes) {
    return nodes.stream().filter(node -> nodes.stream().filter(each -> each.roles.equals(node.roles)).findFirst().orElseThrow() == node).toList();
  }
}

package dunlin.admin.doctor;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import dunlin.cluster.ClusterMXBean.OperationRow;
import dunlin.cluster.ClusterMXBean.RangeRow;
import java.util.List;

/** What stores messages: this node's replicas, and the ranges of the cluster. */
final class RangeChecks {
  private static final double COMMIT_LONG_MILLIS = 1_000;
  private static final int NAMED_MAX = 5;
  private static final List<String> SERVING_NOTHING = List.of("quarantined", "stopped");

  private RangeChecks() {}

  /**
   * This node's replica of a range.
   *
   * @param leader empty when it knows none
   * @param commitMillisMax the longest time in the last few minutes that a command took until it was on disk and applied
   */
  record Replica(String name, String role, String leader, double commitMillisMax) {}

  static Finding replicas(List<Replica> replicas) {
    String check = "replicas";
    List<String> out = replicas.stream().filter(each -> SERVING_NOTHING.contains(each.role())).map(each -> each.name() + " is " + each.role()).toList();
    if (!out.isEmpty()) {
      return Finding.wrong(
          check, "Replicas of this node serve nothing: %s.".formatted(String.join(", ", out)),
          "Look at the disk and the log; in a cluster begin dunlinctl cluster replace-replica, a broker alone needs its backup.");
    }
    List<String> leaderless = replicas.stream().filter(each -> each.leader().isEmpty() && !each.role().equals("outside")).map(Replica::name).toList();
    if (leaderless.isEmpty()) return Finding.ok(check, "%d replicas of ranges are on this node, and know their leaders.".formatted(replicas.size()));
    return Finding.wrong(
        check, "Replicas of this node know no leader of their ranges, so nothing is stored there: %s.".formatted(String.join(", ", leaderless)),
        "Start the other nodes that have these ranges, or mend the network between them; a majority of them has to be up.");
  }

  /** The disk is not written to for this: the times are those of the node's own commands. */
  static Finding commits(List<Replica> replicas) {
    String check = "commits";
    double longest = 0;
    String range = "";
    for (Replica each : replicas) {
      if (each.commitMillisMax() > longest) {
        longest = each.commitMillisMax();
        range = each.name();
      }
    }
    if (range.isEmpty()) return Finding.ok(check, "Nothing was proposed on this node in the last few minutes.");
    String finding = "The longest command of the last few minutes took %d ms until it was on disk and applied, in the range %s.".formatted(Math.round(longest), range);
    if (longest < COMMIT_LONG_MILLIS) return Finding.ok(check, finding);
    return Finding.warning(
        check, finding, "See how long the disk takes for fsync, on this node and on the others that have the range, and what else uses the disk.");
  }

  /** @param unreached nodes that do not answer this one */
  static Finding membership(boolean connected, List<String> unreached) {
    String check = "membership";
    String remedy = "See whether the other nodes are up, and whether this one reaches their ports (dunlin.cluster.service-port and dunlin.cluster.port).";
    if (!connected) {
      return Finding.wrong(check, "The node does not reach the leader of the cluster's membership, and disconnects its clients when its lease ends.", remedy);
    }
    if (unreached.isEmpty()) return Finding.ok(check, "The node reaches the leader of the cluster's membership, and the other nodes.");
    return Finding.warning(check, "Other nodes do not answer this one: %s.".formatted(String.join(", ", unreached)), remedy);
  }

  /** @param missing roles that no node of the cluster has */
  static Finding roles(List<String> missing) {
    String check = "roles";
    if (missing.isEmpty()) return Finding.ok(check, "Nodes of the cluster have each of the roles.");
    String roles = "No node of the cluster has %s %s".formatted(missing.size() == 1 ? "the role" : "any of the roles", String.join(", ", missing));
    if (missing.contains("frontend")) return Finding.wrong(check, roles + ", so no client can connect.", "Start a node whose dunlin.roles has frontend.");
    return Finding.warning(
        check, roles + ". Nodes with the role store lead in their place.", "Start nodes with these roles, or give them to nodes with the role store, if that is as it is meant.");
  }

  /** @param missing replicas that are missing from what the settings ask for, over all ranges */
  static Finding ranges(List<RangeRow> ranges, long missing) {
    String check = "ranges";
    List<String> leaderless = ranges.stream().filter(each -> each.leader().isEmpty()).map(each -> each.kind() + " " + each.id()).toList();
    if (!leaderless.isEmpty()) {
      return Finding.wrong(
          check, "%d of %d ranges of the cluster have no known leader, so nothing is stored there: %s.".formatted(leaderless.size(), ranges.size(), first(leaderless)),
          "Start the nodes that have these ranges (dunlinctl cluster ranges), or mend the network between them; a majority of them has to be up.");
    }
    if (missing > 0) {
      return Finding.warning(
          check, "%d replicas are missing from the number in dunlin.cluster.replicas, so that one more failure may stop a range.".formatted(missing),
          "Start the node that is down, or a new one with an empty data directory; the cluster makes the replicas by itself.");
    }
    return Finding.ok(check, "All %d ranges of the cluster have a leader, and no replica is missing.".formatted(ranges.size()));
  }

  static Finding operations(List<OperationRow> operations) {
    String check = "operations";
    List<String> stalled = operations.stream().filter(each -> !each.waiting().isEmpty()).map(each -> each.what() + ": " + each.waiting()).toList();
    if (stalled.isEmpty()) return Finding.ok(check, "No operation of the cluster is stalled; %d are in progress.".formatted(operations.size()));
    return Finding.warning(
        check, "Operations of the cluster are stalled: %s.".formatted(first(stalled)), "Mend what they wait for, or take them back by dunlinctl cluster cancel.");
  }

  /** The first of many, so that a finding stays a sentence. */
  private static String first(List<String> names) {
    String named = String.join(", ", names.subList(0, Math.min(NAMED_MAX, names.size())));
    return names.size() > NAMED_MAX ? named + " and %d more".formatted(names.size() - NAMED_MAX) : named;
  }
}

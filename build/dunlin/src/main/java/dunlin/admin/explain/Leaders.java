package dunlin.admin.explain;

import dunlin.cluster.ClusterMXBean;
import dunlin.cluster.ClusterMXBean.NodeRow;
import java.util.Map;
import java.util.stream.Collectors;

/** Says which other node to ask for what this one does not lead. */
public final class Leaders {
  private Leaders() {}

  /**
   * @param kind of the ranges
   * @param what they hold, as the beginning of a sentence in the plural
   */
  public static String elsewhere(ClusterMXBean cluster, String kind, String what) {
    Map<String, String> hosts = cluster.getNodes().stream().collect(Collectors.toMap(NodeRow::id, NodeRow::host));
    return cluster.getRanges().stream()
        .filter(range -> range.kind().equals(kind) && !range.leader().isEmpty())
        .findFirst()
        .map(range -> "%s are led by another node: ask node %s at %s.".formatted(what, range.leader(), hosts.getOrDefault(range.leader(), "an unknown host")))
        .orElse(what + " have no leader that this node knows; ask again soon.");
  }
}

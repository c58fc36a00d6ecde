package dunlin.cluster;

import dunlin.cluster.call.Seeds;
import dunlin.placement.ClusterNode;
import dunlin.placement.plan.OperationSettings;
import java.time.Duration;
import java.util.Collections;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;

/**
 * How this node takes part in its cluster.
 *
 * @param seeds where nodes of the cluster answer, the same on each node; see {@link Seeds}
 * @param bootstrapExpect how many nodes a new cluster is founded with, the same on each node, 1 to 1,024
 * @param host the name by which the others reach this node
 * @param servicePort where {@link Cluster#answer} is reached
 * @param region and zone: replicas of a range are put into different ones where that is possible
 * @param roles what this node does in the cluster
 * @param heartbeat how often the node reports its state
 * @param lease after how much silence a node is suspected, at least two heartbeats
 * @param downAfter after how much silence it counts as dead, at least a lease
 * @param operations what the meta group does automatically
 * @param agreed settings by name that must be the same on all nodes; a node with others does not start
 */
public record MemberSettings(
    String seeds,
    int bootstrapExpect,
    String host,
    int servicePort,
    String region,
    String zone,
    Roles roles,
    Duration heartbeat,
    Duration lease,
    Duration downAfter,
    OperationSettings operations,
    NavigableMap<String, String> agreed) {
  /**
   * What a node does in its cluster, besides having replicas of the kinds that it knows.
   *
   * @param store whether it may found the cluster, and have a replica of the meta group
   * @param founds the kinds of which a new cluster gets its first range; this node must know them
   * @param words more words for its row in the map, such as those of {@link ClusterNode#preferring}
   */
  public record Roles(boolean store, Set<String> founds, Set<String> words) {
    public Roles {
      founds = Set.copyOf(founds);
      words = Set.copyOf(words);
      if (!store && !founds.isEmpty()) throw new IllegalArgumentException("a node that founds no cluster founds no range of " + founds);
    }
  }

  public MemberSettings {
    agreed = Collections.unmodifiableNavigableMap(new TreeMap<>(agreed));
    if (bootstrapExpect < 1 || bootstrapExpect > 1024)
      throw new IllegalArgumentException("bootstrapExpect is " + bootstrapExpect + ", must be from 1 to 1024");
    if (servicePort < 1 || servicePort > 65_535) throw new IllegalArgumentException("servicePort is " + servicePort);
    if (heartbeat.toMillis() < 10) throw new IllegalArgumentException("heartbeat is " + heartbeat + ", must be at least 10 ms");
    if (lease.compareTo(heartbeat.multipliedBy(2)) < 0)
      throw new IllegalArgumentException("lease is " + lease + ", must be at least two heartbeats of " + heartbeat);
    if (downAfter.compareTo(lease) < 0)
      throw new IllegalArgumentException("downAfter is " + downAfter + ", must be at least the lease of " + lease);
    var _ = Seeds.parse(seeds);
  }

  public static MemberSettings of(String seeds, int bootstrapExpect, String host, int servicePort, Set<String> founds) {
    return new MemberSettings(
        seeds, bootstrapExpect, host, servicePort, "", "", new Roles(true, founds, Set.of()), Duration.ofSeconds(1), Duration.ofSeconds(5),
        Duration.ofSeconds(10), OperationSettings.defaults(), Collections.emptyNavigableMap());
  }

  /** The same for a node with other roles. */
  public MemberSettings with(Roles changed) {
    return new MemberSettings(
        seeds, bootstrapExpect, host, servicePort, region, zone, changed, heartbeat, lease, downAfter, operations, agreed);
  }

  /** The same with other times, for a cluster that is to detect failures sooner or later. */
  public MemberSettings with(Duration beat, Duration silence, Duration dead) {
    return new MemberSettings(
        seeds, bootstrapExpect, host, servicePort, region, zone, roles, beat, silence, dead, operations, agreed);
  }

  /** The same with settings that must be the same on all nodes. */
  public MemberSettings with(NavigableMap<String, String> all) {
    return new MemberSettings(
        seeds, bootstrapExpect, host, servicePort, region, zone, roles, heartbeat, lease, downAfter, operations, all);
  }

  /** After how much silence of the meta group this node has no clients any more, at most. */
  Duration noticedWithin() {
    var checked = lease.plus(heartbeat.multipliedBy(2));
    return checked.compareTo(downAfter) < 0 ? checked : downAfter; // a node without clients may have a shorter downAfter
  }

  public MemberSettings with(OperationSettings changed) {
    return new MemberSettings(
        seeds, bootstrapExpect, host, servicePort, region, zone, roles, heartbeat, lease, downAfter, changed, agreed);
  }
}

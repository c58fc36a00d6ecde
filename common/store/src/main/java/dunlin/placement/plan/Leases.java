package dunlin.placement.plan;

import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode.State;
import dunlin.placement.NodeReport;
import dunlin.placement.PlacementCommand.MarkNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The leases of nodes, by the heartbeats that the meta group's leader has received. Heartbeats are not logged, only the
 * changes of state that follow: a node becomes SUSPECT when its lease expires, DOWN after {@code downAfter} of silence,
 * and JOINED with its next heartbeat. Also keeps since when this leader has seen each operation, and who leads each range.
 */
public final class Leases {
  /*
   * Owner: the driver of the operations on the meta group's leader; a new one for each term.
   * Bounds: two reports and the time of its start for each node of the map, NODES_MAX; reports of others are dropped. A time for each operation of the map, and a leader for each range.
   * Failure: lost with the leadership. A new leader treats every node as heard at the moment when it became leader, so
   * it declares no node SUSPECT within the first lease.
   */
  private final long leadership;
  private final Duration lease;
  private final Duration downAfter;
  private final Duration leadingSince;
  private final Map<UUID, Heard> heard = new HashMap<>();

  /** The last reports of nodes, also those that name another term: a node says nothing of this one while it carries out an action of the leader before, which takes long at times. */
  private final Map<UUID, Heard> signs = new HashMap<>();

  private final Map<UUID, Started> started = new HashMap<>();
  private final Map<UUID, Leading> leaders = new HashMap<>();
  private final Map<UUID, Duration> seen = new HashMap<>(); // when this leader first saw each operation

  /** The nodes' states and the ranges' leaders at the last observation. */
  private Set<Object> situation = Set.of();

  /** Since when neither has changed, and no node has reached another one again. */
  private Duration calmSince;

  /** When a node has last reached another one again, as far as that counted. */
  private @Nullable Duration reachedSince;

  private record Heard(NodeReport report, Duration at) {}

  /** When this leader first heard of a start of a node. */
  private record Started(long incarnation, Duration at) {}

  /**
   * @param leadership the term in which the owner leads the meta group
   * @param now time on the caller's monotonic clock, as in every call
   */
  public Leases(long leadership, Duration lease, Duration downAfter, Duration now) {
    if (lease.isNegative() || lease.isZero() || downAfter.compareTo(lease) < 0)
      throw new IllegalArgumentException("a node is down after " + downAfter + ", before its lease of " + lease + " ends");
    this.leadership = leadership;
    this.lease = lease;
    this.downAfter = downAfter;
    this.leadingSince = now;
    this.calmSince = now;
  }

  /** The term that each report is answered with. */
  public long leadership() {
    return leadership;
  }

  /**
   * Takes a report. Answers false when it is older than the known one, when its node had not heard of this leader's
   * term, or when the node is not in the map.
   */
  public boolean heard(NodeReport report, ClusterMap map, Duration now) {
    var node = map.nodes().get(report.node());
    if (node == null || node.state() == State.LEFT) return false;
    if (isNewer(report, signs.get(report.node()))) signs.put(report.node(), new Heard(report, now));
    var last = heard.get(report.node());
    if (report.leadership() != leadership || !isNewer(report, last)) return false;
    if (last != null && !report.unreached().containsAll(last.report.unreached())) reachesAgain(now);
    heard.put(report.node(), new Heard(report, now));
    var start = started.get(report.node());
    if (start == null || start.incarnation != report.incarnation()) started.put(report.node(), new Started(report.incarnation(), now));
    for (var replica : report.replicas()) {
      if (replica.leads()) leaders.merge(replica.range().id(), new Leading(report.node(), replica.range().id(), replica.term()), Leases::later);
    }
    return true;
  }

  /**
   * A node that is back is reached by one node before the others, for about a second. Leaderships need not move for that. Counted once for each lease: a network
   * that fails again and again must not keep them from moving.
   */
  private void reachesAgain(Duration now) {
    if (reachedSince != null && now.minus(reachedSince).compareTo(lease) < 0) return;
    reachedSince = now;
    calmSince = now;
  }

  private static Leading later(Leading one, Leading other) {
    return other.term >= one.term ? other : one;
  }

  /** For each range of the map the node that was the last to report that it leads, as far as there is one. */
  public NavigableMap<UUID, UUID> leaders(ClusterMap map) {
    leaders.keySet().retainAll(map.ranges().keySet());
    var nodes = new TreeMap<UUID, UUID>();
    leaders.forEach((range, leading) -> nodes.put(range, leading.node));
    return nodes;
  }

  private static boolean isNewer(NodeReport report, @Nullable Heard than) {
    if (than == null) return true;
    var last = than.report;
    if (report.incarnation() != last.incarnation()) return report.incarnation() > last.incarnation();
    return report.number() > last.number();
  }

  /** The changes of state that are due. */
  public List<MarkNode> due(ClusterMap map, Duration now) {
    heard.keySet().removeIf(node -> !map.nodes().containsKey(node));
    signs.keySet().removeIf(node -> !map.nodes().containsKey(node));
    started.keySet().retainAll(heard.keySet());
    var due = new ArrayList<MarkNode>();
    for (var node : map.nodes().values()) {
      var silence = silence(node.id(), now);
      var sign = since(signs.get(node.id()), now);
      switch (node.state()) {
        case JOINED, DRAINING -> {
          if (sign.compareTo(lease) >= 0) due.add(new MarkNode(node.id(), node.state(), State.SUSPECT));
        }
        case SUSPECT -> {
          if (sign.compareTo(downAfter) >= 0) due.add(new MarkNode(node.id(), State.SUSPECT, State.DOWN));
          else if (present(node.id(), silence)) due.add(new MarkNode(node.id(), State.SUSPECT, State.JOINED));
        }
        case DOWN -> {
          if (present(node.id(), silence)) due.add(new MarkNode(node.id(), State.DOWN, State.JOINED));
        }
        case LEFT -> {}
      }
    }
    return due;
  }

  /** What is known at this moment. */
  public ClusterObservation observation(ClusterMap map, Duration now) {
    var reports = new TreeMap<UUID, NodeReport>();
    heard.forEach((node, last) -> reports.put(node, last.report));
    var silences = new TreeMap<UUID, Duration>();
    for (var node : map.nodes().keySet()) silences.put(node, silence(node, now));
    var uptimes = new TreeMap<UUID, Duration>();
    started.forEach((node, start) -> uptimes.put(node, now.minus(start.at)));
    seen.keySet().retainAll(map.intents().keySet());
    var ages = new TreeMap<UUID, Duration>();
    for (var intent : map.intents().keySet()) ages.put(intent, now.minus(seen.computeIfAbsent(intent, _ -> now)));
    var present = situation(map, reports.values());
    if (!present.equals(situation)) calmSince = now;
    situation = present;
    return new ClusterObservation(reports, silences, uptimes, ages, now.minus(calmSince), lease);
  }

  private static Set<Object> situation(ClusterMap map, Collection<NodeReport> reports) {
    var all = new HashSet<Object>();
    for (var node : map.nodes().values()) all.add(new Standing(node.id(), node.state()));
    for (var report : reports)
      for (var replica : report.replicas()) if (replica.leads()) all.add(new Leading(report.node(), replica.range().id(), replica.term()));
    return all;
  }

  private record Standing(UUID node, State state) {}

  private record Leading(UUID node, UUID range, long term) {}

  private boolean present(UUID node, Duration silence) {
    return heard.containsKey(node) && silence.compareTo(lease) < 0;
  }

  private Duration silence(UUID node, Duration now) {
    return since(heard.get(node), now);
  }

  private Duration since(@Nullable Heard last, Duration now) {
    return now.minus(last == null ? leadingSince : last.at);
  }
}

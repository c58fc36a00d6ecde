package dunlin.placement.plan;

import dunlin.placement.NodeReport;
import dunlin.placement.NodeReport.Replica;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.UUID;

/**
 * What the meta group's leader sees of the nodes at one moment.
 *
 * @param reports the newest report received from each node, however old
 * @param silences for how long each node has been silent, at least
 * @param uptimes for how long each node has run since its last start, at least: counted since this leader first heard of it
 * @param ages for how long each operation has been in progress, at least: counted since this leader first saw it
 * @param calm for how long no node has changed its state or has reached another one again, and no range its leader, at least
 * @param lease after how much silence a report no longer counts
 */
public record ClusterObservation(
    NavigableMap<UUID, NodeReport> reports, NavigableMap<UUID, Duration> silences, NavigableMap<UUID, Duration> uptimes, NavigableMap<UUID, Duration> ages,
    Duration calm, Duration lease) {
  private static final int WARM_LEASES = 6;
  private static final Duration WARM_MAX = Duration.ofSeconds(30);

  /** A range's leader and what it reports. */
  record Led(UUID node, Replica replica) {}

  /**
   * Whether no node and no leadership has changed for a lease: before that, a node that has ended may still count as there, and
   * one that is back has a lot to catch up on.
   */
  boolean isCalm() {
    return calm.compareTo(lease) >= 0;
  }

  /** Whether nothing of that has changed for half a lease. Enough for what cannot wait: callers are waiting already. */
  boolean isSettled() {
    return calm.multipliedBy(2).compareTo(lease) >= 0;
  }

  /** Whether a node has reported within the lease. */
  boolean heard(UUID node) {
    var silence = silences.get(node);
    return reports.containsKey(node) && silence != null && silence.compareTo(lease) < 0;
  }

  /**
   * Whether two nodes reach each other, as far as is known: each of them says so if it was heard within the lease. One that was
   * never asked, or whose word is old, counts as reaching the other.
   */
  boolean reach(UUID one, UUID other) {
    return !misses(one, other) && !misses(other, one);
  }

  private boolean misses(UUID node, UUID other) {
    var report = reports.get(node);
    return report != null && heard(node) && report.unreached().contains(other);
  }

  Duration silence(UUID node) {
    return silences.getOrDefault(node, Duration.ZERO);
  }

  Duration age(UUID intent) {
    return ages.getOrDefault(intent, Duration.ZERO);
  }

  /** The replica that a node has, by its newest report, however old that is. */
  Optional<Replica> replica(UUID node, UUID range) {
    var report = reports.get(node);
    return report == null ? Optional.empty() : report.replica(range);
  }

  /**
   * Whether a voter could serve a range as soon as it led it. It has the leader's log but for a few entries, and it has applied them: a leader that has yet to apply a
   * split or thousands of entries answers none until it has.
   */
  boolean canTakeOver(UUID voter, Led led, OperationSettings settings) {
    var own = replica(voter, led.replica().range().id());
    return led.replica().lagOf(voter).orElse(Long.MAX_VALUE) <= settings.lagMax()
        && own.isPresent()
        && own.get().range().epoch() == led.replica().range().epoch()
        && led.replica().applied() - own.get().applied() <= settings.appliedLagMax();
  }

  /**
   * Whether a voter could serve a range as soon as it led it, keeps up with the leader, and was not just started. A process is slow in its first seconds,
   * since little of it is compiled: it takes seconds to begin to serve, instead of some tenths of one. It must have run for six leases, or for half a
   * minute if that is less, since this leader of the meta group has heard of its start; or for half as long as the leader's process, as after the cluster
   * was founded.
   */
  boolean isInStep(UUID voter, Led led, OperationSettings settings) {
    return canTakeOver(voter, led, settings)
        && uptime(voter).compareTo(warm(uptime(led.node()))) >= 0
        && led.replica().lagOf(voter).orElse(Long.MAX_VALUE) <= settings.inStepMax();
  }

  private Duration uptime(UUID node) {
    return uptimes.getOrDefault(node, Duration.ZERO);
  }

  private Duration warm(Duration leader) {
    return Collections.min(List.of(lease.multipliedBy(WARM_LEASES), WARM_MAX, leader.dividedBy(2)));
  }

  /**
   * Whether a voter has no data: no replica, or an empty one that a late call created where one was lost. One that an
   * operation has just added has none for a moment, too; only that operation waits for it.
   */
  boolean empty(UUID voter, UUID range) {
    var replica = replica(voter, range);
    return replica.isEmpty() || !(replica.get().based() || replica.get().creation().equals(NodeReport.ORIGINAL));
  }

  /** The replica that reports to lead in the highest term; others that report it have been deposed without knowing yet. */
  Optional<Led> leader(UUID range) {
    Led leader = null;
    for (var report : reports.values()) {
      var replica = report.replica(range).filter(Replica::leads).orElse(null);
      if (replica == null || !heard(report.node())) continue;
      if (leader == null || replica.term() > leader.replica.term()) leader = new Led(report.node(), replica);
    }
    return Optional.ofNullable(leader);
  }
}

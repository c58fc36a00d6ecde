package dunlin.placement.plan;

import dunlin.placement.Action;
import dunlin.placement.Action.Elect;
import dunlin.placement.Action.FlushReplica;
import dunlin.placement.Action.ProposeSplit;
import dunlin.placement.Action.StartReplica;
import dunlin.placement.Operation.Split;
import dunlin.placement.PlacementCommand.Abandon;
import dunlin.placement.PlacementCommand.SplitDone;
import dunlin.placement.plan.Step.Do;
import dunlin.placement.plan.Step.Log;
import dunlin.placement.plan.Step.Wait;
import dunlin.store.RangeDescriptor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;

/**
 * Splits a range: rows to disk, the split through the range's own log, the child's members started wherever the rows are, one
 * of them elected as soon as enough of them run, and the new map once the child has a leader that works.
 */
final class SplitSteps {
  /**
   * For how long rows are written out before a split goes on in any case. Of a range that is written to faster than that, each
   * report says again that too much is in memory; its writes then wait for that much when it is split, and not for ever.
   */
  static final Duration FLUSHING_MAX = Duration.ofSeconds(10);

  private static final Comparator<Candidate> BEST_FIRST =
      Comparator.comparingLong(Candidate::term).thenComparing(Candidate::first, Comparator.reverseOrder());

  /** A member of the child that runs and may be elected; the first is the one beside the parent's leader. */
  private record Candidate(UUID node, long term, boolean first) {}

  private SplitSteps() {}

  static Step next(ClusterObservation sight, OperationSettings settings, UUID intent, Split split) {
    var parent = sight.leader(split.of()).orElse(null);
    if (parent == null) return new Wait("range " + split.of() + " has no leader");
    var range = parent.replica().range();
    if (range.epoch() == split.epoch()) return propose(sight, settings, intent, split, parent);
    if (range.epoch() < split.epoch()) return new Wait("the leader of range " + split.of() + " has not caught up");
    if (!sawSplit(sight, split)) {
      byte[] end = range.keys().end();
      if (range.epoch() == split.epoch() + 1 && end != null && Arrays.equals(end, split.cut()))
        return new Wait("no node has reported the child");
      return new Log(new Abandon(intent)); // the range has gone another way
    }
    var child = sight.leader(split.child()).orElse(null);
    if (child != null && child.replica().based())
      return new Log(new SplitDone(intent, child.replica().range(), child.replica().configuration()));
    var member = members(sight, split, parent.node(), range);
    return member.isEmpty() ? new Wait("range " + split.child() + " has no leader that works") : new Do(member);
  }

  private static Step propose(ClusterObservation sight, OperationSettings settings, UUID intent, Split split, ClusterObservation.Led parent) {
    if (sight.age(intent).compareTo(FLUSHING_MAX) >= 0) return new Do(new ProposeSplit(parent.node(), split));
    var flushes = new ArrayList<Action>();
    for (var peer : parent.replica().range().peers()) {
      var replica = sight.replica(peer.node(), split.of());
      if (sight.heard(peer.node()) && replica.isPresent() && replica.get().load().unflushed() > settings.unflushedMax())
        flushes.add(new FlushReplica(peer.node(), split.of()));
    }
    return flushes.isEmpty() ? new Do(new ProposeSplit(parent.node(), split)) : new Do(flushes);
  }

  private static boolean sawSplit(ClusterObservation sight, Split split) {
    return sight.reports().values().stream().anyMatch(report -> report.replica(split.child()).isPresent());
  }

  /**
   * Starts the members that wait, and lets the one beside the parent's leader be elected once a majority runs. Left to
   * themselves, members that have started together ask for votes together, and none gets them before a whole election timeout.
   * A member cannot be asked again when its votes were lost, and is in a higher term then than one that has not heard of it: so
   * the next to be elected is one of the lowest term.
   */
  private static List<Action> members(ClusterObservation sight, Split split, UUID first, RangeDescriptor parent) {
    var actions = new ArrayList<Action>();
    var candidates = new ArrayList<Candidate>();
    boolean led = false;
    boolean firstRuns = false;
    for (var report : sight.reports().values()) {
      var replica = report.replica(split.child()).orElse(null);
      if (replica == null || !sight.heard(report.node())) continue;
      led |= replica.leads();
      switch (replica.phase()) {
        case STORED -> actions.add(new StartReplica(report.node(), split.child()));
        case RUNNING -> {
          boolean isFirst = report.node().equals(first);
          firstRuns |= isFirst;
          if (parent.voters().contains(report.node())) candidates.add(new Candidate(report.node(), replica.term(), isFirst));
        }
      }
    }
    if (!led && firstRuns && candidates.size() > parent.voters().size() / 2)
      actions.add(new Elect(Collections.min(candidates, BEST_FIRST).node(), split.child()));
    return actions;
  }
}

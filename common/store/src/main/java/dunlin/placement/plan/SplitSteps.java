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
 * Splits a range: rows are flushed; the split goes through the range's own log; the child's members are started where
 * the rows are; one of them is elected as soon as enough of them run; the map changes once the child has a working
 * leader.
 */
final class SplitSteps {
  /**
   * For how long a split waits for rows to be flushed before it goes ahead anyway. A range that is written to faster
   * than it is flushed would otherwise wait for ever; its writes then pause for the rest of the flush.
   */
  static final Duration FLUSHING_MAX = Duration.ofSeconds(10);

  private static final Comparator<Candidate> BEST_FIRST =
      Comparator.comparingLong(Candidate::term).thenComparing(Candidate::first, Comparator.reverseOrder());

  /** A running member of the child that may be elected; {@code first} is the one on the node of the parent's leader. */
  private record Candidate(UUID node, long term, boolean first) {}

  private SplitSteps() {}

  static Step next(ClusterObservation observation, OperationSettings settings, UUID intent, Split split) {
    var parent = observation.leader(split.of()).orElse(null);
    if (parent == null) return new Wait("range " + split.of() + " has no leader");
    var range = parent.replica().range();
    if (range.epoch() == split.epoch()) return propose(observation, settings, intent, split, parent);
    if (range.epoch() < split.epoch()) return new Wait("the leader of range " + split.of() + " has not caught up");
    if (!sawSplit(observation, split)) {
      byte[] end = range.keys().end();
      if (range.epoch() == split.epoch() + 1 && end != null && Arrays.equals(end, split.cut()))
        return new Wait("no node has reported the child");
      return new Log(new Abandon(intent)); // the range has been split otherwise
    }
    var child = observation.leader(split.child()).orElse(null);
    if (child != null && child.replica().based())
      return new Log(new SplitDone(intent, child.replica().range(), child.replica().configuration()));
    var member = members(observation, split, parent.node(), range);
    return member.isEmpty() ? new Wait("range " + split.child() + " has no leader that works") : new Do(member);
  }

  private static Step propose(ClusterObservation observation, OperationSettings settings, UUID intent, Split split, ClusterObservation.Led parent) {
    if (observation.age(intent).compareTo(FLUSHING_MAX) >= 0) return new Do(new ProposeSplit(parent.node(), split));
    var flushes = new ArrayList<Action>();
    for (UUID node : parent.replica().range().peers()) {
      var replica = observation.replica(node, split.of());
      if (observation.heard(node) && replica.isPresent() && replica.get().load().unflushed() > settings.unflushedMax())
        flushes.add(new FlushReplica(node, split.of()));
    }
    return flushes.isEmpty() ? new Do(new ProposeSplit(parent.node(), split)) : new Do(flushes);
  }

  private static boolean sawSplit(ClusterObservation observation, Split split) {
    return observation.reports().values().stream().anyMatch(report -> report.replica(split.child()).isPresent());
  }

  /**
   * Starts the members that are not running, and has the one on the node of the parent's leader elected once a majority
   * runs. Members that start together would otherwise ask for votes together and split them for a whole election
   * timeout. A member that has lost an election cannot be asked again and is in a higher term, so the next candidate is
   * one of the lowest term.
   */
  private static List<Action> members(ClusterObservation observation, Split split, UUID first, RangeDescriptor parent) {
    var actions = new ArrayList<Action>();
    var candidates = new ArrayList<Candidate>();
    boolean led = false;
    boolean firstRuns = false;
    for (var report : observation.reports().values()) {
      var replica = report.replica(split.child()).orElse(null);
      if (replica == null || !observation.heard(report.node())) continue;
      led |= replica.leads();
      switch (replica.phase()) {
        case STORED -> actions.add(new StartReplica(report.node(), split.child()));
        case RUNNING -> {
          boolean isFirst = report.node().equals(first);
          firstRuns |= isFirst;
          if (parent.peers().contains(report.node())) candidates.add(new Candidate(report.node(), replica.term(), isFirst));
        }
      }
    }
    if (!led && firstRuns && candidates.size() > parent.peers().size() / 2)
      actions.add(new Elect(Collections.min(candidates, BEST_FIRST).node(), split.child()));
    return actions;
  }
}

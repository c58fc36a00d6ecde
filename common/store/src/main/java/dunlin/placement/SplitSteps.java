package dunlin.placement;

import dunlin.placement.Action.FlushReplica;
import dunlin.placement.Action.ProposeSplit;
import dunlin.placement.Action.StartReplica;
import dunlin.placement.NodeReport.Phase;
import dunlin.placement.Operation.Split;
import dunlin.placement.PlacementCommand.Abandon;
import dunlin.placement.PlacementCommand.SplitDone;
import dunlin.placement.Step.Do;
import dunlin.placement.Step.Log;
import dunlin.placement.Step.Wait;
import java.util.Arrays;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Splits a range: rows to disk, the split through the range's own log, the child's group started on the followers first, so
 * that the parent's leader finds votes when it starts last, and the new map once the child has a leader that works.
 */
final class SplitSteps {
  private SplitSteps() {}

  static Step next(Sight sight, OperationSettings settings, UUID intent, Split split) {
    var parent = sight.leader(split.of()).orElse(null);
    if (parent == null) return new Wait("range " + split.of() + " has no leader");
    var range = parent.replica().range();
    if (range.epoch() == split.epoch()) return propose(sight, settings, split, parent);
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
    var start = start(sight, split, parent.node(), range.voters().size() == 1);
    return start == null ? new Wait("range " + split.child() + " has no leader that works") : new Do(start);
  }

  private static Step propose(Sight sight, OperationSettings settings, Split split, Sight.Led parent) {
    for (var peer : parent.replica().range().peers()) {
      var replica = sight.replica(peer.node(), split.of());
      if (sight.heard(peer.node()) && replica.isPresent() && replica.get().load().unflushed() > settings.unflushedMax())
        return new Do(new FlushReplica(peer.node(), split.of()));
    }
    return new Do(new ProposeSplit(parent.node(), split));
  }

  private static boolean sawSplit(Sight sight, Split split) {
    return sight.reports().values().stream().anyMatch(report -> report.replica(split.child()).isPresent());
  }

  /** Which member is to be started next, or null when none is waiting. */
  private static @Nullable Action start(Sight sight, Split split, UUID last, boolean alone) {
    boolean othersRun = alone;
    for (var report : sight.reports().values()) {
      if (report.node().equals(last) || !sight.heard(report.node())) continue;
      var phase = report.replica(split.child()).map(NodeReport.Replica::phase).orElse(null);
      if (phase == Phase.STORED) return new StartReplica(report.node(), split.child());
      if (phase == Phase.RUNNING) othersRun = true;
    }
    boolean waits = sight.replica(last, split.child()).filter(replica -> replica.phase() == Phase.STORED).isPresent();
    return othersRun && waits ? new StartReplica(last, split.child()) : null;
  }
}

package dunlin.placement;

import dunlin.placement.Action.ChangePeers;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.Split;
import dunlin.placement.plan.ClusterObservation;
import dunlin.placement.plan.Leases;
import dunlin.placement.plan.OperationSettings;
import dunlin.placement.plan.Operations;
import dunlin.placement.plan.SplitSettings;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeDescriptor.Origin;
import dunlin.store.RangeDescriptor.Peer;
import dunlin.store.RangeDescriptor.Role;
import dunlin.store.raft.RangeFence.SplitOutcome;
import java.time.Duration;
import java.util.List;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The simulation finds mistakes: each rule, broken in a plausible way, is found within these seeds. */
class MutantsTest {
  private static final int SEEDS = 400;

  @Test
  void aFenceThatDoesNotLookAtTheEpochIsFound() {
    found(
        "a write of epoch \\d+ is applied in epoch",
        new Rules() {
          @Override
          boolean admits(RangeDescriptor range, long epoch, byte[] key) {
            return super.admits(range, range.epoch(), key);
          }
        });
  }

  @Test
  void aSplitThatLeavesTheEpochIsFound() {
    found(
        "a write of epoch 1 is applied in epoch 2",
        new Rules() {
          @Override
          SplitOutcome split(RangeDescriptor range, Split split, long term, long index) {
            var outcome = super.split(range, split, term, index);
            if (!(outcome instanceof SplitOutcome.Cut(var lower, var upper))) return outcome;
            var old = new RangeDescriptor(lower.id(), lower.kind(), lower.keys(), range.epoch(), lower.peers(), lower.split());
            return new SplitOutcome.Cut(old, upper);
          }
        });
  }

  @Test
  void aSplitWithoutAFenceIsFound() {
    found(
        "is applied outside of|is served by|the map has .* the range is",
        new Rules() {
          @Override
          SplitOutcome split(RangeDescriptor range, Split split, long term, long index) {
            var outcome = super.split(range, split, term, index);
            if (!(outcome instanceof SplitOutcome.Cut(var lower, var upper))) return outcome;
            var all = new RangeDescriptor(lower.id(), lower.kind(), range.keys(), lower.epoch(), lower.peers(), lower.split());
            return new SplitOutcome.Cut(all, upper);
          }
        });
  }

  @Test
  void aChildThatIsMadeAgainIsFound() {
    found(
        "is lost|have different rows|was applied twice|is applied in epoch",
        new Rules() {
          @Override
          boolean makesChild(@Nullable RangeDescriptor present, RangeDescriptor upper) {
            return true;
          }
        });
  }

  @Test
  void aWrongOriginIsFound() {
    found(
        "rows of origin",
        new Rules() {
          private long calls;

          @Override
          SplitOutcome split(RangeDescriptor range, Split split, long term, long index) {
            var outcome = super.split(range, split, term, index);
            if (!(outcome instanceof SplitOutcome.Cut(var lower, var upper))) return outcome;
            var origin = new Origin(range.id(), term, index + calls++ % 2); // a different one on each replica
            return new SplitOutcome.Cut(lower, range.upper(split.cut(), upper.id(), origin));
          }
        });
  }

  @Test
  void aMoveThatRemovesBeforeItPromotesIsFound() {
    found("goes from 3 voters with rows to 2", asking((change, map) -> removesFirst(change, map)));
  }

  private static ChangePeers removesFirst(ChangePeers change, ClusterMap map) {
    var intent = map.intentOn(change.range());
    if (intent.isEmpty() || !(intent.get().operation() instanceof MoveReplica(_, var from, var to))) return change;
    var vote = new Peer(to, Role.VOTER);
    boolean promotes = change.wanted().contains(vote) && !change.expected().contains(vote);
    if (!promotes || change.expected().stream().noneMatch(peer -> peer.node().equals(from))) return change;
    var wanted = change.expected().stream().filter(peer -> !peer.node().equals(from)).toList();
    return new ChangePeers(change.node(), change.range(), change.configuration(), change.expected(), wanted);
  }

  @Test
  void aReplicaThatVotesAtOnceIsFound() {
    found(
        "gets a vote in .* and has no rows",
        asking(
            (change, _) -> {
              var wanted = change.wanted().stream().map(peer -> new Peer(peer.node(), Role.VOTER)).toList();
              return new ChangePeers(change.node(), change.range(), change.configuration(), change.expected(), wanted);
            }));
  }

  @Test
  void aChangeOfPeersWithoutComparisonIsFound() {
    found(
        "gets a vote in .* and has no rows|goes from \\d voters with rows|in which it votes|lacks",
        new Rules() {
          @Override
          boolean exchanges(long configuration, List<Peer> peers, ChangePeers action) {
            return true;
          }
        });
  }

  @Test
  void aDropWithoutComparisonIsFound() {
    found(
        "drops its replica of .* in which it votes",
        new Rules() {
          @Override
          boolean drops(UUID present, UUID creation) {
            return true;
          }
        });
  }

  @Test
  void leasesThatDoNotWaitAreFound() {
    found(
        "a leader of .* declares node",
        new Rules() {
          @Override
          Leases leases(long term, Duration now) {
            return super.leases(term, now.minusHours(1));
          }
        });
  }

  @Test
  void moreSplitsAtATimeThanThereMayBeAreFound() {
    found(
        "more than \\d splits at a time",
        new Rules() {
          @Override
          Operations.Decision decide(ClusterMap map, ClusterObservation sight, OperationSettings settings) {
            var splits = settings.splits();
            var more =
                new SplitSettings(splits.bytes(), splits.operationsPerSecond(), splits.bytesMin(), 9, splits.replicasMax());
            var changed =
                new OperationSettings(
                    settings.lagMax(), settings.unflushedMax(), settings.automaticMax(), settings.replicas(), more,
                    settings.replaceAfter(), settings.balance());
            return super.decide(map, sight, changed);
          }
        });
  }

  private interface Asking {
    ChangePeers change(ChangePeers real, ClusterMap map);
  }

  /** Rules that ask for wrong changes of peers. */
  private static Rules asking(Asking mutation) {
    return new Rules() {
      @Override
      Operations.Decision decide(ClusterMap map, ClusterObservation sight, OperationSettings settings) {
        var decision = super.decide(map, sight, settings);
        UnaryOperator<Action> mutated = action -> action instanceof ChangePeers change ? mutation.change(change, map) : action;
        var actions = decision.actions().stream().map(mutated).toList();
        return new Operations.Decision(decision.commands(), actions, decision.waiting(), decision.indivisible());
      }
    };
  }

  /** Runs a mutant, which may also break harmless rules or get stuck; the expected violation must be among the findings. */
  private static void found(String expected, Rules mutant) {
    var pattern = Pattern.compile(expected);
    var others = new TreeSet<String>();
    for (long seed = 0; seed < SEEDS; seed++) {
      try {
        Simulation.run(seed, mutant, false);
      } catch (AssertionError e) {
        if (pattern.matcher(e.getMessage()).find()) return;
        others.add(e.getMessage());
      }
    }
    throw new AssertionError("not found in " + SEEDS + " seeds; what was: " + others);
  }
}

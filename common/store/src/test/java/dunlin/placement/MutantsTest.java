package dunlin.placement;

import dunlin.placement.Action.ChangePeers;
import dunlin.placement.Operation.MoveReplica;
import dunlin.placement.Operation.Split;
import dunlin.placement.PlacementCommand.Abandon;
import dunlin.placement.plan.ClusterObservation;
import dunlin.placement.plan.Leases;
import dunlin.placement.plan.OperationSettings;
import dunlin.placement.plan.Operations;
import dunlin.placement.plan.SplitSettings;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeDescriptor.Origin;
import dunlin.store.raft.RangeFence.SplitOutcome;
import java.time.Duration;
import java.util.List;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The simulation finds mistakes: each rule, broken in a plausible way, is found within these seeds. */
class MutantsTest {
  private static final int SEEDS = 1_000;

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
  @Tag("thorough")
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
  void aMoveThatRemovesBeforeItAddsIsFound() {
    found("goes from 3 voters with rows to 2", asking((change, map) -> removesFirst(change, map)));
  }

  private static ChangePeers removesFirst(ChangePeers change, ClusterMap map) {
    var intent = map.intentOn(change.range());
    if (intent.isEmpty() || !(intent.get().operation() instanceof MoveReplica(_, var from, var to))) return change;
    boolean adds = change.wanted().contains(to) && !change.expected().contains(to);
    if (!adds || !change.expected().contains(from)) return change;
    return changing(change, without(change.expected(), from));
  }

  @Test
  @Tag("thorough")
  void aMoveThatRemovesBeforeTheNewReplicaHasItsRowsIsFound() {
    found(
        "goes from \\d voters with rows to",
        instead(
            (intent, led) ->
                intent.operation() instanceof MoveReplica(_, var from, var to) && led.range().has(from) && led.range().has(to)
                    ? without(led.range().peers(), from)
                    : null));
  }

  @Test
  void aFreshVoterThatIsTakenForALostOneIsFound() {
    found(
        "removes the replica that it has had created",
        instead(
            (intent, led) ->
                intent.operation().filled().map(to -> led.range().has(to) ? without(led.range().peers(), to) : null).orElse(null)));
  }

  @Test
  @Tag("thorough")
  void aReplicaThatPassesForTheOneThatWasLostIsFound() {
    found(
        "takes a replica that has lost its vote",
        new Rules() {
          @Override
          UUID creation(UUID operation, boolean lost, UUID another) {
            return operation;
          }
        });
  }

  /** A change that is to add its replica may take effect later. */
  @Test
  void anOperationThatIsAbandonedTooEarlyIsFound() {
    found(
        "drops its replica of .* in which it votes|lacks a replica",
        new Rules() {
          @Override
          Operations.Decision decide(ClusterMap map, ClusterObservation observation, OperationSettings settings) {
            var decision = super.decide(map, observation, settings);
            for (var action : List.copyOf(decision.actions())) {
              if (!(action instanceof ChangePeers change) || !change.expected().equals(change.wanted())) continue;
              decision.actions().remove(action);
              map.intentOn(change.range()).ifPresent(intent -> decision.commands().add(new Abandon(intent.id())));
            }
            return decision;
          }
        });
  }

  private interface Waiting {
    /** The peers that are asked for instead of waiting, or null. */
    @Nullable List<UUID> peers(Intent intent, NodeReport.Replica led);
  }

  /** Rules that ask for other peers instead of waiting until a replica has caught up. */
  private static Rules instead(Waiting mutation) {
    return new Rules() {
      @Override
      Operations.Decision decide(ClusterMap map, ClusterObservation observation, OperationSettings settings) {
        var decision = super.decide(map, observation, settings);
        decision.waiting().forEach((id, why) -> {
          var intent = map.intents().get(id);
          if (intent == null || !why.endsWith("catches up")) return;
          for (var report : observation.reports().values()) {
            var led = report.replica(intent.operation().range().orElseThrow()).filter(NodeReport.Replica::leads).orElse(null);
            if (led == null) continue;
            var wanted = mutation.peers(intent, led);
            if (wanted != null && wanted.contains(report.node()))
              decision.actions().add(new ChangePeers(report.node(), led.range().id(), led.configuration(), led.range().peers(), wanted));
          }
        });
        return decision;
      }
    };
  }

  private static List<UUID> without(List<UUID> peers, UUID node) {
    return peers.stream().filter(peer -> !peer.equals(node)).toList();
  }

  private static ChangePeers changing(ChangePeers change, List<UUID> wanted) {
    return new ChangePeers(change.node(), change.range(), change.configuration(), change.expected(), wanted);
  }

  @Test
  void aChangeOfPeersWithoutComparisonIsFound() {
    found(
        "gets a vote in .* and has no replica|goes from \\d voters with rows|in which it votes|lacks",
        new Rules() {
          @Override
          boolean exchanges(long configuration, List<UUID> peers, ChangePeers action) {
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
          Operations.Decision decide(ClusterMap map, ClusterObservation observation, OperationSettings settings) {
            var splits = settings.splits();
            var more =
                new SplitSettings(splits.bytes(), splits.operationsPerSecond(), splits.bytesMin(), 9, splits.replicasMax());
            var changed =
                new OperationSettings(
                    settings.lagMax(), settings.unflushedMax(), settings.automaticMax(), settings.replicas(), more,
                    settings.replaceAfter(), settings.balance());
            return super.decide(map, observation, changed);
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
      Operations.Decision decide(ClusterMap map, ClusterObservation observation, OperationSettings settings) {
        var decision = super.decide(map, observation, settings);
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

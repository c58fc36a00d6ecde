package dunlin.placement.plan;

import dunlin.placement.LeaderSpread;
import dunlin.placement.Operation.TransferLeadership;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * Chooses transfers so that nodes lead equally many ranges, as far as their replicas allow.
 *
 * <p>A node can have no replica of any range that the busiest one leads. Then a node that leads one range fewer than the busiest hands a leadership on, and gets
 * one itself. So what is looked for is a chain of transfers, from a node to one that leads at least two ranges fewer. It is begun at its start; the rest is
 * decided after each transfer, when other nodes may lead. The shortest chain is chosen: each transfer leaves a shorter one, so this ends, and no chain is left
 * exactly if no other choice of leaders is more even.
 */
final class EvenLeaders {
  private EvenLeaders() {}

  /** A transfer that could begin now. */
  record Possible(TransferLeadership transfer, UUID from) {
    UUID to() {
      return transfer.to();
    }
  }

  /** @param gain how many more ranges its first node leads than its last one */
  private record Chain(TransferLeadership first, int length, int gain) {}

  /** @param leads how many ranges each node leads, of all nodes that occur in transfers */
  static Optional<TransferLeadership> next(List<Possible> possible, Map<UUID, Integer> leads) {
    var fewestFirst = possible.stream().sorted(Comparator.comparingInt(each -> leads.getOrDefault(each.to(), 0))).toList();
    return leads.keySet().stream()
        .flatMap(node -> from(node, fewestFirst, leads).stream())
        .min(Comparator.comparingInt(Chain::length).thenComparing(Chain::gain, Comparator.reverseOrder()))
        .map(Chain::first);
  }

  /** The shortest chain that begins at a node. */
  private static Optional<Chain> from(UUID start, List<Possible> possible, Map<UUID, Integer> leads) {
    var chains = new HashMap<UUID, Chain>();
    var next = new ArrayDeque<>(List.of(start));
    while (!next.isEmpty()) {
      UUID node = next.poll();
      var before = chains.get(node);
      for (var each : possible) {
        int gain = leads.getOrDefault(start, 0) - leads.getOrDefault(each.to(), 0);
        if (!each.from().equals(node) || gain <= 0 || chains.containsKey(each.to())) continue;
        var chain = before == null ? new Chain(each.transfer(), 1, gain) : new Chain(before.first(), before.length() + 1, gain);
        if (gain > LeaderSpread.DIFFERENCE_MAX) return Optional.of(chain);
        chains.put(each.to(), chain);
        next.add(each.to());
      }
    }
    return Optional.empty();
  }
}

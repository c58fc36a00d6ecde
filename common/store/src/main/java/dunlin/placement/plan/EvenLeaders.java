package dunlin.placement.plan;

import dunlin.placement.LeaderSpread;
import dunlin.placement.Operation.TransferLeadership;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * Chooses transfers so that nodes lead equally many ranges, as far as their replicas allow.
 *
 * <p>A node can have no replica of any range that the busiest one leads. Then a node that leads one range fewer than the busiest hands a leadership on, and gets
 * one itself. So what is looked for is a chain of transfers, from a node to one that leads at least two ranges fewer. It is begun at its start; the rest is
 * decided after each transfer. If none is left, no other choice of leaders is more even.
 *
 * <p>Each transfer is a pause for callers, so none may be in vain. A single one always makes leaders more even. Of longer chains one begins only while all of its
 * transfers are possible, and only if no shorter one will be possible later: each of their transfers leaves a shorter chain. So this ends, whatever nodes
 * fall behind and catch up.
 */
final class EvenLeaders {
  private EvenLeaders() {}

  /**
   * A transfer to a voter that may lead the range.
   *
   * @param ready whether it is possible now, and not only once the voter keeps up
   */
  record Possible(TransferLeadership transfer, UUID from, boolean ready) {
    UUID to() {
      return transfer.to();
    }
  }

  /** @param gain how many more ranges its first node leads than its last one */
  private record Chain(TransferLeadership first, int length, int gain) {}

  /** @param leads how many ranges each node leads, of all nodes that occur in transfers */
  static Optional<TransferLeadership> next(List<Possible> possible, Map<UUID, Integer> leads) {
    if (LeaderSpread.isEven(leads.values())) return Optional.empty();
    var later = shortest(possible, leads);
    var now = shortest(possible.stream().filter(Possible::ready).toList(), leads);
    return now.filter(chain -> chain.length() <= later.orElseThrow().length()).map(Chain::first);
  }

  private static Optional<Chain> shortest(List<Possible> possible, Map<UUID, Integer> leads) {
    var fewestFirst =
        possible.stream().sorted(Comparator.comparingInt(each -> leads.getOrDefault(each.to(), 0))).collect(Collectors.groupingBy(Possible::from));
    int fewest = Collections.min(leads.values());
    return leads.keySet().stream()
        .filter(node -> leads.getOrDefault(node, 0) - fewest > LeaderSpread.DIFFERENCE_MAX)
        .flatMap(node -> from(node, fewestFirst, leads).stream())
        .min(Comparator.comparingInt(Chain::length).thenComparing(Chain::gain, Comparator.reverseOrder()));
  }

  /** The shortest chain that begins at a node. */
  private static Optional<Chain> from(UUID start, Map<UUID, List<Possible>> possible, Map<UUID, Integer> leads) {
    var chains = new HashMap<UUID, Chain>();
    var next = new ArrayDeque<>(List.of(start));
    while (!next.isEmpty()) {
      UUID node = next.poll();
      var before = chains.get(node);
      for (var each : possible.getOrDefault(node, List.of())) {
        if (chains.containsKey(each.to())) continue;
        int gain = leads.getOrDefault(start, 0) - leads.getOrDefault(each.to(), 0);
        if (gain <= 0) break; // those that follow lead as many, or more
        var chain = before == null ? new Chain(each.transfer(), 1, gain) : new Chain(before.first(), before.length() + 1, gain);
        if (gain > LeaderSpread.DIFFERENCE_MAX) return Optional.of(chain);
        chains.put(each.to(), chain);
        next.add(each.to());
      }
    }
    return Optional.empty();
  }
}

package dunlin.placement.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.placement.Operation.TransferLeadership;
import dunlin.placement.plan.EvenLeaders.Possible;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class EvenLeadersTest {
  /** The voters of each range, and which of them leads it. */
  private final List<List<Integer>> voters = new ArrayList<>();

  private final List<Integer> leaders = new ArrayList<>();

  /** Which voter of which range does not keep up: both numbers. */
  private final Set<List<Integer>> behind = new HashSet<>();

  @Test
  void aNodeHandsALeadershipOnToOneThatHasNoReplicaOfWhatTheBusiestOneLeads() {
    onlyAChainHelps();

    transfer(4);
    assertThat(leaders).as("a leadership of the busiest one first").containsExactly(2, 1, 2, 3);
    transfer(4);
    assertThat(leaders).containsExactly(2, 1, 4, 3);
    assertThat(next(4)).isEmpty();
  }

  @Test
  void noChainBeginsWhileOneOfItsTransfersIsNotPossible() {
    onlyAChainHelps();
    behind.add(List.of(2, 4));

    assertThat(next(4)).isEmpty();
    behind.clear();
    assertThat(next(4)).isPresent();
  }

  /** Node 4 leads nothing, and has no replica of what node 1 leads, which leads the most. */
  private void onlyAChainHelps() {
    range(1, 1, 2, 3);
    range(1, 1, 2, 3);
    range(2, 1, 2, 4);
    range(3, 1, 2, 3);
  }

  /** Node 3 was just started: soon a single transfer will do. */
  @Test
  void noChainBeginsWhereAShorterOneWillBePossible() {
    range(1, 1, 2, 3);
    range(1, 1, 2, 3);
    range(2, 1, 2, 3);
    behind.add(List.of(0, 3));
    behind.add(List.of(1, 3));

    assertThat(next(3)).isEmpty();
    behind.remove(List.of(1, 3));
    assertThat(next(3)).contains(new TransferLeadership(new UUID(0, 1), new UUID(0, 3)));
  }

  @Test
  void leadersAreAsEvenAsReplicasAllowAfterFewTransfers() {
    long seed = System.nanoTime();
    var random = new Random(seed);
    int longest = 0;
    for (int round = 0; round < 300; round++) {
      int replicas = 2 + random.nextInt(2);
      int nodes = replicas + random.nextInt(7);
      voters.clear();
      leaders.clear();
      for (int range = 2 + random.nextInt(8); range > 0; range--) {
        var all = new ArrayList<>(IntStream.rangeClosed(1, nodes).boxed().toList());
        Collections.shuffle(all, random);
        range(all.getFirst(), all.subList(0, replicas).toArray(Integer[]::new));
      }
      String drawn = "seed " + seed + ", round " + round + ", voters " + voters + ", leaders " + leaders;

      int last = unevenness(leaders);
      for (int without = 0; next(nodes).isPresent(); ) {
        transfer(nodes);
        int now = unevenness(leaders);
        assertThat(now).as(drawn).isLessThanOrEqualTo(last);
        without = now < last ? 0 : without + 1;
        assertThat(without).as("transfers that made nothing more even; %s", drawn).isLessThan(nodes);
        longest = Math.max(longest, without + 1);
        last = now;
      }
      assertThat(last).as(drawn).isEqualTo(least(0, new ArrayList<>()));
    }
    assertThat(longest).as("the longest chain with seed %d", seed).isGreaterThan(1);
  }

  /** What any choice of leaders reaches at best. */
  private int least(int range, List<Integer> chosen) {
    if (range == voters.size()) return unevenness(chosen);
    int least = Integer.MAX_VALUE;
    for (int voter : voters.get(range)) {
      chosen.add(voter);
      least = Math.min(least, least(range + 1, chosen));
      chosen.removeLast();
    }
    return least;
  }

  /** The sum of the squares of how many ranges each node leads. */
  private static int unevenness(List<Integer> leaders) {
    var led = new TreeMap<Integer, Integer>();
    leaders.forEach(leader -> led.merge(leader, 1, Integer::sum));
    return led.values().stream().mapToInt(n -> n * n).sum();
  }

  private void range(int leader, Integer... peers) {
    voters.add(Arrays.asList(peers));
    leaders.add(leader);
  }

  private void transfer(int nodes) {
    var transfer = next(nodes).orElseThrow();
    leaders.set((int) transfer.of().getLeastSignificantBits(), (int) transfer.to().getLeastSignificantBits());
  }

  private Optional<TransferLeadership> next(int nodes) {
    Map<UUID, Integer> leads = new TreeMap<>();
    for (int node = 1; node <= nodes; node++) leads.put(new UUID(0, node), Collections.frequency(leaders, node));
    var possible = new ArrayList<Possible>();
    for (int range = 0; range < voters.size(); range++)
      for (int voter : voters.get(range))
        if (voter != leaders.get(range))
          possible.add(new Possible(new TransferLeadership(new UUID(0, range), new UUID(0, voter)), new UUID(0, leaders.get(range)), !behind.contains(List.of(range, voter))));
    return EvenLeaders.next(possible, leads);
  }
}

package dunlin.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.placement.BootstrapRule.Decision;
import dunlin.placement.BootstrapRule.Decision.Found;
import dunlin.placement.BootstrapRule.Decision.Join;
import dunlin.placement.BootstrapRule.Decision.Refuse;
import dunlin.placement.BootstrapRule.Decision.Wait;
import dunlin.placement.BootstrapRule.Hello;
import dunlin.placement.BootstrapRule.Hello.Empty;
import dunlin.placement.BootstrapRule.Hello.Member;
import dunlin.placement.BootstrapRule.Hello.Unreachable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class BootstrapRuleTest {
  private static final UUID A = new UUID(0, 1);
  private static final UUID B = new UUID(0, 2);
  private static final UUID C = new UUID(0, 3);
  private static final UUID CLUSTER = new UUID(7, 7);
  private static final UUID OTHER = new UUID(8, 8);

  private static final List<Hello> ALL_EMPTY = List.of(new Empty("a", A), new Empty("b", B), new Empty("c", C));

  static LongStream seeds() {
    return LongStream.range(0, 300);
  }

  @Test
  void theLowestOfAllThatAreEmptyFounds() {
    assertThat(BootstrapRule.decide(A, null, 3, ALL_EMPTY)).isEqualTo(new Found(List.of(A, B, C)));
    assertThat(BootstrapRule.decide(B, null, 3, ALL_EMPTY)).isEqualTo(new Wait("node " + A + " founds the cluster"));
  }

  @Test
  void aSingleNodeNeedsNoSeeds() {
    assertThat(BootstrapRule.decide(A, null, 1, List.of())).isEqualTo(new Found(List.of(A)));
    assertThat(BootstrapRule.decide(A, null, 3, List.of())).isInstanceOf(Wait.class);
  }

  @Test
  void oneMemberIsEnoughToJoin() {
    assertThat(BootstrapRule.decide(B, null, 3, List.of(new Unreachable("a", "refused"), new Empty("b", B), new Member("c", C, CLUSTER))))
        .isEqualTo(new Join(CLUSTER, List.of("c")));
  }

  @Test
  void noNodeFoundsWhileASeedIsSilent() {
    assertThat(BootstrapRule.decide(A, null, 2, List.of(new Empty("a", A), new Empty("b", B), new Unreachable("c", "refused"))))
        .isEqualTo(new Wait("seed c does not answer as a node does, and no seed belongs to a cluster: refused"));
  }

  @Test
  void aSeedThatIsThisNodeUnderAnotherNameCountsOnce() {
    var answers = List.<Hello>of(new Empty("localhost", A), new Empty("a.example", A), new Empty("b", B));
    assertThat(BootstrapRule.decide(A, null, 3, answers)).isInstanceOf(Wait.class);
    assertThat(BootstrapRule.decide(A, null, 2, answers)).isEqualTo(new Found(List.of(A, B)));
  }

  @Test
  void twoClustersAreRefusedByName() {
    var two = List.<Hello>of(new Member("a", A, CLUSTER), new Member("b", B, OTHER));
    assertThat(BootstrapRule.decide(C, null, 3, two))
        .isEqualTo(
            new Refuse(
                "seed b belongs to cluster " + OTHER + ", seed a to cluster " + CLUSTER
                    + ": name the seeds of one cluster only"));
    assertThat(BootstrapRule.decide(C, CLUSTER, 3, List.of(new Member("b", B, OTHER)))).isInstanceOf(Refuse.class);
  }

  @Test
  void aMemberComesBackByItself() {
    assertThat(BootstrapRule.decide(A, CLUSTER, 3, List.of(new Unreachable("b", "refused")))).isEqualTo(new Join(CLUSTER, List.of()));
    assertThat(BootstrapRule.decide(A, CLUSTER, 3, List.of(new Empty("b", B), new Member("a", A, CLUSTER))))
        .isEqualTo(new Join(CLUSTER, List.of()));
  }

  @Test
  void aNodeThatIsNoSeedDoesNotFound() {
    assertThat(BootstrapRule.decide(new UUID(0, 0), null, 3, ALL_EMPTY)).isInstanceOf(Wait.class);
  }

  @Test
  void moreSeedsThanExpectedAreAMistake() {
    assertThat(BootstrapRule.decide(A, null, 2, ALL_EMPTY)).isInstanceOf(Refuse.class);
    assertThatThrownBy(() -> BootstrapRule.decide(A, null, 0, ALL_EMPTY)).hasMessageContaining("bootstrap-expect");
  }

  /** All nodes ask at random times, and any may be away at any moment: there is never a second cluster. */
  @ParameterizedTest
  @MethodSource("seeds")
  void noSecondClusterIsFounded(long seed) {
    var random = new Random(seed);
    int count = 1 + random.nextInt(5);
    var clusters = new @Nullable UUID[count];
    var made = new HashSet<UUID>();
    for (int step = 0; step < 60; step++) {
      int self = random.nextInt(count);
      var answers = new ArrayList<Hello>();
      for (int i = 0; i < count; i++) {
        for (int names = 1 + random.nextInt(2); names > 0; names--) answers.add(hello(i, clusters[i], random));
      }
      Decision decision = BootstrapRule.decide(new UUID(0, self), clusters[self], count, answers);
      switch (decision) {
        case Join(var cluster, _) -> clusters[self] = cluster;
        case Found _ -> {
          clusters[self] = new UUID(9, random.nextLong());
          made.add(clusters[self]);
        }
        case Wait _ -> {}
        case Refuse(var why) -> throw new AssertionError("seed " + seed + ": " + why);
      }
    }
    assertThat(made).as("seed %d", seed).hasSizeLessThanOrEqualTo(1);
  }

  private static Hello hello(int node, @Nullable UUID cluster, Random random) {
    String seed = "n" + node + "-" + random.nextInt(9);
    if (random.nextInt(8) == 0) return new Unreachable(seed, "refused");
    return cluster == null ? new Empty(seed, new UUID(0, node)) : new Member(seed, new UUID(0, node), cluster);
  }
}

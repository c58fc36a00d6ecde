package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.Route;
import dunlin.model.Publisher;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Terms;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Where a message of a recorded exchange goes when it comes again; how shards share what is new is in {@link DistWorkerTest}. */
class GroupPickTest {
  private static final Publisher PUBLISHER = new Publisher("t", "client");
  private static final Route ONE = route("$share/g/a", ShardId.frontend("1"));
  private static final Route TWO = route("$share/g/a", ShardId.frontend("2"));
  private static final Route STORED = route("$share/g/a", ShardId.inbox(3));
  private static final Route[] ALL = {STORED, ONE, TWO};

  private final Set<ShardId> unattached = new HashSet<>();
  private final Set<ShardId> detached = new HashSet<>();
  private final GroupPick picks = new GroupPick(route -> unattached.contains(route.shard()) ? -1 : route.equals(STORED) ? 50 : 2, detached::contains);

  private static Route route(String filter, ShardId shard) {
    return new Route("t", TopicFilter.parse(filter).orElseThrow(), shard, 1, 0);
  }

  private static Terms.Origin again(Route... picked) {
    return new Terms.Origin(5, 1, 1, true, List.of(picked).stream().map(GroupPick::numberOf).toList());
  }

  /** All that is picked in many tries. */
  private Set<Route> picked(Route[] of, boolean ordered, Terms.@Nullable Origin origin) {
    var all = new HashSet<Route>();
    for (int i = 0; i < 500; i++) all.add(picks.of(of, ordered, PUBLISHER, origin));
    return all;
  }

  @Test
  void aRepetitionGoesWhereItWent() {
    for (Route each : ALL) {
      assertThat(picked(ALL, false, again(each))).containsExactly(each);
      assertThat(picked(ALL, true, again(each))).containsExactly(each);
    }
  }

  /** The record of the exchange is there, and is not for this group. */
  @Test
  void whatWasPickedForAFrontendBeforeHasMovedToAnInboxShard() {
    Route[] onlyStored = {STORED};
    assertThat(GroupPick.isMoved(ALL, false, again(ONE), STORED)).isTrue();
    assertThat(GroupPick.isMoved(onlyStored, false, again(ONE), STORED)).as("the frontend's route is gone, too").isTrue();
    assertThat(GroupPick.isMoved(ALL, false, again(ONE), TWO)).as("frontends recognise it").isFalse();
    assertThat(GroupPick.isMoved(ALL, false, again(STORED, ONE), STORED)).as("it may be stored there").isFalse();
    assertThat(GroupPick.isMoved(ALL, false, again(), STORED)).as("a frontend may have been picked").isTrue();
    assertThat(GroupPick.isMoved(ALL, true, again(), STORED)).as("the publisher's shard is the same again").isFalse();
    assertThat(GroupPick.isMoved(onlyStored, false, again(), STORED)).as("nothing else can have been picked").isFalse();
    assertThat(GroupPick.isMoved(onlyStored, false, again(route("$share/h/a", ONE.shard())), STORED)).as("another group").isFalse();
    assertThat(GroupPick.isMoved(ALL, false, new Terms.Origin(5, 1, 1, false, again(ONE).picked()), STORED)).as("it comes for the first time").isFalse();
  }

  @Test
  void theLastOneThatWasPickedCounts() {
    assertThat(picked(ALL, false, again(ONE, STORED, TWO))).containsExactly(TWO);
    assertThat(picked(new Route[] {STORED, ONE}, false, again(ONE, STORED, TWO))).containsExactly(STORED);
  }

  @Test
  void picksOfOtherGroupsDoNotCount() {
    assertThat(picked(ALL, false, again(route("$share/h/a", ShardId.inbox(3))))).containsExactlyInAnyOrder(ONE, TWO);
  }

  @Test
  void withoutAPickARepetitionGoesToAFrontendIfThereIsOne() {
    assertThat(picked(ALL, false, null)).contains(STORED);
    assertThat(picked(ALL, false, new Terms.Origin(5, 1, 1, false))).contains(STORED);
    assertThat(picked(ALL, false, again())).containsExactlyInAnyOrder(ONE, TWO);

    unattached.add(ONE.shard());
    assertThat(picked(ALL, false, again())).containsExactly(TWO);
    unattached.add(TWO.shard());
    assertThat(picked(ALL, false, again())).containsExactly(STORED);
  }

  /** The publisher's shard does not depend on the leader. */
  @Test
  void withoutAPickARepetitionForAnOrderedGroupGoesToThePublishersShard() {
    assertThat(picked(ALL, true, again())).isEqualTo(picked(ALL, true, null)).hasSize(1);
  }

  @Test
  void aFrontendThatIsNotAttachedYetMayHaveTheMessage() {
    unattached.add(ONE.shard());
    assertThat(picked(ALL, false, again(ONE))).containsExactly(ONE);

    detached.add(ONE.shard());
    assertThat(picked(ALL, false, again(ONE))).containsExactly(TWO);
  }

  @Test
  void theOnlyShardIsPicked() {
    assertThat(picked(new Route[] {STORED}, false, again(ONE))).containsExactly(STORED);
  }

  @Test
  void shardsAndGroupsHaveDifferentNumbers() {
    var numbers = new HashSet<Long>();
    for (String filter : List.of("$share/g/a", "$share/h/a", "$oshare/g/a", "$share/g/+"))
      IntStream.range(0, 500).forEach(
          i -> {
            numbers.add(GroupPick.numberOf(route(filter, ShardId.inbox(i))));
            numbers.add(GroupPick.numberOf(route(filter, ShardId.frontend(Integer.toString(i)))));
          });

    assertThat(numbers).hasSize(4_000);
  }
}

package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.route.Route;
import dunlin.model.Publisher;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Terms;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Where a message of a recorded exchange goes when it comes again; how shards share what is new is in {@link DistWorkerTest}. */
class GroupPickTest {
  private static final Publisher PUBLISHER = new Publisher("t", "client");
  private static final Route ONE = route("$share/g/a", ShardId.frontend("1"));
  private static final Route TWO = route("$share/g/a", ShardId.frontend("2"));
  private static final Route OWN = route("$share/g/a", ShardId.frontend("own"));
  private static final Route STORED = route("$share/g/a", ShardId.inbox(3));
  private static final Route[] ALL = {STORED, ONE, TWO};

  private final Set<ShardId> unattached = new HashSet<>();
  private final Set<ShardId> detached = new HashSet<>();
  private final Map<Route, Integer> credits = new HashMap<>();
  private final GroupPick picks =
      new GroupPick(
          route -> unattached.contains(route.shard()) ? -1 : credits.getOrDefault(route, route.equals(STORED) ? 50 : 2),
          detached::contains,
          () -> Stream.of(ONE.shard(), TWO.shard()).filter(each -> !unattached.contains(each) && !detached.contains(each)).toList(),
          OWN.shard(),
          new SplittableRandom());

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

  /** It may have given the message to a member that has left, or to a durable one; it alone knows. */
  @Test
  void aRepetitionGoesToTheFrontendThatHasNoMemberAnyMore() {
    var left = new Route("t", ONE.filter(), ONE.shard(), 0, 0);

    assertThat(picked(new Route[] {STORED, TWO}, false, again(ONE))).containsExactly(left);
    assertThat(picked(new Route[] {STORED, TWO}, true, again(ONE))).containsExactly(left);
    assertThat(picked(new Route[] {STORED}, false, again(ONE))).as("the others have left, too").containsExactly(left);
    assertThat(picked(new Route[] {STORED}, false, again(route("$share/h/a", ONE.shard())))).as("of another group").containsExactly(STORED);
  }

  /** The record of the exchange says whether the durable members have it. */
  @Test
  void aRepetitionWhoseFrontendHasEndedGoesToTheDurableMembers() {
    detached.add(ONE.shard());

    assertThat(picked(ALL, false, again(ONE))).containsExactly(STORED);
    assertThat(picked(new Route[] {STORED, TWO}, false, again(ONE))).as("without a route").containsExactly(STORED);
    assertThat(picked(ALL, true, again(ONE))).containsExactly(STORED);
    assertThat(picked(ALL, false, again(TWO, ONE))).as("the one before has returned it").containsExactly(STORED);
    unattached.add(ONE.shard());
    assertThat(picked(new Route[] {ONE, TWO}, false, again(ONE))).as("there are none").containsExactly(TWO);
  }

  @Test
  void theLastOneThatWasPickedCounts() {
    assertThat(picked(ALL, false, again(ONE, STORED, TWO))).containsExactly(TWO);
    detached.add(TWO.shard());
    assertThat(picked(new Route[] {STORED, ONE}, false, again(ONE, STORED, TWO))).containsExactly(STORED);
    assertThat(picked(new Route[] {ONE}, false, again(ONE, STORED))).as("the frontend knows where it has gone").containsExactly(ONE);
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

  @Test
  void whatAFrontendHasReturnedGoesToTheSameOneEachTime() {
    var others = new HashSet<Route>();
    for (long number = 1; number <= 100; number++) {
      var first = new Terms.Origin(5, number, 1, false);
      Route next = GroupPick.next(new Route[] {ONE, TWO}, first);
      assertThat(GroupPick.next(new Route[] {TWO, ONE}, first.asRepetition())).isEqualTo(next);
      others.add(next);
    }
    assertThat(others).containsExactlyInAnyOrder(ONE, TWO);
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

  }

  @Test
  void theOwnNodeIsFirstWhenCreditsAreEqual() {
    for (int credit : new int[] {2, 256, 70_000}) {
      List.of(ONE, OWN).forEach(each -> credits.put(each, credit));
      assertThat(picked(new Route[] {ONE, OWN}, false, null)).containsExactly(OWN);
      assertThat(picked(new Route[] {OWN, ONE}, false, null)).containsExactly(OWN);
    }
    credits.put(TWO, 70_000);
    assertThat(picked(new Route[] {ONE, OWN, TWO}, false, null)).as("two are drawn").containsExactlyInAnyOrder(ONE, OWN, TWO);
    assertThat(picked(new Route[] {ONE, TWO}, false, null)).as("it has no member").containsExactlyInAnyOrder(ONE, TWO);
  }

  @Test
  void theOwnNodeIsNotFirstWhenItHasLessCreditOrNone() {
    credits.putAll(Map.of(ONE, 256, OWN, 255));
    assertThat(picked(new Route[] {ONE, OWN}, false, null)).containsExactlyInAnyOrder(ONE, OWN);
    credits.put(OWN, 0);
    assertThat(picked(new Route[] {ONE, OWN}, false, null)).containsExactly(ONE);
    credits.put(ONE, 0);
    assertThat(picked(new Route[] {ONE, OWN}, false, null)).as("its destination lets it wait").containsExactlyInAnyOrder(ONE, OWN);
  }

  /** Where a publisher of an ordered group has its member does not depend on who leads. */
  @Test
  void theOwnNodeIsNotFirstInAnOrderedGroup() {
    var picked = new HashSet<Route>();
    for (int i = 0; i < 200; i++) picked.add(picks.of(new Route[] {ONE, OWN}, true, new Publisher("t", "client-" + i), null));
    assertThat(picked).containsExactlyInAnyOrder(ONE, OWN);
  }

  @Test
  void theOnlyShardIsPicked() {
    assertThat(picked(new Route[] {STORED}, false, null)).containsExactly(STORED);
    assertThat(picked(new Route[] {STORED}, false, again())).containsExactly(STORED);
    assertThat(picked(new Route[] {STORED}, true, again())).containsExactly(STORED);
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

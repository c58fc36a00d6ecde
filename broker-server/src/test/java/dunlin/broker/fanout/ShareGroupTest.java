package dunlin.broker.fanout;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.OpenFrontend;
import dunlin.broker.session.SessionView;
import dunlin.model.Publisher;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ShareGroupTest {
  private static final FilterHandle FILTER = OpenFrontend.handle("$share/g/t", 2);

  private final OpenFrontend open = new OpenFrontend(2);

  @AfterAll
  void closes() {
    open.close();
  }

  @Test
  void anEmptyGroupPicksNobody() {
    ShareGroup group = new ShareGroup(true, 2);
    assertThat(group.pick(0)).isNull();
    assertThat(group.pickFor(publisher(1))).isNull();
    assertThat(group.at(0)).isNull();
    assertThat(group.credit()).isZero();

    Subscriber only = open.subscriber(0, FILTER, "only");
    group.add(only);
    assertThat(group.pick(0)).isSameAs(only);
    group.remove(only);
    assertThat(group.pick(0)).isNull();
    assertThat(group.pickFor(publisher(1))).isNull();
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void joinsAndLeavesKeepEachMemberAtOnePlace(long seed) {
    Random random = new Random(seed);
    ShareGroup group = new ShareGroup(true, 2);
    List<Subscriber> outside = subscribers(10);
    for (int i = 0; i < 10; i++) outside.add(open.subscriber(1, FILTER, "elsewhere " + i));
    List<Subscriber> inside = new ArrayList<>();
    for (int step = 0; step < 2_000; step++) {
      if (outside.isEmpty() || (!inside.isEmpty() && random.nextBoolean())) {
        Subscriber leaving = inside.remove(random.nextInt(inside.size()));
        group.remove(leaving);
        outside.add(leaving);
      } else {
        Subscriber joining = outside.remove(random.nextInt(outside.size()));
        group.add(joining);
        inside.add(joining);
      }
      Set<Subscriber> found = new HashSet<>();
      for (int i = 0; i < group.size(); i++) found.add(Objects.requireNonNull(group.at(i)));
      assertThat(found).as("seed %d, step %d", seed, step).containsExactlyInAnyOrderElementsOf(inside);
      assertThat(group.at(group.size())).isNull();
    }
  }

  @Test
  void ofTwoMembersTheOneWithLessWaitingIsPicked() {
    ShareGroup group = new ShareGroup(true, 2);
    List<Subscriber> members = subscribers(2);
    members.forEach(group::add);
    Subscriber busy = members.get(0);
    offer(busy, 2);

    for (int i = 0; i < 100; i++) assertThat(group.pick(0)).isSameAs(members.get(1));
  }

  @Test
  void idleMembersArePickedEvenly() {
    ShareGroup group = new ShareGroup(true, 2);
    subscribers(8).forEach(group::add);
    Map<Subscriber, Integer> picks = new HashMap<>();
    for (int i = 0; i < 80_000; i++) picks.merge(Objects.requireNonNull(group.pick(0)), 1, Integer::sum);

    assertThat(picks.values()).hasSize(8).allSatisfy(each -> assertThat(each).isBetween(9_500, 10_500));
  }

  @Test
  void aLoopDealsToItsOwnMembersAsLongAsAllGetTheSame() {
    ShareGroup group = group(4, 4);
    for (int turn = 0; turn < 400; turn++) pick(group, turn % 2, 500);

    Map<Subscriber, Integer> picks = new HashMap<>();
    for (int i = 0; i < 10_000; i++) {
      for (int loop = 0; loop < 2; loop++) {
        Subscriber member = Objects.requireNonNull(group.pick(loop));
        assertThat(member.session.loop().index()).isEqualTo(loop);
        picks.merge(member, 1, Integer::sum);
      }
    }
    assertThat(picks.values()).hasSize(8).allSatisfy(each -> assertThat(each).isBetween(2_250, 2_750));
  }

  @ParameterizedTest(name = "{0} members with the publishers, {1} elsewhere")
  @CsvSource({"4, 4", "1, 7", "7, 1", "0, 3", "3, 0", "1, 1", "200, 200"})
  void membersOnAllLoopsGetTheSameWhereverThePublishersAre(int here, int elsewhere) {
    ShareGroup group = group(here, elsewhere);
    int members = here + elsewhere;
    Map<Subscriber, Integer> picks = pick(group, 0, members * 10_000);
    assertThat(picks.values()).hasSize(members).allSatisfy(each -> assertThat(each).isBetween(9_000, 11_000));
  }

  @Test
  void fewMessagesAreSpreadToo() {
    Map<Subscriber, Integer> picks = pick(group(1, 1), 0, 20);
    assertThat(picks.values()).hasSize(2).allSatisfy(each -> assertThat(each).isBetween(7, 13));
  }

  @Test
  void aMemberThatJoinsLateGetsItsShareAndDoesNotCatchUp() {
    ShareGroup group = group(2, 0);
    pick(group, 0, 100_000);
    Subscriber late = open.subscriber(1, FILTER, "late");
    group.add(late);
    assertThat(pick(group, 0, 30_000).get(late)).isBetween(8_000, 12_000);

    group.remove(late);
    pick(group, 0, 100_000);
    group.add(late);
    assertThat(pick(group, 0, 30_000).get(late)).isBetween(8_000, 12_000);
  }

  @Test
  void whenAllOfALoopsMembersLagBehindOthersGetTheirMessages() {
    ShareGroup group = group(2, 2);
    for (int i = 0; i < 2; i++) offer(Objects.requireNonNull(group.at(i)), 1 + OpenFrontend.QUEUE_MESSAGES);

    pick(group, 0, 1_000).forEach((member, count) -> assertThat(member.session.loop().index()).isOne());
  }

  /** A few waiting messages are enough to distinguish slow members. */
  @Test
  void aMemberThatIsSlowerThanThoseElsewhereHasFewMessagesWaiting() {
    try (OpenFrontend roomy = new OpenFrontend(2, 200)) {
      ShareGroup group = new ShareGroup(false, 2);
      Subscriber slow = roomy.subscriber(0, FILTER, "slow");
      group.add(slow);
      group.add(roomy.subscriber(1, FILTER, "fast"));
      int waiting = 0;
      for (int i = 0; i < 1_000; i++) {
        if (group.pick(0) != slow) continue;
        offer(roomy, slow, 1);
        waiting++;
      }
      assertThat(waiting).isLessThan(20);
    }
  }

  @Test
  void creditIsZeroWhenNoMemberTakesMessagesAndFindsTheOneThatDoes() {
    ShareGroup group = new ShareGroup(true, 2);
    List<Subscriber> members = subscribers(3);
    members.forEach(group::add);
    assertThat(group.credit()).isEqualTo(3 * 256);
    for (Subscriber member : members) offer(member, 1 + OpenFrontend.QUEUE_MESSAGES);
    assertThat(group.credit()).isZero();

    group.add(open.subscriber(0, FILTER, "fresh"));
    for (int i = 0; i < 50; i++) assertThat(group.credit()).isGreaterThan(1);
  }

  @Test
  void aPublisherChangesItsMemberOnlyForOneThatJoinsOrWhenItsOwnLeaves() {
    ShareGroup group = new ShareGroup(true, 2);
    List<Subscriber> members = subscribers(5);
    members.forEach(group::add);
    Map<Integer, Subscriber> before = picks(group);
    assertThat(new HashSet<>(before.values())).hasSize(5);

    Subscriber joining = open.subscriber(0, FILTER, "joining");
    group.add(joining);
    Map<Integer, Subscriber> with = picks(group);
    assertThat(with.values()).contains(joining);
    with.forEach((publisher, member) -> assertThat(member == joining || member == before.get(publisher)).isTrue());

    Subscriber leaving = members.get(2);
    group.remove(leaving);
    Map<Integer, Subscriber> without = picks(group);
    assertThat(without.values()).doesNotContain(leaving);
    without.forEach(
        (publisher, member) -> assertThat(member == with.get(publisher) || with.get(publisher) == leaving).isTrue());
  }

  /** One thread changes the group, others pick without a lock: as long as there is a member, one is found. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void readersAlwaysFindAMemberWhileOthersComeAndGo(long seed) {
    ShareGroup group = new ShareGroup(true, 2);
    List<Subscriber> all = subscribers(40);
    group.add(all.getFirst());
    AtomicBoolean done = new AtomicBoolean();
    List<CompletableFuture<Long>> readers =
        IntStream.range(0, 2).mapToObj(reader -> CompletableFuture.supplyAsync(() -> pickUntil(group, done, reader))).toList();

    Random random = new Random(seed);
    List<Subscriber> outside = new ArrayList<>(all.subList(1, all.size()));
    List<Subscriber> inside = new ArrayList<>();
    for (int step = 0; step < 200_000; step++) {
      boolean joins = inside.isEmpty() || (!outside.isEmpty() && random.nextInt(4) < (step / 1_000 % 2 == 0 ? 3 : 1));
      if (joins) {
        Subscriber joining = outside.removeLast();
        group.add(joining);
        inside.add(joining);
      } else {
        Subscriber leaving = inside.remove(random.nextInt(inside.size()));
        group.remove(leaving);
        outside.add(leaving);
      }
    }
    done.set(true);

    for (CompletableFuture<Long> reader : readers) assertThat(reader.join()).as("empty picks with seed %d", seed).isZero();
    for (int i = 0; i < 1_000; i++) assertThat(outside).doesNotContain(Objects.requireNonNull(group.pick(0)));
  }

  private static long pickUntil(ShareGroup group, AtomicBoolean done, int reader) {
    long empty = 0;
    while (!done.get()) {
      if (group.pick(0) == null) empty++;
      if (group.pickFor(publisher(reader)) == null) empty++;
      if (group.credit() < 2) empty++;
    }
    return empty;
  }

  private static Map<Integer, Subscriber> picks(ShareGroup group) {
    Map<Integer, Subscriber> picks = new HashMap<>();
    for (int i = 0; i < 300; i++) picks.put(i, Objects.requireNonNull(group.pickFor(publisher(i))));
    return picks;
  }

  private void offer(Subscriber member, int messages) {
    offer(open, member, messages);
  }

  private static void offer(OpenFrontend at, Subscriber member, int messages) {
    at.on(
        0,
        () -> {
          for (int i = 0; i < messages; i++) assertThat(member.session.offerShared(OpenFrontend.message("m"), member)).isTrue();
          SessionView.updateLoad(OpenFrontend.sessionOf(member));
          return true;
        });
  }

  private ShareGroup group(int onFirstLoop, int onSecond) {
    ShareGroup group = new ShareGroup(false, 2);
    for (int i = 0; i < onFirstLoop; i++) group.add(open.subscriber(0, FILTER, "first " + i));
    for (int i = 0; i < onSecond; i++) group.add(open.subscriber(1, FILTER, "second " + i));
    return group;
  }

  private static Map<Subscriber, Integer> pick(ShareGroup group, int loop, int messages) {
    Map<Subscriber, Integer> picks = new HashMap<>();
    for (int i = 0; i < messages; i++) picks.merge(Objects.requireNonNull(group.pick(loop)), 1, Integer::sum);
    return picks;
  }

  private List<Subscriber> subscribers(int count) {
    List<Subscriber> subscribers = new ArrayList<>();
    for (int i = 0; i < count; i++) subscribers.add(open.subscriber(0, FILTER, "member " + i));
    return subscribers;
  }

  private static Publisher publisher(int number) {
    return new Publisher(Publisher.DEFAULT_TENANT, "publisher " + number);
  }
}

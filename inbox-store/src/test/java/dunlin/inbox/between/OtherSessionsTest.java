package dunlin.inbox.between;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.between.OtherRange.Birth;
import dunlin.inbox.between.OtherRange.GroupPart;
import dunlin.inbox.between.OtherRange.Held;
import dunlin.inbox.between.OtherRange.Sums;
import dunlin.inbox.rows.ForeignExchanges;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.rows.ShardInterval;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import dunlin.store.ways.WantedTenants;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** The leader of range 0 of three. */
final class OtherSessionsTest {
  /** The row of an exchange whose message plain subscribers have. */
  private static final byte[] STORED = {1};

  private static final Layout LAYOUT = new Layout(16, 3);
  private static final List<ShardInterval> INTERVALS = ShardInterval.divide(LAYOUT.shards(), LAYOUT.ranges());

  /** A range that answers when the test says so. */
  private static final class Asked extends QuietRange {
    final List<CompletableFuture<Sums>> sums = new ArrayList<>();
    final List<List<Birth>> sessions = new ArrayList<>();
    final List<CompletableFuture<List<Boolean>>> answers = new ArrayList<>();
    final List<List<String>> tenants = new ArrayList<>();
    CompletableFuture<List<GroupPart>> parts = CompletableFuture.completedFuture(List.of(GroupPart.NONE));

    @Override
    public CompletableFuture<Sums> sums() {
      sums.add(new CompletableFuture<>());
      return sums.getLast();
    }

    @Override
    public CompletableFuture<List<Held>> held(List<String> of) {
      tenants.add(of);
      return CompletableFuture.completedFuture(of.stream().map(tenant -> new Held(tenant.length(), 2, 3)).toList());
    }

    @Override
    public CompletableFuture<List<Boolean>> ended(List<Birth> of) {
      sessions.add(of);
      answers.add(new CompletableFuture<>());
      return answers.getLast();
    }

    @Override
    public CompletableFuture<List<GroupPart>> parts(List<GroupKey> groups) {
      return parts;
    }
  }

  private final Asked first = new Asked();
  private final Asked second = new Asked();
  private final ForeignExchanges known = new ForeignExchanges();
  private final OtherSessions others = new OtherSessions(LAYOUT, Map.of(1, first, 2, second));

  private void turns(int count) {
    for (int i = 0; i < count; i++) others.turn(known);
  }

  private static SessionKey session(int range, String beginning) {
    for (int i = 0; ; i++) {
      var session = new SessionKey("t", beginning + i);
      if (INTERVALS.get(range).contains(session.shard(LAYOUT.shards()))) return session;
    }
  }

  private static Birth birth(SessionKey session, long birth) {
    return new Birth(session.tenant(), session.clientId(), birth);
  }

  @Test
  void whatAllOthersHaveIsTheSumOfTheirLastAnswers() {
    assertThat(others.sums()).isEqualTo(Sums.NONE);
    turns(5);
    first.sums.getLast().complete(new Sums(1, 2, 3));
    second.sums.getLast().complete(new Sums(10, 20, 30));
    assertThat(others.sums()).isEqualTo(new Sums(11, 22, 33));

    turns(5);
    first.sums.getLast().complete(new Sums(4, 4, 4));
    second.sums.getLast().completeExceptionally(new StoreException("no leader"));
    assertThat(others.sums()).isEqualTo(new Sums(14, 24, 34));
  }

  @Test
  void whatATenantHasIsAskedOnceItIsWanted() {
    turns(100);
    assertThat(first.tenants).isEmpty();
    assertThat(others.held("blue")).as("not asked yet").isEqualTo(Held.NONE);
    turns(5);
    assertThat(others.held("blue")).isEqualTo(new Held(8, 4, 6));
    assertThat(first.tenants).containsOnly(List.of("blue"));
    assertThat(others.held("green")).isEqualTo(Held.NONE);
  }

  @Test
  void aRangeHasOneQuestionOfEachKindOnItsWay() {
    known.restore(session(1, "p"), 7, 1, STORED);
    turns(100);
    assertThat(first.sums).hasSize(1);
    assertThat(first.answers).hasSize(1);

    first.sums.getLast().completeExceptionally(new StoreException("no leader"));
    first.answers.getLast().completeExceptionally(new StoreException("no leader"));
    turns(25);
    assertThat(first.sums).hasSize(2);
    assertThat(first.answers).hasSize(2);
  }

  @Test
  void eachPublisherIsAskedAboutInItsRange() {
    var one = session(1, "p");
    var other = session(2, "p");
    known.restore(one, 7, 1, STORED);
    known.restore(other, 8, 1, STORED);
    turns(25);

    assertThat(first.sessions).containsExactly(List.of(birth(one, 7)));
    assertThat(second.sessions).containsExactly(List.of(birth(other, 8)));
    assertThat(others.lives(one, 7)).isTrue();
  }

  @Test
  void aSessionHasEndedWhenThatWasAnsweredTwice() {
    var session = session(1, "p");
    known.restore(session, 7, 1, STORED);
    turns(25);
    first.answers.getLast().complete(List.of(true));
    assertThat(others.lives(session, 7)).as("once").isTrue();

    turns(25);
    first.answers.getLast().complete(List.of(true));
    assertThat(others.lives(session, 7)).isFalse();
    assertThat(others.lives(session, 9)).as("a later session of the same client").isTrue();
    turns(25);
    assertThat(first.answers).as("nothing is left to ask").hasSize(2);
  }

  @Test
  void anAnswerThatItLivesTakesBackThatItHadEnded() {
    var session = session(1, "p");
    known.restore(session, 7, 1, STORED);
    for (boolean ended : new boolean[] {true, false, true}) {
      turns(25);
      first.answers.getLast().complete(List.of(ended));
    }
    assertThat(others.lives(session, 7)).isTrue();
  }

  @Test
  void anAnswerOfAnotherLengthSaysNothing() {
    var session = session(1, "p");
    known.restore(session, 7, 1, STORED);
    for (int i = 0; i < 3; i++) {
      turns(25);
      first.answers.getLast().complete(List.of(true, true));
    }
    assertThat(others.lives(session, 7)).isTrue();
  }

  @Test
  void whatTheRangeHasForgottenIsForgotten() {
    var session = session(1, "p");
    known.restore(session, 7, 1, STORED);
    turns(25);
    first.answers.getLast().complete(List.of(true));
    assertThat(others.ended()).isEqualTo(1);

    known.clear();
    turns(25);

    assertThat(others.ended()).isZero();
  }

  @Test
  void noMoreTenantsAreAskedAboutThanAQuestionHas() {
    for (int i = 0; i < 2 * WantedTenants.TENANTS_MAX; i++) assertThat(others.held("t" + i)).isEqualTo(Held.NONE);
    turns(5);

    assertThat(first.tenants.getLast()).hasSize(WantedTenants.TENANTS_MAX);
  }

  @Test
  void messagesForAGroupGoToTheRangeWhoseMembersTakeMost() {
    var group = new GroupKey("t", TopicFilter.parse("$share/g/a").orElseThrow());
    var own = new Asked();
    assertThat(others.withMembers(group, own).join()).isEmpty();

    own.parts = CompletableFuture.completedFuture(List.of(new GroupPart(2, true)));
    second.parts = CompletableFuture.completedFuture(List.of(new GroupPart(2, true)));
    assertThat(others.withMembers(group, own).join()).containsSame(own);

    first.parts = CompletableFuture.failedFuture(new StoreException("no leader"));
    second.parts = CompletableFuture.completedFuture(List.of(new GroupPart(3, true)));
    assertThat(others.withMembers(group, own).join()).containsSame(second);

    own.parts = CompletableFuture.completedFuture(List.of(GroupPart.NONE));
    second.parts = own.parts;
    assertThat(others.withMembers(group, own)).as("the first may have members").isCompletedExceptionally();
  }

  @Test
  void allPublishersAreAskedAboutInTurn() {
    int count = 2 * OtherRange.SESSIONS_MAX + 10;
    for (int i = 0; i < count; i++) known.restore(session(1, "p" + i + "-"), 7, 1, STORED);
    var asked = new ArrayList<Birth>();
    for (int i = 0; i < 3; i++) {
      turns(25);
      var sessions = first.sessions.getLast();
      assertThat(sessions).hasSizeLessThanOrEqualTo(OtherRange.SESSIONS_MAX);
      asked.addAll(sessions);
      first.answers.getLast().complete(sessions.stream().map(_ -> false).toList());
    }

    assertThat(asked).hasSize(count).doesNotHaveDuplicates();
  }
}

package dunlin.inbox.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient.Connect;
import dunlin.inbox.InboxClient.Statistics;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.SessionRef;
import dunlin.inbox.StaleSessionException;
import dunlin.inbox.rows.SessionKey;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.trace.Tracer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A frontend with links to the leaders of three ranges of sessions. */
final class SessionRouterTest {
  private static final int RANGES = 3;
  private static final int SHARDS = 16;

  private final List<Range> ranges = IntStream.range(0, RANGES).mapToObj(_ -> new Range()).toList();
  private final SessionRouter router = new SessionRouter(new Layout(SHARDS, RANGES), range -> ranges.get(range).links);

  /** A range that another process leads. */
  private static final class Range implements InboxCalls.Tier {
    final ScriptedInbox tier = new ScriptedInbox();
    final AtomicLong lives = new AtomicLong(InboxSides.FRONTEND.incarnation());
    final List<String> ended = new ArrayList<>();
    final InboxWires wires =
        new InboxWires(
            new Random(1), InboxSides.LINK, InboxSides.FRONTEND,
            (link, opening) -> InboxCalls.factory(this::runs, RemoteConnections.Bounds.defaults(), new UnacknowledgedDrops("push", Tracer.idle()), this).open(link, opening));
    final SessionLinks links =
        new SessionLinks(
            InboxSides.FRONTEND.frontend(), new InboxSides.Heard(), lives::incrementAndGet, _ -> wires::dial, this::soon, RemoteInbox.Bounds.defaults(1_000));
    private final Thread test = Thread.currentThread();

    /** Other threads come to dial again, which no test waits for. */
    private void soon(Runnable task) {
      if (Thread.currentThread().equals(test)) wires.frontendTasks.add(task);
    }

    private void runs(Runnable task) {
      wires.tierTasks.add(task);
    }

    @Override
    public InboxCalls.Attachment attach(InboxOpening frontend, RemoteConnections connections) {
      return new InboxCalls.Attachment(tier, CompletableFuture.completedFuture(null));
    }

    @Override
    public void detach(InboxOpening frontend, RemoteConnections connections, String reason) {
      ended.add(reason);
    }

    @Override
    public void interrupt(InboxOpening frontend, RemoteConnections connections, String reason) {
      ended.add(reason);
    }

    @Override
    public CompletableFuture<@Nullable Void> proof() {
      return CompletableFuture.completedFuture(null);
    }

    String calls() {
      return InboxSides.kinds(tier.calls);
    }

    void answers(@Nullable Object answer) {
      tier.answers.getLast().complete(answer);
    }
  }

  @BeforeEach
  void begin() {
    var attached = router.begin(_ -> InboxSides.FRONTEND.incarnation());
    assertThat(router.isReached()).isFalse();
    settle();
    assertThat(attached).isCompleted();
    assertThat(router.isReached()).isTrue();
  }

  /** Until nothing is on its way. */
  private void settle() {
    for (boolean more = true; more; ) {
      more = false;
      for (Range each : ranges) more |= each.wires.step();
    }
  }

  /** A session of a range. */
  private SessionRef session(int range) {
    for (int i = 0; ; i++) if (router.rangeOf("t", "c" + i) == range) return new SessionRef("t", "c" + i, 1);
  }

  @Test
  void aCallGoesToTheRangeOfItsSession() {
    for (int i = 0; i < RANGES; i++) {
      var session = session(i);
      var _ = router.connect(new Connect(session.tenant(), session.clientId(), "", InboxSides.connection(1), false, true, 60, null));
      var _ = router.received(session, 5);
      router.acknowledge(session, new long[] {7});
      settle();

      assertThat(ranges.get(i).calls()).isEqualTo("Connect " + session.clientId() + ":5 " + session.clientId() + "[7]");
      ranges.get(i).tier.calls.clear();
      for (Range each : ranges) assertThat(each.tier.calls).isEmpty();
    }
  }

  @Test
  void rangesAreIntervalsOfShards() {
    for (int i = 0; i < 1_000; i++) {
      int shard = new SessionKey("t", "c" + i).shard(SHARDS);
      assertThat(router.rangeOf("t", "c" + i)).isEqualTo(shard < 5 ? 0 : shard < 10 ? 1 : 2);
    }
  }

  @Test
  void whatNamesNoSessionGoesToOneRangeOrToAll() {
    var connection = new ConnectionId("another", 3, 4);
    router.ranges().get(1).missing(connection);
    var _ = router.ranges().get(1).settled(connection);
    settle();
    assertThat(ranges.stream().map(Range::calls)).containsExactly("", "Missing Settled", "");

    router.missing(connection);
    var settled = router.settled(connection);
    settle();
    assertThat(ranges.stream().map(Range::calls)).containsExactly("Missing Settled", "Missing Settled Missing Settled", "Missing Settled");
    for (int i = 0; i < RANGES; i++) {
      assertThat(settled).isNotDone();
      ranges.get(i).answers(null);
      settle();
    }
    assertThat(settled).isCompleted();
  }

  @Test
  void anExchangeIsReleasedWhenAllOtherRangesHaveForgottenIt() {
    var session = session(1);
    var released = router.released(session, 7, 9);
    settle();
    assertThat(ranges.get(0).tier.calls).containsExactly(new InboxCall.Forget(session, 7, 9));
    assertThat(ranges.get(2).tier.calls).containsExactly(new InboxCall.Forget(session, 7, 9));
    assertThat(ranges.get(1).tier.calls).isEmpty();

    ranges.get(2).answers(null);
    settle();
    assertThat(ranges.get(1).tier.calls).as("one range has not answered").isEmpty();

    ranges.get(0).answers(null);
    settle();
    assertThat(ranges.get(1).tier.calls).containsExactly(new InboxCall.Released(session, 7, 9));
    assertThat(released).isNotDone();
    ranges.get(1).answers(null);
    settle();
    assertThat(released).isCompleted();
  }

  @Test
  void anExchangeThatARangeCannotForgetIsNotReleased() {
    var session = session(0);
    var released = router.released(session, 7, 9);
    settle();
    ranges.get(1).answers(null);
    ranges.get(2).tier.answers.getLast().completeExceptionally(new StaleSessionException(session));
    settle();

    assertThat(released).failsWithin(Duration.ZERO).withThrowableOfType(ExecutionException.class).withCauseInstanceOf(StaleSessionException.class);
    assertThat(ranges.get(0).tier.calls).isEmpty();
  }

  @Test
  void statisticsAreSums() {
    for (int i = 0; i < RANGES; i++) ranges.get(i).tier.statistics = CompletableFuture.completedFuture(new Statistics(1, 2, 3, 4, 5, 6, 7 + i));

    var sums = router.statistics();
    settle();

    assertThat(sums).isCompletedWithValue(new Statistics(3, 6, 9, 12, 15, 18, 24));
  }

  @Test
  void aMessageOfAGroupIsOfferedToOneRangeAfterTheOther() {
    var taken = group();
    var order = new ArrayList<Integer>();
    for (int i = 0; i < RANGES; i++) {
      settle();
      assertThat(taken).isNotDone();
      order.add(asked(order));
      ranges.get(order.getLast()).answers(false);
    }
    settle();
    assertThat(taken).isCompletedWithValue(false);

    var again = group();
    settle();
    ranges.get(order.getFirst()).answers(true);
    settle();
    assertThat(again).as("the same range is the first for a publisher").isCompletedWithValue(true);
    assertThat(ranges.get(order.get(1)).calls()).isEqualTo("AppendToGroup");
  }

  @Test
  void aRangeThatRefusesAMessageOfAGroupIsNotTheLastToBeAsked() {
    var taken = group();
    settle();
    int first = asked(List.of());
    ranges.get(first).tier.answers.getLast().completeExceptionally(new StoreException("full"));
    settle();
    ranges.get((first + 1) % RANGES).answers(true);
    settle();
    assertThat(taken).isCompletedWithValue(true);

    var refused = group();
    settle();
    ranges.get(first).tier.answers.getLast().completeExceptionally(new StoreException("full"));
    settle();
    ranges.get((first + 1) % RANGES).answers(false);
    settle();
    ranges.get((first + 2) % RANGES).answers(false);
    settle();
    assertThat(refused).as("it may have members there").isCompletedExceptionally();
  }

  private CompletableFuture<Boolean> group() {
    return router.appendToGroup(TopicFilter.parse("$share/g/a").orElseThrow(), InboxSides.publication(3), null);
  }

  /** The range that was asked now and not before. */
  private int asked(List<Integer> before) {
    var now = IntStream.range(0, RANGES).filter(i -> !ranges.get(i).tier.calls.isEmpty() && !before.contains(i)).boxed().toList();
    assertThat(now).hasSize(1);
    return now.getFirst();
  }

  @Test
  void oneRangeThatIsLostLeavesTheOthers() {
    var waiting = router.received(session(1), 5);
    settle();
    ranges.get(1).links.lose("the test says so");
    var others = router.received(session(2), 6);
    settle();

    assertThat(waiting).isCompletedExceptionally();
    assertThat(ranges.get(2).calls()).isEqualTo(session(2).clientId() + ":6");
    assertThat(others).isNotDone();
    assertThat(ranges.stream().map(each -> each.lives.get() - InboxSides.FRONTEND.incarnation())).containsExactly(0L, 1L, 0L);
  }

  @Test
  void allConnectionsOfAllRangesAreEndedTogether() {
    router.lose("the lease is over");
    settle();

    assertThat(ranges.stream().map(each -> each.lives.get() - InboxSides.FRONTEND.incarnation())).containsOnly(1L);
    router.close();
    settle();
    assertThat(router.received(session(0), 1)).isCompletedExceptionally();
  }
}

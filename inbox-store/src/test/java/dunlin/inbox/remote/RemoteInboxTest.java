package dunlin.inbox.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.inbox.KeptConnections;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.NotLeaderException;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkRefusedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A frontend and the session tier over a pipe, at their bounds and when something goes wrong. */
class RemoteInboxTest {
  private static final InboxOpening FRONTEND = new InboxOpening("frontend", 7, 1);
  private static final Link.Settings LINK = Link.Settings.defaults();
  private static final Publisher PUBLISHER = new Publisher("t", "p");
  private static final SessionRef ONE = new SessionRef("t", "one", 1);
  private static final SessionRef TWO = new SessionRef("t", "two", 1);

  private final Sides sides = new Sides(new RemoteInbox.Bounds(10, 1_500, 3_000, 1_000), new RemoteConnections.Bounds(4, 10_000), LINK);
  private final ScriptedInbox tier = sides.tier;
  private final Heard heard = sides.heard;
  private final List<String> lost = sides.lost;
  private final List<String> detached = sides.detached;
  private final InboxWires wires = sides.wires;
  private final RemoteInbox inbox = sides.inbox;

  /** A frontend and the tier. */
  private static final class Sides {
    final ScriptedInbox tier = new ScriptedInbox();
    final Heard heard = new Heard();
    final List<String> lost = new ArrayList<>();
    final List<String> detached = new ArrayList<>();
    final List<String> interrupted = new ArrayList<>();
    @Nullable RemoteConnections attached;
    @Nullable Link accepted;
    String refuses = "";
    CompletableFuture<Void> ready = CompletableFuture.completedFuture(null);
    int attachedTimes;
    int comparedTimes;
    final InboxCalls.Tier taking;
    final InboxWires wires;
    final RemoteInbox inbox;

    Sides(RemoteInbox.Bounds calls, RemoteConnections.Bounds pushes, Link.Settings settings) {
      taking =
          new InboxCalls.Tier() {
            @Override
            public InboxCalls.Attachment attach(InboxOpening frontend, RemoteConnections connections) {
              if (!refuses.isEmpty()) throw new LinkRefusedException(refuses);
              attached = connections;
              return new InboxCalls.Attachment(tier, ready);
            }

            @Override
            public void detach(InboxOpening frontend, RemoteConnections connections, String reason) {
              detached.add(reason);
            }

            @Override
            public void interrupt(InboxOpening frontend, RemoteConnections connections, String reason) {
              interrupted.add(reason);
              connections.close();
            }
          };
      wires =
          new InboxWires(
              new Random(1),
              settings,
              FRONTEND,
              (link, opening) -> {
                accepted = link;
                return InboxCalls.factory(this::tierRuns, pushes, taking).open(link, opening);
              });
      inbox = new RemoteInbox(FRONTEND.frontend(), FRONTEND.incarnation(), heard, wires.frontendTasks::add, calls,
          new RemoteInbox.Listener() {
            @Override
            public void compared() {
              comparedTimes++;
            }

            @Override
            public void attached() {
              attachedTimes++;
            }

            @Override
            public void lost(String reason) {
              lost.add(reason);
            }
          });
      inbox.dial(wires::dial);
    }

    void tierRuns(Runnable task) {
      wires.tierTasks.add(task);
    }

    RemoteConnections connections() {
      if (attached == null) throw new AssertionError("no frontend came");
      return attached;
    }

    Link accepted() {
      if (accepted == null) throw new AssertionError("no frontend came");
      return accepted;
    }
  }

  /** Writes down what the connections of the frontend get. */
  private static final class Heard implements KeptConnections {
    final List<String> all = new ArrayList<>();
    final List<CompletableFuture<Void>> settling = new ArrayList<>();
    final List<CompletableFuture<List<Long>>> missing = new ArrayList<>();

    @Override
    public void comparing() {
      all.add("comparing");
    }

    @Override
    public CompletableFuture<List<Long>> missing(List<Owner> owners) {
      all.add("missing " + owners);
      var answer = new CompletableFuture<List<Long>>();
      missing.add(answer);
      return answer;
    }

    @Override
    public void compared() {
      all.add("compared");
    }

    @Override
    public void push(ConnectionId connection, InboxMessage message) {
      if (message.sequence() == 13) throw new IllegalStateException("thirteen");
      all.add(message.sequence() + " to " + connection.number());
    }

    @Override
    public void behind(ConnectionId connection) {
      all.add("behind " + connection.number());
    }

    @Override
    public void displaced(ConnectionId connection) {
      all.add("displaced " + connection.number());
    }

    @Override
    public void dismissed(ConnectionId connection) {
      all.add("dismissed " + connection.number());
    }

    @Override
    public CompletableFuture<Void> settled(ConnectionId connection) {
      all.add("settled " + connection.number());
      var answer = new CompletableFuture<Void>();
      settling.add(answer);
      return answer;
    }
  }

  private RemoteConnections connections() {
    return sides.connections();
  }

  private static ConnectionId connection(long number) {
    return new ConnectionId(FRONTEND.frontend(), FRONTEND.incarnation(), number);
  }

  private static Connections.InboxMessage message(long sequence, Publication publication) {
    return new Connections.InboxMessage(sequence, sequence == 0 ? QoS.AT_MOST_ONCE : QoS.AT_LEAST_ONCE, false, false, false, new int[0], publication);
  }

  private static Publication publication(int payload) {
    return Publication.of(PUBLISHER, "a", QoS.AT_LEAST_ONCE, false, 1, new byte[payload]);
  }

  private void push(long connection, long sequence) {
    connections().push(connection(connection), message(sequence, publication(3)));
  }

  private static @Nullable Throwable failureOf(CompletableFuture<?> call) {
    return call.isDone() ? call.handle((_, failure) -> failure).join() : null;
  }

  /** Runs what one side has to do, and lets nothing arrive. */
  private static void turn(Iterable<Runnable> tasks) {
    var iterator = tasks.iterator();
    while (iterator.hasNext()) {
      var task = iterator.next();
      iterator.remove();
      task.run();
      iterator = tasks.iterator();
    }
  }

  private static String kinds(List<InboxCall> calls) {
    return String.join(" ", calls.stream().map(RemoteInboxTest::kind).toList());
  }

  private static String kind(InboxCall call) {
    return switch (call) {
      case InboxCall.Acknowledge(var session, var sequences) -> session.clientId() + Arrays.toString(sequences).replace(" ", "");
      case InboxCall.Received(var session, var sequence) -> session.clientId() + ":" + sequence;
      case InboxCall.Fetch(_, var from, _, _) -> "fetch:" + from;
      default -> call.getClass().getSimpleName();
    };
  }

  // calls

  @Test
  void whatIsCalledInOneRoundGoesInOneFrame() {
    wires.drain();
    for (int i = 1; i <= 5; i++) {
      var _ = inbox.received(ONE, i);
      inbox.acknowledge(TWO, new long[] {i});
    }
    assertThat(wires.dialled().unconfirmedFrames()).isZero();
    turn(wires.frontendTasks);

    assertThat(wires.dialled().unconfirmedFrames()).isEqualTo(1);
    wires.drain();
    assertThat(kinds(tier.calls)).isEqualTo("one:1 two[1,2,3,4,5] one:2 one:3 one:4 one:5");
  }

  @Test
  void aLongRoundGoesInSeveralFramesOfBoundedLength() {
    var test = new Sides(RemoteInbox.Bounds.defaults(1 << 20), RemoteConnections.Bounds.defaults(), LINK);
    test.wires.drain();
    for (int i = 0; i < 300; i++) {
      var _ = test.inbox.appendToGroup(TopicFilter.plain("a"), publication(1_000));
    }
    turn(test.wires.frontendTasks);

    assertThat(test.wires.dialled().unconfirmedFrames()).isEqualTo(5);
    test.wires.drain();
    assertThat(test.tier.calls).hasSize(300);
  }

  @Test
  void acknowledgementsMergeUpToTheNextCallOfTheirSession() {
    wires.drain();
    inbox.acknowledge(ONE, new long[] {1});
    inbox.acknowledge(TWO, new long[] {7});
    inbox.acknowledge(ONE, new long[] {2, 3});
    inbox.acknowledge(ONE, new long[0]);
    var _ = inbox.received(ONE, 4);
    inbox.acknowledge(TWO, new long[] {8});
    inbox.acknowledge(ONE, new long[] {4});
    var _ = inbox.fetch(TWO, 9, 1, 1);
    inbox.acknowledge(TWO, new long[] {9});
    wires.drain();

    assertThat(kinds(tier.calls)).isEqualTo("one[1,2,3] two[7,8] one:4 one[4] fetch:9 two[9]");
    assertThat(inbox.acknowledgementsWaiting()).isZero();
    assertThat(inbox.sessionsAcknowledging()).isZero();
    inbox.acknowledge(ONE, new long[] {5});
    assertThat(inbox.sessionsAcknowledging()).isEqualTo(1);
    wires.drain();
    assertThat(kinds(tier.calls)).endsWith("two[9] one[5]");
  }

  @Test
  void acknowledgementsOfOneSessionAreSeveralCallsWhenTheyAreMany() {
    inbox.acknowledge(ONE, new long[4_000]);
    inbox.acknowledge(ONE, new long[96]);
    inbox.acknowledge(ONE, new long[1]);
    wires.drain();

    assertThat(tier.calls.stream().map(call -> call instanceof InboxCall.Acknowledge(_, var all) ? all.length : -1)).containsExactly(4_096, 1);
  }

  @Test
  void acknowledgementsBeyondTheirBoundAreDroppedAndCounted() {
    inbox.acknowledge(ONE, new long[1 << 20]);
    inbox.acknowledge(TWO, new long[] {1, 2});
    assertThat(inbox.acknowledgementsDropped()).isEqualTo(2);

    wires.drain();
    assertThat(inbox.acknowledgementsWaiting()).isZero();
    inbox.acknowledge(TWO, new long[] {1, 2});
    wires.drain();
    assertThat(tier.calls).hasSize(2);
    assertThat(inbox.acknowledgementsDropped()).isEqualTo(2);
  }

  @Test
  void connectionsThatAreMissingBeyondTheirBoundAreDroppedAndCounted() {
    for (int i = 0; i < 4_100; i++) inbox.missing(connection(i));
    assertThat(inbox.missingDropped()).isEqualTo(4);

    wires.drain();
    inbox.missing(connection(5_000));
    wires.drain();
    assertThat(tier.calls).hasSize(4_097);
    assertThat(inbox.missingDropped()).isEqualTo(4);
  }

  @Test
  void tooManyCallsFailAndAreCountedUntilSomeAreAnswered() {
    for (int i = 0; i < 10; i++) assertThat(inbox.received(ONE, i)).isNotDone();
    var refused = inbox.received(ONE, 10);
    assertThat(failureOf(refused)).isExactlyInstanceOf(StoreException.class).hasMessageContaining("10 calls with");
    assertThat(inbox.refused()).isEqualTo(1);
    assertThat(inbox.calls()).isEqualTo(10);
    assertThat(inbox.settled(connection(1))).as("cannot fail").isNotDone();

    wires.drain();
    tier.answers.getFirst().complete(null);
    wires.drain();
    assertThat(inbox.received(ONE, 11)).isNotDone();
    assertThat(inbox.refused()).isEqualTo(1);
  }

  @Test
  void tooManyBytesOfCallsFail() {
    assertThat(inbox.appendToGroup(TopicFilter.plain("a"), publication(1_000))).isNotDone();
    assertThat(failureOf(inbox.appendToGroup(TopicFilter.plain("a"), publication(1_000)))).isInstanceOf(StoreException.class);
    assertThat(inbox.received(ONE, 1)).isNotDone();

    wires.drain();
    tier.answers.getFirst().complete(true);
    wires.drain();
    assertThat(inbox.appendToGroup(TopicFilter.plain("a"), publication(1_000))).isNotDone();
  }

  @Test
  void oneCallThatIsTooLargeFails() {
    var test = new Sides(RemoteInbox.Bounds.defaults(1 << 20), RemoteConnections.Bounds.defaults(), LINK);
    var call = test.inbox.appendToGroup(TopicFilter.plain("a"), publication(17 << 20));

    assertThat(failureOf(call)).isInstanceOf(StoreException.class).hasMessageContaining("the most are");
    assertThat(test.inbox.calls()).isZero();
    assertThat(test.inbox.bytes()).isZero();
  }

  @Test
  void fetchesWaitInALineForRoomForTheirPages() {
    for (int i = 1; i <= 4; i++) assertThat(inbox.fetch(ONE, i, 1, 500)).isNotDone();
    var large = inbox.fetch(ONE, 5, 1, 50_000);
    var last = inbox.fetch(ONE, 6, 1, 1);
    var _ = inbox.received(ONE, 1);
    wires.drain();
    assertThat(kinds(tier.calls)).isEqualTo("fetch:1 fetch:2 one:1");

    tier.answers.get(1).completeExceptionally(new StoreException("no"));
    wires.drain();
    assertThat(kinds(tier.calls)).isEqualTo("fetch:1 fetch:2 one:1 fetch:3");
    tier.answers.get(0).complete(new Page(List.of(), 1, true));
    tier.answers.get(3).complete(new Page(List.of(), 1, true));
    wires.drain();
    assertThat(kinds(tier.calls)).as("the large one waits until it is alone").endsWith("fetch:3 fetch:4");
    tier.answers.get(4).complete(new Page(List.of(), 1, true));
    wires.drain();
    assertThat(kinds(tier.calls)).endsWith("fetch:4 fetch:5");
    tier.answers.get(5).complete(new Page(List.of(), 1, true));
    wires.drain();
    assertThat(kinds(tier.calls)).endsWith("fetch:5 fetch:6");
    assertThat(large).isDone();
    assertThat(last).isNotDone();
  }

  @Test
  void nothingIsSentWhileTheLinkIsHalfFullAndAllOfItOnceThatHasRoom() {
    var small = new Link.Settings(4, 64L << 20, Duration.ofSeconds(10));
    var test = new Sides(RemoteInbox.Bounds.defaults(1_000), RemoteConnections.Bounds.defaults(), small);
    test.wires.drain();
    for (int i = 1; i <= 5; i++) {
      var _ = test.inbox.received(ONE, i);
      turn(test.wires.frontendTasks);
    }
    assertThat(test.wires.dialled().unconfirmedFrames()).isEqualTo(2);

    test.wires.drain();
    assertThat(kinds(test.tier.calls)).isEqualTo("one:1 one:2 one:3 one:4 one:5");
    assertThat(test.lost).isEmpty();
  }

  // the link is lost

  private static InboxClient.Connect request(long number) {
    return new InboxClient.Connect("t", "c", "", connection(number), false, true, 5, null);
  }

  private void dialsAgain() {
    tier.calls.clear();
    tier.answers.clear();
    inbox.dial(wires::dial);
    wires.drain();
  }

  @Test
  void whatMayBeMadeTwiceIsMadeAgainInItsOrderAndTheRestFails() {
    var connecting = inbox.connect(request(1));
    var subscribing = inbox.subscribe(ONE, List.of());
    var receiving = inbox.received(ONE, 1);
    var grouping = inbox.appendToGroup(TopicFilter.plain("a"), publication(3));
    var asking = inbox.statistics();
    inbox.acknowledge(TWO, new long[] {1});
    wires.drain();
    var waiting = inbox.received(ONE, 2);

    connections().close();
    wires.drain();

    assertThat(lost).hasSize(1);
    for (var once : List.of(connecting, grouping, asking)) assertThat(failureOf(once)).isInstanceOf(OutcomeUnknownException.class);
    assertThat(failureOf(inbox.statistics())).isExactlyInstanceOf(StoreException.class).hasMessageContaining("there is no link");
    assertThat(failureOf(inbox.appendToGroup(TopicFilter.plain("a"), publication(3)))).isExactlyInstanceOf(StoreException.class);
    var leaving = inbox.disconnect(ONE, false, 0);
    inbox.acknowledge(TWO, new long[] {2});
    var next = inbox.connect(request(2));
    assertThat(inbox.calls()).isEqualTo(5);

    dialsAgain();

    assertThat(kinds(tier.calls)).isEqualTo("Subscribe one:1 one:2 Disconnect two[2] Connect");
    for (var each : List.of(subscribing, receiving, waiting, leaving, next)) assertThat(each).isNotDone();
    tier.answers.get(1).complete(null);
    wires.drain();
    assertThat(receiving).isCompleted();
    assertThat(subscribing).isNotDone();
    assertThat(inbox.calls()).isEqualTo(4);
  }

  @Test
  void nothingIsSentWhileTheTierIsNotConnected() {
    wires.drain();
    wires.parts();
    var connecting = inbox.connect(request(1));
    var receiving = inbox.received(ONE, 1);
    inbox.acknowledge(TWO, new long[] {1});
    var asking = inbox.statistics();
    wires.drain();
    assertThat(wires.dialled().unconfirmedFrames()).isZero();

    wires.partsForGood();
    wires.drain();
    assertThat(lost).hasSize(1);
    for (var each : List.of(connecting, receiving, asking)) assertThat(each).isNotDone();

    wires.meetsAgain();
    dialsAgain();
    assertThat(kinds(tier.calls)).isEqualTo("Connect one:1 two[1] Statistics");
  }

  @Test
  void whatWaitsIsSentWhenTheSameTierIsConnectedAgain() {
    wires.drain();
    wires.breaks();
    var connecting = inbox.connect(request(1));
    turn(wires.frontendTasks);
    assertThat(wires.dialled().unconfirmedFrames()).isZero();

    wires.drain();
    assertThat(kinds(tier.calls)).isEqualTo("Connect");
    assertThat(connecting).isNotDone();
    assertThat(lost).isEmpty();
  }

  @Test
  void callsThatWaitForALinkAreBounded() {
    wires.drain();
    connections().close();
    wires.drain();
    for (int i = 0; i < 10; i++) assertThat(inbox.received(ONE, i)).isNotDone();
    assertThat(failureOf(inbox.received(ONE, 10))).isExactlyInstanceOf(StoreException.class).hasMessageContaining("10 calls with");

    dialsAgain();
    assertThat(tier.calls).hasSize(10);
    assertThat(lost).hasSize(1);
  }

  @Test
  void aPageIsFetchedAgainAndKeepsItsRoom() {
    for (int i = 1; i <= 3; i++) assertThat(inbox.fetch(ONE, i, 1, 500)).isNotDone();
    wires.drain();
    assertThat(kinds(tier.calls)).isEqualTo("fetch:1 fetch:2");
    connections().close();
    wires.drain();

    dialsAgain();

    assertThat(kinds(tier.calls)).isEqualTo("fetch:1 fetch:2");
    tier.answers.get(0).complete(new Page(List.of(), 1, true));
    wires.drain();
    assertThat(kinds(tier.calls)).isEqualTo("fetch:1 fetch:2 fetch:3");
  }

  @Test
  void anAnswerIsNotSaidOverAnotherLink() {
    wires.drain();
    var _ = connections().settled(connection(1));
    wires.drain();
    connections().close();
    wires.drain();
    dialsAgain();

    heard.settling.getFirst().complete(null);
    wires.drain();

    assertThat(lost).hasSize(1);
    assertThat(detached).isEmpty();
  }

  @Test
  void anotherFrontendIsAskedAgainWhetherAConnectionHasSettled() {
    var settled = inbox.settled(new ConnectionId("other", 1, 1));
    wires.drain();
    connections().close();
    wires.drain();
    assertThat(settled).isNotDone();

    dialsAgain();
    tier.answers.getFirst().complete(null);
    wires.drain();
    assertThat(settled).isCompleted();
  }

  @Test
  void aLeaderThatIsNoneAnyMoreInterruptsTheLinkInsteadOfAnswering() {
    for (var over : List.of(new OutcomeUnknownException("who knows", new StoreException("why")), new NotLeaderException("range", Optional.empty()))) {
      var test = new Sides(RemoteInbox.Bounds.defaults(1_000), RemoteConnections.Bounds.defaults(), LINK);
      var call = test.inbox.received(ONE, 1);
      var connecting = test.inbox.connect(request(1));
      test.wires.drain();

      test.tier.answers.get(1).completeExceptionally(over);
      test.wires.drain();
      assertThat(failureOf(connecting)).isInstanceOf(StoreException.class);
      assertThat(test.interrupted).isEmpty();

      test.tier.answers.get(0).completeExceptionally(over);
      test.wires.drain();
      assertThat(test.interrupted).hasSize(1);
      assertThat(test.lost).hasSize(1);
      assertThat(test.detached).isEmpty();
      assertThat(call).isNotDone();
    }
  }

  // connections are compared

  @Test
  void theFrontendAnswersWhichConnectionsAreMissing() {
    wires.drain();
    connections().comparing();
    var missing = connections().missing(List.of(new KeptConnections.Owner(1, 5), new KeptConnections.Owner(2, 6)));
    wires.drain();
    assertThat(heard.all).containsExactly("comparing", "missing [Owner[connection=1, epoch=5], Owner[connection=2, epoch=6]]");
    assertThat(missing).isNotDone();

    heard.missing.getFirst().complete(List.of(2L));
    wires.drain();
    assertThat(missing).isCompletedWithValue(List.of(2L));
    assertThat(sides.comparedTimes).isZero();
    connections().compared();
    wires.drain();
    assertThat(heard.all).last().isEqualTo("compared");
    assertThat(sides.comparedTimes).isEqualTo(1);
  }

  @Test
  void whatIsMissingIsNotKnownWhenTheLinkIsLost() {
    wires.drain();
    connections().comparing();
    var asked = connections().missing(List.of(new KeptConnections.Owner(1, 5)));
    wires.drain();
    var waiting = connections().missing(List.of(new KeptConnections.Owner(2, 5)));
    connections().close();

    assertThat(failureOf(asked)).isInstanceOf(StoreException.class);
    assertThat(failureOf(waiting)).isInstanceOf(StoreException.class);
  }

  @Test
  void aComparisonThatHasNotBegunEndsTheLink() {
    for (byte[] frame : new byte[][] {{9}, {8, 1, 1, 1}}) {
      var test = new Sides(RemoteInbox.Bounds.defaults(1_000), RemoteConnections.Bounds.defaults(), LINK);
      test.wires.drain();
      test.accepted().send(frame);
      test.wires.drain();

      assertThat(test.lost).singleElement().asString().contains("a comparison that has not begun");
      assertThat(test.heard.all).isEmpty();
    }
  }

  @Test
  void aConnectionThatWasNotAskedForCannotBeMissing() {
    wires.drain();
    connections().comparing();
    var missing = connections().missing(List.of(new KeptConnections.Owner(1, 5)));
    wires.drain();
    heard.missing.getFirst().complete(List.of(3L));
    wires.drain();

    assertThat(detached).singleElement().asString().contains("were not asked for");
    assertThat(missing).isNotCompletedExceptionally();
    assertThat(missing).isNotDone();
  }

  @Test
  void anAnswerOfAnotherKindThanItsQuestionEndsTheLink() {
    wires.drain();
    var _ = connections().settled(connection(1));
    wires.drain();
    byte[] answer = InboxCallCodec.encode(new InboxCall.AreMissing(1, new long[0]));
    var out = new FrameWriter();
    wires.dialled().send(out.bytes(answer).take());
    wires.drain();

    assertThat(detached).singleElement().asString().contains("question 1 is not waited for");
  }

  // the end of a life

  @Test
  void aCallThatWasSentOverALinkBeforeMayHaveBeenMade() {
    var sent = inbox.received(ONE, 1);
    wires.drain();
    connections().close();
    wires.drain();
    var unsent = inbox.received(ONE, 2);

    inbox.close("the test says so");

    assertThat(failureOf(sent)).isInstanceOf(OutcomeUnknownException.class);
    assertThat(failureOf(unsent)).isExactlyInstanceOf(StoreException.class).hasMessage("not sent: the test says so");
  }

  @Test
  void aFrontendThatClosesFailsItsCallsAndIsNotTold() {
    var call = inbox.received(ONE, 1);
    var fetching = inbox.fetch(ONE, 1, 1, 50_000);
    var waiting = inbox.fetch(ONE, 2, 1, 500);
    var settled = inbox.settled(connection(3));
    wires.drain();
    var unsent = inbox.received(ONE, 2);

    inbox.close("the test says so");
    wires.drain();

    assertThat(failureOf(call)).isInstanceOf(OutcomeUnknownException.class).hasMessageContaining("the test says so");
    assertThat(failureOf(fetching)).isInstanceOf(OutcomeUnknownException.class);
    assertThat(failureOf(waiting)).isExactlyInstanceOf(StoreException.class);
    assertThat(failureOf(unsent)).isExactlyInstanceOf(StoreException.class).hasMessageStartingWith("not sent");
    assertThat(settled).isCompletedWithValue(null);
    assertThat(inbox.acknowledgementsWaiting()).isZero();
    assertThat(failureOf(inbox.received(ONE, 3))).isExactlyInstanceOf(StoreException.class).hasMessageContaining("the test says so");
    assertThat(inbox.settled(connection(1))).isCompletedWithValue(null);
    inbox.close("again");
    inbox.dial(wires::dial);
    assertThat(lost).isEmpty();
    assertThat(detached).containsExactly("the other side has ended the link");
  }

  @Test
  void aTierThatClosesAnswersItsQuestionsAndTheFrontendLosesItsLink() {
    wires.drain();
    var settled = connections().settled(connection(1));
    wires.drain();
    assertThat(settled).isNotDone();

    connections().close();
    wires.drain();

    assertThat(settled).isCompletedExceptionally();
    assertThat(detached).isEmpty();
    assertThat(lost).containsExactly("the other side has ended the link");
  }

  @Test
  void aFrontendThatIsRefusedIsToldWhy() {
    sides.refuses = "Another life of it is here.";
    var call = inbox.received(ONE, 1);
    wires.drain();

    assertThat(lost).containsExactly("the other side refuses: Another life of it is here.");
    assertThat(call).isNotDone();
  }

  @Test
  void aLinkThatIsLostWhileItIsDialledIsLostOnceAndNoCallIsSent() {
    var told = new ArrayList<String>();
    var refused =
        new RemoteInbox(
            FRONTEND.frontend(), FRONTEND.incarnation(), heard, wires.frontendTasks::add, RemoteInbox.Bounds.defaults(1_000), told::add);
    var call = refused.received(ONE, 1);

    refused.dial(
        handler -> {
          handler.lost("refused at once");
          return kept();
        });

    assertThat(told).containsExactly("refused at once");
    assertThat(refused.isConnected()).isFalse();
    turn(wires.frontendTasks);
    assertThat(call).isNotDone();
    refused.close("enough");
    assertThat(failureOf(call)).isExactlyInstanceOf(StoreException.class).hasMessage("not sent: enough");
  }

  @Test
  void aFrameThatTheTierCannotReadEndsTheLink() {
    wires.drain();
    wires.dialled().send(new byte[] {1, 99});
    wires.drain();

    assertThat(detached).singleElement().asString().contains("cannot be read").contains("kind 99");
    assertThat(lost).hasSize(1);
  }

  @Test
  void aSettledAnswerThatIsNotWaitedForEndsTheLink() {
    wires.drain();
    byte[] answer = InboxCallCodec.encode(new InboxCall.HasSettled(1));
    byte[] frame = new byte[answer.length + 1];
    frame[0] = (byte) answer.length;
    System.arraycopy(answer, 0, frame, 1, answer.length);
    wires.dialled().send(frame);
    wires.drain();

    assertThat(detached).singleElement().asString().contains("is not waited for");
  }

  @Test
  void aFrameThatTheFrontendCannotReadEndsTheLink() {
    var call = inbox.received(ONE, 1);
    wires.drain();
    sides.accepted().send(new byte[] {99});
    wires.drain();

    assertThat(lost).singleElement().asString().contains("cannot be read").contains("kind 99");
    assertThat(detached).hasSize(1);
    assertThat(call).as("it is made again").isNotDone();
  }

  @Test
  void anAnswerToNoCallAndOneThatCannotBeReadEndTheLink() {
    for (byte[] frame : new byte[][] {{5, 2, 1, 0}, {5, 1, 1, 7}}) {
      var test = new Sides(RemoteInbox.Bounds.defaults(1_000), RemoteConnections.Bounds.defaults(), LINK);
      var call = test.inbox.received(ONE, 1);
      test.wires.drain();
      test.accepted().send(frame);
      test.wires.drain();

      assertThat(test.lost).hasSize(1);
      assertThat(call).as("it is made again").isNotDone();
    }
  }

  @Test
  void connectionsThatFailEndTheLink() {
    wires.drain();
    push(1, 13);
    push(1, 14);
    wires.drain();

    assertThat(lost).containsExactly("what the session tier has sent could not be handed on");
    assertThat(heard.all).isEmpty();
  }

  // calls at the tier

  @Test
  void aCallThatThrowsIsAnsweredAndAnAcknowledgementThatThrowsEndsTheLink() {
    var call = inbox.disconnect(ONE, true, 13);
    wires.drain();
    assertThat(failureOf(call)).isExactlyInstanceOf(StoreException.class).hasMessage("thirteen");
    assertThat(lost).isEmpty();

    inbox.acknowledge(ONE, new long[] {13});
    wires.drain();
    assertThat(detached).containsExactly("what it has sent could not be handed on");
  }

  @Test
  void anAnswerThatIsTooLargeIsAFailureAndTheSessionIsTakenFromItsConnection() {
    var request = new InboxClient.Connect("t", "c", "", connection(3), false, true, 5, null);
    var call = inbox.connect(request);
    wires.drain();
    var subscription = new Subscription(TopicFilter.plain("x".repeat(60_000)), SubscriptionOptions.of(QoS.AT_MOST_ONCE));
    tier.answers.getFirst().complete(new Connected(ONE, true, Collections.nCopies(300, subscription), 1, 1, new int[0], null));
    wires.drain();

    assertThat(failureOf(call)).isExactlyInstanceOf(StoreException.class).hasMessageContaining("an answer of");
    assertThat(tier.calls).last().isEqualTo(new InboxCall.Missing(connection(3)));
    assertThat(lost).isEmpty();
  }

  @Test
  void aConnectWaitsUntilTheFrontendIsAttached() {
    sides.ready = new CompletableFuture<>();
    var call = inbox.connect(new InboxClient.Connect("t", "c", "", connection(3), false, true, 5, null));
    wires.drain();
    assertThat(tier.calls).isEmpty();
    assertThat(sides.attachedTimes).isZero();

    sides.ready.complete(null);
    wires.drain();
    assertThat(sides.attachedTimes).isEqualTo(1);
    tier.answers.getFirst().complete(new Connected(ONE, true, List.of(), 1, 1, new int[0], null));
    wires.drain();

    assertThat(call).isCompleted();
  }

  @Test
  void aConnectFailsWhenTheFrontendCannotBeAttached() {
    sides.ready = CompletableFuture.failedFuture(new StoreException("too many frontends are attached"));
    var call = inbox.connect(new InboxClient.Connect("t", "c", "", connection(3), false, true, 5, null));
    wires.drain();

    assertThat(failureOf(call)).isExactlyInstanceOf(StoreException.class).hasMessageContaining("too many frontends");
    assertThat(tier.calls).isEmpty();
    assertThat(sides.attachedTimes).isZero();
  }

  /** A frame of 4,096 calls that ask for statistics. */
  private static byte[] questions() {
    var out = new FrameWriter();
    for (int i = 0; i < 4_096; i++) out.bytes(InboxCallCodec.encode(new InboxCall.Statistics()));
    return out.take();
  }

  @Test
  void aFrontendMayCallAsOftenAsItIsAnswered() {
    tier.statistics = CompletableFuture.completedFuture(InboxClient.Statistics.NONE);
    wires.drain();
    var calls = InboxCalls.factory(this::turnSoon, RemoteConnections.Bounds.defaults(), sides.taking).open(kept(), FRONTEND.encode());
    for (int i = 0; i < 257; i++) {
      calls.received(questions());
      turn(wires.tierTasks);
    }

    assertThat(detached).isEmpty();
  }

  @Test
  void moreCallsThanAnyFrontendMakesWithoutAnAnswerEndItsLink() {
    tier.statistics = new CompletableFuture<>();
    wires.drain();
    var calls = InboxCalls.factory(this::turnSoon, RemoteConnections.Bounds.defaults(), sides.taking).open(kept(), FRONTEND.encode());
    for (int i = 0; i < 256; i++) calls.received(questions());
    assertThat(detached).isEmpty();

    calls.received(questions());
    assertThat(detached).singleElement().asString().contains("1048576 calls are not answered");
  }

  private void turnSoon(Runnable task) {
    sides.tierRuns(task);
  }

  /** A link that is never connected, and keeps what is sent. */
  private Link kept() {
    return Link.dialling(5, new byte[0], LINK, this::turnSoon, () -> 0, new Link.Handler() {
      @Override
      public void received(byte[] frame) {}

      @Override
      public void lost(String reason) {}
    });
  }

  // what the tier says

  @Test
  void aConnectionIsNotedOnceAndTheNoteIsSentWhenHalfOfTheBoundsIsFree() {
    wires.drain();
    for (int i = 1; i <= 6; i++) push(1, i);
    push(2, 7);
    push(2, 0);
    connections().displaced(connection(3));
    turn(wires.tierTasks);

    assertThat(connections().messages()).isEqualTo(4);
    assertThat(connections().notes()).isEqualTo(2);
    assertThat(connections().leftOut()).isEqualTo(3);
    assertThat(connections().dropped()).isEqualTo(1);
    push(1, 8);
    turn(wires.tierTasks);
    assertThat(connections().notes()).as("its note waits").isEqualTo(2);
    wires.drain();

    assertThat(heard.all).containsExactly("1 to 1", "2 to 1", "3 to 1", "4 to 1", "displaced 3", "behind 1", "behind 2");
    assertThat(connections().messages()).isZero();
    assertThat(connections().bytes()).isZero();
    for (int i = 9; i <= 13; i++) push(2, i == 13 ? 14 : i);
    wires.drain();
    assertThat(heard.all.subList(7, 12)).containsExactly("9 to 2", "10 to 2", "11 to 2", "12 to 2", "behind 2");
  }

  @Test
  void aConnectionThatTheTierSaysIsBehindIsNotedOnce() {
    wires.drain();
    connections().behind(connection(5));
    connections().behind(connection(5));
    wires.drain();
    connections().behind(connection(5));
    wires.drain();

    assertThat(heard.all).containsExactly("behind 5", "behind 5");
  }

  @Test
  void aMessageForManyCountsItsBytesOnceAndTheOneThatPassesTheBoundIsTaken() {
    var test = new Sides(RemoteInbox.Bounds.defaults(1_000), new RemoteConnections.Bounds(100, 2_000), LINK);
    test.wires.drain();
    var large = publication(999);
    for (int i = 1; i <= 5; i++) test.connections().push(connection(i), message(1, large));
    assertThat(test.connections().bytes()).isEqualTo(1_000 + 5 * 64);
    test.connections().push(connection(6), message(1, publication(999)));
    test.connections().push(connection(7), message(1, publication(0)));

    assertThat(test.connections().messages()).isEqualTo(6);
    assertThat(test.connections().leftOut()).isEqualTo(1);
    test.wires.drain();
    assertThat(test.heard.all).containsExactly("1 to 1", "1 to 2", "1 to 3", "1 to 4", "1 to 5", "1 to 6", "behind 7");
  }

  @Test
  void aMessageThatTheLinkCannotTakeLosesItAndNothingIsLeftOver() {
    var small = new Link.Settings(100, 1_000, Duration.ofSeconds(10));
    var test = new Sides(RemoteInbox.Bounds.defaults(1_000), new RemoteConnections.Bounds(100, 10_000), small);
    test.wires.drain();
    test.connections().push(connection(1), message(1, publication(2_000)));
    test.connections().push(connection(1), message(2, publication(2_000)));
    test.wires.drain();

    assertThat(test.detached).hasSize(1);
    assertThat(test.lost).hasSize(1);
    assertThat(test.connections().messages()).isZero();
    assertThat(test.connections().bytes()).isZero();
  }

  @Test
  void anotherLifeOfTheFrontendIsNotThere() {
    wires.drain();
    for (var other : List.of(new ConnectionId("frontend", 6, 1), new ConnectionId("other", 7, 1))) {
      connections().push(other, message(1, publication(3)));
      connections().behind(other);
      connections().displaced(other);
      connections().dismissed(other);
      assertThat(connections().settled(other)).isCompletedWithValue(null);
    }
    wires.drain();

    assertThat(heard.all).isEmpty();
  }

  @Test
  void settledCompletesWhenTheFrontendSaysSoInAnyOrder() {
    wires.drain();
    var one = connections().settled(connection(1));
    var two = connections().settled(connection(2));
    wires.drain();
    assertThat(heard.all).containsExactly("settled 1", "settled 2");

    heard.settling.get(1).complete(null);
    wires.drain();
    assertThat(two).isCompletedWithValue(null);
    assertThat(one).isNotDone();
    heard.settling.get(0).complete(null);
    wires.drain();
    assertThat(one).isCompletedWithValue(null);
  }
}

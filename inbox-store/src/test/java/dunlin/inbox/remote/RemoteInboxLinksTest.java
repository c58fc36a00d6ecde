package dunlin.inbox.remote;

import static dunlin.inbox.remote.InboxSides.FRONTEND;
import static dunlin.inbox.remote.InboxSides.LINK;
import static dunlin.inbox.remote.InboxSides.ONE;
import static dunlin.inbox.remote.InboxSides.TWO;
import static dunlin.inbox.remote.InboxSides.connection;
import static dunlin.inbox.remote.InboxSides.failureOf;
import static dunlin.inbox.remote.InboxSides.kinds;
import static dunlin.inbox.remote.InboxSides.publication;
import static dunlin.inbox.remote.InboxSides.turn;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.KeptConnections;
import dunlin.inbox.WithdrawnException;
import dunlin.model.TopicFilter;
import dunlin.store.NotLeaderException;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import dunlin.transport.lane.FrameWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What becomes of calls, questions and a frontend's life when links are lost, begin again and end. */
class RemoteInboxLinksTest {
  private final InboxSides sides = new InboxSides(new RemoteInbox.Bounds(10, 1_500, 3_000, 1_000), new RemoteConnections.Bounds(4, 10_000), LINK);
  private final ScriptedInbox tier = sides.tier;
  private final InboxSides.Heard heard = sides.heard;
  private final List<String> lost = sides.lost;
  private final List<String> detached = sides.detached;
  private final InboxWires wires = sides.wires;
  private final RemoteInbox inbox = sides.inbox;

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
    var grouping = inbox.appendToGroup(TopicFilter.plain("a"), publication(3), null);
    var asking = inbox.statistics();
    inbox.acknowledge(TWO, new long[] {1});
    wires.drain();
    var waiting = inbox.received(ONE, 2);

    sides.connections().close();
    wires.drain();

    assertThat(lost).hasSize(1);
    for (var once : List.of(connecting, grouping, asking)) assertThat(failureOf(once)).isInstanceOf(OutcomeUnknownException.class);
    assertThat(failureOf(inbox.statistics())).isExactlyInstanceOf(StoreException.class).hasMessageContaining("there is no link");
    assertThat(failureOf(inbox.appendToGroup(TopicFilter.plain("a"), publication(3), null))).isExactlyInstanceOf(StoreException.class);
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
    assertThat(kinds(tier.calls)).as("CONNECT waits until the frontend is attached").isEqualTo("one:1 two[1] Statistics Connect");
  }

  /** Its client may have been refused by then, and be connected elsewhere. */
  @Test
  void aConnectThatWasOnItsWayWhileNothingCameFromTheFrontendIsNotMade() {
    wires.drain();
    var late = inbox.connect(request(1));
    var subscribing = inbox.subscribe(ONE, List.of());
    turn(wires.frontendTasks);
    wires.tierTicks(3);

    wires.drain();

    assertThat(kinds(tier.calls)).as("a call that may come late is made").isEqualTo("Subscribe");
    assertThat(failureOf(late)).isExactlyInstanceOf(StoreException.class).hasMessageContaining("may have come late");
    assertThat(subscribing).isNotDone();
    var next = inbox.connect(request(2));
    wires.drain();
    assertThat(tier.calls.getLast()).isEqualTo(new InboxCall.Connect(request(2)));
    assertThat(next).isNotDone();
    assertThat(lost).isEmpty();
  }

  /** Another member may have it by then. */
  @Test
  void aMessageForAGroupThatWasOnItsWayWhileNothingCameFromTheFrontendIsNotStored() {
    wires.drain();
    var late = inbox.appendToGroup(TopicFilter.plain("a"), publication(3), null);
    turn(wires.frontendTasks);
    wires.tierTicks(3);

    wires.drain();

    assertThat(tier.calls).isEmpty();
    assertThat(failureOf(late)).isExactlyInstanceOf(StoreException.class).hasMessageContaining("may have come late");
  }

  @Test
  void aConnectThatComesAfterAShorterSilenceIsMade() {
    wires.drain();
    inbox.connect(request(1));
    turn(wires.frontendTasks);
    wires.tierTicks(2);

    wires.drain();

    assertThat(tier.calls).containsExactly(new InboxCall.Connect(request(1)));
  }

  /** Else it would take the session from a connection that the client has got elsewhere since. */
  @Test
  void aConnectWhoseClientHasGivenUpByThenIsNotMade() {
    wires.drain();
    sides.connections().close();
    wires.drain();
    var over = Stream.generate(() -> new CompletableFuture<Void>()).limit(3).toList();
    var calls = IntStream.range(0, 3).mapToObj(i -> inbox.connect(request(i + 1), over.get(i))).toList();
    wires.drain();
    over.get(0).complete(null);
    over.get(2).complete(null);

    dialsAgain();

    assertThat(tier.calls).containsExactly(new InboxCall.Connect(request(2)));
    for (int i : new int[] {0, 2}) assertThat(failureOf(calls.get(i))).isInstanceOf(WithdrawnException.class).hasMessageContaining("given up");
    assertThat(calls.get(1)).isNotDone();
    assertThat(inbox.calls()).isEqualTo(1);
  }

  @Test
  void connectsWaitUntilTheTierHasAttachedTheFrontendAndKeepTheirOrder() {
    sides.ready = new CompletableFuture<>();
    wires.drain();
    var over = new CompletableFuture<Void>();
    var _ = inbox.connect(request(1));
    var gone = inbox.connect(request(2), over);
    var _ = inbox.received(ONE, 1);
    wires.drain();
    assertThat(kinds(tier.calls)).isEqualTo("one:1");
    var _ = inbox.connect(request(3));
    over.complete(null);

    sides.ready.complete(null);
    var _ = inbox.connect(request(4));
    wires.drain();

    assertThat(tier.calls).containsExactly(
        new InboxCall.Received(ONE, 1), new InboxCall.Connect(request(1)), new InboxCall.Connect(request(3)), new InboxCall.Connect(request(4)));
    assertThat(failureOf(gone)).isInstanceOf(WithdrawnException.class);
  }

  /** Many more than there is room for. */
  private void connectAndGiveUp() {
    for (int i = 0; i < 10_000; i++) {
      var over = new CompletableFuture<Void>();
      var connecting = inbox.connect(request(1_000 + i), over);
      assertThat(connecting).as("one that is not refused").isNotDone();
      if (i % 3 == 0) wires.drain();
      over.complete(null);
      assertThat(failureOf(connecting)).isInstanceOf(WithdrawnException.class);
      assertThat(inbox.bytes()).isZero();
    }
    wires.drain();
    assertThat(inbox.refused()).isZero();
  }

  @Test
  void clientsThatComeAndGoWithoutALinkLeaveRoomForOthers() {
    wires.drain();
    sides.connections().close();
    wires.drain();
    connectAndGiveUp();
    assertThat(inbox.waiting()).as("places of those that have gone").isLessThan(1_100);
    var stays = inbox.connect(request(1));

    dialsAgain();

    assertThat(tier.calls).containsExactly(new InboxCall.Connect(request(1)));
    assertThat(stays).isNotDone();
  }

  @Test
  void clientsThatComeAndGoBeforeTheFrontendIsAttachedLeaveRoomForOthers() {
    sides.ready = new CompletableFuture<>();
    wires.drain();
    connectAndGiveUp();
    var stays = inbox.connect(request(1));

    sides.ready.complete(null);
    wires.drain();

    assertThat(tier.calls).containsExactly(new InboxCall.Connect(request(1)));
    assertThat(stays).isNotDone();
  }

  /** Its client may have the session by then, which is to be left. */
  @Test
  void aConnectThatWasSentIsAnsweredAlthoughItsClientHasGivenUp() {
    var over = new CompletableFuture<Void>();
    var connecting = inbox.connect(request(1), over);
    wires.drain();
    over.complete(null);
    assertThat(connecting).isNotDone();
    assertThat(inbox.calls()).isEqualTo(1);

    tier.answers.getFirst().completeExceptionally(new StoreException("the session tier has answered"));
    wires.drain();

    assertThat(failureOf(connecting)).isExactlyInstanceOf(StoreException.class).hasMessageContaining("has answered");
    assertThat(inbox.calls()).isZero();
  }

  @Test
  void connectsThatWaitFailWithTheirLife() {
    sides.ready = new CompletableFuture<>();
    wires.drain();
    var calls = List.of(inbox.connect(request(1)), inbox.connect(request(2)));
    wires.drain();

    inbox.close("the test says so");

    for (var each : calls) assertThat(failureOf(each)).isExactlyInstanceOf(StoreException.class).hasMessageContaining("not sent: the test says so");
    assertThat(inbox.calls()).isZero();
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
    sides.connections().close();
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
    sides.connections().close();
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
    var _ = sides.connections().settled(connection(1));
    wires.drain();
    sides.connections().close();
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
    sides.connections().close();
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
      var test = new InboxSides(RemoteInbox.Bounds.defaults(1_000), RemoteConnections.Bounds.defaults(), LINK);
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
    sides.connections().comparing();
    var missing = sides.connections().missing(List.of(new KeptConnections.Owner(1, 5), new KeptConnections.Owner(2, 6)));
    wires.drain();
    assertThat(heard.all).containsExactly("comparing", "missing [Owner[connection=1, epoch=5], Owner[connection=2, epoch=6]]");
    assertThat(missing).isNotDone();

    heard.missing.getFirst().complete(List.of(2L));
    wires.drain();
    assertThat(missing).isCompletedWithValue(List.of(2L));
    assertThat(sides.comparedTimes).isZero();
    sides.connections().compared();
    wires.drain();
    assertThat(heard.all).last().isEqualTo("compared");
    assertThat(sides.comparedTimes).isEqualTo(1);
  }

  @Test
  void whatIsMissingIsNotKnownWhenTheLinkIsLost() {
    wires.drain();
    sides.connections().comparing();
    var asked = sides.connections().missing(List.of(new KeptConnections.Owner(1, 5)));
    wires.drain();
    var waiting = sides.connections().missing(List.of(new KeptConnections.Owner(2, 5)));
    sides.connections().close();

    assertThat(failureOf(asked)).isInstanceOf(StoreException.class);
    assertThat(failureOf(waiting)).isInstanceOf(StoreException.class);
  }

  @Test
  void aComparisonThatHasNotBegunEndsTheLink() {
    for (byte[] frame : new byte[][] {{9}, {8, 1, 1, 1}}) {
      var test = new InboxSides(RemoteInbox.Bounds.defaults(1_000), RemoteConnections.Bounds.defaults(), LINK);
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
    sides.connections().comparing();
    var missing = sides.connections().missing(List.of(new KeptConnections.Owner(1, 5)));
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
    var _ = sides.connections().settled(connection(1));
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
    sides.connections().close();
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
    var settled = sides.connections().settled(connection(1));
    wires.drain();
    assertThat(settled).isNotDone();

    sides.connections().close();
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
          return sides.kept();
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
      var test = new InboxSides(RemoteInbox.Bounds.defaults(1_000), RemoteConnections.Bounds.defaults(), LINK);
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
    sides.push(1, 13);
    sides.push(1, 14);
    wires.drain();

    assertThat(lost).containsExactly("what the session tier has sent could not be handed on");
    assertThat(heard.all).isEmpty();
  }
}

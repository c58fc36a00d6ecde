package dunlin.inbox.remote;

import static dunlin.inbox.remote.InboxSides.FRONTEND;
import static dunlin.inbox.remote.InboxSides.LINK;
import static dunlin.inbox.remote.InboxSides.ONE;
import static dunlin.inbox.remote.InboxSides.TWO;
import static dunlin.inbox.remote.InboxSides.connection;
import static dunlin.inbox.remote.InboxSides.failureOf;
import static dunlin.inbox.remote.InboxSides.kinds;
import static dunlin.inbox.remote.InboxSides.message;
import static dunlin.inbox.remote.InboxSides.publication;
import static dunlin.inbox.remote.InboxSides.turn;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.InboxClient;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Page;
import dunlin.inbox.InboxClient.Subscription;
import dunlin.model.QoS;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.store.StoreException;
import dunlin.transport.lane.FrameWriter;
import dunlin.transport.link.Link;
import dunlin.transport.trace.Trace;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A frontend and the session tier over a pipe, at their bounds and when something goes wrong. */
class RemoteInboxTest {
  private final InboxSides sides = new InboxSides(new RemoteInbox.Bounds(10, 1_500, 3_000, 1_000), new RemoteConnections.Bounds(4, 10_000), LINK);
  private final ScriptedInbox tier = sides.tier;
  private final InboxSides.Heard heard = sides.heard;
  private final List<String> lost = sides.lost;
  private final List<String> detached = sides.detached;
  private final InboxWires wires = sides.wires;
  private final RemoteInbox inbox = sides.inbox;

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
    var test = new InboxSides(RemoteInbox.Bounds.defaults(1 << 20), RemoteConnections.Bounds.defaults(), LINK);
    test.wires.drain();
    for (int i = 0; i < 300; i++) {
      var _ = test.inbox.appendToGroup(TopicFilter.plain("a"), publication(1_000), null);
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
    assertThat(inbox.appendToGroup(TopicFilter.plain("a"), publication(1_000), null)).isNotDone();
    assertThat(failureOf(inbox.appendToGroup(TopicFilter.plain("a"), publication(1_000), null))).isInstanceOf(StoreException.class);
    assertThat(inbox.received(ONE, 1)).isNotDone();

    wires.drain();
    tier.answers.getFirst().complete(true);
    wires.drain();
    assertThat(inbox.appendToGroup(TopicFilter.plain("a"), publication(1_000), null)).isNotDone();
  }

  @Test
  void oneCallThatIsTooLargeFails() {
    var test = new InboxSides(RemoteInbox.Bounds.defaults(1 << 20), RemoteConnections.Bounds.defaults(), LINK);
    var call = test.inbox.appendToGroup(TopicFilter.plain("a"), publication(17 << 20), null);

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
    var test = new InboxSides(RemoteInbox.Bounds.defaults(1_000), RemoteConnections.Bounds.defaults(), small);
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
    tier.answers.getFirst().complete(new Connected(ONE, 1, true, Collections.nCopies(300, subscription), 1, 1, new int[0], List.of(), null));
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
    tier.answers.getFirst().complete(new Connected(ONE, 1, true, List.of(), 1, 1, new int[0], List.of(), null));
    wires.drain();

    assertThat(call).isCompleted();
  }

  /** Else an earlier CONNECT of a client, which its broker may have refused by then, would take the place of a later one. */
  @Test
  void connectsThatHaveWaitedAreMadeInTheirOrder() {
    sides.ready = new CompletableFuture<>();
    var requests = IntStream.range(0, 5).mapToObj(i -> new InboxClient.Connect("t", "c", "", connection(i), false, true, 5, null)).toList();
    var calls = requests.stream().map(inbox::connect).toList();
    wires.drain();

    sides.ready.complete(null);
    wires.drain();

    assertThat(tier.calls).containsExactlyElementsOf(requests.stream().map(InboxCall.Connect::new).toList());
    assertThat(calls).allSatisfy(call -> assertThat(call).isNotDone());
    tier.answers.getLast().complete(new Connected(ONE, 1, true, List.of(), 1, 1, new int[0], List.of(), null));
    wires.drain();
    assertThat(calls.getLast()).as("does not wait for the answers to those before").isCompleted();
  }

  @Test
  void manyConnectsThatHaveWaitedAreMade() {
    var test = new InboxSides(RemoteInbox.Bounds.defaults(1 << 20), RemoteConnections.Bounds.defaults(), LINK);
    test.ready = new CompletableFuture<>();
    for (int i = 0; i < 20_000; i++) {
      var _ = test.inbox.connect(new InboxClient.Connect("t", "c", "", connection(i), false, true, 5, null));
    }
    test.wires.drain();

    test.ready.complete(null);
    test.wires.drain();

    areMadeInOrder(test.tier.calls);
  }

  private static void areMadeInOrder(List<InboxCall> calls) {
    assertThat(calls).hasSize(20_000);
    for (int i = 0; i < 20_000; i++) {
      assertThat(((InboxCall.Connect) calls.get(i)).request().connection()).isEqualTo(connection(i));
    }
  }

  private void connectsOfAnEarlierVersion(int count) {
    var calls = InboxCalls.factory(sides::tierRuns, RemoteConnections.Bounds.defaults(), sides.drops, sides.taking).open(sides.kept(), FRONTEND.encode());
    var out = new FrameWriter();
    for (int i = 0; i < count; i++) out.bytes(InboxCallCodec.encode(new InboxCall.Connect(new InboxClient.Connect("t", "c", "", connection(i), false, true, 5, null))));
    calls.received(out.take());
    turn(wires.tierTasks);
  }

  /** A thread of the tier says that the frontend is attached, and has other work. */
  @Test
  void connectsThatComeBeforeTheFrontendIsAttachedAreMadeOnTheThreadOfTheLink() {
    sides.ready = new CompletableFuture<>();
    connectsOfAnEarlierVersion(20_000);
    assertThat(tier.calls).isEmpty();

    sides.ready.complete(null);
    assertThat(tier.calls).as("made by who said so").isEmpty();
    turn(wires.tierTasks);

    areMadeInOrder(tier.calls);
  }

  @Test
  void aConnectThatComesBeforeIsNotMadeWhenTheFrontendCannotBeAttached() {
    sides.ready = CompletableFuture.failedFuture(new StoreException("too many frontends are attached"));
    connectsOfAnEarlierVersion(1);

    assertThat(tier.calls).isEmpty();
  }

  /** The tier interrupts that link. */
  @Test
  void aConnectWaitsForTheNextLinkWhenTheFrontendCannotBeAttached() {
    sides.ready = CompletableFuture.failedFuture(new StoreException("too many frontends are attached"));
    var request = new InboxClient.Connect("t", "c", "", connection(3), false, true, 5, null);
    var call = inbox.connect(request);
    wires.drain();
    assertThat(call).isNotDone();
    assertThat(sides.attachedTimes).isZero();

    sides.ready = CompletableFuture.completedFuture(null);
    sides.connections().close();
    wires.drain();
    assertThat(tier.calls).isEmpty();
    inbox.dial(wires::dial);
    wires.drain();

    assertThat(tier.calls).containsExactly(new InboxCall.Connect(request));
    assertThat(call).isNotDone();
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
    var calls = InboxCalls.factory(sides::tierRuns, RemoteConnections.Bounds.defaults(), sides.drops, sides.taking).open(sides.kept(), FRONTEND.encode());
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
    var calls = InboxCalls.factory(sides::tierRuns, RemoteConnections.Bounds.defaults(), sides.drops, sides.taking).open(sides.kept(), FRONTEND.encode());
    for (int i = 0; i < 256; i++) calls.received(questions());
    assertThat(detached).isEmpty();

    calls.received(questions());
    assertThat(detached).singleElement().asString().contains("1048576 calls are not answered");
  }

  // what the tier says

  private Trace traces() {
    return sides.tracer.begin("t", InboxSides.PUBLISHER.tenant(), InboxSides.PUBLISHER.clientId(), "", "", Duration.ofMinutes(1));
  }

  private static List<String> drops(Trace trace) {
    return trace.read(0, 100).events().stream().map(event -> event.hop() + " " + event.step() + " " + event.reason()).toList();
  }

  @Test
  void qos0ThatTheFrontendHasNotConfirmedWhenItsLinkEndsCountsAsDropped() {
    Trace trace = traces();
    wires.drain();
    sides.push(1, 0);
    wires.drain();
    sides.push(1, 1);
    sides.push(1, 0);
    turn(wires.tierTasks);
    sides.push(1, 0);
    sides.connections().close();
    sides.push(1, 0);

    assertThat(sides.drops.unreachable()).isEqualTo(3);
    assertThat(sides.drops.overloaded()).isZero();
    assertThat(drops(trace)).hasSize(3).containsOnly("push dropped unreachable");
    assertThat(sides.connections().messages()).isZero();
    assertThat(sides.connections().bytes()).isZero();
  }

  @Test
  void whatNoTraceFollowedWhenItWasSentIsOnlyCounted() {
    wires.drain();
    sides.push(1, 0);
    turn(wires.tierTasks);
    Trace trace = traces();
    sides.connections().close();

    assertThat(sides.drops.unreachable()).isEqualTo(1);
    assertThat(drops(trace)).isEmpty();
  }

  @Test
  @Tag("drop:push:overloaded")
  void aConnectionIsNotedOnceAndTheNoteIsSentWhenHalfOfTheBoundsIsFree() {
    Trace trace = traces();
    wires.drain();
    for (int i = 1; i <= 6; i++) sides.push(1, i);
    sides.push(2, 7);
    sides.push(2, 0);
    sides.connections().displaced(connection(3));
    turn(wires.tierTasks);

    assertThat(sides.connections().messages()).isEqualTo(4);
    assertThat(sides.connections().notes()).isEqualTo(2);
    assertThat(sides.connections().leftOut()).isEqualTo(3);
    assertThat(sides.drops.overloaded()).isEqualTo(1);
    assertThat(drops(trace)).containsExactly("push dropped overloaded");
    sides.push(1, 8);
    turn(wires.tierTasks);
    assertThat(sides.connections().notes()).as("its note waits").isEqualTo(2);
    wires.drain();

    assertThat(heard.all).containsExactly("1 to 1", "2 to 1", "3 to 1", "4 to 1", "displaced 3", "behind 1", "behind 2");
    assertThat(sides.connections().messages()).isZero();
    assertThat(sides.connections().bytes()).isZero();
    for (int i = 9; i <= 13; i++) sides.push(2, i == 13 ? 14 : i);
    wires.drain();
    assertThat(heard.all.subList(7, 12)).containsExactly("9 to 2", "10 to 2", "11 to 2", "12 to 2", "behind 2");
  }

  @Test
  void aConnectionThatTheTierSaysIsBehindIsNotedOnce() {
    wires.drain();
    sides.connections().behind(connection(5));
    sides.connections().behind(connection(5));
    wires.drain();
    sides.connections().behind(connection(5));
    wires.drain();

    assertThat(heard.all).containsExactly("behind 5", "behind 5");
  }

  @Test
  void aMessageForManyCountsItsBytesOnceAndTheOneThatPassesTheBoundIsTaken() {
    var test = new InboxSides(RemoteInbox.Bounds.defaults(1_000), new RemoteConnections.Bounds(100, 2_000), LINK);
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
    var test = new InboxSides(RemoteInbox.Bounds.defaults(1_000), new RemoteConnections.Bounds(100, 10_000), small);
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
      sides.connections().push(other, message(1, publication(3)));
      sides.connections().behind(other);
      sides.connections().displaced(other);
      sides.connections().dismissed(other);
      assertThat(sides.connections().settled(other)).isCompletedWithValue(null);
    }
    wires.drain();

    assertThat(heard.all).isEmpty();
  }

  @Test
  void settledCompletesWhenTheFrontendSaysSoInAnyOrder() {
    wires.drain();
    var one = sides.connections().settled(connection(1));
    var two = sides.connections().settled(connection(2));
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

package dunlin.inbox.remote;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxClient.Page;
import dunlin.model.QoS;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.StoreException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A frontend and the session tier over pipes that delay and break. Calls are made in their order, and each has its own answer once. What the tier
 * says arrives in its order: only pushes may be missing, and then they are counted, or a note follows.
 */
class RemoteInboxModelTest {
  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 20) : LongStream.of(seed);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void callsAreMadeInOrderAndEachHasItsAnswer(long seed) {
    var run = new InboxRun(seed);

    run.run(2_500, 60, 0);

    run.nothingIsLeft();
    assertThat(run.lost).isEmpty();
    assertThat(run.detached).isEmpty();
    int refused = run.called.size() - run.accepted().size();
    assertThat(run.inbox.refused()).isEqualTo(refused);
    assertThat(InboxRun.bySession(run.arrived)).isEqualTo(InboxRun.bySession(run.accepted()));
    everyAnswerIsItsOwn(run);
  }

  /** Of calls that are alike, the first that arrives is the first that was made. */
  private static void everyAnswerIsItsOwn(InboxRun run) {
    var numbers = new HashMap<String, List<Integer>>();
    for (int i = 0; i < run.called.size(); i++) {
      if (!run.wasNotSent(i)) numbers.computeIfAbsent(InboxRun.text(run.called.get(i)), _ -> new ArrayList<>()).add(i);
    }
    for (int i = 0; i < run.arrived.size(); i++) {
      if (!(run.arrived.get(i) instanceof InboxCall.Asking)) continue;
      int number = numbers.getOrDefault(InboxRun.text(run.arrived.get(i)), List.of()).removeFirst();
      Object came = run.values.getOrDefault(number, "no answer");
      switch (run.given.get(i)) {
        case RuntimeException failure -> assertThat(run.failures.get(number)).hasSameClassAs(failure).hasMessage(failure.getMessage());
        case Boolean flag when !(run.called.get(number) instanceof InboxCall.AppendToGroup || run.called.get(number) instanceof InboxCall.IsTakenOver) ->
            assertThat(came).as("done: %s", flag).isEqualTo("nothing");
        case Page page -> assertThat(AnswerForm.PAGE.encode((Page) came)).isEqualTo(AnswerForm.PAGE.encode(page));
        case Connected connected -> assertThat(AnswerForm.CONNECTED.encode((Connected) came)).isEqualTo(AnswerForm.CONNECTED.encode(connected));
        case Object other -> assertThat(came).isEqualTo(other);
      }
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whatTheTierSaysArrivesInItsOrderOrIsCountedOrNoted(long seed) {
    var run = new InboxRun(seed);

    run.run(2_500, 60, 0);

    assertThat(run.heard).isEqualTo(run.said);
    assertThat(run.behindSince).as("connections that were left behind without a note").isEmpty();
    run.notesHeard.forEach((connection, notes) -> assertThat(notes).isLessThanOrEqualTo(run.reasonsToRead.get(connection)));
    var to = run.connections;
    if (to == null) throw new AssertionError("no frontend came");
    assertThat(to.notes()).isEqualTo(run.notesHeard.values().stream().mapToInt(Integer::intValue).sum());
    assertThat(run.drops.overloaded()).isEqualTo(run.droppedQoS0).isPositive();
    assertThat(run.drops.unreachable()).isZero();
    assertThat(to.leftOut()).isEqualTo(run.leftOut).isPositive();
    assertThat(to.messages()).isZero();
    assertThat(to.bytes()).isZero();
    assertThat(run.settled).isNotEmpty().allMatch(CompletableFuture::isDone);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void aTierThatIsAnotherOneLosesTheLinkOnceAndEveryCallHasAnEnd(long seed) {
    var run = new InboxRun(seed);

    run.run(2_500, 60, 600);
    run.rest();

    run.nothingIsLeft();
    assertThat(run.lost.size()).isLessThanOrEqualTo(1);
    Set<InboxCall> arrived = new HashSet<>(run.arrived);
    for (int i = 0; i < run.called.size(); i++) {
      boolean unique = Collections.frequency(run.called, run.called.get(i)) == 1;
      if (unique && run.called.get(i) instanceof InboxCall.Received call && run.wasNotSent(i)) assertThat(arrived).doesNotContain(call);
      if (run.called.get(i) instanceof InboxCall.Settled) assertThat(run.failures).doesNotContainKey(i);
    }
    if (run.lost.isEmpty()) return;
    int before = run.called.size();
    for (int i = 0; i < 50; i++) run.calls();
    for (int i = before; i < run.called.size(); i++) {
      if (run.called.get(i) instanceof InboxCall.Settled) assertThat(run.values).containsKey(i);
      else assertThat(run.failures.get(i)).isExactlyInstanceOf(StoreException.class).hasMessageContaining("is lost");
    }
    assertThat(run.inbox.acknowledgementsWaiting()).isZero();
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void aFrontendThatIsAwayIsDetachedOnceAndWhatItWasAskedIsAnswered(long seed) {
    var run = new InboxRun(seed);
    run.run(1_500, 60, 0);
    for (int i = 0; i < 200; i++) {
      run.calls();
      run.says();
      if (i % 3 == 0) run.wires.step();
    }

    run.wires.partsForGood();
    run.rest();

    assertThat(run.detached).hasSize(1);
    assertThat(run.lost).hasSize(1);
    assertThat(run.settled).allMatch(CompletableFuture::isDone);
    var to = run.connections;
    if (to == null) throw new AssertionError("no frontend came");
    assertThat(to.messages()).isZero();
    assertThat(to.bytes()).isZero();
    run.nothingIsLeft();
    assertThat(run.failures.values()).anyMatch(each -> each instanceof OutcomeUnknownException);
    long dropped = run.drops.unreachable();
    var gone = new ConnectionId(InboxRun.FRONTEND.frontend(), InboxRun.FRONTEND.incarnation(), 1);
    to.push(gone, new Connections.InboxMessage(0, QoS.AT_MOST_ONCE, false, false, false, new int[0], run.chance.publication()));
    assertThat(run.drops.unreachable()).isEqualTo(dropped + 1);
    assertThat(to.settled(gone)).isDone();
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void callsGoOnOverTheNextLink(long seed) {
    var run = new InboxRun(seed);
    run.goesOn = true;

    run.run(2_500, 60, 250);
    run.rest();

    run.nothingIsLeft();
    assertThat(run.lost).hasSizeGreaterThanOrEqualTo(run.interrupted);
    Set<String> arrived = run.arrived.stream().map(InboxRun::text).collect(Collectors.toSet());
    for (int i = 0; i < run.called.size(); i++) {
      var call = run.called.get(i);
      var failure = run.failures.get(i);
      if (call instanceof InboxCall.Acknowledge || call instanceof InboxCall.Missing) continue;
      boolean refused = failure != null && failure.getClass() == StoreException.class;
      if (!refused && !(failure instanceof OutcomeUnknownException)) assertThat(arrived).as("%s", call).contains(InboxRun.text(call));
      if (InboxRun.mayBeMadeTwice(call)) assertThat(failure instanceof OutcomeUnknownException).as("%s", call).isFalse();
    }
  }
}

package dunlin.transport.lane;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.LaneCredit;
import dunlin.transport.Terms;
import dunlin.transport.link.Link;
import dunlin.transport.trace.Trace;
import dunlin.transport.trace.Tracer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** When a lane gives up what it sends again. */
class RepeatingLaneTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private record Timed(long at, Runnable task) {}

  private final List<Timed> timers = new ArrayList<>();
  private final List<String> taken = new ArrayList<>();
  private final List<String> marked = new ArrayList<>();

  /** What a leader answers to a topic; null for nothing. */
  private Function<String, @Nullable ReasonCode> answers = _ -> ReasonCode.SUCCESS;

  /** What a leader picks for the groups of a recorded message, and what such messages brought along. */
  private List<Long> picks = List.of();

  private final List<List<Long>> brought = new ArrayList<>();

  /** Of the messages that have been taken. */
  private final List<Acknowledgement> held = new ArrayList<>();

  /** What a recorder says of a repetition before it answers. */
  private List<Long> recorded = List.of();

  private boolean reachable = true;

  /** Whether publishers of this process may not go on elsewhere. */
  private boolean goesOn = true;

  private long nanos;
  private final SharedWindow window = new SharedWindow(1 << 20);
  private LaneLinks links = leader();
  private final Wires wires = new Wires(new Random(1), Link.Settings.defaults(), (link, opening) -> links.open(link, opening));
  private final Tracer tracer = Tracer.idle();
  private final UnacknowledgedDrops drops = new UnacknowledgedDrops("lane", tracer);
  private final RemoteLane lane =
      new RemoteLane(
          this::dial, task -> wires.senderTasks.add(task), LaneCredit.uncounted(), new Repeating(1, PATIENCE, () -> nanos, this::later), drops, () -> goesOn);

  private static final class Answer extends Acknowledgement {
    private final Terms terms;
    final List<Long> picked = new ArrayList<>();
    @Nullable ReasonCode reason;
    boolean forsaken;

    Answer(Terms terms) {
      this.terms = terms;
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    public boolean isForsaken() {
      return forsaken;
    }

    @Override
    public void picked(long shard) {
      assertThat(reason).as("the answer comes later").isNull();
      picked.add(shard);
    }

    @Override
    protected void complete(ReasonCode worst) {
      reason = worst;
    }
  }

  private LaneLinks leader() {
    return LaneLinks.ofCallers(
        link ->
            new ReceivingStream(
                link, task -> wires.receiverTasks.add(task),
                RemoteLane.into(
                    (message, _, acknowledgement) -> {
                      taken.add(message.topic());
                      if (message.isRepetition()) marked.add(message.topic());
                      var answer = answers.apply(message.topic());
                      if (acknowledgement == null) return;
                      held.add(acknowledgement);
                      acknowledgement.expect();
                      pick(acknowledgement);
                      acknowledgement.recorded(recorded);
                      if (answer != null) acknowledgement.answer(answer);
                    },
                    window),
                task -> later(() -> wires.receiverTasks.add(task), 1_000)));
  }

  private void pick(Acknowledgement acknowledgement) {
    var origin = acknowledgement.terms().origin();
    if (origin == null) return;
    brought.add(origin.picked());
    picks.forEach(acknowledgement::picked);
  }

  private Link dial(Link.Handler handler) {
    if (reachable) return wires.dial(handler);
    return Link.dialling(5, new byte[0], Link.Settings.defaults(), Runnable::run, () -> nanos, handler);
  }

  private void later(Runnable task, long millis) {
    timers.add(new Timed(nanos + Duration.ofMillis(millis).toNanos(), task));
  }

  private void pass(Duration time) {
    for (long left = time.toMillis(); left > 0; left -= 50) {
      nanos += Duration.ofMillis(50).toNanos();
      var due = timers.stream().filter(each -> each.at <= nanos).sorted(Comparator.comparingLong(Timed::at)).toList();
      timers.removeAll(due);
      due.forEach(each -> each.task.run());
      wires.drain();
    }
  }

  private Answer append(String topic, QoS qos, Terms terms) {
    var answer = new Answer(terms);
    lane.append(Publication.of(new Publisher("t", "client"), topic, qos, false, 0, new byte[0]), null, qos == QoS.AT_MOST_ONCE ? null : answer);
    if (qos != QoS.AT_MOST_ONCE) answer.answer(ReasonCode.SUCCESS);
    return answer;
  }

  private Answer append(String topic, QoS qos) {
    return append(topic, qos, Terms.ANSWERED);
  }

  private Answer appendInExchange() {
    return appendInExchange("recorded");
  }

  private Answer appendInExchange(String name) {
    byte[] topic = name.getBytes(StandardCharsets.UTF_8);
    var answer = new Answer(Terms.ANSWERED);
    var exchange = new Publication.Exchange(1, 7);
    lane.append(
        new Publication(new Publisher("t", "client"), QoS.EXACTLY_ONCE, false, 0, Publication.NEVER_EXPIRES, -1, topic.length, 0, topic, exchange), null, answer);
    answer.answer(ReasonCode.SUCCESS);
    return answer;
  }

  private void appendMany(int count, Runnable append) {
    for (int i = 1; i <= count; i++) {
      append.run();
      if (i % 10_000 > 0 && i < count) continue;
      wires.drain();
      Stream.of(taken, brought, held).forEach(List::clear);
    }
  }

  private void crash() {
    links = leader();
    wires.receiverRestarts();
  }

  private Trace follows(String topic) {
    return tracer.begin(topic, "t", "", topic, "", Duration.ofMinutes(1));
  }

  private static List<String> drops(Trace trace) {
    return trace.read(0, 100).events().stream().map(event -> event.hop() + " " + event.step() + " " + event.reason()).toList();
  }

  @Test
  void qos0ThatIsLostIsNotedInTheTracesThatFollowIt() {
    Trace followed = follows("zero");
    Trace other = follows("other");
    reachable = false;
    append("zero", QoS.AT_MOST_ONCE);
    pass(Duration.ofSeconds(11));

    assertThat(drops.unreachable()).isEqualTo(1);
    assertThat(drops(followed)).containsExactly("lane dropped unreachable");
    assertThat(drops(other)).isEmpty();
  }

  @Test
  @Tag("drop:lane:overloaded")
  void aLaneThatHasAMillionUnansweredMessagesDropsQoS0() {
    int most = 1 << 20;
    Publication zero = Publication.of(new Publisher("t", "client"), "zero", QoS.AT_MOST_ONCE, false, 0, new byte[0]);
    reachable = false;
    for (int i = 0; i < most; i++) lane.append(zero, null, null);
    Trace trace = follows("zero");
    assertThat(drops.overloaded()).isZero();

    lane.append(zero, null, null);

    assertThat(drops.overloaded()).isEqualTo(1);
    assertThat(drops(trace)).containsExactly("lane dropped overloaded");
    assertThat(drops.account()).isEqualTo(new LinkAccount(most + 1, 0, 0, 1, most));
  }

  /** Its client sends both again: they would come behind those that were not refused. */
  @Test
  void whatComesBehindAMessageForWhichThereIsNoRoomIsRefused() {
    answers = _ -> null;
    for (int i = 0; i < 1 << 20; i++) append("a", QoS.AT_MOST_ONCE);
    wires.drain();
    var refused = append("refused", QoS.AT_LEAST_ONCE, Terms.disconnecting(7));
    assertThat(refused.reason).isEqualTo(ReasonCode.SERVER_BUSY);
    answers = _ -> ReasonCode.SUCCESS;
    held.forEach(each -> each.answer(ReasonCode.SUCCESS));
    wires.drain();
    taken.clear();

    var behind = append("behind", QoS.AT_LEAST_ONCE, Terms.disconnecting(7));
    var other = append("other", QoS.AT_LEAST_ONCE, Terms.disconnecting(8));
    var answered = append("answered", QoS.AT_LEAST_ONCE);
    wires.drain();

    assertThat(behind.reason).isEqualTo(ReasonCode.SERVER_BUSY);
    assertThat(other.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answered.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(taken).containsExactly("other", "answered");
  }

  @Test
  void aMessageThatWaitsIsPassedByAnyNumberOfOthers() {
    answers = topic -> topic.equals("waits") ? null : ReasonCode.SUCCESS;
    var waits = append("waits", QoS.AT_LEAST_ONCE);
    wires.drain();
    var waiting = held.getFirst();
    appendMany(3 << 19, () -> append("a", QoS.AT_MOST_ONCE));

    var next = append("next", QoS.AT_LEAST_ONCE);
    var recordedNext = appendInExchange();
    wires.drain();
    assertThat(next.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(recordedNext.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(origin(held.getLast())).as("nothing is settled").isEqualTo(new Terms.Origin(1, (3 << 19) + 3, 1, false));
    assertThat(lane.stream().pending()).isEqualTo(1);

    waiting.answer(ReasonCode.SUCCESS);
    wires.drain();
    assertThat(waits.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(lane.stream().pending()).isZero();
    appendInExchange();
    wires.drain();
    assertThat(origin(held.getLast())).as("all before is settled").isEqualTo(new Terms.Origin(1, (3 << 19) + 4, (3 << 19) + 4, false));
  }

  private static Terms.@Nullable Origin origin(Acknowledgement message) {
    return message.terms().origin();
  }

  @Test
  void aMessageThatOthersHavePassedIsSentAgainInFrontOfThem() {
    answers = topic -> topic.startsWith("waits") ? null : ReasonCode.SUCCESS;
    append("waits 1", QoS.AT_LEAST_ONCE);
    append("waits 2", QoS.AT_LEAST_ONCE);
    appendMany(30_000, () -> append("a", QoS.AT_MOST_ONCE));
    append("waits 3", QoS.AT_LEAST_ONCE);
    wires.drain();
    taken.clear();

    crash();
    answers = _ -> ReasonCode.SUCCESS;
    pass(Duration.ofSeconds(1));

    assertThat(taken).containsExactly("waits 1", "waits 2", "waits 3");
    assertThat(lane.stream().pending()).isZero();
  }

  /** Frontends remember them until it is answered. */
  @Test
  void aMessageThatWaitsIsPassedByAMillionRecordedOnes() {
    answers = topic -> topic.equals("waits") ? null : ReasonCode.SUCCESS;
    append("waits", QoS.AT_LEAST_ONCE);
    wires.drain();
    var waiting = held.getFirst();
    appendMany(1 << 20, this::appendInExchange);

    var tooMany = appendInExchange();
    var other = append("other", QoS.AT_LEAST_ONCE);
    wires.drain();
    assertThat(tooMany.reason).isEqualTo(ReasonCode.SERVER_BUSY);
    assertThat(other.reason).isEqualTo(ReasonCode.SUCCESS);

    waiting.answer(ReasonCode.SUCCESS);
    wires.drain();
    var next = appendInExchange();
    wires.drain();
    assertThat(next.reason).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void messagesThatNobodyTakesAreAnsweredAtTheirDeadline() {
    reachable = false;
    var first = append("first", QoS.AT_LEAST_ONCE);
    append("zero", QoS.AT_MOST_ONCE);
    pass(Duration.ofSeconds(5));
    var second = append("second", QoS.AT_LEAST_ONCE);
    pass(Duration.ofMillis(4_900));
    assertThat(first.reason).isNull();

    pass(Duration.ofSeconds(1));
    assertThat(first.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(second.reason).isNull();
    assertThat(drops.unreachable()).isEqualTo(1);
    assertThat(drops.account()).isEqualTo(new LinkAccount(3, 0, 1, 1, 1));

    reachable = true;
    append("third", QoS.AT_LEAST_ONCE);
    pass(Duration.ofSeconds(6));
    assertThat(second.reason).as("the link that it waited for has not begun").isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(taken).containsExactly("third");
  }

  @Test
  void aLaneGoesOnAtOnceAfterManyLeadersThatHaveDelivered() {
    for (int leader = 0; leader < 10; leader++) {
      append("of leader " + leader, QoS.AT_LEAST_ONCE);
      pass(Duration.ofMillis(50));
      crash();
      pass(Duration.ofMillis(100));
    }
    taken.clear();

    append("last", QoS.AT_LEAST_ONCE);
    pass(Duration.ofMillis(50));

    assertThat(taken).containsExactly("last");
  }

  @Test
  void aLaneWaitsForLongerAfterEachLeaderThatDeliversNothing() {
    answers = _ -> ReasonCode.USE_ANOTHER_SERVER;
    append("refused", QoS.AT_LEAST_ONCE);

    for (int leader = 0; leader < 80; leader++) {
      pass(Duration.ofMillis(50));
      crash();
    }

    assertThat(taken).as("in four seconds, in which 80 leaders are lost").hasSizeBetween(5, 10);
  }

  @Test
  void whatALiveLeaderHasHasNoDeadline() {
    answers = _ -> null;
    var waits = append("waits", QoS.AT_LEAST_ONCE);
    pass(Duration.ofMinutes(2));
    assertThat(waits.reason).isNull();

    crash();
    pass(Duration.ofSeconds(1));
    assertThat(waits.reason).as("too old to be sent again").isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void whatItsClientPublishesAgainElsewhereIsNotSentAgain() {
    answers = _ -> null;
    var forsaken = append("forsaken", QoS.AT_LEAST_ONCE);
    var other = append("other", QoS.AT_LEAST_ONCE);
    pass(Duration.ofSeconds(1));
    forsaken.forsaken = true;
    taken.clear();

    crash();
    answers = _ -> ReasonCode.SUCCESS;
    pass(Duration.ofSeconds(1));

    assertThat(forsaken.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(other.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(taken).containsExactly("other");
  }

  @Test
  void qos0ThatHasWaitedIsLostOnceItsPublishersGoOnElsewhere() {
    reachable = false;
    append("zero", QoS.AT_MOST_ONCE);
    var one = append("one", QoS.AT_LEAST_ONCE);
    pass(Duration.ofSeconds(1));
    goesOn = false;

    var renewed = lane.renew();
    wires.drain();
    assertThat(renewed).isNotDone();
    goesOn = true;
    append("later", QoS.AT_MOST_ONCE);
    reachable = true;
    pass(Duration.ofSeconds(1));

    assertThat(renewed).isCompleted();
    assertThat(taken).containsExactly("one", "later");
    assertThat(one.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(drops.unreachable()).isEqualTo(1);
  }

  @Test
  void nothingThatWasSentBeforeALaneIsRenewedComesAfterwards() {
    append("first", QoS.AT_MOST_ONCE);
    pass(Duration.ofMillis(50));
    append("on its way", QoS.AT_MOST_ONCE);
    while (!wires.senderTasks.isEmpty()) wires.senderTasks.remove().run();

    var renewed = lane.renew();
    while (!wires.senderTasks.isEmpty()) wires.senderTasks.remove().run();
    taken.clear();
    pass(Duration.ofMillis(200));

    assertThat(renewed).isCompleted();
    assertThat(taken).isEmpty();
    append("later", QoS.AT_MOST_ONCE);
    pass(Duration.ofMillis(50));
    assertThat(taken).containsExactly("later");
  }

  @Test
  void aLaneThatWasNeverUsedIsRenewedByItsFirstLink() {
    var renewed = lane.renew();
    pass(Duration.ofMillis(50));

    assertThat(renewed).isCompleted();
    assertThat(taken).isEmpty();
    assertThat(timers.size()).as("nothing looks at a link that has begun").isLessThanOrEqualTo(1);
  }

  @Test
  void whatComesBehindARefusedMessageOfAClientThatIsDisconnectedIsRefused() {
    answers = _ -> null;
    append("unrecorded", QoS.EXACTLY_ONCE, Terms.disconnecting(7));
    var behind = append("behind", QoS.AT_LEAST_ONCE, Terms.disconnecting(7));
    var other = append("other", QoS.AT_LEAST_ONCE, Terms.disconnecting(8));
    pass(Duration.ofSeconds(1));

    crash();
    answers = _ -> ReasonCode.SUCCESS;
    pass(Duration.ofSeconds(1));

    assertThat(behind.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(other.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(taken).containsExactly("unrecorded", "behind", "other", "other");
  }

  @Test
  void whatComesBehindAMessageThatTheLeaderHasRefusedIsNotSentAgain() {
    answers = topic -> topic.equals("full") ? ReasonCode.QUOTA_EXCEEDED : null;
    var full = append("full", QoS.AT_LEAST_ONCE, Terms.disconnecting(9));
    var behind = append("behind", QoS.AT_LEAST_ONCE, Terms.disconnecting(9));
    var other = append("other", QoS.AT_LEAST_ONCE, Terms.disconnecting(10));
    pass(Duration.ofSeconds(1));
    answers = _ -> ReasonCode.SUCCESS;
    crash();
    pass(Duration.ofSeconds(1));

    assertThat(full.reason).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    assertThat(behind.reason).as("its client sends both again").isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(other.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(taken).containsExactly("full", "behind", "other", "other");
  }

  @Test
  void aMessageThatCannotBeDeliveredIsSentAgainAFewTimes() {
    answers = topic -> topic.equals("bad") ? ReasonCode.SERVER_UNAVAILABLE : ReasonCode.SUCCESS;
    var bad = append("bad", QoS.AT_LEAST_ONCE);
    pass(PATIENCE.plusSeconds(3));
    var good = append("good", QoS.AT_LEAST_ONCE);
    pass(Duration.ofSeconds(3));

    assertThat(bad.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(good.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(taken.stream().filter("bad"::equals)).hasSizeBetween(5, 15);
  }

  @Test
  void aRepetitionBringsAlongWhatWasPickedForItsGroups() {
    answers = _ -> null;
    for (var each : List.of(List.of(-5L, 6L), List.of(7L, -5L), List.<Long>of())) {
      picks = each;
      if (brought.isEmpty()) appendInExchange();
      else crash();
      pass(Duration.ofSeconds(1));
    }

    assertThat(brought).as("the last pick is last").containsExactly(List.of(), List.of(-5L, 6L), List.of(6L, 7L, -5L));
  }

  @Test
  void whatARecordKnowsOfPicksComesBeforeTheAnswer() {
    recorded = List.of(8L, Terms.Pick.DELIVERED);
    var answer = append("recorded", QoS.AT_LEAST_ONCE);
    pass(Duration.ofSeconds(1));

    assertThat(answer.reason).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answer.picked).containsExactly(8L, Terms.Pick.DELIVERED);
  }

  @Test
  void theLastPicksOfAMessageAreRemembered() {
    answers = _ -> null;
    picks = LongStream.range(0, 1_000).boxed().toList();
    appendInExchange();
    pass(Duration.ofSeconds(1));
    crash();
    pass(Duration.ofSeconds(1));

    assertThat(brought).containsExactly(List.of(), picks.subList(1_000 - Terms.Origin.PICKED_MAX, 1_000));
  }

  @Test
  void qos1IsMarkedWhenItMayHaveComeBefore() {
    answers = _ -> null;
    append("sent", QoS.AT_LEAST_ONCE);
    appendInExchange();
    pass(Duration.ofSeconds(1));
    crash();
    append("waiting", QoS.AT_LEAST_ONCE);
    pass(Duration.ofSeconds(1));

    assertThat(taken).containsExactly("sent", "recorded", "sent", "recorded", "waiting");
    assertThat(marked).as("others recognise what is recorded").containsExactly("sent");
  }

  @Test
  void qos0DoesNotEndALink() {
    answers = _ -> ReasonCode.SERVER_UNAVAILABLE;
    append("zero", QoS.AT_MOST_ONCE);
    pass(Duration.ofSeconds(1));
    answers = _ -> ReasonCode.SUCCESS;
    append("one", QoS.AT_LEAST_ONCE);
    pass(Duration.ofSeconds(1));

    assertThat(taken).containsExactly("zero", "one");
    assertThat(drops.unreachable()).isZero();
  }

  @Test
  void whatWaitsForTheNextLinkIsAnsweredWhenTheLaneIsClosed() {
    answers = _ -> null;
    var waits = append("waits", QoS.AT_LEAST_ONCE);
    pass(Duration.ofMillis(100));
    crash();
    wires.drain();
    assertThat(lane.stream().pending()).isEqualTo(1);

    lane.stream().close();

    assertThat(waits.reason).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(lane.stream().pending()).isZero();
    pass(Duration.ofSeconds(1));
    assertThat(taken).containsExactly("waits");
  }

  /** So that a receiver which holds messages back does not deliver those that would overtake it. */
  @Test
  void whatIsHeldBehindARefusedMessageComesAgain() {
    answers = topic -> topic.equals("held") ? null : ReasonCode.USE_ANOTHER_SERVER;
    append("held", QoS.AT_LEAST_ONCE);
    wires.drain();
    assertThat(held.getFirst().comesAgain()).isFalse();
    append("refused", QoS.AT_LEAST_ONCE);
    wires.drain();
    assertThat(held.getFirst().comesAgain()).isTrue();

    answers = _ -> ReasonCode.SUCCESS;
    held.getFirst().answer(ReasonCode.USE_ANOTHER_SERVER);
    pass(Duration.ofSeconds(2));

    assertThat(taken).containsExactly("held", "refused", "held", "refused");
    assertThat(held.getLast().comesAgain()).isFalse();
  }
}

package dunlin.transport.lane;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import dunlin.transport.link.Link;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A lane to leaders that move, crash, refuse and end: each message is answered once, what is sent again keeps its order, and
 * only what may come twice does.
 */
class RepeatingLaneModelTest {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final long STREAM = 77;

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 60) : LongStream.of(seed);
  }

  /** A message and its outcome. */
  private static final class Message extends Acknowledgement implements Feedback {
    final int number;
    final Publication publication;
    final Terms terms;
    int completions;
    ReasonCode reason = ReasonCode.SUCCESS;
    int waits;

    /** How often a leader has taken it. */
    int deliveries;

    Message(int number, Publication publication, Terms terms) {
      this.number = number;
      this.publication = publication;
      this.terms = terms;
    }

    QoS qos() {
      return publication.qos();
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    protected void complete(ReasonCode worst) {
      completions++;
      reason = worst;
    }

    @Override
    public void waits(QoS qos, int size) {
      waits++;
    }

    @Override
    public void waitsNoLonger(QoS qos, int size) {
      waits--;
      assertThat(waits).as("message %d waits", number).isNotNegative();
    }
  }

  private record Timed(long at, Runnable task) {}

  /** One run: the lane, and one leader after the other. */
  private static final class Run {
    private final Random random;
    private final List<Message> sent = new ArrayList<>();

    /** What leaders have taken, in order: a repetition is there again. */
    private final List<Message> taken = new ArrayList<>();

    private final Map<Message, Terms.Origin> origins = new HashMap<>();

    /** What was picked for the groups of a message. */
    private final Map<Message, List<Long>> picked = new HashMap<>();

    private final List<Runnable> later = new ArrayList<>();
    private final List<Timed> timers = new ArrayList<>();
    private final List<ReceivingStream> streams = new ArrayList<>();
    private final CountedCredit credit = new CountedCredit();
    private final UnacknowledgedDrops drops = UnacknowledgedDrops.unwatched();
    private final SharedWindow window = new SharedWindow(1 << 20);
    private final Wires wires;
    private final RemoteLane lane;
    private LaneLinks links;
    private long nanos = 1_000;
    private int refusesOneIn;
    private long graceMillis = 1_000;

    Run(long seed) {
      this(seed, Link.Settings.defaults());
    }

    Run(long seed, Link.Settings settings) {
      random = new Random(seed);
      links = newLeader();
      wires = new Wires(random, settings, (link, opening) -> links.open(link, opening));
      var repeating = new Repeating(STREAM, PATIENCE, () -> nanos, (task, millis) -> after(task, millis, true));
      lane = new RemoteLane(wires::dial, wires().senderTasks::add, credit, repeating, drops);
    }

    private Wires wires() {
      return wires;
    }

    private LaneLinks newLeader() {
      return LaneLinks.ofCallers(
          link -> {
            var stream =
                new ReceivingStream(
                    link, task -> wires().receiverTasks.add(task), RemoteLane.into(this::take, window), task -> after(task, graceMillis, false));
            streams.add(stream);
            return stream;
          });
    }

    private void after(Runnable task, long millis, boolean sender) {
      timers.add(new Timed(nanos + Duration.ofMillis(millis).toNanos(), () -> (sender ? wires().senderTasks : wires().receiverTasks).add(task)));
    }

    private void passes(Duration time) {
      nanos += time.toNanos();
      var due = timers.stream().filter(each -> each.at <= nanos).sorted(Comparator.comparingLong(Timed::at)).toList();
      timers.removeAll(due);
      due.forEach(each -> each.task.run());
    }

    private void take(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      if (feedback == null || acknowledgement == null) throw new AssertionError("a message without a receipt");
      var of = sent.get(Integer.parseInt(message.topic().substring(2)));
      taken.add(of);
      of.deliveries++;
      checkOrigin(of, acknowledgement.terms().origin());
      for (int picks = random.nextInt(3); picks > 0; picks--) {
        long shard = random.nextLong();
        acknowledgement.picked(shard);
        picked.computeIfAbsent(of, _ -> new ArrayList<>()).add(shard);
      }
      int answers = 1 + random.nextInt(2);
      for (int i = 0; i < answers; i++) {
        acknowledgement.expect();
        boolean refuses = refusesOneIn > 0 && random.nextInt(refusesOneIn) == 0;
        var reason = refuses ? ReasonCode.SERVER_UNAVAILABLE : random.nextInt(10) == 0 ? ReasonCode.QUOTA_EXCEEDED : ReasonCode.SUCCESS;
        boolean waits = random.nextInt(4) == 0;
        if (waits) feedback.waits(message.qos(), message.body().length);
        Runnable answer =
            () -> {
              if (waits) feedback.waitsNoLonger(message.qos(), message.body().length);
              acknowledgement.answer(reason);
            };
        if (random.nextBoolean()) later.add(answer);
        else answer.run();
      }
    }

    private void checkOrigin(Message of, Terms.@Nullable Origin origin) {
      boolean recorded = of.publication.exchange() != null;
      assertThat(origin != null).as("message %d has an origin", of.number).isEqualTo(recorded);
      if (origin == null) return;
      assertThat(origin.stream()).isEqualTo(STREAM);
      if (of.deliveries > 1) assertThat(origin.repeated()).as("message %d comes again", of.number).isTrue();
      if (!origin.picked().isEmpty()) assertThat(picked.get(of)).as("picks of message %d", of.number).containsSubsequence(origin.picked());
      var before = origins.put(of, origin);
      if (before != null) assertThat(origin.number()).isEqualTo(before.number());
      for (var each : origins.entrySet()) {
        if (each.getValue().number() < origin.settled()) assertThat(each.getKey().completions).as("message %d is settled", each.getKey().number).isEqualTo(1);
      }
    }

    void publish() {
      int client = random.nextInt(5);
      var qos = QoS.of(random.nextInt(3));
      byte[] topic = ("t/" + sent.size()).getBytes(StandardCharsets.UTF_8);
      var exchange = qos == QoS.EXACTLY_ONCE && random.nextBoolean() ? new Publication.Exchange(1, 1 + sent.size()) : null;
      var publication =
          new Publication(new Publisher("t", "client" + client), qos, false, 7, Publication.NEVER_EXPIRES, -1, topic.length, 0, topic, exchange);
      var message = new Message(sent.size(), publication, client == 0 ? Terms.disconnecting(fence()) : Terms.ANSWERED);
      sent.add(message);
      boolean acknowledged = qos != QoS.AT_MOST_ONCE;
      lane.append(publication, message, acknowledged ? message : null);
      if (acknowledged) message.answer(ReasonCode.SUCCESS);
    }

    /** A client that is disconnected comes back over another connection. */
    private long fence() {
      long last = sent.stream().mapToLong(each -> each.terms.fence()).max().orElse(0);
      boolean refused = last == 0 || sent.stream().anyMatch(each -> each.terms.fence() == last && each.completions > 0 && each.reason.isError());
      return refused ? last + 1 : last;
    }

    private void answerOne() {
      if (!later.isEmpty()) later.remove(random.nextInt(later.size())).run();
    }

    /** The leader crashes: what it had is gone. */
    void crashes() {
      later.clear();
      streams.clear();
      links = newLeader();
      wires.receiverRestarts();
    }

    void run(int steps, int crashesOneIn, int endsOneIn, int givesUpOneIn) {
      for (int i = 0; i < steps; i++) {
        int what = random.nextInt(10);
        if (what < 2) publish();
        else if (what < 4) answerOne();
        else if (what < 5) passes(Duration.ofMillis(random.nextInt(20)));
        else wires.step();
        if (random.nextInt(80) == 0) wires.breaks();
        if (crashesOneIn > 0 && random.nextInt(crashesOneIn) == 0) crashes();
        if (endsOneIn > 0 && random.nextInt(endsOneIn) == 0 && !streams.isEmpty()) streams.getLast().end();
        if (givesUpOneIn > 0 && random.nextInt(givesUpOneIn) == 0) wires.senderGivesUp();
      }
      refusesOneIn = 0;
      assertThat(taken).as("messages that leaders have taken").isNotEmpty();
      for (int i = 0; i < 500 && (lane.stream().pending() > 0 || !later.isEmpty()); i++) {
        while (!later.isEmpty()) answerOne();
        wires.drain();
        passes(Duration.ofMillis(100));
      }
    }

    void everythingIsAnsweredOnce() {
      assertThat(lane.stream().pending()).isZero();
      assertThat(credit.messages).isZero();
      for (Message each : sent) {
        assertThat(each.waits).as("message %d waits", each.number).isZero();
        if (each.qos() == QoS.AT_MOST_ONCE) continue;
        assertThat(each.completions).as("answers for message %d", each.number).isEqualTo(1);
        if (each.reason == ReasonCode.SUCCESS) assertThat(each.deliveries).as("deliveries of message %d", each.number).isPositive();
      }
    }

    void onlyWhatMayComesAgain() {
      for (Message each : sent) {
        boolean may = each.qos() == QoS.AT_LEAST_ONCE || each.publication.exchange() != null;
        if (!may) assertThat(each.deliveries).as("deliveries of message %d, %s", each.number, each.qos()).isLessThanOrEqualTo(1);
      }
      long missing = sent.stream().filter(each -> each.qos() == QoS.AT_MOST_ONCE && each.deliveries == 0).count();
      assertThat(drops.unreachable()).isGreaterThanOrEqualTo(missing);
    }

    /** Of each publisher and QoS, a message that comes for the first time comes behind all earlier ones that ever come. */
    void whatComesFirstIsInOrder() {
      var last = new HashMap<String, Integer>();
      var seen = new ArrayList<Integer>();
      for (Message each : taken) {
        if (seen.contains(each.number)) continue;
        seen.add(each.number);
        Integer before = last.put(each.publication.publisher() + " " + each.qos(), each.number);
        if (before != null) assertThat(each.number).as("a message behind message %d", before).isGreaterThan(before);
      }
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void nothingIsLostWhenLeadersEndInOrder(long seed) {
    var run = new Run(seed);
    run.graceMillis = 1_000_000;

    run.run(3_000, 0, 150, 0);

    run.everythingIsAnsweredOnce();
    run.onlyWhatMayComesAgain();
    run.whatComesFirstIsInOrder();
    var refused = new HashSet<Long>();
    for (Message each : run.sent) {
      long fence = each.terms.fence();
      if (fence != 0 && each.reason.isError()) refused.add(fence);
      if (refused.contains(fence)) continue;
      assertThat(each.deliveries).as("deliveries of message %d", each.number).isPositive();
      assertThat(each.reason).as("message %d", each.number).isNotEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void crashesOfLeadersFailOnlyWhatMustNotComeTwice(long seed) {
    var run = new Run(seed);

    run.run(3_000, 150, 300, 0);

    run.everythingIsAnsweredOnce();
    run.onlyWhatMayComesAgain();
    run.whatComesFirstIsInOrder();
    assertThat(run.sent).filteredOn(each -> each.deliveries > 1).isNotEmpty();
    for (Message each : run.sent) {
      if (each.terms.fence() != 0 || each.qos() == QoS.AT_MOST_ONCE) continue;
      boolean may = each.qos() == QoS.AT_LEAST_ONCE || each.publication.exchange() != null;
      if (may) assertThat(each.reason).as("message %d", each.number).isNotEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void allHoldsWithLostLinksAndRefusals(long seed) {
    var run = new Run(seed);
    run.refusesOneIn = 40;

    run.run(3_000, 300, 300, 300);

    run.everythingIsAnsweredOnce();
    run.onlyWhatMayComesAgain();
    run.whatComesFirstIsInOrder();
  }

  /** Messages wait for room in it, too, and a leader that does not is sometimes ended. */
  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void allHoldsOverALinkOfFewFrames(long seed) {
    var run = new Run(seed, new Link.Settings(6, 1 << 20, Duration.ofSeconds(10)));
    run.refusesOneIn = 40;

    run.run(3_000, 300, 300, 300);

    run.everythingIsAnsweredOnce();
    run.onlyWhatMayComesAgain();
    run.whatComesFirstIsInOrder();
  }
}

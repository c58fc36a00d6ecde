package dunlin.transport.lane;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A lane over pipes that delay and break: each message arrives once, unchanged and in order, and each gets its answer once. */
class RemoteLaneModelTest {
  private static final ReasonCode[] REASONS = {ReasonCode.SUCCESS, ReasonCode.SUCCESS, ReasonCode.QUOTA_EXCEEDED, ReasonCode.SERVER_BUSY};

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.range(0, 40) : LongStream.of(seed);
  }

  /** A message and its outcome. */
  private static final class Message extends Acknowledgement implements Feedback {
    final Publication publication;
    final Terms terms;
    int completions;
    ReasonCode reason = ReasonCode.SUCCESS;
    @Nullable ReasonCode said;
    boolean wanted;
    int waits;
    int waited;

    Message(Publication publication, Terms terms) {
      this.publication = publication;
      this.terms = terms;
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
      assertThat(size).isEqualTo(publication.body().length);
      waits++;
      waited++;
    }

    @Override
    public void waitsNoLonger(QoS qos, int size) {
      waits--;
    }
  }

  /** One run of both sides. */
  private static final class Run {
    private final Random random;
    private final List<Message> sent = new ArrayList<>();
    private final List<Publication> arrived = new ArrayList<>();
    private final List<Runnable> later = new ArrayList<>();
    private final CountedCredit credit = new CountedCredit();
    private final UnacknowledgedDrops drops = UnacknowledgedDrops.unwatched();
    private final SharedWindow window = new SharedWindow(1 << 20);
    private final Wires wires;
    private final RemoteLane lane;

    Run(long seed) {
      random = new Random(seed);
      wires = new Wires(random, link -> new ReceivingStream(link, this::runSoon, RemoteLane.into(this::take, window)));
      lane = new RemoteLane(wires::dial, wires.senderTasks::add, credit, null, drops);
    }

    private void runSoon(Runnable task) {
      wires.receiverTasks.add(task);
    }

    private void take(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      if (feedback == null || acknowledgement == null) throw new AssertionError("a message without a receipt");
      var of = sent.get(number(message));
      assertThat(acknowledgement.terms()).isEqualTo(of.publication.qos() == QoS.AT_MOST_ONCE ? Terms.ANSWERED : of.terms);
      arrived.add(message);
      int answers = random.nextInt(3);
      if (answers == 0) return;
      acknowledgement.markMatched();
      of.wanted = true;
      for (int i = 0; i < answers; i++) {
        acknowledgement.expect();
        var reason = REASONS[random.nextInt(REASONS.length)];
        boolean waits = random.nextInt(4) == 0;
        if (waits) feedback.waits(message.qos(), message.body().length);
        Runnable answer =
            () -> {
              if (waits) feedback.waitsNoLonger(message.qos(), message.body().length);
              if (reason.isError() && of.said == null) of.said = reason;
              acknowledgement.answer(reason);
            };
        if (random.nextBoolean()) later.add(answer);
        else answer.run();
      }
    }

    private static int number(Publication message) {
      return Integer.parseInt(message.topic().substring(2));
    }

    void publish() {
      var publisher = new Publisher("t", "client" + random.nextInt(20));
      byte[] topic = ("t/" + sent.size()).getBytes(StandardCharsets.UTF_8);
      int properties = random.nextInt(3) == 0 ? 5 + random.nextInt(20) : 0;
      byte[] body = new byte[topic.length + properties + random.nextInt(random.nextInt(50) == 0 ? 100_000 : 100)];
      random.nextBytes(body);
      System.arraycopy(topic, 0, body, 0, topic.length);
      var qos = QoS.of(random.nextInt(3));
      boolean expires = properties > 0 && random.nextBoolean();
      var exchange = qos == QoS.EXACTLY_ONCE && random.nextBoolean() ? new Publication.Exchange(random.nextLong(), random.nextLong(), 1 + random.nextInt(65_535)) : null;
      var publication =
          new Publication(
              publisher, qos, random.nextBoolean(), random.nextLong(1L << 42), expires ? random.nextInt() : Publication.NEVER_EXPIRES,
              expires ? topic.length : -1, topic.length, properties, body, exchange);
      var terms = new Terms(random.nextBoolean(), random.nextBoolean(), random.nextBoolean(), random.nextBoolean() ? random.nextLong() : 0);
      var message = new Message(publication, terms);
      sent.add(message);
      boolean acknowledged = qos != QoS.AT_MOST_ONCE;
      lane.append(publication, message, acknowledged ? message : null);
      if (acknowledged) message.answer(ReasonCode.SUCCESS);
    }

    void answerOne() {
      if (!later.isEmpty()) later.remove(random.nextInt(later.size())).run();
    }

    void run(int steps, int breaksOneIn, int restartsOneIn) {
      for (int i = 0; i < steps; i++) {
        int what = random.nextInt(10);
        if (what < 2) publish();
        else if (what < 4) answerOne();
        else wires.step();
        if (breaksOneIn > 0 && random.nextInt(breaksOneIn) == 0) wires.breaks();
        if (restartsOneIn > 0 && random.nextInt(restartsOneIn) == 0) wires.receiverRestarts();
      }
      do {
        while (!later.isEmpty()) answerOne();
        wires.drain();
      } while (!later.isEmpty());
    }

    void everythingIsSettled() {
      assertThat(lane.stream().pending()).isZero();
      assertThat(credit.messages).isZero();
      assertThat(credit.bytes).isZero();
      for (Message each : sent) {
        assertThat(each.waits).as("%s waits", each.publication).isZero();
        if (each.publication.qos() != QoS.AT_MOST_ONCE) assertThat(each.completions).as("answers for %s", each.publication).isEqualTo(1);
      }
    }
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void arrivesOnceInOrderAndIsAnsweredOnceWhateverPipesBreak(long seed) {
    var run = new Run(seed);

    run.run(2_000, 60, 0);

    run.everythingIsSettled();
    assertThat(run.window.used()).isZero();
    assertThat(run.arrived).hasSameSizeAs(run.sent);
    for (int i = 0; i < run.sent.size(); i++) {
      var message = run.sent.get(i);
      var came = run.arrived.get(i);
      assertThat(came.publisher()).isEqualTo(message.publication.publisher());
      assertThat(came.body()).isEqualTo(message.publication.body());
      assertThat(came.topicLength()).isEqualTo(message.publication.topicLength());
      assertThat(came.propertiesLength()).isEqualTo(message.publication.propertiesLength());
      assertThat(came.qos()).isEqualTo(message.publication.qos());
      assertThat(came.retain()).isEqualTo(message.publication.retain());
      assertThat(came.acceptedAtMillis()).isEqualTo(message.publication.acceptedAtMillis());
      assertThat(came.exchange()).isEqualTo(message.publication.exchange());
      assertThat(came.expiryOffset()).isEqualTo(message.publication.expiryOffset());
      if (came.expiryOffset() >= 0) assertThat(came.expirySeconds()).isEqualTo(message.publication.expirySeconds());
      if (message.publication.qos() == QoS.AT_MOST_ONCE) continue;
      assertThat(message.reason).isEqualTo(message.said == null ? ReasonCode.SUCCESS : message.said);
      assertThat(message.matched()).isEqualTo(message.wanted);
    }
    assertThat(run.sent.stream().mapToInt(each -> each.waited).sum()).isPositive();
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void messagesLostByARestartAreAnsweredUnavailableAndNoneComesTwice(long seed) {
    var run = new Run(seed);

    run.run(2_000, 80, 150);

    run.everythingIsSettled();
    var numbers = run.arrived.stream().map(Run::number).toList();
    assertThat(numbers).doesNotHaveDuplicates().isSorted();
    long missing = run.sent.stream().filter(each -> each.publication.qos() == QoS.AT_MOST_ONCE && !numbers.contains(Run.number(each.publication))).count();
    assertThat(run.drops.unreachable()).isGreaterThanOrEqualTo(missing);
    for (Message each : run.sent) {
      if (each.publication.qos() == QoS.AT_MOST_ONCE || each.reason == ReasonCode.SERVER_UNAVAILABLE) continue;
      assertThat(numbers).contains(Run.number(each.publication));
      assertThat(each.reason).isEqualTo(each.said == null ? ReasonCode.SUCCESS : each.said);
    }
  }
}

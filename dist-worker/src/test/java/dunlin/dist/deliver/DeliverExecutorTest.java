package dunlin.dist.deliver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.dist.Delivery;
import dunlin.dist.DeliveryThreads;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.remote.RemoteDelivery;
import dunlin.dist.route.Route;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Terms;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DeliverExecutorTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final Publisher PUBLISHER = new Publisher("t", "client");
  private static final int DESTINATIONS = 5;

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final List<ExecutorService> threads = new CopyOnWriteArrayList<>();
  private final CountDownLatch goesOn = new CountDownLatch(1);

  @AfterEach
  void endThreads() {
    goesOn.countDown();
    threads.forEach(ExecutorService::shutdownNow);
  }

  private ExecutorService thread(String name) {
    var thread = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name(name).factory());
    threads.add(thread);
    return thread;
  }

  private DeliverExecutor executor(int threshold, int workers) {
    return executor(threshold, workers, DeliverExecutor.Bounds.defaults());
  }

  private DeliverExecutor executor(int threshold, int workers, DeliverExecutor.Bounds bounds) {
    return new DeliverExecutor(new DeliverSettings(threshold, workers), bounds, registry);
  }

  private double meter(String name) {
    var meter = registry.find("dunlin.dist.deliver." + name).meter();
    if (meter == null) throw new AssertionError(name);
    return meter.measure().iterator().next().getValue();
  }

  private static Publication message(String topic, int bytes) {
    return Publication.of(PUBLISHER, topic, QoS.AT_LEAST_ONCE, false, 0, new byte[bytes]);
  }

  private static Route route(int destination) {
    return new Route("t", TopicFilter.plain("#"), ShardId.frontend("n" + destination), 1, 0);
  }

  /** A publisher's message: counts its answers, and checks that all comes on the lane's thread. */
  private static final class Published extends Acknowledgement implements Feedback {
    final CompletableFuture<ReasonCode> answer = new CompletableFuture<>();
    private final Thread lane = Thread.currentThread();
    private final Terms terms;
    private int waiting;

    Published(long fence) {
      terms = fence == 0 ? Terms.ANSWERED : Terms.disconnecting(fence);
    }

    @Override
    public Terms terms() {
      return terms;
    }

    @Override
    protected void complete(ReasonCode reason) {
      if (!lane.equals(Thread.currentThread())) answer.completeExceptionally(new AssertionError("answered on " + Thread.currentThread()));
      else if (waiting != 0) answer.completeExceptionally(new AssertionError("answered while it waits"));
      else if (!answer.complete(reason)) throw new AssertionError("answered twice");
    }

    @Override
    public void waits(QoS qos, int size) {
      waits(1);
    }

    @Override
    public void waitsNoLonger(QoS qos, int size) {
      waits(-1);
    }

    private void waits(int more) {
      if (!lane.equals(Thread.currentThread())) answer.completeExceptionally(new AssertionError("feedback on " + Thread.currentThread()));
      waiting += more;
    }
  }

  /** A lane with a thread, as a dist worker uses it. */
  private final class TestLane {
    final ExecutorService thread;
    final DeliveryThreads.OfLane part;
    final List<Delivery> deliveries = new ArrayList<>();
    final List<Published> published = new CopyOnWriteArrayList<>();
    private final MatchedRoutes reused = new MatchedRoutes();

    /** Of the publisher's connection; 0 for one that is not closed when a message is refused. */
    long fence;

    TestLane(DeliverExecutor executor, int number) {
      thread = thread("lane-" + number);
      part = on(() -> executor.open(number, thread));
    }

    <T> T on(Supplier<T> call) {
      return CompletableFuture.supplyAsync(call, thread).join();
    }

    /** Adds a destination. */
    void open(Function<Executor, Delivery> destination) {
      int number = deliveries.size();
      deliveries.add(on(() -> part.open(number, (_, serving) -> destination.apply(serving))));
    }

    /** Publishes in a round of its own. */
    Published publish(String topic, int bytes, int... to) {
      return on(() -> send(topic, bytes, to));
    }

    /** On the lane's thread. */
    Published send(String topic, int bytes, int... to) {
      var published = new Published(fence);
      part.copies(to.length);
      for (int destination : to) {
        published.expect();
        send(topic, bytes, destination, published);
      }
      published.answer(ReasonCode.SUCCESS);
      this.published.add(published);
      return published;
    }

    private void send(String topic, int bytes, int destination, @Nullable Published answer) {
      reused.add(route(destination));
      deliveries.get(destination).deliver(message(topic, bytes), reused, answer, answer);
      reused.clear();
    }

    void close() {
      thread.execute(
          () -> {
            deliveries.forEach(Delivery::close);
            part.close();
          });
    }
  }

  /** Holds up the thread that serves it. */
  private final class Stuck implements Delivery {
    final CountDownLatch reached = new CountDownLatch(1);
    final List<String> topics = new CopyOnWriteArrayList<>();
    volatile boolean closed;

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      reached.countDown();
      waitFor(goesOn);
      topics.add(message.topic());
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return 7;
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  private static void waitFor(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static ReasonCode answer(Published published) {
    return published.answer.orTimeout(SOON.toSeconds(), TimeUnit.SECONDS).join();
  }

  static LongStream seeds() {
    return LongStream.generate(() -> System.nanoTime() ^ new Random().nextLong()).limit(6);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void copiesKeepTheirOrderWhileALaneChangesBetweenNarrowAndWideMessages(long seed) {
    var random = new Random(seed);
    int threshold = random.nextInt(4);
    var executor = executor(threshold, 1 + random.nextInt(4));
    var network = thread("network");
    int lanes = 2;
    var expected = new ArrayList<List<List<String>>>();
    var destinations = new ArrayList<List<LinkLikeDelivery>>();
    var all = new ArrayList<TestLane>();
    for (int number = 0; number < lanes; number++) {
      var lane = new TestLane(executor, number);
      var ofLane = new ArrayList<LinkLikeDelivery>();
      var sent = new ArrayList<List<String>>();
      for (int i = 0; i < DESTINATIONS; i++) {
        lane.open(
            serving -> {
              var made = new LinkLikeDelivery(ShardId.frontend("n" + ofLane.size()), random.nextLong(), false, serving, network);
              ofLane.add(made);
              return made;
            });
        sent.add(new ArrayList<>());
      }
      all.add(lane);
      destinations.add(ofLane);
      expected.add(sent);
    }

    for (int round = 0; round < 400; round++) {
      int number = random.nextInt(lanes);
      var lane = all.get(number);
      var to = new ArrayList<int[]>();
      for (int left = 1 + random.nextInt(20); left > 0; left--) {
        int most = random.nextInt(10) == 0 ? DESTINATIONS : Math.max(1, threshold);
        to.add(random.ints(1 + random.nextInt(most), 0, DESTINATIONS).distinct().toArray());
      }
      for (int i = 0; i < to.size(); i++) for (int each : to.get(i)) expected.get(number).get(each).add(round + "/" + i);
      int of = round;
      lane.thread.execute(
          () -> {
            for (int i = 0; i < to.size(); i++) lane.send(of + "/" + i, 3, to.get(i));
          });
    }
    for (TestLane lane : all) lane.on(() -> true);

    for (int number = 0; number < lanes; number++) {
      for (Published each : all.get(number).published) assertThat(answer(each)).as("seed %d", seed).isEqualTo(ReasonCode.SUCCESS);
      for (int i = 0; i < DESTINATIONS; i++) {
        assertThat(destinations.get(number).get(i).fault()).as("seed %d", seed).isEmpty();
        assertThat(destinations.get(number).get(i).arrived()).as("seed %d, lane %d, destination %d", seed, number, i).isEqualTo(expected.get(number).get(i));
      }
    }
    double copies = expected.stream().flatMap(List::stream).mapToInt(List::size).sum();
    assertThat(meter("handed")).as("seed %d: workers have served some", seed).isPositive();
    if (threshold > 0) assertThat(meter("handed")).as("seed %d: and the lanes others", seed).isLessThan(copies);
    all.forEach(TestLane::close);
    executor.close();
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void eachAcknowledgementIsAnsweredOnceWhenItIsClosedUnderLoad(long seed) {
    var random = new Random(seed);
    var executor = executor(random.nextInt(3), 3);
    var network = thread("network");
    var lane = new TestLane(executor, 0);
    for (int i = 0; i < DESTINATIONS; i++) lane.open(serving -> new LinkLikeDelivery(null, random.nextLong(), false, serving, network));
    int rounds = 200 + random.nextInt(200);
    for (int round = 0; round < rounds; round++) {
      int[] to = random.ints(1 + random.nextInt(DESTINATIONS), 0, DESTINATIONS).distinct().toArray();
      lane.thread.execute(
          () -> {
            for (int i = 0; i < 10; i++) lane.send("a", 3, to);
          });
    }

    lane.close();
    executor.close();

    lane.on(() -> true); // the lane has sent all
    assertThat(lane.published).as("seed %d", seed).hasSize(rounds * 10);
    for (Published each : lane.published) assertThat(answer(each)).as("seed %d", seed).isIn(ReasonCode.SUCCESS, ReasonCode.SERVER_UNAVAILABLE);
    assertThat(registry.getMeters()).isEmpty();
  }

  @Test
  void narrowMessagesAreServedOnTheThreadOfTheLane() {
    var executor = executor(1, 2);
    var lane = new TestLane(executor, 0);
    var served = new CopyOnWriteArrayList<Thread>();
    for (int i = 0; i < 2; i++) lane.open(_ -> new Answering(() -> served.add(Thread.currentThread())));

    assertThat(answer(lane.publish("a", 3, 0))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(served).hasSize(1);
    assertThat(served.getFirst().getName()).isEqualTo("lane-0");
    assertThat(answer(lane.publish("b", 3, 0, 1))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(served.subList(1, 3)).extracting(Thread::getName).containsExactlyInAnyOrder("dunlin-deliver-0", "dunlin-deliver-1");
  }

  /** Answers at once. */
  private record Answering(Runnable before) implements Delivery {
    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      before.run();
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return 1;
    }
  }

  @Test
  void aDestinationThatHoldsUpItsWorkerHoldsUpNeitherTheLaneNorOtherWorkers() {
    var executor = executor(0, 2);
    var lane = new TestLane(executor, 0);
    var stuck = new Stuck();
    lane.open(_ -> stuck);
    lane.open(_ -> new Answering(() -> {}));

    var first = lane.publish("a", 3, 0, 1);
    waitFor(stuck.reached);
    var others = new ArrayList<Published>();
    for (int i = 0; i < 1_000; i++) others.add(lane.publish("b", 3, 1));

    for (Published other : others) assertThat(answer(other)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(first.answer).isNotDone();
    assertThat(lane.on(() -> lane.deliveries.getFirst().groupCredit(route(0)))).as("asked while its worker serves it").isEqualTo(7);
    goesOn.countDown();
    assertThat(answer(first)).isEqualTo(ReasonCode.SUCCESS);
  }

  @Test
  void aDestinationThatCannotBeReachedHoldsUpNobodyOnTheSameWorker() {
    var executor = executor(0, 1);
    var lane = new TestLane(executor, 0);
    var settings = new Link.Settings(1_000, 10_000, Duration.ofSeconds(10));
    lane.open(
        serving ->
            new RemoteDelivery(
                handler -> Link.dialling(3, new byte[0], settings, serving, System::nanoTime, handler), serving, System::nanoTime, null, UnacknowledgedDrops.unwatched()));
    lane.open(_ -> new Answering(() -> {}));

    var toNobody = new ArrayList<Published>();
    for (int i = 0; i < 100; i++) {
      toNobody.add(lane.publish("a", 3, 0));
      assertThat(answer(lane.publish("b", 3, 1))).isEqualTo(ReasonCode.SUCCESS);
    }
    for (Published each : toNobody) assertThat(each.answer).isNotDone();
    lane.close();
    executor.close();

    for (Published each : toNobody) assertThat(answer(each)).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
  }

  @Test
  void aNarrowMessageWaitsBehindWhatItsWorkerHas() {
    var executor = executor(1, 2);
    var lane = new TestLane(executor, 0);
    var stuck = new Stuck();
    lane.open(_ -> stuck);
    lane.open(_ -> new Answering(() -> {}));

    lane.publish("wide", 3, 0, 1);
    waitFor(stuck.reached);
    var narrow = lane.publish("narrow", 3, 0);
    assertThat(narrow.answer).isNotDone();
    goesOn.countDown();

    assertThat(answer(narrow)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(stuck.topics).containsExactly("wide", "narrow");
  }

  @Test
  void beyondItsBoundsADestinationRefusesCopiesAndCountsThem() {
    var executor = executor(0, 2, new DeliverExecutor.Bounds(3, 1_000));
    var lane = new TestLane(executor, 0);
    var stuck = new Stuck();
    lane.open(_ -> stuck);
    lane.open(_ -> new Answering(() -> {}));

    var accepted = new ArrayList<Published>();
    accepted.add(lane.publish("a", 5_000, 0)); // larger than all bounds, but nothing waits
    waitFor(stuck.reached);
    assertThat(answer(lane.publish("b", 10, 0))).as("bytes").isEqualTo(ReasonCode.SERVER_BUSY);
    assertThat(meter("refused")).isEqualTo(1);
    assertThat(meter("waiting")).isEqualTo(1);
    assertThat(meter("size")).isGreaterThan(5_000);
    goesOn.countDown();
    assertThat(answer(accepted.getFirst())).isEqualTo(ReasonCode.SUCCESS);
    await().atMost(SOON).until(() -> meter("waiting") == 0);
    assertThat(meter("size")).isZero();
  }

  /** They are one object. */
  @Test
  void theBytesOfAMessageForSeveralGroupsOfADestinationCountOnce() {
    var executor = executor(0, 2, new DeliverExecutor.Bounds(100, 1_000));
    var lane = new TestLane(executor, 0);
    var stuck = new Stuck();
    lane.open(_ -> stuck);
    lane.open(_ -> new Answering(() -> {}));

    var toGroups = lane.publish("a", 900, 0, 0, 0, 0, 0, 0, 0, 0);
    assertThat(meter("refused")).isZero();
    assertThat(meter("waiting")).isEqualTo(8);
    assertThat(meter("size")).isBetween(900.0, 1_000.0);
    assertThat(answer(lane.publish("b", 900, 0))).as("another message").isEqualTo(ReasonCode.SERVER_BUSY);
    goesOn.countDown();

    assertThat(answer(toGroups)).isEqualTo(ReasonCode.SUCCESS);
    await().atMost(SOON).until(() -> meter("waiting") == 0);
    assertThat(meter("size")).isZero();
  }

  @Test
  void theNumberOfCopiesThatWaitIsBoundedForEachDestination() {
    var executor = executor(0, 2, new DeliverExecutor.Bounds(3, 1_000));
    var lane = new TestLane(executor, 0);
    var stuck = new Stuck();
    lane.open(_ -> stuck);
    lane.open(_ -> new Answering(() -> {}));

    var accepted = new ArrayList<Published>();
    for (int i = 0; i < 3; i++) accepted.add(lane.publish("a", 3, 0));
    assertThat(answer(lane.publish("b", 3, 0, 1))).as("the worst answer").isEqualTo(ReasonCode.SERVER_BUSY);
    lane.on(
        () -> {
          lane.part.copies(1);
          lane.send("c", 3, 0, null);
          return true;
        });
    assertThat(meter("refused")).isEqualTo(2);
    assertThat(answer(lane.publish("b", 3, 1))).as("others have room").isEqualTo(ReasonCode.SUCCESS);
    goesOn.countDown();

    for (Published each : accepted) assertThat(answer(each)).isEqualTo(ReasonCode.SUCCESS);
    await().atMost(SOON).until(() -> meter("waiting") == 0);
    assertThat(answer(lane.publish("d", 3, 0))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(stuck.topics).containsExactly("a", "a", "a", "d");
  }

  /** Its client sends both again: they would come behind those that were not refused. */
  @Test
  void whatComesBehindARefusedCopyOfAClientThatIsDisconnectedIsRefused() {
    var executor = executor(0, 2, new DeliverExecutor.Bounds(1, 1_000));
    var lane = new TestLane(executor, 0);
    var stuck = new Stuck();
    lane.open(_ -> stuck);
    lane.open(_ -> new Answering(() -> {}));
    var first = lane.publish("a", 3, 0);
    waitFor(stuck.reached);
    assertThat(answer(lane.publish("of MQTT 5", 3, 0))).isEqualTo(ReasonCode.SERVER_BUSY);
    lane.fence = 7;
    assertThat(answer(lane.publish("refused", 3, 0))).isEqualTo(ReasonCode.SERVER_BUSY);
    goesOn.countDown();
    assertThat(answer(first)).isEqualTo(ReasonCode.SUCCESS);
    await().atMost(SOON).until(() -> meter("waiting") == 0);

    assertThat(answer(lane.publish("behind", 3, 0))).isEqualTo(ReasonCode.SERVER_BUSY);
    assertThat(answer(lane.publish("elsewhere", 3, 1))).isEqualTo(ReasonCode.SUCCESS);
    for (long other : List.of(8, 0)) {
      lane.fence = other;
      assertThat(answer(lane.publish("of " + other, 3, 0))).isEqualTo(ReasonCode.SUCCESS);
      await().atMost(SOON).until(() -> meter("waiting") == 0);
    }
    assertThat(stuck.topics).containsExactly("a", "of 8", "of 0");
  }

  @Test
  void copiesThatWaitForADeliveryThatIsReplacedAreAnsweredAsUnavailable() {
    var executor = executor(0, 2);
    var lane = new TestLane(executor, 0);
    var stuck = new Stuck();
    lane.open(_ -> stuck);

    var served = lane.publish("a", 3, 0);
    waitFor(stuck.reached);
    var waiting = lane.publish("b", 3, 0);
    lane.on(
        () -> {
          lane.part.copies(1);
          lane.send("c", 3, 0, null);
          lane.deliveries.getFirst().close();
          return true;
        });
    assertThat(stuck.closed).as("while the worker serves it").isFalse();
    goesOn.countDown();

    assertThat(answer(served)).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answer(waiting)).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    await().atMost(SOON).until(() -> stuck.closed);
    assertThat(stuck.topics).containsExactly("a");
    assertThat(meter("lost")).as("the one without an acknowledgement").isEqualTo(1);
  }

  /** Throws when the topic says so: while the message waits, before or after it has answered. */
  private record Failing(AtomicInteger calls) implements Delivery {
    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      calls.incrementAndGet();
      if (message.topic().equals("waiting") && feedback != null) {
        feedback.waits(message.qos(), message.body().length);
        throw new IllegalStateException("while the message waits");
      }
      if (message.topic().equals("before")) throw new IllegalStateException("before it answers");
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
      if (message.topic().equals("after")) throw new IllegalStateException("after it has answered");
    }

    @Override
    public int groupCredit(Route route) {
      return 1;
    }
  }

  @Test
  void aDeliveryThatFailsAnswersOnceAndGoesOn() {
    var executor = executor(0, 2);
    var lane = new TestLane(executor, 0);
    var failing = new Failing(new AtomicInteger());
    lane.open(_ -> failing);

    assertThat(answer(lane.publish("before", 3, 0))).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(answer(lane.publish("after", 3, 0))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(answer(lane.publish("well", 3, 0))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(failing.calls).hasValue(3);
  }

  /** Else the publisher would not be read from for ever. */
  @Test
  void whatWaitsAtADeliveryThatFailsWaitsNoLonger() {
    var executor = executor(0, 2);
    var lane = new TestLane(executor, 0);
    lane.open(_ -> new Failing(new AtomicInteger()));

    var published = lane.publish("waiting", 3, 0);

    assertThat(answer(published)).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    assertThat(lane.on(() -> published.waiting)).isZero();
  }

  @Test
  void workersServeALaneThatIsClosedLateUntilItIsClosed() {
    var executor = executor(0, 2);
    var lane = new TestLane(executor, 0);
    var stuck = new Stuck();
    lane.open(_ -> stuck);
    goesOn.countDown();

    executor.close(); // does not wait for ever for the lane
    var late = answer(lane.publish("late", 3, 0));
    lane.close();
    var later = answer(lane.publish("later", 3, 0));

    assertThat(late).isEqualTo(ReasonCode.SUCCESS);
    assertThat(later).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    await().atMost(SOON).until(() -> stuck.closed);
    assertThat(stuck.topics).containsExactly("late");
  }

  @Test
  void withFewerThanTwoWorkersTheLanesServeAll() {
    try (var threads = DeliverExecutor.start(new DeliverSettings(0, 1), registry)) {
      var part = threads.open(0, Runnable::run);
      var served = new ArrayList<Thread>();
      var delivery = part.open(0, (_, _) -> new Answering(() -> served.add(Thread.currentThread())));
      part.copies(100);
      delivery.deliver(message("a", 3), new MatchedRoutes(), null, null);
      assertThat(served).containsExactly(Thread.currentThread());
    }
  }
}

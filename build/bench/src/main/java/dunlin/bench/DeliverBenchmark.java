package dunlin.bench;

import dunlin.dist.Delivery;
import dunlin.dist.DeliveryThreads;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.deliver.DeliverExecutor;
import dunlin.dist.deliver.DeliverSettings;
import dunlin.dist.remote.RemoteDeliveries;
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
import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * From how many destinations on is it worth to pass the copies of a message from its lane's thread to workers? Each
 * destination is a link over queues to another thread, which decodes and answers. One operation is a round of MESSAGES
 * messages.
 *
 * <p>{@code untilTheLaneIsFree} is what a round costs the messages behind it on the same lane; {@code untilAnswered} is
 * what the round costs altogether. With {@code workers=0} the lane's thread serves all destinations. docs/benchmarks.md has what
 * the default of {@code dunlin.dist.inline-fanout-threshold} rests on: two cores, where the lane is free earlier with
 * workers from about 16 destinations on. Lower the default if workers win at 3 on a machine with cores to spare.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 2, jvmArgsAppend = "-XX:+UseCompactObjectHeaders")
public class DeliverBenchmark {
  private static final Publisher PUBLISHER = new Publisher(Publisher.DEFAULT_TENANT, "bench");
  private static final int MESSAGES = 64;
  private static final int BYTES = 256;

  /** Destinations of each message. */
  @Param({"1", "3", "8", "32"})
  public int destinations;

  /** Threads beside that of the lane. */
  @Param({"0", "2", "4"})
  public int workers;

  private final List<ExecutorService> far = new ArrayList<>();
  private final ExecutorService lane = Executors.newSingleThreadExecutor();
  private final Publication message = Publication.of(PUBLISHER, "fleet/7/engine/status", QoS.AT_LEAST_ONCE, false, 0, new byte[BYTES]);
  private final List<MatchedRoutes> routes = new ArrayList<>();
  private final List<Delivery> deliveries = new ArrayList<>();
  private DeliveryThreads threads = DeliveryThreads.inline();
  private DeliveryThreads.@Nullable OfLane part;
  private CountDownLatch answers = new CountDownLatch(0);

  /** The other side answers each message at once. */
  private static final class Answering implements Delivery {
    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return 1;
    }
  }

  private static final class Counted extends Acknowledgement {
    private final CountDownLatch answers;

    Counted(CountDownLatch answers) {
      this.answers = answers;
    }

    @Override
    protected void complete(ReasonCode reason) {
      if (reason.isError()) throw new IllegalStateException("answered with " + reason);
      answers.countDown();
    }
  }

  @Setup(Level.Trial)
  public void open() {
    for (int i = 0; i < Math.max(1, Runtime.getRuntime().availableProcessors() / 2); i++) far.add(Executors.newSingleThreadExecutor());
    threads = DeliverExecutor.start(new DeliverSettings(0, workers), new SimpleMeterRegistry());
    CompletableFuture.runAsync(this::openLane, lane).join();
  }

  private void openLane() {
    var opened = threads.open(0, lane);
    part = opened;
    for (int i = 0; i < destinations; i++) {
      int number = i;
      var there = far.get(i % far.size());
      deliveries.add(
          opened.open(
              i,
              (_, serving) ->
                  new RemoteDelivery(
                      handler -> dial(number + 1, handler, serving, there), serving, System::nanoTime, null, UnacknowledgedDrops.unwatched())));
      var matched = new MatchedRoutes();
      matched.add(new Route(Publisher.DEFAULT_TENANT, TopicFilter.plain("fleet/+/engine/status"), ShardId.frontend("node-" + i), 1, i));
      routes.add(matched);
    }
  }

  private static Link dial(long identity, Link.Handler handler, Executor here, Executor there) {
    var link = Link.dialling(identity, new byte[0], Link.Settings.defaults(), here, System::nanoTime, handler);
    var acceptor =
        new LinkAcceptor(
            -identity, Link.Settings.defaults(), 1, there, System::nanoTime,
            (accepted, _) -> new ReceivingStream(accepted, there, new RemoteDeliveries(new Answering())));
    var ends = new Pipe[2];
    ends[0] = pipe(frame -> there.execute(() -> acceptor.arrived(ends[1], frame)));
    ends[1] = pipe(frame -> here.execute(() -> link.arrived(ends[0], frame)));
    there.execute(() -> acceptor.connected(ends[1]));
    here.execute(() -> link.connected(ends[0]));
    return link;
  }

  private static Pipe pipe(Consumer<byte[]> to) {
    return new Pipe() {
      @Override
      public void send(byte[] frame) {
        to.accept(frame);
      }

      @Override
      public void close() {}
    };
  }

  /** Sends a round, and returns when the lane's thread could do something else. */
  private void send() throws InterruptedException {
    var round = new CountDownLatch(MESSAGES);
    answers = round;
    var free = new CountDownLatch(1);
    lane.execute(
        () -> {
          for (int i = 0; i < MESSAGES; i++) append(new Counted(round));
          lane.execute(free::countDown);
        });
    free.await();
  }

  private void append(Acknowledgement acknowledgement) {
    if (part == null) throw new IllegalStateException("not open");
    part.copies(destinations);
    for (int i = 0; i < destinations; i++) {
      acknowledgement.expect();
      deliveries.get(i).deliver(message, routes.get(i), null, acknowledgement);
    }
    acknowledgement.answer(ReasonCode.SUCCESS);
  }

  @TearDown(Level.Invocation)
  public void awaitAnswers() throws InterruptedException {
    answers.await();
  }

  @TearDown(Level.Trial)
  public void close() {
    lane.execute(
        () -> {
          deliveries.forEach(Delivery::close);
          if (part != null) part.close();
        });
    threads.close();
    lane.shutdown();
    far.forEach(ExecutorService::shutdown);
  }

  @Benchmark
  public void untilTheLaneIsFree() throws InterruptedException {
    send();
  }

  @Benchmark
  public void untilAnswered() throws InterruptedException {
    send();
    answers.await();
  }
}

package dunlin.dist.deliver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.dist.Delivery;
import dunlin.dist.DeliveryThreads;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.remote.QueuedPipe;
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
import dunlin.transport.LaneCredit;
import dunlin.transport.lane.LaneLinks;
import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.lane.RemoteLane;
import dunlin.transport.lane.Repeating;
import dunlin.transport.lane.SharedWindow;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The leader's links to frontends are lost and begin again, while workers serve them: what was lost with one keeps its place. */
class LostLinkTest {
  private static final Duration SOON = Duration.ofMinutes(1);
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Link.Settings LINK = new Link.Settings(1_000, 1 << 20, PATIENCE);
  private static final Publisher PUBLISHER = new Publisher("t", "client");

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  /** Of the publisher's node and of the frontends, which are on the thread of the test. */
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();

  /** Pauses between links, and the grace of those that end. */
  private final Queue<Runnable> later = new ConcurrentLinkedQueue<>();

  private final ExecutorService leader = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().name("lane").factory());
  private final CountDownLatch goesOn = new CountDownLatch(1);
  private final CountDownLatch stuck = new CountDownLatch(1);
  private final List<Frontend> frontends = new ArrayList<>();
  private final List<Delivery> deliveries = new ArrayList<>();
  private final SharedWindow window = new SharedWindow(1 << 20);
  private final LaneLinks links =
      LaneLinks.ofCallers(link -> new ReceivingStream(link, leader, RemoteLane.into(this::append, window), task -> later.add(() -> leader.execute(task))));
  private final LinkAcceptor acceptor = new LinkAcceptor(1_000, LINK, 16, leader, () -> 0, links);
  private final RemoteLane lane =
      new RemoteLane(
          handler -> QueuedPipe.dial(nextIdentity(), LINK, acceptor, tasks::add, leader, () -> 0, handler), tasks::add, LaneCredit.uncounted(),
          new Repeating(1, PATIENCE, () -> 0, (task, _) -> later.add(task)), UnacknowledgedDrops.unwatched());
  private DeliveryThreads.@Nullable OfLane part;
  private long identities = 1;

  private long nextIdentity() {
    return ++identities;
  }

  /** A node with subscribers; records what it is sent, a number as the topic. */
  private final class Frontend implements Delivery {
    final List<String> taken = new ArrayList<>();
    final List<Acknowledgement> held = new ArrayList<>();
    private final long identity;
    private long dialled;
    private final LinkAcceptor acceptor;
    boolean holds;
    @Nullable Link link;

    Frontend(int number) {
      identity = 1_000L * (2 + number);
      acceptor =
          new LinkAcceptor(
              identity, LINK, 16, tasks::add, () -> 0,
              (begun, _) -> {
                link = begun;
                return new ReceivingStream(begun, tasks::add, new RemoteDeliveries(this));
              });
    }

    RemoteDelivery delivery(Executor serving) {
      return new RemoteDelivery(
          handler -> QueuedPipe.dial(identity + ++dialled, LINK, acceptor, serving, tasks::add, () -> 0, handler), serving, () -> 0, null,
          UnacknowledgedDrops.unwatched());
    }

    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      taken.add(message.topic());
      if (acknowledgement == null) return;
      if (holds) held.add(acknowledgement);
      else acknowledgement.answer(ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return 1;
    }

    /** Ends its link with what it has not answered; its subscribers stay. */
    void losesItsLink() {
      held.clear();
      if (link != null) link.close();
    }
  }

  /** Holds up its worker. */
  private final class Stuck implements Delivery {
    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      stuck.countDown();
      try {
        goesOn.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return 1;
    }
  }

  @AfterEach
  void end() {
    goesOn.countDown();
    leader.shutdownNow();
  }

  private DeliverExecutor start(int threshold, int workers, int frontendCount) {
    var executor = new DeliverExecutor(new DeliverSettings(threshold, workers), DeliverExecutor.Bounds.defaults(), registry);
    for (int i = 0; i < frontendCount; i++) frontends.add(new Frontend(i));
    onLeader(
        () -> {
          var opened = executor.open(0, leader);
          for (int i = 0; i < frontendCount; i++) {
            var frontend = frontends.get(i);
            deliveries.add(opened.open(i, (_, serving) -> frontend.delivery(serving)));
          }
          deliveries.add(opened.open(frontendCount, (_, _) -> new Stuck()));
          part = opened;
        });
    return executor;
  }

  private void close(DeliverExecutor executor) {
    onLeader(
        () -> {
          deliveries.forEach(Delivery::close);
          if (part != null) part.close();
        });
    executor.close();
  }

  private void onLeader(Runnable task) {
    CompletableFuture.runAsync(task, leader).join();
  }

  /** At the leader: the topic says behind its number which frontends get the message, or that it is for the one that is stuck. */
  private void append(Publication message, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
    if (part == null || acknowledgement == null) throw new AssertionError("not started");
    var to = new ArrayList<Delivery>();
    String destinations = message.topic().substring(message.topic().indexOf('/') + 1);
    for (String each : destinations.split(",", -1)) to.add(each.equals("stuck") ? deliveries.getLast() : deliveries.get(Integer.parseInt(each)));
    part.copies(to.size());
    for (Delivery each : to) {
      var routes = new MatchedRoutes();
      routes.add(new Route("t", TopicFilter.plain("#"), ShardId.frontend("n"), 1, 0));
      acknowledgement.expect();
      each.deliver(message, routes, feedback, acknowledgement);
    }
  }

  private void publish(String topic) {
    var answer =
        new Acknowledgement() {
          @Override
          protected void complete(ReasonCode reason) {}
        };
    lane.append(Publication.of(PUBLISHER, topic, QoS.AT_LEAST_ONCE, false, 0, new byte[1]), null, answer);
    answer.answer(ReasonCode.SUCCESS);
  }

  private void runTasks() {
    for (var task = tasks.poll(); task != null; task = tasks.poll()) task.run();
  }

  private void runUntil(BooleanSupplier condition) {
    await()
        .atMost(SOON)
        .pollInterval(Duration.ofMillis(1))
        .pollInSameThread()
        .until(
            () -> {
              runTasks();
              return condition.getAsBoolean();
            });
  }

  /** Until all is answered, over as many links as that takes. */
  private void runToTheEnd() {
    runUntil(
        () -> {
          for (int left = later.size(); left > 0; left--) later.remove().run(); // those that they add, the next time
          runTasks();
          return lane.stream().pending() == 0;
        });
  }

  private double waiting() {
    return registry.get("dunlin.dist.deliver.waiting").gauge().value();
  }

  @Test
  void whatWaitsForAWorkerComesBehindWhatALinkHasLost() {
    var executor = start(0, 1, 1);
    var frontend = frontends.getFirst();
    frontend.holds = true;
    publish("1/0");
    runUntil(() -> frontend.taken.size() == 1);
    publish("1/stuck");
    runUntil(() -> stuck.getCount() == 0);
    publish("2/0");
    runUntil(() -> waiting() == 2);
    onLeader(() -> {}); // the worker has it
    frontend.losesItsLink();
    frontend.holds = false;
    runTasks();
    publish("3/0");
    runUntil(() -> waiting() == 3);
    onLeader(() -> {});

    goesOn.countDown();
    runToTheEnd();

    assertThat(frontend.taken).containsExactly("1/0", "1/0", "2/0", "3/0");
    close(executor);
  }

  static LongStream seeds() {
    Long seed = Long.getLong("dunlin.test.seed");
    return seed == null ? LongStream.generate(() -> System.nanoTime() ^ new Random().nextLong()).limit(20) : LongStream.of(seed);
  }

  @ParameterizedTest(name = "seed {0}")
  @MethodSource("seeds")
  void whatComesFirstIsInOrderWhileLinksAreLost(long seed) {
    var random = new Random(seed);
    int count = 3;
    var executor = start(random.nextInt(3), 1 + random.nextInt(3), count);
    int messages = 2_000;

    for (int i = 0; i < messages; i++) {
      int at = random.nextInt(count);
      var to = new LinkedHashSet<String>();
      for (int left = 1 + random.nextInt(count); left > 0; left--) to.add(String.valueOf((at + left) % count));
      publish(i + "/" + String.join(",", to));
      if (random.nextInt(4) == 0) runTasks();
      var frontend = frontends.get(random.nextInt(count));
      if (random.nextInt(40) == 0) frontend.losesItsLink();
      else if (random.nextInt(20) == 0) frontend.holds = true;
      else if (random.nextInt(10) == 0) answerAll(frontend);
      var pause = random.nextInt(10) == 0 ? later.poll() : null;
      if (pause != null) pause.run();
    }
    frontends.forEach(LostLinkTest::answerAll);
    runToTheEnd();

    for (int i = 0; i < count; i++) {
      int last = -1;
      for (String topic : new LinkedHashSet<>(frontends.get(i).taken)) {
        int number = Integer.parseInt(topic.substring(0, topic.indexOf('/')));
        assertThat(number).as("seed %d, frontend %d: a message that comes for the first time behind message %d", seed, i, last).isGreaterThan(last);
        last = number;
      }
    }
    close(executor);
  }

  private static void answerAll(Frontend frontend) {
    frontend.holds = false;
    frontend.held.forEach(each -> each.answer(ReasonCode.SUCCESS));
    frontend.held.clear();
  }
}

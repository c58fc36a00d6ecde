package dunlin.dist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.cluster.RangeKind;
import dunlin.dist.route.Route;
import dunlin.dist.route.RouteReplica;
import dunlin.dist.route.RouteView;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TenantQuota;
import dunlin.model.TopicFilter;
import dunlin.store.Member;
import dunlin.store.RangeDescriptor;
import dunlin.store.RangeId;
import dunlin.store.RangeLogic;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.store.serve.WhileLeading;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.StoreSettings;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A range of routes on three nodes: the leader has a worker with all routes that were set before. */
class LedRoutesTest {
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final String FRONTEND = "n1";
  private static final String TENANT = Publisher.DEFAULT_TENANT;
  private static final ShardId HOME = ShardId.inbox(0);
  private static final RouteTier.RoutesElsewhere NOTHING_ELSEWHERE =
      new RouteTier.RoutesElsewhere() {
        @Override
        public long memory() {
          return 0;
        }

        @Override
        public long routesOf(String tenant) {
          return 0;
        }
      };
  private static final OtherRanges NO_OTHERS =
      new OtherRanges() {
        @Override
        public RouteView beside(RangeDescriptor own) {
          return RouteView.of(own, List.of(own), range -> {
                throw new AssertionError("another range: " + range);
              });
        }

        @Override
        public long routes() {
          return 0;
        }
      };

  @TempDir Path directory;
  private final List<DatagramSocket> claims = new ArrayList<>();
  private final List<Node> nodes = new ArrayList<>();

  private final class Node implements AutoCloseable {
    final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    final RouteTier tier = new RouteTier(DistSettings.defaults(Runtime.getRuntime().maxMemory()), TenantQuota.UNLIMITED, meters);
    final Path data;
    final RangeStore store;
    final RangeKind<?, ?, ?> kind = RouteReplica.kind(this::opened);
    final List<String> delivered = new CopyOnWriteArrayList<>();
    volatile @Nullable Replica<?, ?> replica;
    volatile @Nullable WhileLeading serving;
    volatile @Nullable DistWorker worker;

    Node(int number) {
      var usual = ClusterSettings.loopback(freePort());
      var quick =
          new ClusterSettings(
              usual.port(), usual.host(), usual.bindAddress(), usual.security(), Duration.ofSeconds(2), 50, usual.installBytesPerSecond(), usual.installDeadline());
      data = directory.resolve("node-" + number);
      store = RangeStore.open(StoreSettings.defaults().with(quick), data, meters);
    }

    private void opened(Replica<?, ?> made, RouteReplica routes) {
      replica = made;
      serving = WhileLeading.of(made, () -> open(routes));
    }

    private AutoCloseable open(RouteReplica routes) {
      var led = tier.lead("routes", routes, NOTHING_ELSEWHERE);
      var opened = DistWorker.leading(led, NO_OTHERS, ShardId.frontend(FRONTEND), _ -> {}, _ -> HOME, meters, Tracer.idle(), DeliveryThreads.inline());
      opened.attachFrontend(FRONTEND, Deliveries.of(new Recorder(delivered)));
      worker = opened;
      return () -> {
        worker = null;
        opened.close();
        led.close();
      };
    }

    <C, R, L extends RangeLogic<C, R>> void declare(RangeKind<C, R, L> of, List<Member> members) {
      var id = RangeId.firstOf(of.name());
      L logic = of.logic().apply(id);
      of.opened().accept(store.range(id, members, of.codec(), logic), logic);
    }

    Replica<?, ?> replica() {
      return Objects.requireNonNull(replica);
    }

    @Override
    public void close() {
      if (serving != null) serving.close();
      store.close();
      // A store that is still stopping writes into its directory for a moment longer.
      await().atMost(LONG).until(() -> !Files.exists(data.resolve("lock.owner")));
    }
  }

  private record Recorder(List<String> delivered) implements Delivery {
    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      delivered.add(message.topic());
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return 1;
    }
  }

  /** A port below the ephemeral ones. A UDP socket with the same number keeps it from other tests, also of other processes. */
  private int freePort() {
    for (int tries = 0; tries < 1_000; tries++) {
      int port = ThreadLocalRandom.current().nextInt(10_000, 32_000);
      try (var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        claims.add(new DatagramSocket(port, InetAddress.getLoopbackAddress()));
        return port;
      } catch (IOException _) {
        // taken: try another one
      }
    }
    throw new AssertionError("no free port");
  }

  @BeforeEach
  void start() {
    // A Raft server that is closed while it leads ends some of its threads with this exception.
    Awaitility.doNotCatchUncaughtExceptionsByDefault();
    for (int i = 0; i < 3; i++) nodes.add(new Node(i));
    var members = nodes.stream().map(node -> node.store.member()).toList();
    for (var node : nodes) node.declare(node.kind, members);
    var starts = nodes.stream().map(node -> CompletableFuture.runAsync(() -> node.store.start(LONG), Thread::startVirtualThread));
    CompletableFuture.allOf(starts.toArray(CompletableFuture<?>[]::new)).join();
  }

  @AfterEach
  void stop() {
    var closing = nodes.stream().map(node -> CompletableFuture.runAsync(node::close, Thread::startVirtualThread));
    CompletableFuture.allOf(closing.toArray(CompletableFuture<?>[]::new)).join();
    claims.forEach(DatagramSocket::close);
  }

  /** The node with a worker, once there is only one. */
  private Node serving() {
    return await().atMost(LONG).until(() -> nodes.stream().filter(node -> node.worker != null).toList(), found -> found.size() == 1).getFirst();
  }

  private static void add(Node at, String filter) {
    var route = new Route(TENANT, TopicFilter.parse(filter).orElseThrow(), ShardId.frontend(FRONTEND), 1, 0);
    Objects.requireNonNull(at.worker).addRoute(route).join();
  }

  private static void publish(Node at, String topic) {
    var lane = Objects.requireNonNull(at.worker).openLane(0, Runnable::run, LaneCredit.uncounted());
    lane.append(Publication.of(new Publisher(TENANT, "p"), topic, QoS.AT_MOST_ONCE, false, 0, new byte[3]), null, null);
  }

  @Test
  void onlyTheNewLeaderMatchesWithAllRoutesAndHasMeters() {
    for (int turn = 0; turn < 3; turn++) {
      var leader = serving();
      add(leader, "a/" + turn + "/#");
      var worker = leader.worker;
      var next = nodes.get((nodes.indexOf(leader) + 1) % nodes.size());

      letLead(leader, next);

      await().atMost(LONG).until(() -> leader.worker == null && next.worker != null);
      assertThat(serving()).isSameAs(next);
      for (int each = 0; each <= turn; each++) publish(next, "a/" + each + "/x");
      assertThat(next.delivered).hasSize(turn + 1);
      next.delivered.clear();
      assertThat(next.meters.get("dunlin.dist.routes").gauge().value()).isEqualTo(turn + 1);
      assertThat(leader.meters.find("dunlin.dist.routes").gauge()).isNull();
      var late = Objects.requireNonNull(worker).addRoute(new Route(TENANT, TopicFilter.parse("late").orElseThrow(), ShardId.frontend(FRONTEND), 1, 0));
      assertThat(late).failsWithin(LONG).withThrowableThat().havingRootCause().isInstanceOf(StoreException.class);
    }
  }

  /** On a busy machine a leader may not have heard from the next one for so long that it refuses; it is asked again then. */
  private static void letLead(Node leader, Node next) {
    await()
        .atMost(LONG)
        .ignoreExceptionsMatching(e -> e instanceof StoreException && String.valueOf(e.getMessage()).endsWith("it does not answer"))
        .until(
            () -> {
              leader.replica().transferLeadership(next.store.member().node(), LONG);
              return true;
            });
  }

  private static ReasonCode acknowledged(Lane lane, Executor thread) {
    var answer = new CompletableFuture<ReasonCode>();
    var acknowledgement =
        new Acknowledgement() {
          @Override
          protected void complete(ReasonCode reason) {
            answer.complete(reason);
          }
        };
    thread.execute(
        () -> {
          lane.append(Publication.of(new Publisher(TENANT, "p"), "t", QoS.AT_LEAST_ONCE, false, 0, new byte[3]), null, acknowledgement);
          acknowledgement.answer(ReasonCode.SUCCESS);
        });
    return answer.orTimeout(LONG.toSeconds(), TimeUnit.SECONDS).join();
  }

  @Test
  void onlyTheLeaderAcknowledges() {
    var leader = serving();
    add(leader, "t");
    try (var thread = Executors.newSingleThreadExecutor()) {
      var lane = CompletableFuture.supplyAsync(() -> Objects.requireNonNull(leader.worker).openLane(0, thread, LaneCredit.uncounted()), thread).join();
      assertThat(acknowledged(lane, thread)).isEqualTo(ReasonCode.SUCCESS);
      var next = nodes.stream().filter(node -> node != leader).findFirst().orElseThrow();
      letLead(leader, next);

      assertThat(acknowledged(lane, thread)).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
    }
  }

  @Test
  void aRouteThatIsSetTwiceIsStoredOnceUnderAnyLeader() {
    var leader = serving();
    add(leader, "twice");
    add(leader, "twice");
    var next = nodes.stream().filter(node -> node != leader).findFirst().orElseThrow();
    letLead(leader, next);
    await().atMost(LONG).until(() -> next.worker != null);

    add(next, "twice");

    assertThat(next.meters.get("dunlin.dist.routes").gauge().value()).isEqualTo(1);
  }
}

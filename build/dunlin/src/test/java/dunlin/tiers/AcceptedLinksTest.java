package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.dist.Delivery;
import dunlin.dist.MatchedRoutes;
import dunlin.dist.remote.RemoteDeliveries;
import dunlin.dist.remote.RemoteDelivery;
import dunlin.dist.route.Route;
import dunlin.links.LinkDialler;
import dunlin.links.LinkPeer;
import dunlin.links.LinkService;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.transport.Acknowledgement;
import dunlin.transport.Feedback;
import dunlin.transport.lane.LaneLinks;
import dunlin.transport.lane.ReceivingStream;
import dunlin.transport.lane.UnacknowledgedDrops;
import dunlin.transport.link.Link;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Leaders of the routes, one after the other, open links to a frontend over loopback. */
class AcceptedLinksTest {
  private static final UUID FRONTEND = UUID.fromString("00000000-0000-0000-0000-000000000001");
  private static final Route GROUP = route("$share/g/a/#");
  private static final Route OTHER_GROUP = route("$share/h/a/#");

  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final LinkService service = new LinkService(FRONTEND, _ -> Optional.of("127.0.0.1"), meters);
  private final AcceptedLinks accepted = new AcceptedLinks(service);
  private final AcceptedLinks leaders = new AcceptedLinks(service);
  private @Nullable Server server;

  private static Route route(String filter) {
    return new Route("t", TopicFilter.parse(filter).orElseThrow(), ShardId.frontend(FRONTEND.toString()), 1, 1);
  }

  /** Takes each message at once. */
  private static final class Frontend implements Delivery {
    @Override
    public void deliver(Publication message, MatchedRoutes routes, @Nullable Feedback feedback, @Nullable Acknowledgement acknowledgement) {
      if (acknowledgement != null) acknowledgement.answer(ReasonCode.SUCCESS);
    }

    @Override
    public int groupCredit(Route route) {
      return 5;
    }
  }

  private static final class Answer extends Acknowledgement {
    final CompletableFuture<ReasonCode> reason = new CompletableFuture<>();

    @Override
    protected void complete(ReasonCode worst) {
      reason.complete(worst);
    }
  }

  @BeforeEach
  void listen() throws IOException {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    server = NettyServerBuilder.forAddress(address).directExecutor().addService(service.definition()).build().start();
  }

  @AfterEach
  void close() {
    leaders.close();
    accepted.close();
    service.close();
    if (server != null) server.shutdownNow();
  }

  /** Sends messages for groups to the frontend, over a link of its own. */
  private final class Leader implements AutoCloseable {
    private final LinkDialler dialler = new LinkDialler(UUID.randomUUID(), Link.Settings.defaults(), null, null, meters);
    private final RemoteDelivery delivery;
    private final ExecutorService thread = leaders.thread("leader");

    Leader(int port, long term) {
      var peer = new LinkPeer(FRONTEND, "127.0.0.1", port);
      delivery =
          new RemoteDelivery(
              handler -> dialler.dial(() -> Optional.of(peer), LinkNames.clients(0), LaneLinks.opening(term), thread, handler), thread, System::nanoTime, null,
              UnacknowledgedDrops.unwatched());
    }

    ReasonCode answer(Route group) throws InterruptedException, ExecutionException, TimeoutException {
      var answer = new Answer();
      thread.execute(
          () -> {
            var routes = new MatchedRoutes();
            routes.add(group);
            delivery.groupCredit(group); // asks for it
            delivery.deliver(Publication.of(new Publisher("t", "client"), "a/b", QoS.AT_LEAST_ONCE, false, 0, new byte[3]), routes, null, answer);
          });
      return answer.reason.get(30, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
      thread.execute(delivery::close);
      dialler.close();
    }
  }

  @Test
  void theNextLeaderBeginsAnewAndTheOneBeforeDeliversNothingMore() throws InterruptedException, ExecutionException, TimeoutException {
    var loop = accepted.thread("loop");
    accepted.acceptLanes(LinkNames::clients, _ -> loop, (_, thread) -> link -> new ReceivingStream(link, thread, new RemoteDeliveries(new Frontend())));
    int port = server == null ? 0 : server.getPort();
    try (var first = new Leader(port, 1);
        var next = new Leader(port, 2)) {
      assertThat(first.answer(GROUP)).isEqualTo(ReasonCode.SUCCESS);
      for (int i = 0; i < 3; i++) {
        assertThat(next.answer(GROUP)).isEqualTo(ReasonCode.SUCCESS);
        assertThat(next.answer(OTHER_GROUP)).isEqualTo(ReasonCode.SUCCESS);
        assertThat(first.answer(OTHER_GROUP)).isEqualTo(ReasonCode.SERVER_UNAVAILABLE);
      }
    }
  }

  @Test
  void aTaskFromBeforeTheCloseMayQueueAnother() throws InterruptedException, ExecutionException, TimeoutException {
    var thread = accepted.thread("loop");
    var closed = new CountDownLatch(1);
    var another = new CompletableFuture<Void>();
    var _ = thread.submit(
        () -> {
          closed.await();
          thread.execute(() -> another.complete(null));
          return null;
        });

    accepted.close();
    closed.countDown();

    another.get(30, TimeUnit.SECONDS);
    assertThat(thread.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
  }
}

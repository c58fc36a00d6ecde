package dunlin.broker;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.broker.auth.Authentication;
import dunlin.broker.loop.FrontendSettings;
import dunlin.broker.loop.Tiers;
import dunlin.dist.DistClient;
import dunlin.dist.route.Route;
import dunlin.dist.route.RoutePage;
import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections.InboxMessage;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient;
import dunlin.inbox.OpenExchange;
import dunlin.inbox.SessionRef;
import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.model.ShardId;
import dunlin.model.SubscriptionOptions;
import dunlin.model.TopicFilter;
import dunlin.retain.RetainClient;
import dunlin.runtime.DropEvents;
import dunlin.transport.Lane;
import dunlin.transport.LaneCredit;
import dunlin.transport.trace.Tracer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.DataInputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Answers of the session tier take effect in order, even an answer that is complete before its callback is registered.
 */
class AnswerOrderTest {
  private static final FrontendSettings SETTINGS =
      OpenFrontend.settings(
          new FrontendSettings.Connections(Duration.ofSeconds(10), Duration.ZERO, 100, 0, 0, ""),
          new FrontendSettings.Sessions(FrontendSettings.NEVER, FrontendSettings.NEVER, 10, 100, 100, 65_536),
          new FrontendSettings.Lanes(1, 1_000, 1_000_000, 1_024),
          OpenFrontend.GROUP_WAITS);

  @Test
  void pubrelsAreSentInTheOrderOfPubrecs() throws Exception {
    try (var drops = new DropEvents("one");
        var authentication = Authentication.none(new SimpleMeterRegistry());
        var frontend =
            new Frontend(SETTINGS, Budgets.large(), authentication, new FrontendIdentity("node", 1), InstantSource.system(), new SimpleMeterRegistry(), drops, Tracer.idle(), OpenFrontend.noListener())) {
      frontend.open(new Tiers(new NoRoutes(), new NothingRetained(), new TwoMessages(null), true));
      frontend.listen();
      try (var socket = new Socket(InetAddress.getLoopbackAddress(), frontend.port("tcp"))) {
        socket.setSoTimeout(60_000);
        var in = new DataInputStream(socket.getInputStream());
        // CONNECT of MQTT 3.1.1, clean session 0, client identifier "c".
        socket.getOutputStream().write(HexFormat.of().parseHex("100d00044d5154540400000000" + "0163"));
        List<Integer> types = new ArrayList<>();
        List<Integer> released = new ArrayList<>();
        while (released.size() < 2) {
          int type = in.readUnsignedByte() >> 4;
          byte[] body = new byte[in.readUnsignedByte()];
          in.readFully(body);
          types.add(type);
          // PUBREC for packet identifiers 1 and 2 in one write, so that both are read in one round.
          if (types.size() == 3) socket.getOutputStream().write(HexFormat.of().parseHex("50020001" + "50020002"));
          if (type == 6) released.add((int) body[1]);
        }
        assertThat(types).containsExactly(2, 3, 3, 6, 6);
        assertThat(released).containsExactly(1, 2);
      }
    }
  }

  /**
   * The session tier pushes as soon as it has processed the connect; the first push must not find a connection without
   * a session.
   */
  @Test
  void aPushRightAfterConnectArrives() throws Exception {
    try (var drops = new DropEvents("one");
        var authentication = Authentication.none(new SimpleMeterRegistry());
        var frontend =
            new Frontend(SETTINGS, Budgets.large(), authentication, new FrontendIdentity("node", 1), InstantSource.system(), new SimpleMeterRegistry(), drops, Tracer.idle(), OpenFrontend.noListener())) {
      frontend.open(new Tiers(new NoRoutes(), new NothingRetained(), new TwoMessages(frontend.connections()), true));
      frontend.listen();
      try (var socket = new Socket(InetAddress.getLoopbackAddress(), frontend.port("tcp"))) {
        socket.setSoTimeout(60_000);
        var in = new DataInputStream(socket.getInputStream());
        socket.getOutputStream().write(HexFormat.of().parseHex("100d00044d5154540400000000" + "0163"));
        assertThat(in.readUnsignedByte() >> 4).as("CONNACK").isEqualTo(2);
        in.readFully(new byte[in.readUnsignedByte()]);
        assertThat(in.readUnsignedByte() >> 4).as("PUBLISH").isEqualTo(3);
      }
    }
  }

  /**
   * A session with two QoS 2 messages. Another thread answers for the first one just before the second one is answered.
   */
  private static final class TwoMessages implements InboxClient {
    private final CompletableFuture<Void> first = new CompletableFuture<>();
    private final @Nullable Connections pushingTo;

    /**
     * @param pushingTo gets the first message pushed right after the connect, before the answer is processed; null if
     *     both messages wait in the inbox
     */
    TwoMessages(@Nullable Connections pushingTo) {
      this.pushingTo = pushingTo;
    }

    @Override
    public CompletableFuture<Statistics> statistics() {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Connected> connect(Connect request) {
      var session = new SessionRef(request.tenant(), request.clientId(), 1);
      if (pushingTo != null) {
        elsewhere(() -> pushingTo.push(request.connection(), message(1)));
        return CompletableFuture.completedFuture(new Connected(session, 1, true, List.of(), 1, 1, new int[0], List.of(), null));
      }
      return CompletableFuture.completedFuture(new Connected(session, 1, true, List.of(), 1, 3, new int[0], List.of(), null));
    }

    @Override
    public CompletableFuture<InboxClient.Page> fetch(SessionRef session, long fromSequence, int messagesMax, int bytesMax) {
      return CompletableFuture.completedFuture(new InboxClient.Page(List.of(message(1), message(2)), 3, true));
    }

    private static InboxMessage message(long sequence) {
      var publisher = new Publisher(Publisher.DEFAULT_TENANT, "p");
      var message = Publication.of(publisher, "t", QoS.EXACTLY_ONCE, false, System.currentTimeMillis(), new byte[1]);
      return new InboxMessage(sequence, QoS.EXACTLY_ONCE, false, false, false, new int[0], message);
    }

    private static void elsewhere(Runnable action) {
      try {
        Thread.ofPlatform().start(action).join();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public CompletableFuture<Void> received(SessionRef session, long sequence) {
      if (sequence == 1) return first;
      elsewhere(() -> first.complete(null));
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletableFuture<Void> disconnect(SessionRef session, boolean publishWill, long sessionExpirySeconds) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void acknowledge(SessionRef session, long[] sequences) {}

    @Override
    public CompletableFuture<List<Boolean>> subscribe(SessionRef session, List<Subscription> subscriptions) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<List<Boolean>> unsubscribe(SessionRef session, List<TopicFilter> filters) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Boolean> appendToGroup(TopicFilter group, Publication message, @Nullable OpenExchange exchange) {
      throw new AssertionError("not in this test");
    }

    @Override
    public CompletableFuture<Void> settled(ConnectionId displaced) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void missing(ConnectionId connection) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Appended> append(
        SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> released(SessionRef session, long birth, int packetId) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> forget(SessionRef session, long birth, int packetId) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> delivered(SessionRef session, List<Integer> packetIds) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Boolean> isTakenOver(SessionRef session) {
      throw new UnsupportedOperationException();
    }
  }

  private static final class NoRoutes implements DistClient {
    @Override
    public Lane openLane(int number, Executor thread, LaneCredit credit) {
      return (_, _, _) -> {};
    }

    @Override
    public CompletableFuture<Void> addRoute(Route route) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Void> removeRoute(Route route) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Long> removeRoutesBefore(ShardId shard, long incarnation) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<RoutePage> routes(ShardId.Kind kind, byte @Nullable [] from) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<RoutePage> routesOf(ShardId shard, byte @Nullable [] from) {
      throw new UnsupportedOperationException();
    }
  }

  private static final class NothingRetained implements RetainClient {
    @Override
    public void set(Publication message, Consumer<ReasonCode> answer) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void add(Publication message, Consumer<Optional<ReasonCode>> answer) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Long> count() {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<RetainClient.Page> find(
        String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
      throw new UnsupportedOperationException();
    }
  }
}

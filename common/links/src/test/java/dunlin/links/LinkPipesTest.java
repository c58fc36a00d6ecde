package dunlin.links;

import static dunlin.links.LinkThreads.on;
import static dunlin.links.LinkThreads.send;
import static dunlin.links.LinkThreads.until;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.links.LinkThreads.Side;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import io.grpc.Attributes;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerTransportFilter;
import io.grpc.Status;
import io.grpc.netty.NettyServerBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Links over gRPC on loopback. All tests share the fixture of a process that accepts links and one that dials, so they are one long file. */
class LinkPipesTest {
  private static final UUID NODE = UUID.fromString("00000000-0000-0000-0000-0000000000aa");
  private static final UUID HERE = UUID.fromString("00000000-0000-0000-0000-0000000000cc");
  private static final UUID OTHER = UUID.fromString("00000000-0000-0000-0000-0000000000dd");
  private static final Link.Settings PATIENT = new Link.Settings(100_000, 64 << 20, Duration.ofMinutes(1));
  private static final Link.Settings SHORT = new Link.Settings(100_000, 64 << 20, Duration.ofSeconds(2));

  private final LinkThreads opened = new LinkThreads();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();

  /** Where nodes are, as those who accept have heard. */
  private final Map<UUID, String> known = new ConcurrentHashMap<>(Map.of(HERE, "127.0.0.1"));

  /** A process that accepts links under one name while its server runs. */
  private final class Accepting {
    final ExecutorService thread = opened.thread();
    final List<Side> sides = new CopyOnWriteArrayList<>();
    final List<Link> links = new CopyOnWriteArrayList<>();
    final AtomicInteger connections = new AtomicInteger();

    /** How many of the next streams are too many. */
    final AtomicInteger tooMany = new AtomicInteger();

    final LinkService service;
    final LinkService.Accepted accepted;
    @Nullable Server server;

    Accepting(String name, long identity, Link.Settings settings) {
      this(NODE, name, identity, settings);
    }

    Accepting(UUID node, String name, long identity, Link.Settings settings) {
      service = opened.closing(new LinkService(node, caller -> Optional.ofNullable(known.get(caller)), meters));
      accepted = accept(name, identity, settings);
    }

    LinkService.Accepted accept(String name, long identity, Link.Settings settings) {
      return service.accept(
          name,
          new LinkAcceptor(
              identity, settings, 10, thread, System::nanoTime,
              (link, _) -> {
                var side = new Side();
                sides.add(side);
                links.add(link);
                return side;
              }),
          thread);
    }

    /** @param port 0 for any */
    int serve(int port) throws IOException {
      var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
      var begun =
          NettyServerBuilder.forAddress(address)
              .directExecutor()
              .maxInboundMessageSize(LinkWire.FRAME_BYTES_MAX)
              .addService(service.definition())
              .intercept(new Full(tooMany))
              .addTransportFilter(
                  new ServerTransportFilter() {
                    @Override
                    public Attributes transportReady(Attributes attributes) {
                      connections.incrementAndGet();
                      return attributes;
                    }
                  })
              .build()
              .start();
      server = begun;
      opened.closing(begun::shutdownNow);
      return begun.getPort();
    }

    /** Serves a port again on which there was a server before. An outgoing connection of another process may have it for a moment. */
    void serveAgain(int port) {
      until(
          () -> {
            try {
              return serve(port) == port;
            } catch (IOException _) {
              return false;
            }
          });
    }

    void stop() throws InterruptedException {
      if (server == null) throw new AssertionError("not started");
      server.shutdownNow();
      assertThat(server.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
    }
  }

  /** Refuses streams as a node does that has too many. */
  private record Full(AtomicInteger tooMany) implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      if (tooMany.getAndUpdate(left -> Math.max(0, left - 1)) == 0) return next.startCall(call, headers);
      call.close(Status.RESOURCE_EXHAUSTED.withDescription("the test has it be too many"), new Metadata());
      return new ServerCall.Listener<>() {};
    }
  }

  /** A process that dials. */
  private final class Dialling {
    final ExecutorService thread = opened.thread();
    final LinkDialler dialler;

    Dialling(Link.Settings settings) {
      dialler = opened.closing(new LinkDialler(HERE, settings, null, null, meters));
    }

    Link dial(UUID node, int port, String name, Side side) {
      return on(thread, () -> dialler.dial(() -> Optional.of(new LinkPeer(node, "127.0.0.1", port)), name, new byte[] {1}, thread, side));
    }
  }

  /** A link over which ten frames have come. */
  private static Link withTenFrames(Dialling here, Accepting there, int port) {
    var link = here.dial(NODE, port, "lane", new Side());
    send(here.thread, link, 0, 10);
    until(() -> there.sides.size() == 1 && there.sides.getFirst().received.size() == 10);
    return link;
  }

  private static byte[] frame(int number, int length) {
    return ByteBuffer.allocate(length).putInt(number).array();
  }

  private static void assertCounts(List<Integer> received, int to) {
    for (int i = 0; i < to; i++) assertThat(received.get(i)).isEqualTo(i);
  }

  @AfterEach
  void close() throws Exception {
    opened.close();
  }

  @Test
  void framesArriveOnceAndInOrderInBothDirections() throws IOException {
    var there = new Accepting("lane", 1_000, PATIENT);
    int port = there.serve(0);
    var here = new Dialling(PATIENT);
    var side = new Side();
    var link = here.dial(NODE, port, "lane", side);

    send(here.thread, link, 0, 20_000);
    until(() -> there.sides.size() == 1);
    send(there.thread, there.links.getFirst(), 0, 20_000);

    until(() -> there.sides.getFirst().received.size() == 20_000 && side.received.size() == 20_000);
    assertCounts(there.sides.getFirst().received, 20_000);
    assertCounts(side.received, 20_000);
    until(() -> on(here.thread, link::unconfirmedFrames) == 0);
  }

  /** A port without a process refuses; a process that stands still does not, nor does one that speaks another protocol. */
  @Test
  void onlyAHostThatRefusesIsReportedAsRefusing() throws Exception {
    var refusing = new CopyOnWriteArrayList<UUID>();
    var here = new Dialling(PATIENT);
    here.dialler.onRefused(refusing::add);
    int free;
    try (var silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      here.dial(OTHER, silent.getLocalPort(), "lane", new Side());
      try (var closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        free = closed.getLocalPort();
      }
      here.dial(NODE, free, "lane", new Side());

      until(() -> refusing.size() >= 3);
      assertThat(refusing).containsOnly(NODE);
    }
  }

  /** As when a leader stands still and another node leads by now: the link's stream would stay open for long. */
  @Test
  void aLinkLeavesANodeWhereItsOtherSideIsNotAnyMore() throws Exception {
    var old = new Accepting("lane", 1_000, PATIENT);
    int oldPort = old.serve(0);
    var next = new Accepting(OTHER, "lane", 1_001, PATIENT);
    int nextPort = next.serve(0);
    var here = new Dialling(PATIENT);
    var leader = new AtomicReference<>(new LinkPeer(NODE, "127.0.0.1", oldPort));
    var side = new Side();
    var link =
        on(
            here.thread,
            () -> here.dialler.dial(surelyAt(leader), "lane", new byte[] {1}, here.thread, side));
    send(here.thread, link, 0, 10);
    until(() -> old.sides.size() == 1 && old.sides.getFirst().received.size() == 10);
    assertThat(side.lost).isNotDone();

    leader.set(new LinkPeer(OTHER, "127.0.0.1", nextPort));

    assertThat(side.lost.get(1, TimeUnit.MINUTES)).contains("refuses");
    assertThat(next.sides).isEmpty();
  }

  private static Whereabouts surelyAt(AtomicReference<LinkPeer> leader) {
    return surelyAt(leader, () -> true);
  }

  /** @param sure whether the caller knows that it is there */
  private static Whereabouts surelyAt(AtomicReference<LinkPeer> leader, BooleanSupplier sure) {
    return new Whereabouts() {
      @Override
      public Optional<LinkPeer> next() {
        return Optional.of(leader.get());
      }

      @Override
      public Optional<UUID> surely() {
        return sure.getAsBoolean() ? Optional.of(leader.get().node()) : Optional.empty();
      }
    };
  }

  @Test
  void aLinkIsDialledAtOnceWhenItsOtherSideAppears() throws Exception {
    long hour = TimeUnit.HOURS.toMillis(1);
    var thread = opened.thread();
    var dialler = opened.closing(new LinkDialler(HERE, PATIENT, null, null, meters, hour, hour));
    var leader = new AtomicReference<>(new LinkPeer(NODE, "127.0.0.1", 1));
    var sure = new AtomicBoolean();
    var link = on(thread, () -> dialler.dial(surelyAt(leader, sure::get), "lane", new byte[] {1}, thread, new Side()));
    send(thread, link, 0, 10);
    until(() -> meters.get("dunlin.links.broken").counter().count() > 0);
    var next = new Accepting(OTHER, "lane", 1_001, PATIENT);

    leader.set(new LinkPeer(OTHER, "127.0.0.1", next.serve(0)));
    sure.set(true);

    until(() -> next.sides.size() == 1 && next.sides.getFirst().received.size() == 10);
  }

  @Test
  void openLinksGoOnWhereNoMoreAreAccepted() throws Exception {
    var there = new Accepting("lane", 1_000, PATIENT);
    int port = there.serve(0);
    var here = new Dialling(PATIENT);
    var link = withTenFrames(here, there, port);

    there.accepted.acceptNoMore();
    var second = here.dial(NODE, port, "lane", new Side());
    until(() -> meters.get("dunlin.links.broken").counter().count() >= 3);
    send(here.thread, link, 10, 20);

    until(() -> there.sides.getFirst().received.size() == 20);
    assertThat(there.sides).hasSize(1);
    assertThat(on(here.thread, second::isConnected)).isFalse();
  }

  @Test
  void aLinkResumesWhenItsStreamBreaks() throws Exception {
    var there = new Accepting("lane", 1_000, PATIENT);
    int port = there.serve(0);
    var here = new Dialling(PATIENT);
    var side = new Side();
    var link = here.dial(NODE, port, "lane", side);

    for (int round = 0; round < 3; round++) {
      send(here.thread, link, round * 3_000, round * 3_000 + 1_500);
      until(() -> !there.links.isEmpty());
      send(there.thread, there.links.getFirst(), round * 1_000, round * 1_000 + 1_000);
      until(() -> on(there.thread, there.links.getFirst()::isConnected)); // or there is no stream that breaks
      there.stop();
      send(here.thread, link, round * 3_000 + 1_500, round * 3_000 + 3_000);
      there.serveAgain(port);
    }

    until(() -> there.sides.getFirst().received.size() == 9_000 && side.received.size() == 3_000);
    assertCounts(there.sides.getFirst().received, 9_000);
    assertCounts(side.received, 3_000);
    assertThat(there.sides).hasSize(1);
    assertThat(side.lost).isNotDone();
    assertThat(meters.get("dunlin.links.broken").counter().count()).isGreaterThanOrEqualTo(3);
  }

  @Test
  void aLinkIsLostWhenTheOtherSideHasRestarted() throws Exception {
    var first = new Accepting("lane", 1_000, PATIENT);
    int port = first.serve(0);
    var here = new Dialling(PATIENT);
    var side = new Side();
    var link = here.dial(NODE, port, "lane", side);
    send(here.thread, link, 0, 10);
    until(() -> !first.sides.isEmpty() && first.sides.getFirst().received.size() == 10);

    first.stop();
    new Accepting("lane", 2_000, PATIENT).serveAgain(port);

    assertThat(side.lost.get(1, TimeUnit.MINUTES)).contains("not known");
    until(() -> meters.get("dunlin.links.dialled").gauge().value() == 0);
  }

  /** A process of a later version: it receives a sentence with both versions, and links of others go on. */
  @Test
  void aStreamOfAnotherVersionIsRefused() throws Exception {
    var there = new Accepting("lane", 1_000, PATIENT);
    int port = there.serve(0);
    var here = new Dialling(PATIENT);
    var link = withTenFrames(here, there, port);

    var channel = LinkWire.connect(new LinkPeer(NODE, "127.0.0.1", port), null);
    opened.closing(channel::shutdownNow);
    var headers = LinkWire.headers(HERE, NODE);
    headers.put(LinkWire.NAME_KEY, "lane");
    headers.discardAll(LinkWire.VERSION_KEY);
    headers.put(LinkWire.VERSION_KEY, "2");
    var ended = new CompletableFuture<Status>();
    channel
        .newCall(LinkWire.PIPE, CallOptions.DEFAULT)
        .start(
            new ClientCall.Listener<>() {
              @Override
              public void onClose(Status status, Metadata trailers) {
                ended.complete(status);
              }
            },
            headers);

    var status = ended.get(1, TimeUnit.MINUTES);
    assertThat(status.getCode()).isEqualTo(Status.Code.FAILED_PRECONDITION);
    assertThat(status.getDescription()).isEqualTo("links of version 2 are not known here, only of version " + LinkWire.VERSION);
    assertThat(meters.get("dunlin.links.refused").counter().count()).isEqualTo(1);
    assertThat(there.sides).hasSize(1);
    send(here.thread, link, 10, 20);
    until(() -> there.sides.getFirst().received.size() == 20);
  }

  /** As when a host is cut off: the connection stays open, and nothing comes any more. */
  @Test
  void anOpenLinkThatGoesSilentIsLostInTime() throws Exception {
    var there = new Accepting("lane", 1_000, SHORT);
    try (var between = new Silenced(there.serve(0))) {
      var here = new Dialling(SHORT);
      var side = new Side();
      var link = here.dial(NODE, between.port(), "lane", side);
      send(here.thread, link, 0, 10);
      until(() -> there.sides.size() == 1 && there.sides.getFirst().received.size() == 10);
      until(() -> on(here.thread, link::unconfirmedFrames) == 0);
      assertThat(side.lost).isNotDone();

      between.silent.set(true);
      send(here.thread, link, 10, 20);

      assertThat(side.lost.get(1, TimeUnit.MINUTES)).contains("none was confirmed");
      assertThat(there.sides.getFirst().received).hasSize(10);
    }
  }

  @Test
  void aRefusedLinkIsLostInTime() throws Exception {
    var there = new Accepting("lane", 1_000, PATIENT);
    int port = there.serve(0);
    var here = new Dialling(SHORT);
    var wrongName = new Side();
    var wrongNode = new Side();

    here.dial(NODE, port, "sessions", wrongName);
    here.dial(UUID.fromString("00000000-0000-0000-0000-0000000000bb"), port, "lane", wrongNode);

    wrongName.lost.get(1, TimeUnit.MINUTES);
    wrongNode.lost.get(1, TimeUnit.MINUTES);
    assertThat(there.sides).isEmpty();
    assertThat(meters.get("dunlin.links.refused").counter().count()).isGreaterThanOrEqualTo(2);
    until(() -> meters.get("dunlin.links.dialled").gauge().value() == 0);
  }

  /** As when the node has just become the leader of a range: it accepts links soon. */
  @Test
  void aRefusedLinkAsksAgainOverTheSameConnection() throws Exception {
    var there = new Accepting("sessions", 1_000, PATIENT);
    int port = there.serve(0);
    var here = new Dialling(PATIENT);
    var link = here.dial(NODE, port, "lane", new Side());
    send(here.thread, link, 0, 10);
    until(() -> meters.get("dunlin.links.refused").counter().count() >= 3);

    there.accept("lane", 2_000, PATIENT);

    until(() -> there.sides.size() == 1 && there.sides.getFirst().received.size() == 10);
    assertThat(there.connections).hasValue(1);
    there.stop();
    there.serveAgain(port);
    until(() -> on(here.thread, link::isConnected));
    assertThat(there.connections).as("one that has broken is replaced").hasValue(2);
  }

  /** That says nothing about the connection. */
  @Test
  void aLinkThatIsOneTooManyAsksAgainOverTheSameConnection() throws Exception {
    var there = new Accepting("lane", 1_000, PATIENT);
    there.tooMany.set(3);
    int port = there.serve(0);
    var here = new Dialling(PATIENT);
    var link = here.dial(NODE, port, "lane", new Side());

    send(here.thread, link, 0, 10);

    until(() -> there.sides.size() == 1 && there.sides.getFirst().received.size() == 10);
    assertThat(there.tooMany).hasValue(0);
    assertThat(there.connections).hasValue(1);
  }

  /** Another process may have its port by now, or the name of its host lead elsewhere. */
  @Test
  void aLinkThatCameToTheWrongNodeConnectsAnew() throws Exception {
    var there = new Accepting("lane", 1_000, PATIENT);
    int port = there.serve(0);
    var here = new Dialling(PATIENT);

    here.dial(OTHER, port, "lane", new Side());

    until(() -> there.connections.get() >= 3);
  }

  @Test
  void anUnknownNodeIsAcceptedOnceItIsKnown() throws IOException {
    var there = new Accepting("lane", 1_000, PATIENT);
    int port = there.serve(0);
    known.clear();
    var here = new Dialling(PATIENT);
    var link = here.dial(NODE, port, "lane", new Side());
    send(here.thread, link, 0, 10);
    until(() -> meters.get("dunlin.links.refused").counter().count() >= 2);
    assertThat(there.sides).isEmpty();

    known.put(HERE, "127.0.0.1");

    until(() -> !there.sides.isEmpty() && there.sides.getFirst().received.size() == 10);
    assertThat(there.links.getFirst().caller()).isEqualTo(HERE.toString());
  }

  /** As when the leader of a range moves from one node to another. */
  @Test
  void aLinkFollowsTheOtherSideAndTheNextOneBeginsThere() throws Exception {
    var other = UUID.fromString("00000000-0000-0000-0000-0000000000bb");
    var first = new Accepting("leader", 1_000, PATIENT);
    var second = opened.closing(new LinkService(other, node -> Optional.ofNullable(known.get(node)), meters));
    var there = new Side();
    var thread = opened.thread();
    var _ = second.accept("leader", new LinkAcceptor(9_000, PATIENT, 10, thread, System::nanoTime, (_, _) -> there), thread);
    var server = NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0)).directExecutor().addService(second.definition()).build().start();
    opened.closing(server::shutdownNow);
    var leader = new AtomicReference<@Nullable LinkPeer>();
    var here = new Dialling(PATIENT);
    var side = new Side();
    var link = on(here.thread, () -> here.dialler.dial(() -> Optional.ofNullable(leader.get()), "leader", new byte[0], here.thread, side));
    send(here.thread, link, 0, 10);
    assertThat(first.sides).isEmpty();

    leader.set(new LinkPeer(NODE, "127.0.0.1", first.serve(0)));
    until(() -> !first.sides.isEmpty() && first.sides.getFirst().received.size() == 10);
    leader.set(new LinkPeer(other, "127.0.0.1", server.getPort()));
    first.accepted.close();

    side.lost.get(1, TimeUnit.MINUTES);
    var next = on(here.thread, () -> here.dialler.dial(() -> Optional.ofNullable(leader.get()), "leader", new byte[0], here.thread, new Side()));
    send(here.thread, next, 0, 10);
    until(() -> there.received.size() == 10);
  }

  @Test
  void aLinkToADeadOrSilentProcessIsLostInTime() throws Exception {
    var here = new Dialling(SHORT);
    var gone = new Side();
    var silent = new Side();
    int closedPort;
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      closedPort = socket.getLocalPort();
    }
    try (var mute = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      var link = here.dial(NODE, closedPort, "lane", gone);
      here.dial(NODE, mute.getLocalPort(), "lane", silent);
      send(here.thread, link, 0, 10);

      gone.lost.get(1, TimeUnit.MINUTES);
      silent.lost.get(1, TimeUnit.MINUTES);
    }
  }

  @Test
  void aClosedLinkIsLostForTheOtherSide() throws Exception {
    var there = new Accepting("lane", 1_000, PATIENT);
    int port = there.serve(0);
    var here = new Dialling(PATIENT);
    var side = new Side();
    var link = here.dial(NODE, port, "lane", side);
    send(here.thread, link, 0, 10);
    until(() -> !there.sides.isEmpty() && there.sides.getFirst().received.size() == 10);

    on(
        here.thread,
        () -> {
          link.close();
          return true;
        });

    there.sides.getFirst().lost.get(1, TimeUnit.MINUTES);
    assertThat(side.lost).isNotDone();
    until(() -> meters.get("dunlin.links.accepted").gauge().value() == 0);
    until(() -> meters.get("dunlin.links.dialled").gauge().value() == 0);
  }

  @Test
  void aSideThatDoesNotReadBlocksNoOtherLink() throws Exception {
    var there = new Accepting("slow", 1_000, PATIENT);
    var fastThread = opened.thread();
    var fast = new Side();
    var _ = there.service.accept("fast", new LinkAcceptor(5_000, PATIENT, 10, fastThread, System::nanoTime, (_, _) -> fast), fastThread);
    int port = there.serve(0);
    var here = new Dialling(PATIENT);
    var slowLink = here.dial(NODE, port, "slow", new Side());
    var fastLink = here.dial(NODE, port, "fast", new Side());
    send(here.thread, slowLink, 0, 1);
    until(() -> !there.sides.isEmpty() && there.sides.getFirst().received.size() == 1);
    var released = keepBusy(there.thread);

    on(
        here.thread,
        () -> {
          for (int i = 1; i <= 200; i++) slowLink.send(frame(i, 100_000));
          return true;
        });
    send(here.thread, fastLink, 0, 5_000);

    until(() -> fast.received.size() == 5_000);
    assertThat(there.sides.getFirst().received).hasSize(1);
    assertThat(unconfirmed("dialled")).isGreaterThanOrEqualTo(200 * 100_000);
    released.countDown();
    until(() -> there.sides.getFirst().received.size() == 201);
    until(() -> unconfirmed("dialled") == 0);
  }

  @Test
  void whatAnAcceptedLinkHasSentIsMeasuredUntilItIsConfirmed() throws Exception {
    var there = new Accepting("one", 1_000, PATIENT);
    var here = new Dialling(PATIENT);
    var side = new Side();
    here.dial(NODE, there.serve(0), "one", side);
    until(() -> !there.links.isEmpty());
    var released = keepBusy(here.thread);

    send(there.thread, there.links.getFirst(), 0, 10);
    assertThat(unconfirmed("accepted")).isPositive();
    released.countDown();
    until(() -> side.received.size() == 10);
    until(() -> unconfirmed("accepted") == 0);
  }

  /** Keeps a thread busy until the answer is counted down. */
  private static CountDownLatch keepBusy(ExecutorService thread) {
    var released = new CountDownLatch(1);
    thread.execute(
        () -> {
          try {
            released.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
    return released;
  }

  private double unconfirmed(String side) {
    return meters.get("dunlin.links.unconfirmed").tag("side", side).gauge().value();
  }
}

package dunlin.links;

import static dunlin.links.LinkThreads.on;
import static dunlin.links.LinkThreads.send;
import static dunlin.links.LinkThreads.until;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.links.LinkThreads.Side;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Links between two tiers of one node. No port is open, so whatever arrives has not crossed a socket. */
class LocalPipeTest {
  private static final UUID NODE = UUID.fromString("00000000-0000-0000-0000-0000000000aa");
  private static final UUID OTHER = UUID.fromString("00000000-0000-0000-0000-0000000000bb");
  private static final LinkPeer SELF = new LinkPeer(NODE, "127.0.0.1", 1);
  private static final Link.Settings PATIENT = new Link.Settings(100_000, 64 << 20, Duration.ofMinutes(1));

  private final LinkThreads opened = new LinkThreads();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final LinkService service = opened.closing(new LinkService(NODE, _ -> Optional.empty(), meters));
  private final LinkDialler dialler = opened.closing(new LinkDialler(NODE, PATIENT, null, service, meters));
  private final ExecutorService here = opened.thread();
  private final ExecutorService there = opened.thread();
  private final List<Side> sides = new CopyOnWriteArrayList<>();
  private final List<Link> links = new CopyOnWriteArrayList<>();

  private LinkService.Accepted accept(String name, long identity) {
    return service.accept(
        name,
        new LinkAcceptor(
            identity, PATIENT, 10, there, System::nanoTime,
            (link, _) -> {
              var side = new Side();
              links.add(link);
              sides.add(side);
              return side;
            }),
        there);
  }

  private Link dial(String name, Side side) {
    return on(here, () -> dialler.dial(() -> Optional.of(SELF), name, new byte[] {1}, here, side));
  }

  private static void awaitCounts(Side side, int to) {
    until(() -> side.received.size() >= to);
    assertThat(side.received).hasSize(to);
    for (int i = 0; i < to; i++) assertThat(side.received.get(i)).isEqualTo(i);
  }

  private double openStreams() {
    return meters.get("dunlin.links.local").gauge().value();
  }

  @AfterEach
  void close() throws Exception {
    opened.close();
  }

  @Test
  void framesArriveOnceAndInOrderInBothDirections() {
    var _ = accept("lane", 1_000);
    var side = new Side();
    var link = dial("lane", side);

    send(here, link, 0, 20_000);
    until(() -> sides.size() == 1);
    send(there, links.getFirst(), 0, 20_000);

    awaitCounts(sides.getFirst(), 20_000);
    awaitCounts(side, 20_000);
    until(() -> on(here, link::unconfirmedFrames) == 0);
    until(() -> on(there, links.getFirst()::unconfirmedFrames) == 0);
    assertThat(links.getFirst().caller()).isEqualTo(NODE.toString());
    assertThat(openStreams()).isEqualTo(1);
  }

  /** As when this node becomes the leader of a range after its frontend has begun to look for one. */
  @Test
  void aLinkBeginsOnceItsNameIsAccepted() {
    var side = new Side();
    var link = dial("lane", side);
    send(here, link, 0, 10);
    until(() -> meters.get("dunlin.links.broken").counter().count() >= 2);
    assertThat(openStreams()).isZero();

    var _ = accept("lane", 1_000);

    until(() -> sides.size() == 1);
    awaitCounts(sides.getFirst(), 10);
    assertThat(side.lost).isNotDone();
  }

  /** As when this node is not the leader any more. The frames before the end have arrived. */
  @Test
  void aLinkIsLostWithItsAcceptorAndTheNextOneBeginsWithTheNextAcceptor() throws Exception {
    var first = accept("lane", 1_000);
    var side = new Side();
    var link = dial("lane", side);
    send(here, link, 0, 10);
    until(() -> sides.size() == 1);
    send(there, links.getFirst(), 0, 10);

    first.close();

    assertThat(side.lost.get(1, TimeUnit.MINUTES)).contains("ended the link");
    awaitCounts(sides.getFirst(), 10);
    awaitCounts(side, 10);
    until(() -> openStreams() == 0);
    until(() -> meters.get("dunlin.links.dialled").gauge().value() == 0);

    var _ = accept("lane", 2_000);
    send(here, dial("lane", new Side()), 0, 10);
    until(() -> sides.size() == 2);
    awaitCounts(sides.get(1), 10);
  }

  @Test
  void theAcceptorLosesALinkThatItsDiallerCloses() throws Exception {
    var _ = accept("lane", 1_000);
    var link = dial("lane", new Side());
    send(here, link, 0, 1);
    until(() -> sides.size() == 1);
    awaitCounts(sides.getFirst(), 1); // a link that is closed before it is open takes along what was sent
    send(here, link, 1, 10);
    on(
        here,
        () -> {
          link.close();
          return true;
        });

    assertThat(sides.getFirst().lost.get(1, TimeUnit.MINUTES)).contains("ended the link");
    awaitCounts(sides.getFirst(), 10);
    until(() -> openStreams() == 0);
  }

  /** As when a leader that is at another address by now is found to have left this node. */
  @Test
  void aLinkLeavesThisNodeWhenItsOtherSideHasLeft() {
    var _ = accept("lane", 1_000);
    var left = new AtomicReference<>(false);
    var whereabouts =
        new Whereabouts() {
          @Override
          public Optional<LinkPeer> next() {
            return left.get() ? Optional.empty() : Optional.of(SELF);
          }

          @Override
          public boolean isNot(UUID node) {
            return left.get();
          }
        };
    var side = new Side();
    var link = on(here, () -> dialler.dial(whereabouts, "lane", new byte[0], here, side));
    send(here, link, 0, 10);
    until(() -> sides.size() == 1);
    awaitCounts(sides.getFirst(), 10);

    left.set(true);

    until(() -> openStreams() == 0);
    assertThat(on(here, link::isConnected)).isFalse();
    left.set(false);
    send(here, link, 10, 20);
    awaitCounts(sides.getFirst(), 20);
  }

  @Test
  void aSideWhoseThreadHasEndedEndsTheStream() {
    var _ = accept("lane", 1_000);
    var link = dial("lane", new Side());
    send(here, link, 0, 10);
    until(() -> sides.size() == 1);
    awaitCounts(sides.getFirst(), 10);

    there.shutdownNow();
    send(here, link, 10, 20);

    until(() -> !on(here, link::isConnected));
  }

  /** Another node at this node's address is another process. */
  @Test
  void onlyThisNodeIsReachedWithoutAConnection() {
    var _ = accept("lane", 1_000);
    var to = new LinkPeer(OTHER, "127.0.0.1", 1);
    var _ = on(here, () -> dialler.dial(() -> Optional.of(to), "lane", new byte[0], here, new Side()));

    until(() -> meters.get("dunlin.links.broken").counter().count() >= 2);
    assertThat(sides).isEmpty();
    assertThat(openStreams()).isZero();
  }
}

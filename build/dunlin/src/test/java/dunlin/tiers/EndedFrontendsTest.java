package dunlin.tiers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.links.LinkPeer;
import dunlin.runtime.LineLimit;
import dunlin.transport.link.Link;
import dunlin.transport.link.LinkAcceptor;
import dunlin.transport.link.Pipe;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A frontend's link over a pipe that breaks; its node's port is a real one. */
class EndedFrontendsTest {
  private static final UUID FRONTEND = new UUID(1, 1);
  private static final Link.Settings LINK = new Link.Settings(1_000, 10_000, Duration.ofMinutes(1));
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final List<String> lost = new ArrayList<>();
  private final RefusedNodes refused = new RefusedNodes(node -> Optional.of(new LinkPeer(node, "127.0.0.1", port())), System::nanoTime);
  private volatile int port;
  private final Map<String, Long> awaited = new HashMap<>();
  private boolean isGoneAtOnce = true;
  private final Counter ended = new SimpleMeterRegistry().counter("ended");
  private final LineLimit lines = new LineLimit(10, () -> 0);
  private final EndedFrontends frontends =
      new EndedFrontends(
          refused,
          new EndedFrontends.Awaited() {
            @Override
            public Map<String, Long> frontends() {
              return Map.copyOf(awaited);
            }

            @Override
            public void isGone(String frontend, long incarnation) {
              lost.add("awaited, incarnation " + incarnation);
              if (isGoneAtOnce) awaited.remove(frontend);
            }
          },
          ended,
          lines);
  private final LinkAcceptor acceptor =
      new LinkAcceptor(7, LINK, 4, tasks::add, System::nanoTime, frontends.watching((_, _) -> new Recorder()));
  private final @Nullable Pipe[] ends = new @Nullable Pipe[2];

  private final class Recorder implements Link.Handler {
    @Override
    public void received(byte[] frame) {}

    @Override
    public void lost(String reason) {
      lost.add(reason);
    }
  }

  private int port() {
    return port;
  }

  /** A link that has begun. */
  private void begin() {
    var link = Link.dialling(3, new byte[0], LINK, tasks::add, System::nanoTime, new Recorder());
    ends[0] = pipe(frame -> acceptor.arrived(end(1), frame));
    ends[1] = pipe(frame -> link.arrived(end(0), frame));
    acceptor.connected(end(1));
    link.connected(end(0));
    run();
  }

  private Pipe end(int number) {
    Pipe pipe = ends[number];
    if (pipe == null) throw new AssertionError("no pipe");
    return pipe;
  }

  private Pipe pipe(Consumer<byte[]> to) {
    return new Pipe() {
      @Override
      public void send(byte[] frame) {
        tasks.add(() -> to.accept(frame));
      }

      @Override
      public void close() {}

      @Override
      public String caller() {
        return FRONTEND.toString();
      }
    };
  }

  private void run() {
    while (!tasks.isEmpty()) tasks.remove().run();
  }

  @Test
  void anInterruptedLinkEndsWhenItsHostRefuses() throws IOException {
    try (var once = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = once.getLocalPort();
    }
    begin();
    frontends.compare();
    assertThat(lost).as("it is connected").isEmpty();

    acceptor.broken(end(1));
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              frontends.compare();
              return !lost.isEmpty();
            });
    assertThat(lost).containsExactly("its process has ended");
    frontends.compare();
    assertThat(lost).hasSize(1);
  }

  @Test
  void aFrontendThatIsWaitedForIsGoneWhenItsHostRefuses() throws IOException {
    try (var once = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = once.getLocalPort();
    }
    awaited.put(FRONTEND.toString(), 7L);

    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              frontends.compare();
              return !lost.isEmpty();
            });

    assertThat(lost).containsExactly("awaited, incarnation 7");
  }

  /** As while the range of their sessions is full: they are looked at again and again. */
  @Test
  void manyFrontendsThatAreWaitedForAreCountedOnceAndFillNoLog() throws IOException {
    try (var once = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = once.getLocalPort();
    }
    isGoneAtOnce = false;
    for (int i = 0; i < 100; i++) awaited.put(new UUID(2, i).toString(), 7L);

    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              frontends.compare();
              return ended.count() == 100;
            });
    lost.clear();
    frontends.compare();

    assertThat(lost).as("attempts go on").isNotEmpty();
    assertThat(ended.count()).isEqualTo(100);
    assertThat(lines.leftOut()).isEqualTo(90);
  }

  /** Its link may resume: it is what counts. */
  @Test
  void aFrontendWithALinkIsNotGoneSinceOthersWaitForIt() throws IOException {
    try (var once = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = once.getLocalPort();
    }
    begin();
    refused.note(FRONTEND);
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              refused.note(FRONTEND);
              return refused.isGone(FRONTEND);
            });
    awaited.put(FRONTEND.toString(), 7L);

    frontends.compare();

    assertThat(lost).isEmpty();
  }

  /** As that of a process that stands still: the kernel takes connections for it. */
  @Test
  void anInterruptedLinkStaysWhenItsHostTakesConnections() throws IOException {
    var taken = new AtomicInteger();
    try (var silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread.ofVirtual().start(() -> take(silent, taken));
      port = silent.getLocalPort();
      begin();
      acceptor.broken(end(1));
      await()
          .atMost(PATIENCE)
          .until(
              () -> {
                frontends.compare();
                return taken.get() >= 4;
              });
      assertThat(lost).isEmpty();
    }
  }

  private static void take(ServerSocket from, AtomicInteger taken) {
    try {
      while (true) {
        from.accept().close();
        taken.incrementAndGet();
      }
    } catch (IOException closed) {
      // the test is over
    }
  }
}

package dunlin.inbox.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.inbox.InboxClient.Connected;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.SessionsMXBean.SessionRow;
import dunlin.inbox.rows.SessionCommand;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Frontends that come and go at random over a range that is full or refuses at random, against a simple model. */
final class FrontendsModelTest {
  private static final int LIVES = 5;

  /** A connection that was asked for while its frontend was attached. */
  private record Asked(TestFrontend frontend, CompletableFuture<Connected> answer) {}

  /** By name; nothing else changes them, so the model knows exactly. */
  private final Map<String, TestFrontend> attached = new HashMap<>();

  private final List<TestFrontend> all = new ArrayList<>();
  private final List<CompletableFuture<Void>> detached = new ArrayList<>();
  private final Map<String, List<Asked>> asked = new HashMap<>();

  static LongStream seeds() {
    return LongStream.range(0, 30);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aSessionHasAConnectionExactlyWhileItsFrontendIsThere(long seed) throws Exception {
    var random = new Random(seed);
    try (var node = new InboxNode(null, InboxSettings.defaults())) {
      for (int step = 0; step < 150; step++) {
        String at = "seed " + seed + ", step " + step;
        switch (random.nextInt(12)) {
          case 0, 1 -> attach(node, random, at);
          case 2 -> detach(node, random);
          case 3 -> node.local().refusing = random.nextBoolean() ? SessionCommand.FrontendGone.class : SessionCommand.Connect.class;
          case 4 -> node.local().refusing = null;
          case 5 -> node.local().full = true;
          case 6 -> node.local().hasRoom();
          default -> connect(random, at);
        }
      }
      node.local().refusing = null;
      node.local().hasRoom();

      for (var each : detached) InboxNode.get(each);
      var expected = asked.keySet().stream().filter(client -> isConnected(asked.getOrDefault(client, List.of()))).collect(Collectors.toSet());
      await().untilAsserted(() -> assertThat(connected(node)).as("seed " + seed).isEqualTo(expected));
      for (var each : List.copyOf(attached.values())) InboxNode.get(each.detach());
      assertThat(connected(node)).as("seed " + seed).isEmpty();
      await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.frontends-lost")).isZero());
      await().untilAsserted(() -> assertThat(node.gauge("dunlin.inbox.connections-stale")).isZero());
    }
  }

  private void attach(InboxNode node, Random random, String at) {
    node.local().hasRoom(); // it is waited for
    var frontend = new TestFrontend(node, "f" + random.nextInt(3), 1L + random.nextInt(LIVES));
    frontend.connections = all.size() * 1_000L; // a life may be attached twice, and no connection of it has the number of another
    all.add(frontend);
    var present = attached.get(frontend.name);
    var failure = failure(frontend.attach());
    if (present != null && present.incarnation >= frontend.incarnation) {
      assertThat(failure).as(at).hasMessageContaining("is attached with incarnation " + present.incarnation);
    } else if (failure == null) {
      attached.put(frontend.name, frontend);
    } else {
      assertThat(failure).as(at).hasMessageContaining("refused");
      attached.remove(frontend.name);
    }
  }

  private void detach(InboxNode node, Random random) {
    String name = "f" + random.nextInt(3);
    long incarnation = 1L + random.nextInt(LIVES);
    var present = attached.get(name);
    if (present != null && present.incarnation <= incarnation) attached.remove(name);
    detached.add(node.server.detach(name, incarnation));
  }

  private void connect(Random random, String at) {
    if (all.isEmpty()) return;
    var frontend = all.get(random.nextInt(all.size()));
    var present = attached.get(frontend.name);
    if (present != null && present.incarnation == frontend.incarnation) {
      String client = "c" + random.nextInt(6);
      asked.computeIfAbsent(client, _ -> new ArrayList<>()).add(new Asked(present, present.connecting(client, null)));
    } else {
      assertThat(failure(frontend.connecting("c", null))).as(at).hasMessageContaining("is not attached");
    }
  }

  /** Waits until it has ended; null when it has not failed. */
  private static @Nullable Throwable failure(CompletableFuture<?> call) {
    return call.handle((_, failure) -> failure).orTimeout(2, TimeUnit.MINUTES).join();
  }

  /** What follows from the answers to all that have asked for a session, in their order. */
  private boolean isConnected(List<Asked> asked) {
    TestFrontend owner = null;
    for (Asked each : asked) {
      var failure = failure(each.answer());
      if (failure == null) owner = each.frontend();
      else if (String.valueOf(failure.getMessage()).contains("is not attached")) owner = null; // it was applied, and then taken back
      else assertThat(failure).hasMessageContaining("refused");
    }
    return owner != null && attached.get(owner.name) == owner;
  }

  private static Set<String> connected(InboxNode node) {
    return node.server.operations().list(InboxNode.TENANT, "", "", 100).stream()
        .filter(SessionRow::connected)
        .map(SessionRow::clientId)
        .collect(Collectors.toSet());
  }
}

package dunlin.store.serve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.store.StoreException;
import dunlin.store.raft.Trio;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers on three real replicas between which the leadership moves. */
class WhileLeadingTest {
  private static final Duration PATIENCE = Duration.ofSeconds(50);

  @TempDir Path directory;

  /** The serving of one node. */
  private static final class Serving implements AutoCloseable {
    private final Trio.Node node;
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicInteger opened = new AtomicInteger();
    private final AtomicInteger failuresLeft;
    private final AtomicInteger overlaps = new AtomicInteger();
    private final WhileLeading whileLeading;

    Serving(Trio.Node node, int failures) {
      this.node = node;
      failuresLeft = new AtomicInteger(failures);
      whileLeading = WhileLeading.of(node.range(), this::open);
    }

    private AutoCloseable open() {
      if (failuresLeft.getAndDecrement() > 0) throw new StoreException("not yet");
      if (open.incrementAndGet() > 1) overlaps.incrementAndGet();
      opened.incrementAndGet();
      return open::decrementAndGet;
    }

    boolean isLeader(Trio trio) throws Exception {
      return trio.leader() == node;
    }

    @Override
    public void close() {
      whileLeading.close();
    }
  }

  private static void awaitServedByTheLeader(Trio trio, List<Serving> all) {
    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              for (Serving each : all) assertThat(each.open).hasValue(each.isLeader(trio) ? 1 : 0);
            });
  }

  @Test
  void onlyTheLeaderServes() throws Exception {
    try (var trio = Trio.start(directory)) {
      var all = new ArrayList<Serving>();
      for (var node : trio.nodes) all.add(new Serving(node, 2));
      awaitServedByTheLeader(trio, all);
      for (int turn = 0; turn < 3; turn++) {
        var next = trio.nodes.get((trio.nodes.indexOf(trio.leader()) + 1) % trio.nodes.size());
        trio.letLead(next);
        awaitServedByTheLeader(trio, all);
      }
      assertThat(all).allSatisfy(each -> assertThat(each.overlaps).hasValue(0));
      assertThat(all.stream().mapToInt(each -> each.opened.get()).sum()).isGreaterThanOrEqualTo(4);

      all.forEach(Serving::close);
      assertThat(all).allSatisfy(each -> assertThat(each.open).hasValue(0));
    }
  }
}

package dunlin.store.raft;

import static dunlin.store.raft.Command.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import dunlin.store.StoreException;
import dunlin.store.raft.Command.Break;
import dunlin.store.raft.Command.Put;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Logic that fails: when it opens, when it applies, and while the store starts or closes. */
class RangeStoreFailureTest {
  @TempDir Path directory;

  @Test
  void logicThatThrowsFencesTheRangeAndIsReported() {
    try (var one = OneRange.start(directory)) {
      var reported = new CopyOnWriteArrayList<StoreException>();
      one.store.onFatal(reported::add);
      one.apply(new Put("a", "1"));

      var breaking = one.propose(new Break("design"));
      assertThat(breaking).failsWithin(OneRange.DEADLINE).withThrowableThat().withMessageContaining("broken by design");

      await().atMost(OneRange.DEADLINE).until(() -> reported.size() == 1);
      assertThat(reported.getFirst()).hasMessageContaining("range 'routes' failed applying entry");
      assertThat(one.propose(new Put("b", "2"))).isCompletedExceptionally();
      assertThatThrownBy(() -> one.range.reader().get(bytes("a"))).isInstanceOf(StoreException.class);
    }
  }

  @Test
  void theListenerOfAFailureMayCloseTheStore() throws Exception {
    var one = OneRange.start(directory);
    var closed = new CountDownLatch(1);
    one.store.onFatal(
        _ -> {
          one.store.close();
          closed.countDown();
        });

    var _ = one.propose(new Break("design"));

    assertThat(closed.await(10, TimeUnit.SECONDS)).isTrue();
    OneRange.close(one.store);
    OneRange.close(RangeStore.open(StoreSettings.defaults(), directory, new SimpleMeterRegistry()));
  }

  @Test
  void aFailureDuringCloseDoesNotBlockIt() throws Exception {
    var applying = new CountDownLatch(1);
    var release = new CountDownLatch(1);
    var store = RangeStore.open(StoreSettings.defaults(), directory, new SimpleMeterRegistry());
    var range =
        store.range(
            "routes",
            Command.CODEC,
            new RangeLogic<Command, String>() {
              @Override
              public void open(RangeReader state) {}

              @Override
              public List<String> apply(List<Command> commands, RangeWriter out) {
                applying.countDown();
                try {
                  release.await();
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
                throw new IllegalStateException("broken by design");
              }
            });
    store.start(OneRange.DEADLINE);
    range.propose(new Put("a", "1"), OneRange.completing(new CompletableFuture<>()));
    range.propose(new Put("a", "2"), OneRange.completing(new CompletableFuture<>()));
    applying.await();
    var closing = CompletableFuture.runAsync(store::close);

    // Ratis waits for its applying thread, which is still working.
    await().atMost(OneRange.DEADLINE).until(() -> anyThreadIn("stopAndJoin"));
    release.countDown();

    closing.join();
    OneRange.close(store);
  }

  private static boolean anyThreadIn(String method) {
    return Thread.getAllStackTraces().values().stream().anyMatch(frames -> Stream.of(frames).anyMatch(each -> each.getMethodName().equals(method)));
  }

  @Test
  void aFailureDuringReplayFailsTheStart() {
    try (var one = OneRange.start(directory)) {
      var _ = one.propose(new Break("design")).exceptionally(_ -> "").join();
    }

    assertThatThrownBy(() -> OneRange.start(directory))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("range 'routes' failed applying entry")
        .hasMessageContaining("broken by design");
  }

  @Test
  void logicThatCannotOpenFailsTheStartAndFreesTheDirectory() {
    try (var store = RangeStore.open(StoreSettings.defaults(), directory, new SimpleMeterRegistry())) {
      store.range(
          "routes",
          Command.CODEC,
          new RangeLogic<Command, String>() {
            @Override
            public void open(RangeReader state) {
              throw new IllegalStateException("no memory for the index");
            }

            @Override
            public List<String> apply(List<Command> commands, RangeWriter out) {
              return List.of();
            }
          });
      assertThatThrownBy(() -> store.start(OneRange.DEADLINE))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("range 'routes' cannot be opened")
          .hasMessageContaining("no memory for the index");
      OneRange.close(store);
    }
    OneRange.start(directory).close();
  }

  @Test
  void aStalledStartNamesTheMissingRange() {
    var release = new CountDownLatch(1);
    var store = RangeStore.open(StoreSettings.defaults(), directory, new SimpleMeterRegistry());
    store.range("retain", Command.CODEC, new Command.Logic());
    store.range("routes", Command.CODEC, new RangeStoreTest.Waiting(release) {
          @Override
          public void open(RangeReader state) {
            pause();
          }
        });

    assertThatThrownBy(() -> store.start(Duration.ofMillis(500)))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("there was no progress for PT0.5S")
        .hasMessageContaining("routes");
    release.countDown();
    OneRange.close(store);
  }
}

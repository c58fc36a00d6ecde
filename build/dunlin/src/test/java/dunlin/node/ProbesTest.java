package dunlin.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.runtime.AdminServer;
import dunlin.runtime.StallWatch;
import dunlin.store.CommandCodec;
import dunlin.store.Completion;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The admin port of a node with a real range whose logic is blocked. */
class ProbesTest {
  private static final Duration SOON = Duration.ofMinutes(2);
  private static final Duration AGE_MAX = Duration.ofMillis(100);

  @TempDir Path directory;

  private final Readiness readiness = new Readiness();
  private final AtomicBoolean draining = new AtomicBoolean();
  private final AtomicLong routes = new AtomicLong();
  private final AtomicReference<List<String>> remarks = new AtomicReference<>(List.of());
  private final HttpClient client = HttpClient.newHttpClient();

  /** A command is one byte, which is a row's key. */
  private static final CommandCodec<Byte> CODEC =
      new CommandCodec<>() {
        @Override
        public int encodedLength(Byte command) {
          return 1;
        }

        @Override
        public void encode(Byte command, ByteBuffer out) {
          out.put(command);
        }

        @Override
        public Byte decode(ByteBuffer in) {
          return in.get();
        }
      };

  /** Reads a row, or applies a command, for each permit. */
  private static final class Held implements RangeLogic<Byte, Byte> {
    private final Semaphore permits;

    Held(int permits) {
      this.permits = new Semaphore(permits);
    }

    @Override
    public void open(RangeReader state) {
      state.scan(
          new byte[0],
          null,
          (_, _) -> {
            permits.acquireUninterruptibly();
            return true;
          });
    }

    @Override
    public List<Byte> apply(List<Byte> commands, RangeWriter out) {
      for (byte command : commands) {
        permits.acquireUninterruptibly();
        out.put(new byte[] {command}, new byte[] {command});
      }
      return commands;
    }
  }

  private static Completion<Byte> completing(CompletableFuture<Byte> result) {
    return new Completion<>() {
      @Override
      public void done(Byte value) {
        result.complete(value);
      }

      @Override
      public void failed(StoreException failure) {
        result.completeExceptionally(failure);
      }
    };
  }

  private RangeStore open() {
    return RangeStore.open(StoreSettings.defaults(), directory, new SimpleMeterRegistry());
  }

  private AdminServer admin(RangeStore store, StallWatch watch) {
    var progress = new StartProgress(store::progress, routes::get, System::nanoTime);
    var probes = new Probes(readiness, progress::text, watch::stalled, Optional.of(store), AGE_MAX, draining::get, Optional::empty, remarks::get);
    var anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    var admin = AdminServer.start(anyPort, probes::unhealthy, probes::unready, () -> "");
    admin.sayWhenReady(probes::ready);
    return admin;
  }

  private StallWatch idleWatch() {
    return new StallWatch(SOON, routes::get, System::nanoTime);
  }

  private String ask(AdminServer admin, String path) {
    try {
      var request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + admin.port() + path)).build();
      var response = client.send(request, HttpResponse.BodyHandlers.ofString());
      return response.statusCode() + " " + response.body();
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  @Test
  void aStartingNodeReportsItsProgress() throws Exception {
    try (var store = open()) {
      var range = store.range("things", CODEC, new Held(3));
      store.start(SOON);
      for (byte key = 1; key <= 3; key++) {
        var done = new CompletableFuture<Byte>();
        assertThat(range.propose(key, completing(done))).isTrue();
        done.get(SOON.toSeconds(), TimeUnit.SECONDS);
      }
    }
    var store = openedAgain();
    var held = new Held(1);
    store.range("things", CODEC, held);
    try (store;
        var admin = admin(store, idleWatch())) {
      var start = CompletableFuture.runAsync(() -> store.start(SOON), task -> Thread.ofPlatform().daemon().start(task));
      await().atMost(SOON).until(() -> ask(admin, "/ready").equals("503 starting: things: 2 rows read\n"));
      assertThat(ask(admin, "/health")).isEqualTo("200 alive\n");

      held.permits.release(2);
      start.get(SOON.toSeconds(), TimeUnit.SECONDS);
      routes.set(1_234);
      assertThat(ask(admin, "/ready")).isEqualTo("503 starting: 1,234 routes announced\n");
      readiness.started();
      assertThat(ask(admin, "/ready")).isEqualTo("200 ready\n");

      draining.set(true);
      assertThat(ask(admin, "/ready")).isEqualTo("503 draining\n");
      readiness.closed();
      assertThat(ask(admin, "/ready")).isEqualTo("503 stopping\n");
    }
  }

  /** Retries: on a busy machine the store releases its directory only after close() has returned. */
  private RangeStore openedAgain() {
    return await().atMost(SOON).ignoreExceptionsInstanceOf(StoreException.class).until(this::open, Objects::nonNull);
  }

  @Test
  void aRangeThatAppliesNothingEndsReadinessUntilItContinues() {
    try (var store = open()) {
      var held = new Held(0);
      var range = store.range("things", CODEC, held);
      store.start(SOON);
      readiness.started();
      try (var admin = admin(store, idleWatch())) {
        assertThat(ask(admin, "/ready")).isEqualTo("200 ready\n");

        var done = new CompletableFuture<Byte>();
        assertThat(range.propose((byte) 1, completing(done))).isTrue();
        await()
            .atMost(SOON)
            .untilAsserted(
                () -> assertThat(ask(admin, "/ready")).startsWith("503 things: applying is behind, the oldest command has waited for "));
        assertThat(ask(admin, "/health")).isEqualTo("200 alive\n");

        held.permits.release();
        assertThat(done).succeedsWithin(SOON);
        await().atMost(SOON).untilAsserted(() -> assertThat(ask(admin, "/ready")).isEqualTo("200 ready\n"));
      }
    }
  }

  @Test
  void aNodeThatIsReadySaysWhatItsClusterLacks() {
    try (var store = open();
        var admin = admin(store, idleWatch())) {
      remarks.set(List.of("no node dances", "no node sings"));
      assertThat(ask(admin, "/ready")).startsWith("503 starting");

      readiness.started();
      assertThat(ask(admin, "/ready")).isEqualTo("200 ready\nno node dances\nno node sings\n");
      remarks.set(List.of());
      assertThat(ask(admin, "/ready")).isEqualTo("200 ready\n");
    }
  }

  @Test
  void aStalledStartIsNotHealthy() {
    try (var store = open()) {
      var clock = new AtomicLong();
      var watch = new StallWatch(Duration.ofSeconds(1), () -> 0, () -> clock.addAndGet(TimeUnit.SECONDS.toNanos(1)));
      try (var admin = admin(store, watch)) {
        assertThat(ask(admin, "/health")).isEqualTo("200 alive\n");

        var waits = CompletableFuture.runAsync(() -> unchecked(watch), task -> Thread.ofPlatform().daemon().start(task));

        assertThat(waits).failsWithin(SOON);
        assertThat(ask(admin, "/health")).startsWith("503 the start has stalled: ");
      }
    }
  }

  private static void unchecked(StallWatch watch) {
    try {
      watch.await(new CompletableFuture<>());
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aFailureIsReportedAndFinal() {
    try (var store = open();
        var admin = admin(store, idleWatch())) {
      readiness.started();
      readiness.failed(new IllegalStateException("the disk is gone"));

      assertThat(ask(admin, "/ready")).isEqualTo("503 failed: the disk is gone\n");
      assertThat(ask(admin, "/health")).isEqualTo("503 failed: the disk is gone\n");
    }
  }
}

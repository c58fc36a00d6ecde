package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dunlin.model.Publication;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The retain tier over a real log and a real RocksDB. */
class RetainStoreTest {
  private final AtomicLong nowMillis = new AtomicLong(1000);
  private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();

  @TempDir Path directory;

  @AfterEach
  void close() {
    scheduler.shutdownNow();
  }

  private record Node(RangeStore store, RetainServer server, MeterRegistry meters, Path data) implements AutoCloseable {
    ReasonCode set(Publication message) throws Exception {
      var answer = new CompletableFuture<ReasonCode>();
      server.set(message, answer::complete);
      return answer.get(2, TimeUnit.MINUTES);
    }

    Map<String, String> find(String filter) throws Exception {
      Map<String, String> found = new TreeMap<>();
      Cursor cursor = null;
      do {
        Page page = server.find(Messages.TENANT, filter, cursor, 100, 1 << 20).get(2, TimeUnit.MINUTES);
        for (Publication message : page.messages()) {
          assertThat(found.put(message.topic(), Messages.payload(message))).isNull();
        }
        cursor = page.next();
      } while (cursor != null);
      return found;
    }

    @Override
    public void close() {
      server.close();
      store.close();
      // A store that is still stopping keeps its directory for a moment longer.
      await().atMost(Duration.ofMinutes(2)).until(() -> !Files.exists(data.resolve("lock.owner")));
    }
  }

  private Node start() {
    return start(List.of());
  }

  private Node start(List<byte[]> cuts) {
    var meters = new SimpleMeterRegistry();
    RangeStore store = RangeStore.open(StoreSettings.defaults(), directory, meters);
    var settings = new RetainSettings(Messages.atMost(10_000), Duration.ofMillis(5), 1000);
    InstantSource clock = () -> Instant.ofEpochMilli(nowMillis.get());
    RetainServer server =
        cuts.isEmpty()
            ? RetainServer.on(store, settings, meters, clock, scheduler)
            : new RetainServer(store::range, cuts, settings, meters, clock, scheduler);
    store.start(Duration.ofMinutes(2));
    server.start();
    return new Node(store, server, meters, directory);
  }

  @Test
  @Tag("MQTT-3.3.1-5")
  @Tag("MQTT-3.3.1-6")
  void acknowledgedMessagesSurviveARestart() throws Exception {
    try (Node node = start()) {
      var answers = new CompletableFuture<?>[600];
      for (int i = 0; i < 600; i++) {
        var answer = new CompletableFuture<ReasonCode>();
        answers[i] = answer;
        // The second half replaces and clears what the first half has set.
        String payload = i < 500 ? "payload " + i : "";
        node.server.set(Messages.message("site/" + i % 250 + "/state", payload), answer::complete);
      }
      CompletableFuture.allOf(answers).get(2, TimeUnit.MINUTES);
      for (var answer : answers) assertThat(answer.join()).isEqualTo(ReasonCode.SUCCESS);
      assertThat(node.set(Messages.expiring("site/x/state", "short", 1000, 2))).isEqualTo(ReasonCode.SUCCESS);
      assertThat(node.find("site/+/state")).hasSize(151).containsEntry("site/x/state", "short");
    }

    try (Node node = start()) {
      Map<String, String> found = node.find("#");
      assertThat(found).hasSize(151).containsEntry("site/x/state", "short");
      for (int i = 100; i < 250; i++) assertThat(found).containsEntry("site/" + i + "/state", "payload " + (i + 250));

      assertThat(node.set(Messages.message("site/100/state", "newer"))).isEqualTo(ReasonCode.SUCCESS);
      nowMillis.set(3000);
      assertThat(node.find("site/x/#")).isEmpty();
      await().atMost(Duration.ofMinutes(2)).until(() -> node.meters.get("dunlin.retain.expired").counter().count() == 1);
    }

    nowMillis.set(1000);
    try (Node node = start()) {
      assertThat(node.find("site/x/#")).as("removed, not only hidden").isEmpty();
      assertThat(node.find("site/100/state")).containsEntry("site/100/state", "newer");
      assertThat(node.find("#")).hasSize(150);
    }
  }

  @Test
  void severalRangesKeepTheirTopicsAcrossARestart() throws Exception {
    var cuts = List.of(TopicKeys.of(Messages.TENANT, "site/2"), TopicKeys.of(Messages.TENANT, "site/2/b"));
    try (Node node = start(cuts)) {
      for (String topic : List.of("site/1/a", "site/2/a", "site/2/b", "site/3/a"))
        assertThat(node.set(Messages.message(topic, topic))).isEqualTo(ReasonCode.SUCCESS);
    }

    try (Node node = start(cuts)) {
      assertThat(node.find("site/+/a")).containsOnlyKeys("site/1/a", "site/2/a", "site/3/a");
      assertThat(node.find("site/2/#")).containsOnlyKeys("site/2/a", "site/2/b");
      assertThat(node.server.count().join()).isEqualTo(4);
      assertThat(node.server.operations().delete(Messages.TENANT, "site/2", 10)).isEqualTo(2);
      assertThat(node.find("#")).containsOnlyKeys("site/1/a", "site/3/a");
    }
  }

  @Test
  void aMessageOfOneMegabyteIsKept() throws Exception {
    String payload = "x".repeat(1 << 20);
    try (Node node = start()) {
      assertThat(node.set(Messages.message("large", payload))).isEqualTo(ReasonCode.SUCCESS);
    }
    try (Node node = start()) {
      assertThat(node.find("large").get("large")).hasSize(payload.length());
    }
  }
}

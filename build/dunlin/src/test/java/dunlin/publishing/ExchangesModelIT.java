package dunlin.publishing;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.TestBroker;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random conversations of one client with the broker, in both directions and over many connections, each checked
 * against a model of what may come next; {@code -Ddunlin.test.seed=n} repeats the one with that seed.
 */
class ExchangesModelIT {
  private static final int CONVERSATIONS = 100;
  private static final int STEPS = 50;
  private static final int THREADS = 4;

  @Test
  @Tag("pitfall-10")
  @Tag("pitfall-43")
  @Tag("pitfall-47")
  @Tag("pitfall-49")
  @Tag("pitfall-50")
  @Tag("pitfall-51")
  @Tag("pitfall-52")
  @Tag("pitfall-53")
  @Tag("pitfall-54")
  @Tag("pitfall-55")
  @Tag("MQTT-2.2.1-4")
  @Tag("MQTT-3.3.4-9")
  @Tag("MQTT-4.3.2-1")
  @Tag("MQTT-4.3.3-1")
  @Tag("MQTT-4.4.0-1")
  @Tag("MQTT-4.6.0-1")
  void everyConversationStaysWithinTheModel(@TempDir Path data) throws Exception {
    Long only = Long.getLong("dunlin.test.seed");
    long first = System.nanoTime();
    List<Long> seeds =
        only != null ? List.of(only) : LongStream.range(first, first + CONVERSATIONS).boxed().toList();
    Queue<String> failures = new ConcurrentLinkedQueue<>();
    try (TestBroker broker = TestBroker.on(data, Map.of("dunlin.store.fsync", "false"));
        var threads = Executors.newFixedThreadPool(THREADS)) {
      List<Future<?>> running = seeds.stream().<Future<?>>map(seed -> threads.submit(() -> converse(broker, seed, failures))).toList();
      for (Future<?> each : running) each.get();
    }
    assertThat(failures).isEmpty();
  }

  private static void converse(TestBroker broker, long seed, Queue<String> failures) {
    try (ExchangesModel model = new ExchangesModel(broker, seed)) {
      try {
        for (int i = 0; i < STEPS; i++) model.step();
        model.finish();
      } catch (RuntimeException | AssertionError e) {
        failures.add("-Ddunlin.test.seed=" + seed + ": " + e.getMessage() + " behind " + model);
      }
    }
  }
}

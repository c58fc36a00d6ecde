package dunlin.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ctrl-C during a run, in a separate process. */
class InterruptTest {
  private static final int BY_SIGNAL = 130;

  @Test
  void ctrlCStopsCleanlyAndPrintsTheResult(@TempDir Path directory) throws Exception {
    Path json = directory.resolve("r.json");
    Path after = directory.resolve("after");
    try (var broker = new FaultyBroker();
        var bench =
            new BenchProcess(
                "pub", "-p", Integer.toString(broker.port()), "-c", "5", "-i", "1", "-t", "t/%i", "-q", "1", "-I", "10", "--json", json.toString(), "--after", "touch " + after)) {
      Patience.until(() -> broker.published.get() >= 200);

      bench.interrupt();

      assertThat(bench.rest()).contains("pub: ", ", ended early", "acknowledge, QoS 1", "connections: 5");
      assertThat(bench.status()).isEqualTo(BY_SIGNAL);
      assertThat(broker.connected.get()).isEqualTo(5);
      assertThat(broker.disconnected.get()).isEqualTo(5);
      assertThat(Files.readString(json)).contains("\"endedEarly\": true", "\"published-1\": " + broker.published.get());
      assertThat(after).exists();
    }
  }

  @Test
  void ctrlCWhileClientsConnectStopsToo() throws Exception {
    try (var broker = new FaultyBroker();
        var bench = new BenchProcess("conn", "-p", Integer.toString(broker.port()), "-c", "1000", "-R", "10")) {
      Patience.until(() -> broker.connected.get() >= 3);

      bench.interrupt();

      assertThat(bench.rest()).contains("conn: ", ", ended early", "connections: ");
      assertThat(bench.status()).isEqualTo(BY_SIGNAL);
      Patience.until(() -> broker.disconnected.get() == broker.connected.get()); // which reads the last packets a moment later
    }
  }
}

package dunlin.bench.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs the benchmark of the store with small sizes, only to show that it works. */
class StoreProcessTest {
  @TempDir Path directory;

  @Test
  void writesAreCountedWithTheirFsyncsAndFoundAfterARestart() {
    try (var process = process("raft=0")) {
      assertThat(process.answer("start")).isEmpty();
      assertThat(process.answer("leads")).isEqualTo(Map.of("leads", true));

      var written = process.answer("write window=8 seconds=60 rows=500 from=0 fsyncs=true");

      assertThat(written).containsEntry("writes", 500L).containsEntry("next", 500L).containsEntry("full", 0L);
      assertThat(number(written, "fsyncs")).isBetween(1.0, 500.0);
      assertThat(number(written, "p50_us")).isPositive().isLessThanOrEqualTo(number(written, "p99_us"));
      assertThat(number(written, "p99_us")).isLessThanOrEqualTo(number(written, "p999_us"));
      assertThat(number(written, "writes_per_second")).isPositive();
    }
    try (var process = process("raft=0")) {
      process.answer("start");
      assertThat(process.answer("first from=500 read=499")).containsKeys("write_ms", "read_ms");
      assertThat(process.answer("first from=501 read=700")).containsKey("failed");
      assertThat(process.answer("usage")).containsKeys("heap_bytes", "threads", "rss_bytes");
    }
  }

  @Test
  void anotherProcessWritesToTheLeaderAndASecondNodeFetchesTheRows() {
    var ports = ports(4);
    try (var leader = process("raft=" + ports.get(0), "service=" + ports.get(1), "entries-kept=100");
        var joining =
            new StoreProcess(
                Arguments.parse(List.of("data=" + directory.resolve("joining"), "raft=" + ports.get(2), "service=" + ports.get(3))));
        var caller = process()) {
      assertThat(leader.answer("start peers=" + leader.places())).isEmpty();

      var written = caller.answer("remote peers=" + leader.places() + " window=4 seconds=60 rows=200 from=0");
      assertThat(written).containsEntry("writes", 200L);
      joining.answer("start ranges=0");
      assertThat(joining.answer("join peers=" + leader.places())).isEmpty();
      assertThat(leader.answer("add place=" + joining.places() + " seconds=60")).isEmpty();

      assertThat(number(joining.answer("fetched"), "bytes")).isGreaterThan(200 * Rows.ROW_BYTES);
    }
  }

  @Test
  void peersWithoutTheStoreTakeTheSameRowsAndTheRestOfALastEntry() {
    var ports = ports(3);
    try (var bare = process("raft=" + ports.get(0) + "," + ports.get(1) + "," + ports.get(2), "bare=10")) {
      assertThat(bare.answer("start")).isEmpty();
      await().atMost(Duration.ofMinutes(2)).until(() -> bare.answer("leads").equals(Map.of("leads", true)));

      var written = bare.answer("write window=64 seconds=60 rows=1003 from=0 fsyncs=true");

      assertThat(written).containsEntry("writes", 1003L).containsEntry("next", 1003L);
      assertThat(number(written, "fsyncs")).isPositive();
    }
  }

  @Test
  void theDiskIsProbedByItself() {
    try (var process = process()) {
      for (boolean ahead : new boolean[] {false, true})
        assertThat(number(process.answer("probe block=4096 ahead=" + ahead + " seconds=0.05"), "fsyncs_per_second")).isPositive();
    }
  }

  @Test
  void whatCannotBeDoneIsAnsweredSo() {
    try (var process = process()) {
      assertThat(process.answer("dance").get("failed")).asString().contains("dance");
      assertThat(process.answer("write window=1").get("failed")).asString().contains("leads");
      assertThat(Json.line(process.answer("write what"))).startsWith("{\"failed\": \"");
    }
  }

  @Test
  void aLineOfJsonHasWhatItIsGiven() {
    var line = Json.line(Map.of("a\"\\\n", Map.of("b", 1.5)));

    assertThat(line).isEqualTo("{\"a\\\"\\\\ \": {\"b\": 1.500}}");
    assertThat(Json.line(Map.of("none", Double.NaN))).isEqualTo("{\"none\": null}");
  }

  private StoreProcess process(String... arguments) {
    var all = new ArrayList<>(List.of(arguments));
    all.add("data=" + directory);
    return new StoreProcess(Arguments.parse(all));
  }

  private static double number(Map<String, Object> answer, String name) {
    return answer.get(name) instanceof Number number ? number.doubleValue() : Double.NaN;
  }

  /** Distinct free ports. */
  private static List<Integer> ports(int count) {
    var sockets = new ArrayList<ServerSocket>();
    try {
      for (int i = 0; i < count; i++) sockets.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
      var ports = sockets.stream().map(ServerSocket::getLocalPort).toList();
      for (var socket : sockets) socket.close();
      return ports;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}

package dunlin.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Runs the commands as users type them. */
class CommandsTest {
  private static String port(FaultyBroker broker) {
    return Integer.toString(broker.port());
  }

  @Test
  void pubAndSubOfTwoProcessesFindLoss() throws Exception {
    try (var broker = new FaultyBroker()) {
      broker.fault = n -> n == 10 || n == 11 ? FaultyBroker.Fault.DROP : FaultyBroker.Fault.NONE;
      var sub = CompletableFuture.supplyAsync(() -> Bench.run("sub", "-p", port(broker), "-c", "1", "-t", "bench/#", "-q", "1", "--duration", "8s", "--expect", "lost=0"));
      Patience.until(() -> broker.hasSubscribers());

      Bench pub = Bench.run("pub", "-h", "127.0.0.1", "-p", port(broker), "-c", "2", "-i", "1", "-t", "bench/%i", "-q", "1", "-s", "64", "-I", "10", "-L", "100");

      assertThat(pub.status()).isZero();
      assertThat(pub.out()).contains("acknowledge, QoS 1", "published");
      assertThat(broker.published.get()).isEqualTo(100);
      Bench received = sub.get(120, TimeUnit.SECONDS);
      assertThat(received.status()).isEqualTo(1);
      assertThat(received.out()).containsPattern("received +0 +98 +0").containsPattern("lost +0 +2 +0").contains("NOT MET  lost: 0 (was 2)");
    }
  }

  @Test
  void resultsGoToFiles(@TempDir Path directory) throws Exception {
    try (var broker = new FaultyBroker()) {
      Path json = directory.resolve("r.json");
      Path csv = directory.resolve("r.csv");
      Path markdown = directory.resolve("r.md");

      Bench conn =
          Bench.run("conn", "-p", port(broker), "-c", "20", "-R", "1000", "-V", "3.1.1", "--duration", "100ms", "--json", json.toString(), "--csv", csv.toString(), "--markdown", markdown.toString());

      assertThat(conn.status()).isZero();
      assertThat(Files.readString(json)).contains("\"format\": 1", "\"connected\": 20", "\"histograms\"");
      assertThat(Files.readString(csv)).startsWith("name,count,min_us").contains("\nconnect,20,");
      assertThat(Files.readString(markdown)).contains("| connect | 20 |");
    }
  }

  @Test
  void aScenarioEndsWithItsExpectations(@TempDir Path directory) throws Exception {
    Path file =
        Files.writeString(
            directory.resolve("s.yaml"),
            """
            variables: {n: 3}
            pools:
              all:
                clients: ${n}
                subscribe: {filter: a/%i, qos: 2}
                publish: {topic: a/%i, qos: 2, rate: 100/s, size: 20}
            phases:
              - connect: all
              - publish: {pool: all, messages: 30}
              - drain: 30s
            expect: {lost: 0, received: ">= 30"}
            """);
    try (var broker = new FaultyBroker()) {
      Bench good = Bench.run("run", file.toString(), "-p", port(broker), "--quiet");
      Bench tooHigh = Bench.run("run", file.toString(), "-p", port(broker), "--set", "n=2", "--expect", "received=31");

      assertThat(good.status()).isZero();
      assertThat(good.out()).contains("offers 300 messages/s, which are 300 deliveries/s", "met   lost: 0 (was 0)");
      assertThat(tooHigh.status()).isEqualTo(1);
    }
  }

  @Test
  void anErrorNamesAnUnreachableBroker() {
    int port;
    try (var broker = new FaultyBroker()) {
      port = broker.port();
    }

    Bench outcome = Bench.run("conn", "-p", Integer.toString(port), "-c", "2", "--duration", "10ms");

    assertThat(outcome.status()).isEqualTo(1);
    assertThat(outcome.err()).contains("no client was connected; is there a broker at 127.0.0.1:" + port);
    assertThat(outcome.out()).contains("network: connection refused: 2");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "pub|Missing required option: '--topic",
        "nonsense|nonsense",
        "pub -t a -s 3|a payload of 3 bytes has no room",
        "pub -t a -m hello|the payload has no %h",
        "pub -t a --rate 5|the rate 5 has no unit; write 5/s",
        "pub -t a --closed 5|a closed loop waits for acknowledgements",
        "pub -t a/#|\"a/#\" is no topic to publish to",
        "conn -V 6|-V is 3.1.1 or 5, and not 6",
        "conn -c 0|the pool conn has no clients",
        "conn -h no.such.host.invalid --duration 1s|the host no.such.host.invalid is not known",
        "conn --ca /no/such/file --duration 1s|/no/such/file cannot be read",
        "conn --cert a.pem|a client certificate and its key come together",
        "conn --expect speed=1|nothing is called \"speed\"",
        "conn --broker-pid 999999999 --duration 1s|there is no process 999999999",
        "run no-such.yaml|no-such.yaml: there is no such file",
        "run ramp --set colour=red|the scenario has no variable \"colour\"",
      })
  void aWrongCommandGetsAnErrorOfOneSentence(String line, String message) {
    Bench outcome = Bench.run(line.split(" ", -1));

    assertThat(outcome.status()).isEqualTo(2);
    assertThat(outcome.err()).contains(message).startsWith("bench: ");
    assertThat(outcome.err().lines()).hasSizeLessThanOrEqualTo(2);
  }

  @Test
  void compareShowsTwoResultsSideBySide(@TempDir Path directory) throws Exception {
    Path first = directory.resolve("1.json");
    Path second = directory.resolve("2.json");
    Path page = directory.resolve("page.html");
    Path both = directory.resolve("both.html");
    try (var broker = new FaultyBroker()) {
      for (Path json : new Path[] {first, second}) {
        Bench pub = Bench.run("pub", "-p", port(broker), "-c", "2", "-i", "0", "-t", "</script>%i", "-q", "2", "-I", "5", "-L", "50", "--json", json.toString(), "--html", page.toString());
        assertThat(pub.status()).isZero();
      }
    }

    Bench compared = Bench.run("compare", first.toString(), second.toString(), "--html", both.toString());

    assertThat(compared.status()).isZero();
    assertThat(compared.out()).contains("acknowledge-2 p99", "published", "+0.0 %");
    assertThat(Files.readString(page)).contains("new uPlot(", "\"acknowledge-2\"").doesNotContain("@@", "src=", "href=");
    assertThat(Files.readString(both)).contains("\"distributions\"").doesNotContain("@@");
    assertThat(Bench.run("compare", page.toString(), second.toString()).err()).contains("page.html is no");
    assertThat(Bench.run("compare", directory.resolve("none.json").toString(), second.toString()).err()).contains("none.json cannot be read");
  }

  @Test
  void doctorExitsWithItsStatus() {
    assertThat(Bench.run("doctor", "-c", "10").out()).contains("heap");
    assertThat(Bench.run("doctor", "-c", "100000000").status()).isEqualTo(1);
    assertThat(Bench.run("doctor", "-c", "0").err()).contains("there are no connections to look at");
  }

  @Test
  void helpAndScenariosArePrinted() {
    assertThat(Bench.run("pub", "--help").out()).contains("--topic", "-I", "--ifaddr", "-L");
    assertThat(Bench.run("scenarios").out()).contains("reconnect-storm", "offline-queues");
    assertThat(Bench.run("scenarios", "ramp").out()).contains("connect-rate: ${rate}");
  }
}

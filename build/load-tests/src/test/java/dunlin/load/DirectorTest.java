package dunlin.load;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.load.FaultyBroker.Fault;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs a director and workers in separate processes. */
class DirectorTest {
  private static final String SCENARIO =
      """
      name: two by two
      variables: {messages: 200}
      broker: {host: "127.0.0.1", port: "${port}"}
      pools:
        sub: {clients: 2, client-id: sub-%i, subscribe: {filter: t/#, qos: 1}}
        pub: {clients: 2, client-id: pub-%i, publish: {topic: t/%i, qos: 1, rate: 100/s, size: 32}}
      phases:
        - connect: [sub, pub]
        - publish: {pool: pub, messages: "${messages}"}
        - drain: 1s
      expect: {lost: 0}
      """;

  private static BenchProcess worker(String... more) throws Exception {
    var arguments = new java.util.ArrayList<>(java.util.List.of("worker", "--listen", "127.0.0.1:0"));
    arguments.addAll(java.util.List.of(more));
    return new BenchProcess(arguments.toArray(String[]::new));
  }

  /** The address of a worker, once it waits. */
  private static String address(BenchProcess worker) throws Exception {
    String line = worker.lineWith("Waits for a director on ");
    return line.substring(line.lastIndexOf(' ') + 1);
  }

  @Test
  void aKilledWorkerIsReportedAndTheOthersGoOn(@TempDir Path directory) throws Exception {
    Path scenario = Files.writeString(directory.resolve("s.yaml"), SCENARIO);
    Path json = directory.resolve("r.json");
    try (var broker = new FaultyBroker();
        var first = worker();
        var second = worker()) {
      String one = address(first);
      String two = address(second);
      var director =
          CompletableFuture.supplyAsync(
              () -> Bench.run("director", scenario.toString(), "-w", one + "," + two, "-p", Integer.toString(broker.port()), "--set", "messages=600", "--json", json.toString()));
      Patience.until(() -> broker.published.get() >= 100);

      second.kill();

      Bench outcome = director.get(120, TimeUnit.SECONDS);
      assertThat(outcome.status()).as(outcome.toString()).isEqualTo(1);
      assertThat(outcome.out()).contains("MISSING: worker " + two + " (share 2 of 2: 1 of sub, 1 of pub) is not reachable: ");
      assertThat(outcome.out()).containsPattern("published +0 +300 +0").containsPattern("lost +0 +0 +0").contains("met   lost: 0 (was 0)", "1 of 2 workers.");
      assertThat(Files.readString(json)).contains("\"missing\": [\"worker " + two);
      // The other worker waits for the next run.
      Bench alone = Bench.run("director", scenario.toString(), "-w", one, "-p", Integer.toString(broker.port()), "--quiet");
      assertThat(alone.status()).as(alone.toString()).isZero();
    }
  }

  @Test
  void lossesAreFoundOverTls(@TempDir Path directory) throws Exception {
    Path scenario = Files.writeString(directory.resolve("s.yaml"), SCENARIO);
    Certificates own = Certificates.make(directory, "own");
    Certificates other = Certificates.make(directory, "other");
    String[] tls = {"--ca", own.certificate().toString(), "--cert", own.certificate().toString(), "--key", own.key().toString()};
    try (var broker = new FaultyBroker();
        var first = worker(tls);
        var second = worker(tls)) {
      broker.fault = n -> n % 100 == 50 ? Fault.DROP : Fault.NONE;
      String workers = address(first) + "," + address(second);
      String port = Integer.toString(broker.port());

      Bench good = Bench.run("director", scenario.toString(), "-w", workers, "-p", port, "--ca", tls[1], "--cert", tls[3], "--key", tls[5]);
      Bench plain = Bench.run("director", scenario.toString(), "-w", workers, "-p", port);
      Bench stranger =
          Bench.run("director", scenario.toString(), "-w", workers, "-p", port, "--ca", tls[1], "--cert", other.certificate().toString(), "--key", other.key().toString());
      Bench strangers =
          Bench.run("director", scenario.toString(), "-w", workers, "-p", port, "--ca", other.certificate().toString(), "--cert", tls[3], "--key", tls[5]);
      Bench unfit = Bench.run("director", scenario.toString(), "-w", workers, "-p", port, "--ca", tls[1], "--cert", tls[3], "--key", other.key().toString());

      assertThat(good.status()).as(good.toString()).isEqualTo(1);
      assertThat(good.out()).contains("NOT MET  lost: 0 (was 4)", "2 of 2 workers.");
      refused(plain, "worker 127.0.0.1:");
      refused(stranger, "worker 127.0.0.1:");
      refused(strangers, "and the director do not trust each other: ");
      refused(unfit, "worker 127.0.0.1:");
    }
  }

  private static void refused(Bench outcome, String message) {
    assertThat(outcome.status()).as(outcome.toString()).isEqualTo(2);
    assertThat(outcome.err()).startsWith("bench: ").contains(message);
    assertThat(outcome.err().lines()).hasSize(1);
  }

  @Test
  void ctrlCOnTheDirectorStopsAllWorkersCleanly(@TempDir Path directory) throws Exception {
    Path scenario = Files.writeString(directory.resolve("s.yaml"), SCENARIO);
    try (var broker = new FaultyBroker();
        var first = worker();
        var second = worker()) {
      String workers = address(first) + "," + address(second);
      try (var director = new BenchProcess("director", scenario.toString(), "-w", workers, "-p", Integer.toString(broker.port()), "--set", "messages=1000000")) {
        Patience.until(() -> broker.published.get() >= 100);

        director.interrupt();

        String said = director.rest();
        assertThat(said).contains("two by two: ", ", ended early", "2 of 2 workers.");
        first.lineWith("Has ended two by two");
        second.lineWith("Has ended two by two");
      }
    }
  }

  @Test
  void hooksRunBeforeAndAfter(@TempDir Path directory) throws Exception {
    Path scenario = Files.writeString(directory.resolve("s.yaml"), SCENARIO);
    Path before = directory.resolve("before");
    Path after = directory.resolve("after");
    try (var broker = new FaultyBroker()) {
      String port = Integer.toString(broker.port());

      Bench good = Bench.run("run", scenario.toString(), "-p", port, "--set", "messages=2", "--before", "echo 1 > " + before, "--after", "echo 2 > " + after);
      Bench bad = Bench.run("run", scenario.toString(), "-p", port, "--before", "exit 3", "--after", "rm " + before);
      Bench late = Bench.run("run", scenario.toString(), "-p", port, "--set", "messages=2", "--after", "exit 4");

      assertThat(good.status()).as(good.toString()).isZero();
      assertThat(before).hasContent("1");
      assertThat(after).hasContent("2");
      refused(bad, "the command before the run (exit 3) ended with status 3");
      assertThat(late.status()).isEqualTo(2);
      assertThat(late.err()).contains("the command after the run (exit 4) ended with status 4");
    }
  }

  @Test
  void aWrongSetupGetsAnErrorOfOneSentence(@TempDir Path directory) throws Exception {
    String scenario = Files.writeString(directory.resolve("s.yaml"), SCENARIO).toString();
    int closedPort;
    try (var broker = new FaultyBroker()) {
      closedPort = broker.port();
      refused(Bench.run("director", scenario, "-w", "127.0.0.1:" + broker.port()), "worker 127.0.0.1:%d takes no message for 10 s".formatted(broker.port())); // this port is not a worker's
    }
    refused(Bench.run("director", scenario, "-w", "127.0.0.1:" + closedPort), "worker 127.0.0.1:%d is not reachable: ".formatted(closedPort));
    refused(Bench.run("director", scenario, "-w", "192.0.2.1:1"), "192.0.2.1 is another machine: give --ca, --cert and --key for TLS, or ask for --plain-text");
    refused(Bench.run("director", scenario, "-w", "127.0.0.1,127.0.0.1:7883"), "a worker is named twice");
    refused(Bench.run("director", scenario, "-w", "127.0.0.1", "--ca", "x"), "--ca, --cert and --key come together");
    refused(Bench.run("director", scenario, "-w", "127.0.0.1", "--ca", "/no/file", "--cert", "/no/file", "--key", "/no/file"), "/no/file cannot be read");
    refused(Bench.run("director", directory.resolve("none.yaml").toString(), "-w", "127.0.0.1"), "there is no such file");
    refused(Bench.run("worker", "--listen", "0.0.0.0"), "0.0.0.0 is another machine: ");
    refused(Bench.run("worker", "--listen", "no.such.host.invalid"), "the host no.such.host.invalid is not known");
  }
}

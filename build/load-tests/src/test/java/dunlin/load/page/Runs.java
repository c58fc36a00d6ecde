package dunlin.load.page;

import dunlin.load.BenchProcess;
import dunlin.load.FaultyBroker;
import dunlin.load.FaultyBroker.Fault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Runs with faults, in separate processes. */
final class Runs {
  private static final String SCENARIO =
      """
      name: two by two
      variables: {lasting: 4s}
      broker: {host: "127.0.0.1", port: "${port}"}
      pools:
        sub: {clients: 2, client-id: sub-%i, subscribe: {filter: t/#, qos: 1}}
        pub: {clients: 4, client-id: pub-%i, publish: {topic: t/%i, qos: 1, rate: 20/s, size: 32}}
      phases:
        - connect: sub
        - connect: pub
        - publish: pub
          for: ${lasting}
        - drain: 1s
      expect: {lost: 0}
      """;

  private Runs() {}

  static String scenario(Path directory) throws IOException {
    return Files.writeString(directory.resolve("s.yaml"), SCENARIO).toString();
  }

  /** A broker that refuses the second publisher, and drops every hundredth message. */
  static FaultyBroker broker() {
    var broker = new FaultyBroker();
    broker.refusesConnect = n -> n == 3;
    broker.fault = n -> n % 100 == 50 ? Fault.DROP : Fault.NONE;
    return broker;
  }

  static BenchProcess worker() throws IOException {
    return new BenchProcess("worker", "--listen", "127.0.0.1:0");
  }

  /** The address of a worker. */
  static String address(BenchProcess worker) throws IOException {
    return lastWord(worker.lineWith("Waits for a director on "));
  }

  static String pageOf(BenchProcess run) throws IOException {
    return lastWord(run.lineWith("The page is at "));
  }

  private static String lastWord(@Nullable String line) {
    if (line == null) throw new AssertionError("no line");
    return line.substring(line.lastIndexOf(' ') + 1);
  }
}

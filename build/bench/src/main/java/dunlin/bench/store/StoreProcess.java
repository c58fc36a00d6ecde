package dunlin.bench.store;

import dunlin.bench.store.Rows.Row;
import dunlin.store.Completion;
import dunlin.store.StoreException;
import dunlin.store.remote.RangeClient;
import dunlin.store.remote.RangeMap;
import dunlin.store.remote.RemoteRange;
import dunlin.store.serve.RangeLocation;
import dunlin.store.settings.RangeClientSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A process of the benchmark: one or several store nodes, or only a caller. It reads requests from standard input, one
 * per line, and answers each by a line of JSON on standard output, in order.
 *
 * <pre>
 *   arguments: data=DIRECTORY raft=PORT,... service=PORT,... [fsync=] [commands-per-entry=] [entries-in-flight=] [entries-kept=]
 *              [install-rate=]; a raft port of 0 is a node alone; without raft there is no node
 *              data=DIRECTORY raft=PORT,... bare=ROWS: Ratis and RocksDB alone, so many rows an entry; it only starts, leads and writes
 *   start [peers=PLACE,...] [ranges=1]    leads    join peers=PLACE,...    add place=PLACE seconds=    remove place=PLACE
 *   write window= seconds= from= [rows=] [fsyncs=true]    remote peers=PLACE,... window= seconds= from=
 *   first from= read=    usage    fetched    flush    probe block= ahead= seconds=    copy from= to=    stop
 * </pre>
 */
public final class StoreProcess implements AutoCloseable {
  /*
   * Owner: main's thread.
   * Failure: a failed request is answered with its error, and the process goes on. It ends with its standard input.
   */
  private static final Logger log = LoggerFactory.getLogger(StoreProcess.class);
  private static final long ANSWER_SECONDS = 60;

  private static final RemoteRange.Rules<Row> RULES =
      new RemoteRange.Rules<>() {
        @Override
        public boolean belongs(Row row, RangeLocation now) {
          return true;
        }

        @Override
        public boolean idempotent(Row row) {
          return true;
        }
      };

  private final List<StoreNode> nodes = new ArrayList<>();
  private final Path directory;
  private final @Nullable BarePeers bare;

  StoreProcess(Arguments arguments) {
    directory = arguments.path("data");
    var raft = arguments.list("raft");
    long rowsPerEntry = arguments.number("bare", 0);
    bare = rowsPerEntry == 0 ? null : new BarePeers(directory, raft.stream().map(Integer::valueOf).toList(), (int) rowsPerEntry);
    if (bare != null) return;
    var service = arguments.list("service");
    for (int i = 0; i < raft.size(); i++) {
      int port = Integer.parseInt(raft.get(i));
      nodes.add(new StoreNode(directory.resolve("node-" + i), port, port == 0 ? 0 : Integer.parseInt(service.get(i)), arguments));
    }
  }

  public static void main(String[] args) throws IOException {
    var answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // for output of libraries
    try (var process = new StoreProcess(Arguments.parse(List.of(args)));
        var requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      answers.println(Json.line(Map.of("places", process.places())));
      for (String request; (request = requests.readLine()) != null; ) answers.println(Json.line(process.answer(request)));
    }
  }

  /** Comma-separated. */
  String places() {
    return String.join(",", nodes.stream().map(StoreNode::identity).toList());
  }

  Map<String, Object> answer(String request) {
    var words = Arrays.asList(request.strip().split(" +"));
    try {
      return answer(words.getFirst(), Arguments.parse(words.subList(1, words.size())));
    } catch (Exception e) { // any failure is reported to the caller
      var failure = e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e;
      log.debug("'{}' has failed", request, e);
      return Map.of("failed", String.valueOf(failure));
    }
  }

  private Map<String, Object> answer(String what, Arguments with) throws Exception {
    switch (what) {
      case "start" -> each(node -> node.start(Place.parseAll(with.list("peers")), (int) with.number("ranges", 1)));
      case "join" -> nodes.getFirst().join(Place.parseAll(with.list("peers")));
      case "add" -> leader().add(Place.parse(with.text("place")), with.seconds("seconds"));
      case "remove" -> leader().remove(Place.parse(with.text("place")));
      case "flush" -> nodes.forEach(node -> node.replica(0).flush());
      case "stop" -> close();
      case "leads" -> {
        return Map.of("leads", bare == null ? nodes.stream().anyMatch(StoreNode::leads) : bare.leads());
      }
      case "write" -> {
        return write(with);
      }
      case "remote" -> {
        return remote(with);
      }
      case "first" -> {
        return first(with);
      }
      case "usage" -> {
        return Usage.now();
      }
      case "fetched" -> {
        return nodes.getFirst().fetched();
      }
      case "probe" -> {
        boolean ahead = Boolean.parseBoolean(with.text("ahead"));
        return FsyncProbe.append(directory, (int) with.number("block"), ahead, with.seconds("seconds"));
      }
      case "copy" -> {
        return FsyncProbe.copy(with.path("from"), with.path("to"));
      }
      default -> throw new IllegalArgumentException("nobody knows how to " + what);
    }
    return Map.of();
  }

  /** A step for one node. */
  private interface Step {
    void take(StoreNode node);
  }

  /** Runs a step on all nodes in parallel, because no peer can become leader before a quorum has started. */
  private void each(Step step) throws InterruptedException, ExecutionException, TimeoutException {
    var steps =
        nodes.stream().map(node -> CompletableFuture.runAsync(() -> step.take(node), task -> Thread.ofPlatform().start(task))).toList();
    CompletableFuture.allOf(steps.toArray(CompletableFuture<?>[]::new)).get(2 * ANSWER_SECONDS, TimeUnit.SECONDS);
  }

  private StoreNode leader() {
    return nodes.stream().filter(StoreNode::leads).findFirst().orElseThrow(() -> new StoreException("no node of this process leads"));
  }

  private Map<String, Object> write(Arguments with) throws InterruptedException {
    if (bare != null) return write(with, bare::propose, bare.leaderDirectory());
    var leader = leader();
    return write(with, leader.replica(0)::propose, leader.directory());
  }

  private static Map<String, Object> write(Arguments with, Load.Target target, Path leader) throws InterruptedException {
    var load = new Load(target, (int) with.number("window"));
    long rows = with.number("rows", Long.MAX_VALUE);
    if (!Boolean.parseBoolean(with.text("fsyncs", "false"))) return load.run(with.number("from"), rows, with.seconds("seconds"));
    try (var fsyncs = new Fsyncs(leader)) {
      var result = new LinkedHashMap<>(load.run(with.number("from"), rows, with.seconds("seconds")));
      result.putAll(fsyncs.stop());
      return result;
    }
  }

  private static Map<String, Object> remote(Arguments with) throws InterruptedException {
    var places = Place.parseAll(with.list("peers"));
    var map =
        new RangeMap() {
          @Override
          public Optional<RangeLocation> find(UUID range) {
            return Optional.of(Place.location(range, places));
          }

          @Override
          public void learned(RangeLocation now) {
            // The leader stays where it is.
          }

          @Override
          public void doubted(UUID range) {
            // There is no other place to ask.
          }
        };
    try (var client =
        new RangeClient(
            "bench", RangeClientSettings.defaults(), map, null, new SimpleMeterRegistry(), System::nanoTime, new Random(1))) {
      var range = client.range(Rows.range(0).uuid(), Rows.ROWS, Rows.RESULTS, RULES);
      var load = new Load(range::propose, (int) with.number("window"));
      return load.run(with.number("from"), with.number("rows", Long.MAX_VALUE), with.seconds("seconds"));
    }
  }

  /** Makes one write and one read, and waits for each. */
  private Map<String, Object> first(Arguments with) throws InterruptedException, ExecutionException, TimeoutException {
    var replica = leader().replica(0);
    long begun = System.nanoTime();
    var written = new CompletableFuture<Boolean>();
    boolean taken =
        replica.propose(
            Rows.row(with.number("from")),
            new Completion<>() {
              @Override
              public void done(Boolean result) {
                written.complete(result);
              }

              @Override
              public void failed(StoreException failure) {
                written.completeExceptionally(failure);
              }
            });
    if (!taken) throw new StoreException("the queue is full");
    written.get(ANSWER_SECONDS, TimeUnit.SECONDS);
    long read = System.nanoTime();
    long number = with.number("read");
    byte[] value =
        CompletableFuture.supplyAsync(() -> Optional.ofNullable(replica.reader().get(Rows.key(number))), replica.readers())
            .get(ANSWER_SECONDS, TimeUnit.SECONDS)
            .orElseThrow(() -> new StoreException("row " + number + " is not there"));
    if (!Arrays.equals(value, Rows.row(number).value())) throw new StoreException("row " + number + " is another one");
    return Map.of("write_ms", (read - begun) / 1e6, "read_ms", (System.nanoTime() - read) / 1e6);
  }

  @Override
  public void close() {
    nodes.forEach(StoreNode::close);
    nodes.clear();
    if (bare != null) bare.close();
  }
}

package dunlin.chaos;

import dunlin.chaos.history.Row;
import dunlin.store.Member;
import dunlin.store.RangeReader;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.store.remote.RangeService;
import dunlin.store.remote.RemoteSnapshots;
import dunlin.store.serve.LocalRange;
import dunlin.store.serve.LocalRanges;
import dunlin.store.serve.RangeLocation;
import dunlin.store.serve.ServedReplica;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.PeerSecurity;
import dunlin.store.settings.RangeServiceSettings;
import dunlin.store.settings.StoreSettings;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The process that faults are applied to: one replica of the ledger and its store service. It is controlled by lines on
 * standard input, and answers on standard output.
 *
 * <pre>
 *   node: 0 ok NODE/HOST/PORT/PORT      who it is, as soon as its data directory is open
 *   NUMBER start PLACE...               begins with these replicas, or goes on with what is on disk; without any, with no range
 *   NUMBER map EPOCH PLACE...           where the range is from now on
 *   NUMBER status | last | dump FILE    how the replica does, the last place of its rows, all of its rows
 *   NUMBER join PLACE...                makes a replica, which the leader is to take in
 *   NUMBER add PLACE | remove NODE      of the leader
 *   NUMBER stop
 *   node: NUMBER ok ... | NUMBER failed REASON
 * </pre>
 */
public final class LedgerNode implements LocalRanges {
  /*
   * Owner: main reads the lines; each is answered by a virtual thread of its own, so that one that waits does not block
   * others.
   * Failure: a failed range ends the process with FATAL, as in a node of the product. So does the end of standard
   * input, since the harness has ended.
   */
  /** The exit code when the range has failed. */
  static final int FATAL = 3;

  private static final Logger log = LoggerFactory.getLogger(LedgerNode.class);
  private static final Duration DEADLINE = Duration.ofSeconds(60);
  private static final int ORPHANED = 4;

  private final RangeStore store;
  private final Place self;
  private final Ledger ledger = new Ledger();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final PrintStream answers;

  private volatile RangeLocation location = Place.location(0, List.of());
  private volatile @Nullable Replica<Ledger.Write, Ledger.Answer> replica;
  private volatile @Nullable RangeService service;

  private LedgerNode(NodeOptions options, PrintStream answers) {
    this.answers = answers;
    store = RangeStore.open(settings(options), options.directory(), meters);
    self = new Place(store.member().node(), options.host(), options.raftPort(), options.servicePort());
    store.onFatal(
        failure -> {
          log.error("This node cannot go on and stops", failure);
          Runtime.getRuntime().halt(FATAL);
        });
    store.fetchSnapshotsBy(new RemoteSnapshots(node -> location.peer(node), null));
  }

  public static void main(String[] args) throws IOException {
    var answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // for output of libraries
    var node = new LedgerNode(NodeOptions.parse(List.of(args)), answers);
    node.answer("0 ok " + node.self);
    try (var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line; (line = lines.readLine()) != null; ) {
        String request = line;
        Thread.startVirtualThread(() -> node.handle(request));
      }
    }
    Runtime.getRuntime().halt(ORPHANED);
  }

  private static StoreSettings settings(NodeOptions options) {
    var usual = ClusterSettings.at(options.raftPort(), options.host(), options.host(), new PeerSecurity.Plaintext(true));
    var cluster =
        new ClusterSettings(
            usual.port(), usual.host(), usual.bindAddress(), usual.security(), options.electionTimeout(), options.logCut().entriesKept(),
            usual.installBytesPerSecond(), usual.installDeadline());
    var d = StoreSettings.defaults();
    return new StoreSettings(
        options.fsync(),
        cluster,
        d.memoryBytes(),
        new StoreSettings.Disk(options.diskFreeMin(), d.disk().criticalMin()),
        d.queue(),
        new StoreSettings.Entries(d.entries().inFlight(), d.entries().commandsMax(), d.entries().fullAt(), d.entries().fullAt()),
        new StoreSettings.Snapshots(options.logCut().snapshotEntries(), options.logCut().snapshotBytes(), d.snapshots().age()),
        d.reads());
  }

  private synchronized void answer(String line) {
    answers.println(line);
  }

  private void handle(String line) {
    var words = line.split(" ", 3);
    String number = words[0];
    try {
      answer(number + " ok " + done(words[1], words.length > 2 ? words[2] : ""));
      if (words[1].equals("stop")) Runtime.getRuntime().halt(0);
    } catch (Exception e) { // any failure must be reported to the harness
      log.warn("'{}' has failed", line, e);
      answer(number + " failed " + String.valueOf(e).replaceAll("\\s+", " "));
    }
  }

  private String done(String what, String rest) throws Exception {
    switch (what) {
      case "start" -> start(Place.parseAll(rest));
      case "map" -> {
        var epochAndPlaces = rest.split(" ", 2);
        location = Place.location(Long.parseLong(epochAndPlaces[0]), Place.parseAll(epochAndPlaces[1]));
      }
      case "join" -> replica = store.createReplica(Ledger.RANGE, members(rest), true, Ledger.WRITES, ledger, DEADLINE);
      case "add" -> replica().add(Place.parse(rest).member(), DEADLINE);
      case "remove" -> replica().remove(UUID.fromString(rest), DEADLINE);
      case "stop" -> stop();
      case "status" -> {
        return status();
      }
      case "last" -> {
        return String.valueOf(read(Ledger::last));
      }
      case "dump" -> {
        return read(reader -> dump(reader, Path.of(rest)));
      }
      default -> throw new IllegalArgumentException("nobody knows how to " + what);
    }
    return "";
  }

  private void start(List<Place> peers) {
    if (!peers.isEmpty())
      replica = store.range(Ledger.RANGE, peers.stream().map(Place::member).toList(), Ledger.WRITES, ledger);
    store.start(DEADLINE);
    var address = new InetSocketAddress(self.host(), self.servicePort());
    var d = RangeServiceSettings.defaults();
    // In its own network namespace no other host can reach it.
    var settings =
        new RangeServiceSettings(
            d.streamsMax(), d.requestsMax(), d.bytesMax(), d.nodeBytesMax(), d.frameBytesMax(), d.closeTimeout(), true);
    service = RangeService.start(address, self.node(), this, store, settings, null, meters, System::nanoTime);
  }

  private void stop() {
    var serving = service;
    if (serving != null) serving.close();
    store.close();
  }

  private static List<Member> members(String places) {
    return Place.parseAll(places).stream().map(Place::member).toList();
  }

  @Override
  public Optional<LocalRange> find(UUID range) {
    var here = replica;
    return here == null || !range.equals(Ledger.RANGE.uuid())
        ? Optional.empty()
        : Optional.of(new ServedReplica<>(here, Ledger.WRITES, Ledger.ANSWERS, () -> location));
  }

  private Replica<Ledger.Write, Ledger.Answer> replica() {
    var here = replica;
    if (here == null) throw new StoreException("this node has no replica");
    return here;
  }

  private String status() {
    var here = replica;
    if (here == null) return "NONE 0 -1 -1 ";
    var status = here.status();
    return String.join(
        " ",
        status.role().name(),
        String.valueOf(status.term()),
        String.valueOf(status.committed()),
        String.valueOf(status.applied()),
        status.peers().stream().map(peer -> peer.member().node().toString()).collect(Collectors.joining(",")));
  }

  private <T> T read(Function<RangeReader, T> task) throws Exception {
    var here = replica();
    return CompletableFuture.supplyAsync(() -> task.apply(here.reader()), here.readers())
        .get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
  }

  /** Writes place, identifier and {@code seen} of each row, 24 bytes a row. */
  private static String dump(RangeReader reader, Path file) {
    long[] rows = {0};
    try (var out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
      reader.scan(
          Ledger.key(0),
          null,
          (key, value) -> {
            var write = Ledger.WRITES.decode(ByteBuffer.wrap(value));
            try {
              out.writeLong(Ledger.place(key));
              out.writeLong(write.id());
              out.writeLong(write.seen());
            } catch (IOException e) {
              throw new UncheckedIOException(e);
            }
            rows[0]++;
            return true;
          });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return String.valueOf(rows[0]);
  }

  /** Reads the output of {@link #dump}. */
  static List<Row> dumped(Path file) throws IOException {
    var rows = new ArrayList<Row>();
    long count = Files.size(file) / (3 * Long.BYTES);
    try (var in = new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
      for (long i = 0; i < count; i++) rows.add(new Row(in.readLong(), in.readLong(), in.readLong()));
    }
    return rows;
  }
}

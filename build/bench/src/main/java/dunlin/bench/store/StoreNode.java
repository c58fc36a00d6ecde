package dunlin.bench.store;

import dunlin.bench.store.Rows.Row;
import dunlin.store.RangeId;
import dunlin.store.Replica;
import dunlin.store.StoreException;
import dunlin.store.raft.RangeStore;
import dunlin.store.remote.RangeService;
import dunlin.store.remote.RemoteSnapshots;
import dunlin.store.serve.LocalRange;
import dunlin.store.serve.LocalRanges;
import dunlin.store.serve.ServedReplica;
import dunlin.store.settings.ClusterSettings;
import dunlin.store.settings.RangeServiceSettings;
import dunlin.store.settings.StoreSettings;
import dunlin.store.snapshot.SnapshotSource;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A node: its store, its replicas, and its service for other processes. */
final class StoreNode implements LocalRanges, AutoCloseable {
  /*
   * Owner: the thread that reads requests; the service looks up ranges on its own threads.
   */
  private static final Duration DEADLINE = Duration.ofSeconds(60);

  private final Path directory;
  private final RangeStore store;
  private final @Nullable Place place; // null for a node without peers
  private final Fetches fetches = new Fetches();
  private final Map<UUID, Replica<Row, Boolean>> replicas = new ConcurrentHashMap<>();
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private volatile List<Place> peers = List.of();
  private volatile boolean leading; // single writer: the store, whose calls are sequential
  private @Nullable RangeService service;

  /** Fetches snapshots from other nodes, and records the times. */
  private final class Fetches implements SnapshotSource, AutoCloseable {
    private final RemoteSnapshots remote =
        new RemoteSnapshots(node -> Place.location(Rows.range(0).uuid(), peers).peer(node), null);
    private volatile long beganNanos; // single writer of each: the fetching thread
    private volatile long openedNanos;
    private volatile long lastNanos;
    private volatile long bytes;

    @Override
    public Snapshot open(UUID node, RangeId range) throws IOException {
      beganNanos = System.nanoTime();
      var snapshot = remote.open(node, range);
      openedNanos = System.nanoTime();
      bytes = 0;
      return snapshot;
    }

    @Override
    @SuppressWarnings("NonAtomicVolatileUpdate") // only one thread fetches
    public byte[] read(UUID node, UUID snapshot, String file, long offset, int length) throws IOException {
      byte[] chunk = remote.read(node, snapshot, file, offset, length);
      bytes += chunk.length;
      lastNanos = System.nanoTime();
      return chunk;
    }

    Map<String, Object> figures() {
      double seconds = (lastNanos - openedNanos) / 1e9;
      return Map.of(
          "bytes", bytes, "open_seconds", (openedNanos - beganNanos) / 1e9, "seconds", seconds, "bytes_per_second", bytes / seconds);
    }

    @Override
    public void close() {
      remote.close();
    }
  }

  /** @param raftPort 0 for a node that will never have peers */
  StoreNode(Path directory, int raftPort, int servicePort, Arguments arguments) {
    this.directory = directory.toAbsolutePath();
    store = RangeStore.open(settings(raftPort, arguments), this.directory, meters);
    place = raftPort == 0 ? null : new Place(store.member().node(), raftPort, servicePort);
    store.fetchSnapshotsBy(fetches);
  }

  private static StoreSettings settings(int raftPort, Arguments arguments) {
    var usual = raftPort == 0 ? ClusterSettings.NONE : ClusterSettings.loopback(raftPort);
    var cluster =
        new ClusterSettings(
            usual.port(), usual.host(), usual.bindAddress(), usual.security(), usual.electionTimeout(),
            (int) arguments.number("entries-kept", usual.entriesKept()),
            arguments.number("install-rate", usual.installBytesPerSecond()), usual.installDeadline());
    var d = StoreSettings.defaults();
    return new StoreSettings(
        Boolean.parseBoolean(arguments.text("fsync", String.valueOf(d.fsync()))),
        cluster,
        d.memoryBytes(),
        d.disk(),
        d.queue(),
        new StoreSettings.Entries(
            (int) arguments.number("entries-in-flight", d.entries().inFlight()),
            (int) arguments.number("commands-per-entry", d.entries().commandsMax()),
            d.entries().fullAt(),
            d.entries().bytesMax()),
        d.snapshots(),
        d.reads());
  }

  Path directory() {
    return directory;
  }

  String identity() {
    return place == null ? "alone" : place.toString();
  }

  /** @param all the places of all nodes; empty for a single node, or for one that joins others later */
  void start(List<Place> all, int ranges) {
    peers = all;
    var members = all.stream().map(Place::member).toList();
    for (int number = 0; number < ranges; number++) {
      var id = Rows.range(number);
      replicas.put(id.uuid(), store.range(id, members, Rows.ROWS, new Rows()));
    }
    if (ranges > 0) replica(0).onLeadership(leads -> leading = leads);
    store.start(DEADLINE);
    if (place == null) return;
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), place.servicePort());
    service = RangeService.start(address, place.node(), this, store, RangeServiceSettings.defaults(), null, meters, System::nanoTime);
  }

  /** Makes an empty replica that the leader adds later. */
  void join(List<Place> others) {
    peers = others;
    var id = Rows.range(0);
    var members = others.stream().map(Place::member).toList();
    replicas.put(id.uuid(), store.createReplica(id, members, true, Rows.ROWS, new Rows(), DEADLINE));
  }

  /** Called on the leader: adds a node; returns when it has all rows. */
  void add(Place joining, Duration deadline) {
    peers = Stream.concat(peers.stream(), Stream.of(joining)).toList();
    replica(0).add(joining.member(), deadline);
  }

  void remove(Place leaving) {
    replica(0).remove(leaving.node(), DEADLINE);
  }

  Map<String, Object> fetched() {
    return fetches.figures();
  }

  Replica<Row, Boolean> replica(int number) {
    var replica = replicas.get(Rows.range(number).uuid());
    if (replica == null) throw new StoreException("this node has no replica of range " + number);
    return replica;
  }

  /** Whether this node leads range 0, confirmed by a barrier. */
  boolean leads() {
    return leading && !replica(0).readBarrier().handle((_, e) -> e != null).join();
  }

  @Override
  public Optional<LocalRange> find(UUID range) {
    var replica = replicas.get(range);
    return replica == null
        ? Optional.empty()
        : Optional.of(new ServedReplica<>(replica, Rows.ROWS, Rows.RESULTS, () -> Place.location(range, peers)));
  }

  @Override
  public void close() {
    var serving = service;
    if (serving != null) serving.close();
    store.close();
    fetches.close();
  }
}

package dunlin.chaos;

import dunlin.chaos.history.Row;
import dunlin.store.ReplicaRole;
import dunlin.store.remote.RangeMap;
import dunlin.store.serve.RangeLocation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The three nodes of a trial. Also acts as the cluster's map of ranges for callers, and repairs the range. */
final class Cluster implements RangeMap, AutoCloseable {
  /*
   * Owner: the thread of the trial; the load's threads ask for the map and for a node's last place.
   */
  static final int NODES = 3;
  static final Duration DEADLINE = Duration.ofSeconds(60);

  private static final Duration ASK = Duration.ofSeconds(5);
  private static final Duration STATUS = Duration.ofSeconds(1);
  private static final long POLL_NANOS = 100_000_000;

  /** One node: it keeps its directory and addresses over restarts. */
  final class Node {
    final Site site;
    private volatile @Nullable NodeProcess process;
    private volatile @Nullable Place place;

    private Node(Site site) {
      this.site = site;
    }

    NodeProcess process() {
      var running = process;
      if (running == null) throw new TrialException(site.name() + " is not running");
      return running;
    }

    Place place() {
      var known = place;
      if (known == null) throw new TrialException(site.name() + " has never run");
      return known;
    }

    boolean alive() {
      var running = process;
      return running != null && running.alive();
    }

    private void open() {
      var opened = NodeProcess.start(site.name(), site.prefix(), site.environment(), flags, site.log(), options.apply(site));
      process = opened;
      place = opened.place(DEADLINE);
    }

    private void begin(String peers) {
      process().ask(ASK, map());
      process().ask(DEADLINE.plus(ASK), "start " + peers);
    }

    void kill() {
      process().kill();
    }

    /** Restarts it on its disk. */
    void restart() {
      var before = place();
      open();
      if (!place().node().equals(before.node())) throw new TrialException(site.name() + " has another identity than before");
      begin(Place.text(places()));
    }

    /** Starts it on an empty disk, as an unknown node. */
    void restartAsAnother() {
      var before = place();
      open();
      if (place().node().equals(before.node())) throw new TrialException(site.name() + " has the identity of the node before it");
      process().ask(ASK, map());
      process().ask(DEADLINE.plus(ASK), "start");
    }

    Status status() {
      return Status.parse(process().ask(STATUS, "status"));
    }

    Optional<Status> statusIfAny() {
      try {
        return alive() ? Optional.of(status()) : Optional.empty();
      } catch (TrialException e) {
        return Optional.empty();
      }
    }
  }

  /** A node's status of its replica. */
  record Status(String role, long term, long committed, long applied, Set<UUID> peers) {
    static Status parse(String text) {
      var words = text.split(" ", -1);
      long term = Long.parseLong(words[1]);
      return new Status(words[0], term, Long.parseLong(words[2]), Long.parseLong(words[3]), ids(words[4]));
    }

    private static Set<UUID> ids(String text) {
      var ids = new HashSet<UUID>();
      for (String id : text.split(",", -1)) if (!id.isEmpty()) ids.add(UUID.fromString(id));
      return ids;
    }

    boolean is(ReplicaRole expected) {
      return role.equals(expected.name());
    }
  }

  /** Gives a node of a trial its options. */
  interface Options {
    NodeOptions apply(Site site);
  }

  private final List<Node> nodes = new ArrayList<>();
  private final List<String> flags;
  private final Options options;
  private volatile RangeLocation location = Place.location(0, List.of());
  private long epoch;

  /** @param flags of the nodes' JVMs, beside those that they always have */
  Cluster(List<Site> sites, List<String> flags, Options options) {
    this.flags = flags;
    this.options = options;
    for (var site : sites) nodes.add(new Node(site));
  }

  /** Creates a range on all nodes, and waits until one leads it. */
  void start() {
    each(nodes, Node::open);
    moved();
    String peers = Place.text(places());
    each(nodes, node -> node.begin(peers));
    leader();
  }

  List<Node> nodes() {
    return nodes;
  }

  Node node(UUID id) {
    for (var node : nodes) if (node.place().node().equals(id)) return node;
    throw new TrialException("no node has the id " + id);
  }

  private List<Place> places() {
    return nodes.stream().map(Node::place).toList();
  }

  private String map() {
    return "map " + location.epoch() + " " + Place.text(places());
  }

  /** Sends running nodes the new location of the range. */
  void moved() {
    location = Place.location(++epoch, places());
    for (var node : nodes) if (node.alive()) node.process().ask(ASK, map());
  }

  @Override
  public Optional<RangeLocation> find(UUID range) {
    return Optional.of(location);
  }

  @Override
  public void learned(RangeLocation now) {
    // Callers share the map with the threads that change it.
  }

  @Override
  public void doubted(UUID range) {
    // There is no other source to ask.
  }

  /** The last place that a node shows. */
  long last(UUID id) {
    return Long.parseLong(node(id).process().ask(ASK, "last"));
  }

  /** Waits for a leader. */
  Node leader() {
    return await("lead the range", () -> leaderAmong(nodes));
  }

  /** The node among these that reports to lead, with the highest term if several do. */
  static Optional<Node> leaderAmong(List<Node> nodes) {
    Node found = null;
    long term = -1;
    for (var node : nodes) {
      var status = node.statusIfAny();
      if (status.isEmpty() || !status.get().is(ReplicaRole.LEADER) || status.get().term() <= term) continue;
      found = node;
      term = status.get().term();
    }
    return Optional.ofNullable(found);
  }

  List<Node> followers() {
    var leader = leader();
    return nodes.stream().filter(node -> node != leader).toList();
  }

  List<Node> others(Node but) {
    return nodes.stream().filter(node -> node != but).toList();
  }

  static void restart(List<Node> ended) {
    each(ended, Node::restart);
  }

  /**
   * Sends a request to the leader, and repeats it while it is refused, since the leader may change. A first attempt may
   * have succeeded without an answer and must not be an error the second time, so `done` is checked first.
   */
  void onLeader(String request, Supplier<Boolean> done) {
    TrialException[] last = {new TrialException("nobody leads")};
    try {
      await(
          request,
          () -> {
            if (done.get()) return Optional.of(true);
            try {
              leader().process().ask(DEADLINE.plus(ASK), request);
            } catch (TrialException e) {
              last[0] = e;
            }
            return done.get() ? Optional.of(true) : Optional.empty();
          });
    } catch (TrialException e) {
      e.addSuppressed(last[0]);
      throw new TrialException(e.getMessage() + "; at last: " + last[0].getMessage(), e);
    }
  }

  /** The leader's status, if there is a leader. */
  private Optional<Status> leading() {
    return leaderAmong(nodes).flatMap(Node::statusIfAny);
  }

  /** Adds a replica on a node that has none. */
  void takeIn(Node node) {
    moved();
    node.process().ask(DEADLINE.plus(ASK), "join " + Place.text(places()));
    var id = node.place().node();
    onLeader("add " + node.place(), () -> leading().filter(status -> status.peers().contains(id)).isPresent());
  }

  void takeOut(UUID id) {
    onLeader("remove " + id, () -> leading().filter(status -> !status.peers().contains(id)).isPresent());
  }

  /** Waits until every node has applied what was committed when this began, so that one fault at a time is survived. */
  void awaitCaughtUp() {
    long committed = nodes.stream().flatMap(node -> node.statusIfAny().stream()).mapToLong(Status::committed).max().orElse(0);
    await(
        "catch up",
        () ->
            nodes.stream().allMatch(node -> node.statusIfAny().filter(status -> status.applied() >= committed).isPresent())
                ? Optional.of(true)
                : Optional.empty());
  }

  /** Waits until all replicas have applied the same, and writes the rows of each to a file beside its log. */
  Map<String, List<Row>> rows() {
    await("apply the same on all nodes", () -> settled() ? Optional.of(true) : Optional.empty());
    var rows = new LinkedHashMap<String, List<Row>>();
    for (var node : nodes) rows.put(node.site.name(), rows(node));
    return rows;
  }

  private boolean settled() {
    var all = new ArrayList<Status>();
    for (var node : nodes) node.statusIfAny().ifPresent(all::add);
    if (all.size() < nodes.size()) return false;
    if (all.stream().noneMatch(status -> status.is(ReplicaRole.LEADER))) return false;
    long committed = all.stream().mapToLong(Status::committed).max().orElseThrow();
    return all.stream().allMatch(status -> status.applied() == committed);
  }

  /** The rows of one replica, independent of the others. */
  static List<Row> rows(Node node) {
    Path file = node.site.log().resolveSibling(node.site.name() + ".rows");
    long count = Long.parseLong(node.process().ask(DEADLINE, "dump " + file));
    try {
      var rows = LedgerNode.dumped(file);
      if (rows.size() != count) throw new TrialException(file + " has " + rows.size() + " rows, not " + count);
      return rows;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Polls until there is a result. */
  static <T> T await(String what, Supplier<Optional<T>> look) {
    return await(what, DEADLINE, look);
  }

  static <T> T await(String what, Duration deadline, Supplier<Optional<T>> look) {
    long until = System.nanoTime() + deadline.toNanos();
    while (System.nanoTime() - until < 0) {
      var found = look.get();
      if (found.isPresent()) return found.get();
      LockSupport.parkNanos(POLL_NANOS);
    }
    throw new TrialException("not within " + deadline + ": " + what);
  }

  static void each(List<Node> nodes, Consumer<Node> step) {
    var steps = nodes.stream().map(node -> CompletableFuture.runAsync(() -> step.accept(node), Thread::startVirtualThread)).toList();
    try {
      CompletableFuture.allOf(steps.toArray(CompletableFuture<?>[]::new)).get(3 * DEADLINE.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof TrialException known ? known : new TrialException(String.valueOf(e.getCause()), e);
    } catch (TimeoutException e) {
      throw new TrialException("the nodes do not come about", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new TrialException("interrupted", e);
    }
  }

  /** Kills the nodes that still run: their orderly stop is left to other tests. */
  @Override
  public void close() {
    for (var node : nodes) if (node.alive()) node.kill();
  }
}

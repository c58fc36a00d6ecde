package dunlin.cluster;

import dunlin.cluster.call.ClusterAnswer;
import dunlin.cluster.call.ClusterAnswer.CarriedOut;
import dunlin.cluster.call.ClusterAnswer.Changed;
import dunlin.cluster.call.ClusterAnswer.HelloIs;
import dunlin.cluster.call.ClusterAnswer.NotLeading;
import dunlin.cluster.call.ClusterAnswer.ProgressIs;
import dunlin.cluster.call.ClusterAnswer.Proposed;
import dunlin.cluster.call.ClusterAnswer.Refused;
import dunlin.cluster.call.ClusterAnswer.Unknown;
import dunlin.cluster.call.ClusterCall;
import dunlin.cluster.call.ClusterCall.AskProgress;
import dunlin.cluster.call.ClusterCall.CarryOut;
import dunlin.cluster.call.ClusterCall.FindCut;
import dunlin.cluster.call.ClusterCall.Hello;
import dunlin.cluster.call.ClusterCall.Join;
import dunlin.cluster.call.ClusterCall.Propose;
import dunlin.cluster.call.ClusterCall.Report;
import dunlin.cluster.call.ClusterCall.Watch;
import dunlin.cluster.call.ClusterWire;
import dunlin.cluster.call.NodeAddress;
import dunlin.cluster.call.NodeCalls;
import dunlin.cluster.call.NodeReach;
import dunlin.cluster.call.OutgoingCalls;
import dunlin.cluster.call.RefusalLog;
import dunlin.cluster.call.Seeds;
import dunlin.placement.ClusterMap;
import dunlin.placement.ClusterNode;
import dunlin.placement.Operation;
import dunlin.placement.Operation.Split;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.Begin;
import dunlin.placement.PlacementCommand.Cancel;
import dunlin.placement.PlacementCommand.Change;
import dunlin.placement.PlacementCommand.FoundCluster;
import dunlin.placement.PlacementCommand.PlaceRange;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.PlacementResult;
import dunlin.placement.Progress;
import dunlin.store.NotLeaderException;
import dunlin.store.OutcomeUnknownException;
import dunlin.store.RangeDescriptor;
import dunlin.store.StoreException;
import dunlin.store.disk.NodeIdentity;
import dunlin.store.grpc.Caller;
import dunlin.store.raft.RangeStore;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This node as a member of its cluster. It finds or founds the cluster, keeps the replicas that the meta group assigns
 * to it, and has a replica of the meta group when one is placed here. A node without a store has no replicas, and only knows the cluster.
 *
 * <p>To use it, open the {@link RangeStore}, {@link #open} the cluster, make {@link #answer} reachable for other nodes,
 * and call {@link #start}, which starts the store. At the end, {@link #close} the cluster and then the store.
 */
public final class Cluster implements AutoCloseable {
  /*
   * Owner: the caller of open also calls start and close. The other methods may be called by any thread that may block.
   * Bounds: CALLS_MAX calls of other nodes at a time; one more is refused.
   * Failure: a node that reaches no other keeps serving the ranges that it has. What a crash interrupts is started again: the founding by this node, an operation by the
   * leader of the meta group. close() waits up to CLOSE_MAX for actions and calls in progress, so that the store is not closed while they use it.
   *
   * On disk, in cluster/ of the data directory: identity (ClusterIdentity), replicas/UUID (CreationNotes), map (KnownMap).
   */
  private static final Logger log = LoggerFactory.getLogger(Cluster.class);
  private static final int CALLS_MAX = 256;
  private static final Duration CLOSE_MAX = Duration.ofSeconds(3);
  private static final Duration ACTION_DEADLINE_MAX = Duration.ofMinutes(1);
  private static final Duration LOG_DEADLINE = Duration.ofSeconds(5);
  private static final Duration ASK_DEADLINE = Duration.ofSeconds(10);
  private static final long LOOK_AGAIN_MILLIS = 50;

  private static final String DIRECTORY = "cluster";

  private final MemberSettings settings;
  private final @Nullable RangeStore store;
  private final long incarnation;
  private final OutgoingCalls calls;
  private final Path directory;
  private final UUID self;
  private final ClusterNode node;
  private final KnownMap known;
  private final List<RangeDescriptor> first; // that a cluster begins with, as this node would place them
  private final LocalReplicas replicas;
  private final RefusalLog refusals = new RefusalLog();
  private final JoinCheck joins;
  private final FollowedTerm followedTerm = new FollowedTerm();
  private final NodeActions actions;
  private final MetaRange meta;
  private final ClusterMeters meters;
  private final Semaphore slots = new Semaphore(CALLS_MAX);

  /** Whether this node belonged to its cluster before it was started. */
  private final boolean member;

  private volatile @Nullable ClusterIdentity identity;
  private volatile @Nullable Parts parts; // set once, when the node has joined its cluster and the store runs
  private volatile boolean closed;

  /** The parts that only a member of a cluster has. */
  private record Parts(PlacementDriver driver, RangeLoads loads, NodeReach reach, Heartbeat heartbeat, LateRanges late, MetaClient meta) {}

  private Cluster(
      MemberSettings settings,
      NodeIdentity own,
      @Nullable RangeStore store,
      Path dataDirectory,
      NodeCalls calls,
      Collection<RangeKind<?, ?, ?>> kinds,
      MeterRegistry registry) {
    this.settings = settings;
    this.store = store;
    this.calls = new OutgoingCalls(calls);
    directory = directoryIn(dataDirectory);
    self = own.nodeId();
    incarnation = own.incarnation();
    var stored = ClusterIdentity.read(directory);
    identity = stored.orElse(null);
    member = stored.isPresent() && !stored.get().founding();
    known = new KnownMap(directory, self);
    joins = new JoinCheck(self, settings, known, this.calls, refusals);
    meta =
        new MetaRange(
            self,
            placement -> {
              known.follow(placement);
              wake(); // there is something new to decide on
            },
            _ -> wake());
    var all = new ArrayList<RangeKind<?, ?, ?>>(kinds);
    if (settings.roles().store()) all.add(meta.kind());
    var names = new TreeSet<String>();
    for (var kind : all)
      if (!names.add(kind.name())) throw new IllegalArgumentException("two kinds of ranges are called '" + kind.name() + "'");
    for (String kind : settings.roles().founds())
      if (!names.contains(kind)) throw new IllegalArgumentException("the kind '" + kind + "' is to be founded but is not known");
    first = kinds.stream().filter(kind -> settings.roles().founds().contains(kind.name())).flatMap(kind -> LateRanges.first(kind, self).stream()).toList();
    names.addAll(settings.roles().words());
    Map<String, Integer> ports;
    if (store == null) {
      ports = KnownMap.ports(settings.servicePort());
      replicas = LocalReplicas.none(directory, this::changed);
    } else {
      store.members(known::host);
      ports = KnownMap.ports(store.member().port(), settings.servicePort());
      replicas = new LocalReplicas(store, all, CreationNotes.open(directory.resolve("replicas"), store.stored()), this::changed);
      replicas.requireKnown(); // before anything is written, above all before the directory is marked as a cluster's
    }
    node = ClusterNode.joining(self, settings.host(), ports, names, settings.region(), settings.zone());
    actions = new NodeActions(self, replicas, followedTerm, known::raft);
    meters = new ClusterMeters(registry);
    meters.gauges(this, known, settings.operations().replicas());
    meters.gauge("dunlin.cluster.calls", "Calls from other nodes in progress", slots, free -> CALLS_MAX - free.availablePermits());
  }

  /**
   * Reads what the data directory says about the cluster; starts nothing.
   *
   * @param store opened on the same directory, with no range declared and not started
   * @param calls carries calls to other nodes
   * @param kinds all kinds of ranges that this node may have replicas of
   * @throws StoreException when the directory holds ranges of other kinds
   */
  public static Cluster open(
      MemberSettings settings,
      RangeStore store,
      Path dataDirectory,
      NodeCalls calls,
      Collection<RangeKind<?, ?, ?>> kinds,
      MeterRegistry registry) {
    return new Cluster(settings, new NodeIdentity(store.member().node(), store.incarnation()), store, dataDirectory, calls, kinds, registry);
  }

  /** The same for a node without a store. It joins a cluster that others have founded. */
  public static Cluster openWithoutStore(
      MemberSettings settings, NodeIdentity own, Path dataDirectory, NodeCalls calls, MeterRegistry registry) {
    if (settings.roles().store()) throw new IllegalArgumentException("a node without a store can have no replica of the meta group");
    return new Cluster(settings, own, null, dataDirectory, calls, List.of(), registry);
  }

  /**
   * Finds the cluster, or founds it, and starts the store. Returns when this node belongs to a cluster; which ranges it gets is then up to the meta group.
   *
   * @throws StoreException when the deadline passes or an operator has to act; the message says what is wrong
   */
  public void start(Duration deadline) {
    long until = System.nanoTime() + deadline.toNanos();
    var seeds = Seeds.parse(settings.seeds());
    var belongs = new Bootstrap(self, settings, seeds, calls, directory, joins.question(), this::closed).decide(identity, until);
    identity = belongs;
    if (known.hasLeft()) throw new StoreException("node " + self + " has left its cluster; with an empty data directory it can come back as a new node");
    if (belongs.founding()) declareFirst();
    replicas.declareStored();
    if (store != null) store.start(left(until));
    if (belongs.founding()) belongs = found(belongs, until);
    var address = new NodeAddress(settings.host(), settings.servicePort());
    var client = new MetaClient(belongs.cluster(), address, known, seeds, calls, this::handle, System::nanoTime);
    var driver =
        new PlacementDriver(
            threadName("placement"), meta, new NodeAdmin(self, belongs.cluster(), actions, known, calls), settings, meters);
    var loads =
        new RangeLoads(threadName("loads"), self, replicas, settings.operations().splits(), settings.heartbeat());
    var reach =
        new NodeReach(
            threadName("reach"), belongs.cluster(), calls, () -> known.servicesBut(self), settings.heartbeat(), settings.lease().dividedBy(4), settings.lease().dividedBy(2));
    var reporter = new NodeReporter(self, incarnation, replicas, loads, reach);
    var heartbeat = new Heartbeat(threadName("heartbeat"), node, replicas::disk, reporter, followedTerm, known, client, settings, meters);
    var late = new LateRanges(threadName("late-ranges"), self, first, known, this::connected, client, actions, settings.heartbeat());
    synchronized (this) {
      if (closed) throw new StoreException("closed while the node started");
      parts = new Parts(driver, loads, reach, heartbeat, late, client);
      driver.start();
      loads.start();
      reach.start();
      heartbeat.start();
      late.start();
    }
    log.info("Node {} belongs to cluster {}", self, belongs.cluster());
  }

  /**
   * Waits until the meta group has as many voters as the cluster is founded with, three by default. Before that, the loss of the founder would leave the others without a
   * quorum, for good if its disk is lost. A node that was a member before this start does not wait.
   *
   * @param goOn whether it is still worth waiting
   */
  public void awaitVoters(BooleanSupplier goOn) {
    if (member) return;
    while (goOn.getAsBoolean() && unserved().isPresent()) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(LOOK_AGAIN_MILLIS));
      if (Thread.currentThread().isInterrupted() || closed) throw new StoreException("closed while the cluster was founded");
    }
  }

  /** Why this node or its cluster cannot serve; empty when it can. */
  public Optional<String> unserved() {
    if (parts == null) return Optional.of("this node does not belong to its cluster yet");
    if (!connected()) return Optional.of("no leader of the meta group answers, which takes a majority of the nodes that vote in it");
    if (member) return Optional.empty();
    int wanted = Math.min(settings.bootstrapExpect(), Math.max(1, settings.operations().replicas()));
    long voters = known.map().find(MetaRange.KIND, new byte[0]).map(range -> (long) range.peers().size()).orElse(0L);
    return voters >= wanted ? Optional.empty() : Optional.of("%d of %d nodes vote in the meta group".formatted(voters, wanted));
  }

  private void declareFirst() {
    replicas.declareFirst(MetaRange.KIND, LateRanges.first(MetaRange.KIND, self));
    for (var range : first) replicas.declareFirst(range.kind(), range);
  }

  /**
   * Writes the cluster's identity, this node and the first ranges to the meta group; may be repeated after a crash.
   * Until it has finished, the meta range must not move away: a node that is founding would create it again.
   */
  private ClusterIdentity found(ClusterIdentity belongs, long until) {
    var commands = new ArrayList<PlacementCommand>();
    commands.add(new FoundCluster(belongs.cluster()));
    commands.add(new RegisterNode(node));
    commands.add(new PlaceRange(LateRanges.first(MetaRange.KIND, self)));
    for (var range : first) commands.add(new PlaceRange(range));
    settings.agreed().forEach((name, value) -> commands.add(new Change(name, value)));
    for (var command : commands) {
      if (proposeAgain(command, until) instanceof PlacementResult.Refused(var reason, var sentence))
        throw new StoreException("the cluster cannot be founded: " + reason + ", " + sentence);
    }
    var founded = new ClusterIdentity(belongs.cluster(), false);
    founded.write(directory);
    identity = founded;
    log.info("Node {} has founded cluster {}", self, founded.cluster());
    return founded;
  }

  /** A founder that stalls loses the leadership of the meta group, and is elected again. */
  private PlacementResult proposeAgain(PlacementCommand command, long until) {
    while (true) {
      try {
        return meta.propose(command, left(until));
      } catch (NotLeaderException | OutcomeUnknownException e) {
        if (closed || System.nanoTime() - until > 0 || Thread.currentThread().isInterrupted()) throw e;
        log.info("Node {} has not founded the cluster yet, trying again: {}", self, e.getMessage());
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(LOOK_AGAIN_MILLIS));
      }
    }
  }

  /**
   * Answers the call of another node. Blocks, on a thread that may; every request gets an answer.
   *
   * @param caller by its certificate
   */
  public byte[] answer(byte[] request, Caller caller) {
    return ClusterWire.bytes(answerTo(request, caller));
  }

  private ClusterAnswer answerTo(byte[] request, Caller caller) {
    ClusterWire.Sent sent;
    try {
      sent = ClusterWire.call(request);
    } catch (IllegalStateException | IllegalArgumentException e) {
      String unread = "a call that cannot be read: " + e.getMessage();
      refusals.refused("Node " + self + " has refused " + unread + "; it may be of a node of another version");
      return new Refused(unread);
    }
    if (closed) return stopping();
    if (!slots.tryAcquire()) {
      meters.callRefused();
      return new Refused("node " + self + " has too many calls");
    }
    try {
      var own = identity;
      if (own != null && sent.cluster() != null && !own.cluster().equals(sent.cluster()))
        refusals.refused(
            "Node %s belongs to cluster %s and was called by a node of cluster %s: the data directory of that node, or its seeds, are those of another cluster"
                .formatted(self, own.cluster(), sent.cluster()));
      if (sent.call() instanceof Hello) {
        if (own == null && !settings.roles().store()) return new Refused("node " + self + " belongs to no cluster and cannot found one, since it does not have the role store");
        return new HelloIs(self, own == null ? null : own.cluster());
      }
      if (own == null || !own.cluster().equals(sent.cluster()))
        return new Refused(
            "node " + self + (own == null ? " belongs to no cluster" : " belongs to cluster " + own.cluster())
                + ", the call is of " + (sent.cluster() == null ? "none" : sent.cluster()));
      String forged = joins.forged(sent.call(), caller);
      if (forged != null) {
        meters.callRefused();
        return new Refused(forged);
      }
      return handle(sent.call());
    } catch (RuntimeException e) { // a bug: the caller still gets an answer, and the connection that others share stays open
      log.error("Node {}: a call has failed: {}", self, sent.call(), e);
      return new Unknown("node " + self + ": " + e);
    } finally {
      slots.release();
    }
  }

  private ClusterAnswer handle(ClusterCall call) {
    var running = parts;
    if (running == null || closed) return stopping();
    return switch (call) {
      case Hello _ -> new HelloIs(self, cluster().orElse(null));
      case Propose(var command) -> propose(command);
      case Report(var report, var version) ->
          running.driver.heard(report, version).<ClusterAnswer>map(heard -> heard).orElseGet(this::notLeading);
      case Join join -> known.map().version() == 0 ? stopping() : joins.answer(join, cluster().orElseThrow());
      case AskProgress _ -> meta.leads() ? new ProgressIs(running.driver.progress()) : notLeading();
      case FindCut(var range) -> running.loads.cut(range);
      case Watch(var version) -> new Changed(since(version));
      case CarryOut(var action, var leadership, var deadline) -> {
        var bounded = deadline.compareTo(ACTION_DEADLINE_MAX) > 0 ? ACTION_DEADLINE_MAX : deadline;
        yield new CarriedOut(actions.carryOut(action, leadership, bounded));
      }
    };
  }

  private Refused stopping() {
    return new Refused("node " + self + " is about to start or to stop");
  }

  private ClusterAnswer propose(PlacementCommand command) {
    if (!meta.leads()) return notLeading();
    try {
      return new Proposed(meta.proposeAsked(command, LOG_DEADLINE));
    } catch (NotLeaderException e) {
      return notLeading();
    } catch (OutcomeUnknownException e) {
      return new Unknown(String.valueOf(e.getMessage()));
    } catch (StoreException e) {
      return new Refused(String.valueOf(e.getMessage()));
    }
  }

  private ClusterAnswer notLeading() {
    return new NotLeading(meta.leader().filter(leader -> !leader.equals(self)).flatMap(known::service).orElse(null));
  }

  /** What is newer than a version. This node's replica of the meta range, where it has one, knows the single changes. */
  private ClusterMap.Update since(long version) {
    var here = meta.placement().filter(placement -> placement.map().version() >= known.map().version());
    if (here.isPresent()) return here.get().since(version);
    var now = known.map();
    return now.version() > version ? new ClusterMap.Update.Whole(now) : new ClusterMap.Update.Changes(version, List.of());
  }

  /** Whether a node with this data directory belongs to a cluster. */
  public static boolean hasJoined(Path dataDirectory) {
    return ClusterIdentity.read(directoryIn(dataDirectory)).isPresent();
  }

  static Path directoryIn(Path dataDirectory) {
    return dataDirectory.resolve(DIRECTORY);
  }

  /** This node's identity. */
  public UUID self() {
    return self;
  }

  /** The cluster that this node belongs to; empty before it does. */
  public Optional<UUID> cluster() {
    return Optional.ofNullable(identity).map(ClusterIdentity::cluster);
  }

  /** The newest map that this node has received. It is out of date while the meta group cannot be reached. */
  public ClusterMap map() {
    return known.map();
  }

  /** Where the store service of a node is, by the known map; {@link #answer} of that node is reached there. */
  public Optional<NodeAddress> service(UUID of) {
    return known.service(of);
  }

  /** The node that leads a range, as the leader of the meta group last said. Up to a heartbeat old, and older while it has no leader; empty while that is unknown. */
  public Optional<UUID> leader(UUID range) {
    var running = parts;
    return running == null ? Optional.empty() : Optional.ofNullable(running.heartbeat.leaders().get(range));
  }

  /** Calls this with the map and with each newer one, in order; it must be quick. */
  public void watch(Consumer<ClusterMap> watcher) {
    known.watch(watcher);
  }

  /** Calls this with each range whose replica here is dropped, so that what was made of the replica is forgotten; it must be quick. Called before the start. */
  public void whenDropped(Consumer<UUID> then) {
    replicas.whenDropped(then);
  }

  /** Whether the last heartbeat came to a leader of the meta group. */
  public boolean connected() {
    var running = parts;
    return running != null && running.heartbeat.connected();
  }

  /**
   * Whether this node holds its lease: it has sent a heartbeat within the lease that a leader of the meta group has answered, does not count as dead, and has not left. Without the lease,
   * other nodes may soon act as if this one were dead; they do so after {@code downAfter} at the earliest.
   */
  public boolean leased() {
    var running = parts;
    return running != null && running.heartbeat.silenceNanos() < settings.lease().toNanos() && !known.isDead();
  }

  /** How long a node that is cut off may have clients at most; see {@link MemberSettings}. */
  public Duration downAfter() {
    return settings.downAfter();
  }

  /**
   * How many leases this process has lost: by its own clock, which is counted when it holds one again, or because it has counted as dead, as far as it has heard.
   * So a loss is seen however late one looks; one may be counted twice.
   */
  public long lostLeases() {
    var running = parts;
    return known.deaths() + (running == null ? 0 : running.heartbeat.lapses());
  }

  /** Whether a leader of the meta group has answered a heartbeat that this node has sent after a time, by {@code System.nanoTime}; its map is in {@link #map} then. */
  public boolean heardSince(long nanos) {
    var running = parts;
    return running != null && running.heartbeat.heardNanos() - nanos > 0;
  }

  /** Other nodes of the cluster that do not answer this one. */
  public List<UUID> unreached() {
    var running = parts;
    return running == null ? List.of() : running.reach.unreached();
  }

  /** Ranges that are too large or too busy and cannot be split; empty on nodes that do not lead the meta group. */
  Set<UUID> indivisible() {
    var running = parts;
    return running == null ? Set.of() : running.driver.indivisible();
  }

  /** What an operator asks of other nodes; empty before this node belongs to its cluster. */
  Optional<MetaClient> questions() {
    return Optional.ofNullable(parts).map(Parts::meta);
  }

  /**
   * Begins an operation; the meta group then drives it to its end.
   *
   * @return the operation's identifier in the map
   * @throws StoreException with the reason when it is refused, or when the meta group has no leader
   */
  public UUID begin(Operation operation) {
    if (operation instanceof Split split) requireSplittable(split);
    var id = UUID.randomUUID();
    propose("begin " + operation, new Begin(id, operation));
    return id;
  }

  /** A split cannot be cancelled, so one that the kind does not allow must not begin. */
  private void requireSplittable(Split split) {
    var range = known.map().ranges().get(split.of());
    if (range != null && !replicas.splitsAt(range.range().kind(), split.cut()))
      throw new StoreException("cannot begin " + split + ": ranges of kind '" + range.range().kind() + "' cannot be split there");
  }

  /** Cancels an operation: the steps already done are undone. */
  public void cancel(UUID operation) {
    propose("cancel operation " + operation, new Cancel(operation));
  }

  /** Puts a command into the meta group's log, by a call to its leader, and waits for the outcome. */
  void propose(String what, PlacementCommand command) {
    var running = parts;
    if (running == null) throw new StoreException("cannot " + what + ": this node does not belong to a cluster yet");
    try {
      switch (running.meta.ask(new Propose(command), ASK_DEADLINE)) {
        case Proposed(PlacementResult.Accepted _) -> {}
        case Proposed(PlacementResult.Refused(var reason, var sentence)) ->
            throw new StoreException("cannot " + what + ": " + reason + ", " + sentence);
        case Unknown(var sentence) ->
            throw new StoreException("it is unknown whether this was done: " + what + ": " + sentence);
        case ClusterAnswer other -> throw new StoreException("cannot " + what + ": answered by " + other);
      }
    } catch (IOException e) {
      throw new StoreException("cannot " + what + ": " + e.getMessage(), e);
    }
  }

  private void wake() {
    var running = parts;
    if (running != null) running.driver.wake();
  }

  private void changed() {
    var running = parts;
    if (running != null) running.heartbeat.wake();
  }

  /** The cluster for operators, to be registered as an MXBean, with {@code keys} for each kind of ranges whose keys stand for a tenant and a topic (filter), and the roles that no node of a map has. */
  public ClusterMXBean bean(Map<String, BiFunction<String, String, byte[]>> keys, Function<ClusterMap, List<String>> missingRoles) {
    return new ClusterBean(this, keys, missingRoles);
  }

  private boolean closed() {
    return closed;
  }

  /** Stops heartbeats and actions; other nodes see this node as silent. Its ranges keep running until the store is closed. Stopping is not leaving. Waits up to CLOSE_MAX for what is in progress. */
  @Override
  public synchronized void close() {
    if (closed) return;
    closed = true;
    calls.close();
    if (!stopped()) log.warn("Node {} still has calls or actions for its cluster in progress after {} s", self, CLOSE_MAX.toSeconds());
    meters.close();
  }

  /** Stops everything that runs, and answers whether it ended within CLOSE_MAX, calls from other nodes included. */
  private boolean stopped() {
    long until = System.nanoTime() + CLOSE_MAX.toNanos();
    var running = parts;
    if (running != null) {
      running.driver.stop();
      running.loads.stop();
      running.reach.stop();
      running.heartbeat.stop();
      running.late.stop();
    }
    try {
      boolean threads = running == null || (running.driver.ended(until) && running.loads.ended(until) && running.reach.ended(until) && running.heartbeat.ended(until) && running.late.ended(until));
      return slots.tryAcquire(CALLS_MAX, Math.max(0, until - System.nanoTime()), TimeUnit.NANOSECONDS) && threads;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private String threadName(String what) {
    return "dunlin-" + self.toString().substring(0, 8) + "-" + what;
  }

  private static Duration left(long until) {
    return Duration.ofNanos(Math.max(Duration.ofMillis(LOOK_AGAIN_MILLIS).toNanos(), until - System.nanoTime()));
  }
}

package dunlin.cluster;

import dunlin.cluster.ClusterAnswer.Heard;
import dunlin.placement.Action;
import dunlin.placement.ClusterMap;
import dunlin.placement.Leases;
import dunlin.placement.NodeReport;
import dunlin.placement.Operations;
import dunlin.placement.Placement;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.MarkNode;
import dunlin.placement.PlacementResult.Refused;
import dunlin.placement.RangeAdmin;
import dunlin.placement.Sight;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Drives the operations, on the node that leads the meta group: hears the nodes, decides what is to be done next, puts it into
 * the log or asks the node for it. Keeps nothing that the next leader needs.
 */
final class PlacementDriver implements AutoCloseable {
  /*
   * Owner: a thread of its own decides; reports come on any thread, under the lock.
   * Bounds: ACTIONS_MAX actions under way, each on a virtual thread with ACTION_DEADLINE; what does not fit is decided on again.
   * Failure: whatever fails is decided on again with the next tick, from the map and the reports alone.
   */
  private static final Logger log = LoggerFactory.getLogger(PlacementDriver.class);
  private static final int ACTIONS_MAX = 64;
  private static final Duration ACTION_DEADLINE = Duration.ofSeconds(30);
  /** Between two decisions, however many reports come. */
  private static final long BREATH_NANOS = 20_000_000;

  /** Until the same node is asked about the same range again: its next report is on the way, or something is in the way. */
  private static final long DONE_NANOS = 50_000_000;

  private static final long NOT_DONE_NANOS = 500_000_000;
  private static final Duration LOG_DEADLINE = Duration.ofSeconds(5);

  /** What is asked of a node: the same is not asked again while the answer is not there. */
  private record Asked(UUID node, UUID range) {}

  private final MetaRange meta;
  private final RangeAdmin admin;
  private final Operations operations;
  private final MemberSettings settings;
  private final ClusterMeters meters;
  private final Set<Asked> underWay = ConcurrentHashMap.newKeySet();
  private final Thread thread;
  private volatile boolean closed;
  private volatile NavigableMap<UUID, String> waiting = Collections.emptyNavigableMap();
  private volatile Set<UUID> indivisible = Set.of();
  private final Set<UUID> told = new HashSet<>(); // of the thread: indivisible ranges that the log has told of
  private @Nullable Leases leases; // guarded by this

  PlacementDriver(String threadName, MetaRange meta, RangeAdmin admin, MemberSettings settings, ClusterMeters meters) {
    this.meta = meta;
    this.admin = admin;
    this.settings = settings;
    this.meters = meters;
    operations = new Operations(settings.operations());
    thread = Thread.ofPlatform().daemon().name(threadName).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** There is something new to decide on. */
  void wake() {
    LockSupport.unpark(thread);
  }

  /** A node's report, and what it gets for it; nothing when this node does not lead. */
  Optional<Heard> heard(NodeReport report, long known) {
    var placement = meta.placement();
    var leading = leading();
    if (leading.isEmpty() || placement.isEmpty()) return Optional.empty();
    synchronized (this) {
      leading.get().heard(report, placement.get().map(), now());
    }
    if (!placement.get().map().intents().isEmpty()) wake();
    return Optional.of(new Heard(leading.get().leadership(), placement.get().since(known)));
  }

  /** For each operation that does not move, why; on who leads. */
  NavigableMap<UUID, String> waiting() {
    return waiting;
  }

  /** Ranges past a limit that cannot be split; on who leads. */
  Set<UUID> indivisible() {
    return indivisible;
  }

  private synchronized Optional<Leases> leading() {
    var held = leases;
    return held != null && meta.leads() && meta.term() == held.leadership() ? Optional.of(held) : Optional.empty();
  }

  private void run() {
    while (!closed) {
      try {
        drive();
      } catch (RuntimeException e) { // an exception would end the driving for good
        if (!closed) log.warn("The operations of the cluster do not go on for a moment: {}", e.getMessage(), e);
      }
      long decided = System.nanoTime();
      LockSupport.parkNanos(this, settings.heartbeat().toNanos() / 2);
      for (long left; !closed && (left = BREATH_NANOS - (System.nanoTime() - decided)) > 0; ) LockSupport.parkNanos(this, left);
    }
  }

  private void drive() {
    if (!meta.leads()) {
      waiting = Collections.emptyNavigableMap();
      indivisible = Set.of();
      return;
    }
    if (leading().isEmpty()) lead();
    var leading = leading();
    var placement = meta.placement();
    if (leading.isEmpty() || placement.isEmpty()) return;
    decide(leading.get(), placement.get());
  }

  private void lead() {
    meta.confirmedTerm(LOG_DEADLINE)
        .ifPresent(
            term -> {
              synchronized (this) {
                leases = new Leases(term, settings.lease(), settings.downAfter(), now());
              }
              log.info("This node leads the meta group, in term {}", term);
            });
  }

  private void decide(Leases leading, Placement placement) {
    var map = placement.map();
    if (map.cluster().isEmpty()) return;
    List<MarkNode> due;
    Sight sight;
    synchronized (this) {
      var now = now();
      due = leading.due(map, now);
      sight = leading.sight(map, now);
    }
    due.forEach(this::log);
    var decision = operations.decide(map, sight);
    waiting = Collections.unmodifiableNavigableMap(new TreeMap<>(decision.waiting()));
    tell(decision.indivisible(), map);
    for (var action : decision.actions()) ask(action, leading.leadership());
    for (var command : decision.commands()) log(command);
  }

  private void tell(Set<UUID> now, ClusterMap map) {
    told.retainAll(map.ranges().keySet());
    for (var range : now) {
      var placed = map.ranges().get(range);
      if (placed != null && told.add(range))
        log.warn(
            "Range {} {} of kind '{}' is past a limit of its size or its rate, and there is no key at which it could be split",
            range, placed.range().keys(), placed.range().kind());
    }
    indivisible = Set.copyOf(now);
  }

  private void log(PlacementCommand command) {
    try {
      if (meta.propose(command, LOG_DEADLINE) instanceof Refused(var reason, var sentence))
        log.debug("The meta group has refused {}: {}, {}", command, reason, sentence);
      else log.info("The meta group has taken {}", command);
    } catch (StoreException e) {
      log.debug("The meta group has not taken {}: {}", command, e.getMessage());
    }
  }

  private void ask(Action action, long leadership) {
    var asked = new Asked(action.node(), action.range());
    if (underWay.contains(asked)) return;
    if (underWay.size() >= ACTIONS_MAX) {
      meters.actionPutOff();
      return;
    }
    underWay.add(asked);
    Thread.ofVirtual()
        .name(thread.getName() + "-action")
        .start(
            () -> {
              try {
                var outcome = admin.carryOut(action, leadership, ACTION_DEADLINE);
                boolean done = outcome instanceof RangeAdmin.Outcome.Done;
                meters.action(done);
                if (!done) log.info("{}: {}", action, outcome);
                LockSupport.parkNanos(done ? DONE_NANOS : NOT_DONE_NANOS);
              } finally {
                underWay.remove(asked);
              }
              wake();
            });
  }

  private static Duration now() {
    return Duration.ofNanos(System.nanoTime());
  }

  @Override
  public void close() {
    closed = true;
    wake();
  }
}

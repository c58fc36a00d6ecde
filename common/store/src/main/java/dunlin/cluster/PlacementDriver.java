package dunlin.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dunlin.cluster.call.ClusterAnswer.Heard;
import dunlin.cluster.call.ThreadEnd;
import dunlin.placement.Action;
import dunlin.placement.ClusterMap;
import dunlin.placement.NodeReport;
import dunlin.placement.Placement;
import dunlin.placement.PlacementCommand;
import dunlin.placement.PlacementCommand.MarkNode;
import dunlin.placement.PlacementResult.Refused;
import dunlin.placement.Progress;
import dunlin.placement.RangeAdmin;
import dunlin.placement.plan.ClusterObservation;
import dunlin.placement.plan.Leases;
import dunlin.placement.plan.Operations;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Drives the operations, on the node that leads the meta group: takes the nodes' reports, decides the next steps, and
 * proposes them to the log or sends them to a node as actions. Keeps nothing that the next leader needs.
 */
final class PlacementDriver {
  /*
   * Owner: a thread of its own decides; reports come on any thread, under the lock.
   * Bounds: those of PendingActions, each action on a virtual thread with ACTION_DEADLINE. An action that does not fit
   * is counted, shown at its operation, and goes first at the next decision.
   * Failure: a step that fails is decided on again at the next tick, from the map and the reports alone. After stop()
   * it decides nothing more. Its thread waits only for the log, so it may be interrupted; actions are not interrupted.
   */
  private static final Logger log = LoggerFactory.getLogger(PlacementDriver.class);
  private static final Duration ACTION_DEADLINE = Duration.ofSeconds(30);

  /** While it lasts no other node is asked to be elected. */
  private static final Duration ELECTION_DEADLINE = Duration.ofSeconds(2);
  /** The pause between two decisions, however many reports come. */
  private static final long BREATH_NANOS = 20_000_000;

  /** The pause before the same node gets an action on the same range again: its next report should come first. */
  private static final long DONE_NANOS = 50_000_000;

  private static final long NOT_DONE_NANOS = 500_000_000;
  private static final Duration LOG_DEADLINE = Duration.ofSeconds(5);

  private final MetaRange meta;
  private final RangeAdmin admin;
  private final Operations operations;
  private final MemberSettings settings;
  private final ClusterMeters meters;
  private final PendingActions pending = new PendingActions(System::nanoTime);
  private final Thread thread;
  private final ExecutorService actions;
  private volatile boolean closed;
  private volatile NavigableMap<UUID, Progress> progress = Collections.emptyNavigableMap();
  private volatile Set<UUID> indivisible = Set.of();
  private final Set<UUID> told = new HashSet<>(); // used by the thread only: indivisible ranges already logged
  private Set<Action> putOff = Set.of(); // used by the thread only: as of the last decision
  @GuardedBy("this")
  private @Nullable Leases leases;

  PlacementDriver(String threadName, MetaRange meta, RangeAdmin admin, MemberSettings settings, ClusterMeters meters) {
    this.meta = meta;
    this.admin = admin;
    this.settings = settings;
    this.meters = meters;
    operations = new Operations(settings.operations());
    thread = Thread.ofPlatform().daemon().name(threadName).unstarted(this::run);
    actions = Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name(threadName + "-action").factory());
  }

  void start() {
    thread.start();
  }

  /** Decides soon: there is something new. */
  void wake() {
    LockSupport.unpark(thread);
  }

  /** Takes a node's report and returns the answer; empty when this node does not lead. */
  Optional<Heard> heard(NodeReport report, long known) {
    var placement = meta.placement();
    var leading = leading();
    if (leading.isEmpty() || placement.isEmpty()) return Optional.empty();
    NavigableMap<UUID, UUID> leaders;
    synchronized (this) {
      leading.get().heard(report, placement.get().map(), now());
      leaders = leading.get().leaders(placement.get().map());
    }
    if (!placement.get().map().intents().isEmpty()) wake();
    return Optional.of(new Heard(leading.get().leadership(), placement.get().since(known), leaders));
  }

  /** How far each operation has come, as of the last decision; only on the leader. */
  NavigableMap<UUID, Progress> progress() {
    return progress;
  }

  /** Ranges past a limit that cannot be split; only on the leader. */
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
      } catch (RuntimeException e) { // an exception would end the decisions for good
        if (!closed) log.warn("A decision on the operations of the cluster has failed and is repeated: {}", e.getMessage(), e);
      }
      long decided = System.nanoTime();
      LockSupport.parkNanos(this, settings.heartbeat().toNanos() / 2);
      for (long left; !closed && (left = BREATH_NANOS - (System.nanoTime() - decided)) > 0; ) LockSupport.parkNanos(this, left);
    }
  }

  private void drive() {
    if (!meta.leads()) {
      progress = Collections.emptyNavigableMap();
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
    ClusterObservation observation;
    synchronized (this) {
      var now = now();
      due = leading.due(map, now);
      observation = leading.observation(map, now);
    }
    due.forEach(this::log);
    var decision = operations.decide(map, observation);
    tell(decision.indivisible(), map);
    var waits = new TreeMap<>(decision.waiting());
    for (var action : ask(decision.actions(), leading.leadership()))
      map.intentOn(action.range())
          .ifPresent(intent -> waits.put(intent.id(), "node " + action.node() + " has its maximum of pending actions: " + action));
    progress = Collections.unmodifiableNavigableMap(operations.progress(map, observation, waits));
    for (var command : decision.commands()) if (!closed) log(command);
  }

  private void tell(Set<UUID> now, ClusterMap map) {
    told.retainAll(map.ranges().keySet());
    for (var range : now) {
      var placed = map.ranges().get(range);
      if (placed != null && told.add(range))
        log.warn(
            "Range {} {} of kind '{}' exceeds its limit of size or rate, but has no key at which it can be split",
            range, placed.range().keys(), placed.range().kind());
    }
    indivisible = Set.copyOf(now);
  }

  private void log(PlacementCommand command) {
    try {
      if (meta.propose(command, LOG_DEADLINE) instanceof Refused(var reason, var sentence))
        log.debug("The meta group has refused {}: {}, {}", command, reason, sentence);
      else log.info("The meta group has accepted {}", command);
    } catch (StoreException e) {
      log.debug("The meta group has not accepted {}: {}", command, e.getMessage());
    }
  }

  /** Answers the actions that have to wait. Those that have waited already go first, or others could starve them. */
  private Set<Action> ask(List<Action> actions, long leadership) {
    var ordered = new ArrayList<>(actions);
    ordered.sort(Comparator.comparing(action -> !putOff.contains(action)));
    var full = new HashSet<Action>();
    for (var action : ordered) if (!ask(action, leadership)) full.add(action);
    putOff = full;
    return full;
  }

  /** Answers false when the action has to wait. */
  private boolean ask(Action action, long leadership) {
    switch (pending.offer(action)) {
      case ASKED_ALREADY -> {}
      case FULL -> {
        meters.actionPutOff();
        return false;
      }
      case TAKEN -> {
        try {
          actions.execute(() -> carryOut(action, leadership));
        } catch (RejectedExecutionException _) {
          pending.ended(action); // stopped in between
        }
      }
    }
    return true;
  }

  private void carryOut(Action action, long leadership) {
    try {
      var outcome = admin.carryOut(action, leadership, action instanceof Action.Elect ? ELECTION_DEADLINE : ACTION_DEADLINE);
      boolean done = outcome instanceof RangeAdmin.Outcome.Done;
      pending.answered(action, done);
      meters.action(done);
      if (!done) log.info("{}: {}", action, outcome);
      LockSupport.parkNanos(done ? DONE_NANOS : NOT_DONE_NANOS);
    } finally {
      pending.ended(action);
    }
    wake();
  }

  private static Duration now() {
    return Duration.ofNanos(System.nanoTime());
  }

  /** Stops deciding. */
  void stop() {
    closed = true;
    thread.interrupt();
    actions.shutdown();
  }

  /** Whether its thread and its actions have ended by then. */
  boolean ended(long untilNanos) throws InterruptedException {
    boolean ended = ThreadEnd.by(untilNanos, thread);
    return actions.awaitTermination(Math.max(0, untilNanos - System.nanoTime()), TimeUnit.NANOSECONDS) && ended;
  }
}

package dunlin.cluster;

import dunlin.cluster.call.ClusterAnswer.Changed;
import dunlin.cluster.call.ClusterAnswer.Heard;
import dunlin.cluster.call.ClusterAnswer.Proposed;
import dunlin.cluster.call.ClusterCall.Propose;
import dunlin.cluster.call.ClusterCall.Report;
import dunlin.cluster.call.ClusterCall.Watch;
import dunlin.cluster.call.ThreadEnd;
import dunlin.placement.ClusterNode;
import dunlin.placement.ClusterNode.Disk;
import dunlin.placement.Operation.Split;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.PlacementResult.Accepted;
import dunlin.placement.PlacementResult.Refused;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.NavigableMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports this node's state to the meta group's leader at intervals. That renews the node's lease, and the answer has
 * what has changed in the map. When the disk has no room any more, or has some again, this node says so in the map.
 * Without a leader and a lease, the map still comes from any node that knows a newer one.
 */
final class Heartbeat {
  /*
   * Owner: a thread of its own.
   * Failure: a heartbeat that fails is followed by the next, sooner while this node still holds a lease. The ranges of this node do not depend on heartbeats.
   * An address that does not reply uses up a part of the lease only: a leader that stands still is replaced within it, and the next one must be asked in time.
   */
  private static final Logger log = LoggerFactory.getLogger(Heartbeat.class);
  private static final long SPLITTING_NANOS = 100_000_000;
  private static final int ADDRESSES_IN_A_LEASE = 4;
  private static final int ATTEMPTS_IN_A_LEASE = 20;

  private final ClusterNode self;
  private final Supplier<Disk> disk;
  private final NodeReporter reporter;
  private final FollowedTerm followedTerm;
  private final KnownMap known;
  private final MetaClient meta;
  private final MemberSettings settings;
  private final ClusterMeters meters;
  private final Thread thread;
  private volatile boolean closed;
  private volatile boolean connected;
  private volatile NavigableMap<UUID, UUID> leaders = Collections.emptyNavigableMap();
  private volatile long heardNanos = System.nanoTime();
  private final AtomicLong lapses = new AtomicLong();
  private boolean told; // that no leader is reached

  Heartbeat(
      String threadName,
      ClusterNode self,
      Supplier<Disk> disk,
      NodeReporter reporter,
      FollowedTerm followedTerm,
      KnownMap known,
      MetaClient meta,
      MemberSettings settings,
      ClusterMeters meters) {
    this.self = self;
    this.disk = disk;
    this.reporter = reporter;
    this.followedTerm = followedTerm;
    this.known = known;
    this.meta = meta;
    this.settings = settings;
    this.meters = meters;
    thread = Thread.ofPlatform().daemon().name(threadName).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** Sends the next heartbeat now: something has changed here that the meta group waits for. */
  void wake() {
    LockSupport.unpark(thread);
  }

  /** Whether the last heartbeat reached a leader of the meta group. */
  boolean connected() {
    return connected;
  }

  /** Time since this node sent the last heartbeat that a leader of the meta group has answered, in nanoseconds. */
  long silenceNanos() {
    return System.nanoTime() - heardNanos;
  }

  /** When this node sent that heartbeat; before the first one, when it started. */
  long heardNanos() {
    return heardNanos;
  }

  /** How many times it has been silent for as long as a lease, and was heard again. */
  long lapses() {
    return lapses.get();
  }

  /** The leaders of ranges, as the answer to the last heartbeat has them. */
  NavigableMap<UUID, UUID> leaders() {
    return leaders;
  }

  /** Whether this node holds a lease by its own clock, as it may also at its start. */
  private boolean holdsLease() {
    return silenceNanos() < settings.lease().toNanos();
  }

  private void run() {
    while (!closed) {
      boolean again = false;
      try {
        register();
        long sent = System.nanoTime(); // the leader hears it later: its count of this node's silence is no longer
        again = report();
        if (!holdsLease()) lapses.incrementAndGet(); // before it holds a lease again
        heardNanos = sent;
        connected = true;
        told = false;
        registerDisk();
      } catch (IOException e) {
        connected = false;
        meters.beatLost();
        // A short loss is normal at each start and each change of the leader.
        if (!told && !closed && silenceNanos() >= 2 * settings.heartbeat().toNanos()) {
          told = true;
          log.warn("Node {} cannot reach a leader of the meta group, and continues without one: {}", self.id(), reasons(e));
        }
        if (!holdsLease()) watch();
      } catch (RuntimeException e) { // an exception would end the heartbeats for good
        connected = false;
        if (!closed) log.error("Node {}: a heartbeat has failed", self.id(), e);
      }
      known.save();
      if (!again) LockSupport.parkNanos(this, pauseNanos());
    }
  }

  /** While a range is being split, callers of its upper half wait for the map that has the child. Without a leader, clients lose their connections with the lease. */
  private long pauseNanos() {
    boolean splitting = known.map().intents().values().stream().anyMatch(intent -> intent.operation() instanceof Split);
    long usual = settings.heartbeat().toNanos();
    long pause = splitting ? Math.min(SPLITTING_NANOS, usual) : usual;
    return !connected && holdsLease() ? Math.min(settings.lease().toNanos() / ATTEMPTS_IN_A_LEASE, pause) : pause;
  }

  /** Registers this node's identity and address in the map, unless it has left: it may not come back, also when it was forgotten. */
  private void register() throws IOException {
    var row = known.map().nodes().get(self.id());
    if (known.hasLeft() || (row != null && (row.state() == ClusterNode.State.LEFT || self.with(row.disk()).in(row.state()).equals(row)))) return;
    if (meta.ask(new Propose(new RegisterNode(self.with(disk.get()))), settings.lease()) instanceof Proposed(Refused(_, var sentence)))
      throw new IOException("the registration of this node is refused: " + sentence);
  }

  /** Says in the map whether the disk has room. That takes an entry of the meta group's log. A failure does not cost the lease; the next heartbeat tries again. */
  private void registerDisk() {
    var row = known.map().nodes().get(self.id());
    var now = disk.get();
    if (row == null || row.disk() == now || row.state() == ClusterNode.State.LEFT || known.hasLeft()) return;
    try {
      var answer = meta.ask(new Propose(new RegisterNode(self.with(now))), settings.lease().dividedBy(ADDRESSES_IN_A_LEASE));
      if (answer instanceof Proposed(Accepted _)) log.info("Node {}: the map says that its disk {}", self.id(), now);
    } catch (IOException e) {
      log.debug("Node {}: the map does not say yet that its disk {}: {}", self.id(), now, e.getMessage());
    }
  }

  /** Answers whether the report named an old term of the meta group's leader, and so must be made again. */
  private boolean report() throws IOException {
    long leadership = followedTerm.followed();
    long version = known.map().version();
    var answer = meta.ask(new Report(reporter.report(leadership), version), settings.lease(), settings.lease().dividedBy(ADDRESSES_IN_A_LEASE));
    if (!(answer instanceof Heard(var present, var update, var now))) throw new IOException("a report is answered by " + answer);
    known.update(version, update);
    leaders = now;
    followedTerm.heard(present);
    if (present == leadership) known.heard();
    return followedTerm.followed() > leadership;
  }

  private void watch() {
    var map = known.map();
    long version = map.version();
    var nodes = new ArrayList<>(map.nodes().values());
    // They know the single changes, and another node only the whole map, after which this one may have counted as dead.
    map.find(MetaRange.KIND, new byte[0]).ifPresent(range -> nodes.sort(Comparator.comparing(node -> !range.peers().contains(node.id()))));
    for (var node : nodes) {
      var address = known.service(node.id());
      if (closed || node.id().equals(self.id()) || !node.state().up() || address.isEmpty()) continue;
      try {
        if (meta.call(address.get(), new Watch(version), settings.heartbeat()) instanceof Changed(var update)) {
          known.update(version, update);
          if (known.map().version() > version) return;
        }
      } catch (IOException e) {
        log.debug("Node {} did not answer a request for the map of the cluster: {}", node.id(), e.getMessage());
      }
    }
  }

  private static String reasons(IOException e) {
    var reasons = new StringBuilder(String.valueOf(e.getMessage()));
    for (var each : e.getSuppressed()) reasons.append("; ").append(each.getMessage());
    return reasons.toString();
  }

  /** Starts no further heartbeat; the one in progress ends as soon as its call does. */
  void stop() {
    closed = true;
    LockSupport.unpark(thread);
  }

  boolean ended(long untilNanos) throws InterruptedException {
    return ThreadEnd.by(untilNanos, thread);
  }
}

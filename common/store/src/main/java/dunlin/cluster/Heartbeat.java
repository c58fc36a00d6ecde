package dunlin.cluster;

import dunlin.cluster.call.ClusterAnswer.Changed;
import dunlin.cluster.call.ClusterAnswer.Heard;
import dunlin.cluster.call.ClusterAnswer.Proposed;
import dunlin.cluster.call.ClusterCall.Propose;
import dunlin.cluster.call.ClusterCall.Report;
import dunlin.cluster.call.ClusterCall.Watch;
import dunlin.placement.ClusterNode;
import dunlin.placement.Operation.Split;
import dunlin.placement.PlacementCommand.RegisterNode;
import dunlin.placement.PlacementResult.Refused;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says regularly to the meta group's leader how this node is doing, which renews the node's lease, and brings home what has
 * changed in the map. While there is no leader, the map still comes from any node that knows a newer one.
 */
final class Heartbeat {
  /*
   * Owner: a thread of its own.
   * Failure: a beat that fails is followed by the next. The ranges of this node are not affected: they do not ask here.
   */
  private static final Logger log = LoggerFactory.getLogger(Heartbeat.class);
  private static final long SPLITTING_NANOS = 100_000_000;

  private final ClusterNode self;
  private final NodeReporter reporter;
  private final FollowedTerm allegiance;
  private final KnownMap known;
  private final MetaClient meta;
  private final MemberSettings settings;
  private final ClusterMeters meters;
  private final Thread thread;
  private volatile boolean closed;
  private volatile boolean connected;
  private int lost; // beats one after the other

  Heartbeat(
      String threadName,
      ClusterNode self,
      NodeReporter reporter,
      FollowedTerm allegiance,
      KnownMap known,
      MetaClient meta,
      MemberSettings settings,
      ClusterMeters meters) {
    this.self = self;
    this.reporter = reporter;
    this.allegiance = allegiance;
    this.known = known;
    this.meta = meta;
    this.settings = settings;
    this.meters = meters;
    thread = Thread.ofPlatform().daemon().name(threadName).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** Something has changed here that the meta group waits for: the next beat is now. */
  void wake() {
    LockSupport.unpark(thread);
  }

  /** Whether the last beat came to a leader of the meta group. */
  boolean connected() {
    return connected;
  }

  private void run() {
    while (!closed) {
      boolean again = false;
      try {
        register();
        again = report();
        connected = true;
        lost = 0;
      } catch (IOException e) {
        connected = false;
        meters.beatLost();
        // Once is what each start and each change of the leader costs.
        if (++lost == 2 && !closed)
          log.warn("Node {} reaches no leader of the meta group and goes on without: {}", self.id(), reasons(e));
        watch();
      } catch (RuntimeException e) { // an exception would end the beating for good
        connected = false;
        if (!closed) log.error("Node {}: a heartbeat has failed", self.id(), e);
      }
      known.save();
      if (!again) LockSupport.parkNanos(this, pauseNanos());
    }
  }

  /** While a range is being split, callers of its upper half wait for the map that has the child. */
  private long pauseNanos() {
    boolean splitting = known.map().intents().values().stream().anyMatch(intent -> intent.operation() instanceof Split);
    long usual = settings.heartbeat().toNanos();
    return splitting ? Math.min(SPLITTING_NANOS, usual) : usual;
  }

  /** Makes the map say who and where this node is. */
  private void register() throws IOException {
    var row = known.map().nodes().get(self.id());
    if (row != null && (row.state() == ClusterNode.State.LEFT || self.in(row.state()).equals(row))) return;
    if (meta.ask(new Propose(new RegisterNode(self)), settings.lease()) instanceof Proposed(Refused(_, var sentence)))
      throw new IOException("this node is not taken: " + sentence);
  }

  /** Answers whether the report was made under a leadership that is not the present one, and so must be made again. */
  private boolean report() throws IOException {
    long leadership = allegiance.followed();
    long version = known.map().version();
    var answer = meta.ask(new Report(reporter.report(leadership), version), settings.lease());
    if (!(answer instanceof Heard(var present, var update))) throw new IOException("a report is answered by " + answer);
    known.update(version, update);
    allegiance.heard(present);
    return allegiance.followed() > leadership;
  }

  private void watch() {
    long version = known.map().version();
    for (var node : known.map().nodes().values()) {
      var address = known.service(node.id());
      if (closed || node.id().equals(self.id()) || !node.state().up() || address.isEmpty()) continue;
      try {
        if (meta.call(address.get(), new Watch(version), settings.heartbeat()) instanceof Changed(var update)) {
          known.update(version, update);
          if (known.map().version() > version) return;
        }
      } catch (IOException e) {
        log.debug("Node {} does not say what it knows: {}", node.id(), e.getMessage());
      }
    }
  }

  private static String reasons(IOException e) {
    var reasons = new StringBuilder(String.valueOf(e.getMessage()));
    for (var each : e.getSuppressed()) reasons.append("; ").append(each.getMessage());
    return reasons.toString();
  }

  /** No further beat begins; the one under way ends as soon as its call does. */
  void stop() {
    closed = true;
    LockSupport.unpark(thread);
  }

  boolean ended(long untilNanos) throws InterruptedException {
    long left = untilNanos - System.nanoTime();
    if (left > 0) TimeUnit.NANOSECONDS.timedJoin(thread, left);
    return !thread.isAlive();
  }
}

package dunlin.store.raft;

import dunlin.runtime.LineLimit;
import dunlin.store.RangeId;
import dunlin.store.RangeStatus;
import dunlin.store.Replica;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The duties of a range's leader: it needs a disk with room, followers that keep up, and a successor that can take over quickly. */
final class LeaderMonitor {
  /*
   * Owner: the maintenance thread checks; a transfer of the leadership runs on a thread of its own, one at a time, and so
   * does giving up the preference.
   * Bounds: one transfer while the disk is low, so that two full nodes do not pass the leadership to and fro; one for
   * each stuck follower; one attempt each half minute to give up the preference.
   * Failure: an attempt that fails is logged; the leader stays. With a low disk it tries again, ten seconds after the first attempt has ended, and ever later up to
   * AGAIN_MAX_NANOS: its followers may just have been silent, but a transfer that fails is a pause for callers.
   */
  private static final Logger log = LoggerFactory.getLogger(LeaderMonitor.class);
  private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long PREFERRED_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final long AGAIN_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long AGAIN_MAX_NANOS = TimeUnit.MINUTES.toNanos(5);
  private static final Duration REACHABLE = Duration.ofSeconds(10);

  /** A successor has answered this lately; the range is not served while it waits for one. */
  private static final Duration ANSWERS = Duration.ofSeconds(1);
  private static final Duration HAND_OVER_DEADLINE = Duration.ofSeconds(10);
  /** A part of the three seconds in which the store has to stop. */
  private static final Duration STOP_DEADLINE = Duration.ofMillis(1500);

  /** A voter with at most this lag, in entries, can take over at once. */
  private static final long NEAR = 10_000;

  /** A follower's last matched entry, and since when it has stood there. */
  private record Standing(long matched, long sinceNanos, boolean told) {}

  private final RangeId range;
  private final Replica<?, ?> replica;
  private final UUID self;
  private final RangeMeters meters;
  private final AtomicBoolean handingOver = new AtomicBoolean();
  private final Map<UUID, Standing> followers = new HashMap<>();

  private final AtomicBoolean levelling = new AtomicBoolean();

  private final LineLimit alone = new LineLimit(1, Duration.ofMinutes(10), System::nanoTime);

  /** Whether the leadership was transferred since the disk is low; set by the transfer's thread. */
  private volatile boolean gaveUp;

  private long pauseNanos; // before the next attempt; 0 before the first one
  private long endedNanos; // when the last attempt was seen to have ended
  private boolean preferred;
  private long preferredNanos; // when this node became preferred, or tried last to give that up

  LeaderMonitor(Replica<?, ?> replica, UUID self, RangeMeters meters) {
    this.range = replica.id();
    this.replica = replica;
    this.self = self;
    this.meters = meters;
  }

  /** @param downloading whether a follower is downloading a snapshot, and so does not follow the log */
  void look(boolean diskLow, boolean downloading, long nowNanos) {
    var status = replica.status();
    if (!diskLow) {
      gaveUp = false;
      pauseNanos = 0;
    }
    if (handingOver.get()) endedNanos = nowNanos;
    if (status.role() != ReplicaRole.LEADER) {
      followers.clear();
      preferred = false;
      return;
    }
    if (diskLow && !gaveUp && (pauseNanos == 0 || nowNanos - endedNanos >= pauseNanos)) {
      pauseNanos = pauseNanos == 0 ? AGAIN_NANOS : Math.min(2 * pauseNanos, AGAIN_MAX_NANOS);
      endedNanos = nowNanos;
      handOver(status, Optional.empty(), "this node's disk is nearly full", () -> gaveUp = true);
    }
    followers.keySet().retainAll(status.peers().stream().map(peer -> peer.member().node()).toList());
    for (var peer : status.peers()) if (!peer.member().node().equals(self)) watch(status, peer, downloading, nowNanos);
    level(status, nowNanos);
  }

  /**
   * Gives up the priority in Ratis that transferred the leadership to this node. A candidate waits for the vote of the
   * node with the highest priority, for two whole election timeouts if that node is dead; and that node would take the
   * leadership back when it returns.
   */
  private void level(RangeStatus status, long nowNanos) {
    boolean now = status.configuration() >= 0 && status.peer(self).filter(peer -> peer.priority() > 0).isPresent();
    if (!now || !preferred) {
      preferred = now;
      preferredNanos = nowNanos;
      return;
    }
    if (nowNanos - preferredNanos < PREFERRED_NANOS || !levelling.compareAndSet(false, true)) return;
    preferredNanos = nowNanos;
    thread(
        "level",
        () -> {
          try {
            var members = status.peers().stream().map(RangeStatus.Peer::member).toList();
            replica.changePeers(status.configuration(), members, HAND_OVER_DEADLINE);
          } catch (StoreException e) {
            log.info("Range {}: this node stays preferred as leader for now: {}", range, e.getMessage());
          } finally {
            levelling.set(false);
          }
        });
  }

  private void thread(String role, Runnable task) {
    Thread.ofPlatform().daemon().name("dunlin-" + self.toString().substring(0, 8) + "-" + range + "-" + role).start(task);
  }

  /**
   * Watches for a follower that answers and does not advance although entries are missing: Ratis 3.3.0 can tell one to
   * install a snapshot for ever (RATIS-2500). Another leader starts afresh with it, which helps when that one's log
   * begins elsewhere.
   */
  private void watch(RangeStatus status, RangeStatus.Peer peer, boolean downloading, long nowNanos) {
    var node = peer.member().node();
    long matched = status.committed() - peer.lag();
    var before = followers.get(node);
    boolean reachable = peer.silence().filter(silence -> silence.compareTo(REACHABLE) < 0).isPresent();
    if (before == null || peer.lag() <= 0 || !reachable || downloading || matched > before.matched) {
      followers.put(node, new Standing(matched, nowNanos, false));
      return;
    }
    if (before.told || nowNanos - before.sinceNanos < STUCK_NANOS) return;
    followers.put(node, new Standing(before.matched, before.sinceNanos, true));
    meters.followerStuck();
    log.warn("Range {}: follower {} responds but has been stuck at entry {} for {} s", range, node, matched, STUCK_NANOS / 1_000_000_000);
    handOver(status, Optional.of(node), "node " + node + " does not keep up", () -> {});
  }

  /** Transfers the leadership to another node before the process ends. Blocks for STOP_DEADLINE at most. */
  void handOverBeforeStop() {
    var to = successor(replica.status(), Optional.empty());
    if (to.isEmpty()) return;
    try {
      replica.transferLeadership(to.get().member().node(), STOP_DEADLINE);
    } catch (StoreException e) {
      log.info("Range {}: the leadership could not be transferred before the stop: {}", range, e.getMessage());
    }
  }

  private Optional<RangeStatus.Peer> successor(RangeStatus status, Optional<UUID> butNot) {
    return status.peers().stream()
        .filter(peer -> !peer.member().node().equals(self) && !butNot.filter(peer.member().node()::equals).isPresent())
        .filter(peer -> peer.silence().filter(silence -> silence.compareTo(ANSWERS) < 0).isPresent())
        .filter(peer -> peer.lag() >= 0 && peer.lag() <= NEAR)
        .min(Comparator.comparingLong(RangeStatus.Peer::lag));
  }

  /** @param done runs on the transfer's thread when the other node leads */
  private void handOver(RangeStatus status, Optional<UUID> butNot, String why, Runnable done) {
    var to = successor(status, butNot);
    if (to.isEmpty()) {
      if (status.peers().size() > 1 && alone.admits()) log.warn("Range {}: {}, and no other node can lead it", range, why);
      return;
    }
    if (!handingOver.compareAndSet(false, true)) return;
    var node = to.get().member().node();
    log.warn("Range {}: {}; transferring the leadership to node {}", range, why, node);
    thread(
        "hand-over",
        () -> {
          try {
            replica.transferLeadership(node, HAND_OVER_DEADLINE);
            done.run();
          } catch (StoreException e) {
            log.warn("Range {}: the transfer of the leadership to node {} has failed: {}", range, node, e.getMessage());
          } finally {
            handingOver.set(false);
          }
        });
  }
}

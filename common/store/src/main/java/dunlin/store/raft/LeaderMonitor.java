package dunlin.store.raft;

import dunlin.store.Member;
import dunlin.store.RangeId;
import dunlin.store.RangeStatus;
import dunlin.store.Replica;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the leader of one range looks after: a disk to write to, followers that come along, and that it is easily replaced. */
final class LeaderMonitor {
  /*
   * Owner: the upkeep thread looks; handing the leadership over has a thread of its own, one at a time, and so has giving
   * up the preference.
   * Bounds: one attempt while the disk is low, so that two nodes without room do not hand it to and fro; one for each
   * follower that is stuck; one to give up the preference each half minute.
   * Failure: an attempt that fails is logged; the range stays where it is.
   */
  private static final Logger log = LoggerFactory.getLogger(LeaderMonitor.class);
  private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long PREFERRED_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final Duration REACHABLE = Duration.ofSeconds(10);
  private static final Duration HAND_OVER_DEADLINE = Duration.ofSeconds(10);
  /** Of the three seconds in which the store has to stop. */
  private static final Duration STOP_DEADLINE = Duration.ofMillis(1500);

  /** A voter that is no further behind can take over at once. */
  private static final long NEAR = 10_000;

  /** Up to where a follower had come, and when it was first seen there. */
  private record Standing(long matched, long sinceNanos, boolean told) {}

  private final RangeId range;
  private final Replica<?, ?> replica;
  private final UUID self;
  private final RangeMeters meters;
  private final AtomicBoolean handingOver = new AtomicBoolean();
  private final Map<UUID, Standing> followers = new HashMap<>();

  private final AtomicBoolean levelling = new AtomicBoolean();

  private boolean gaveUp;
  private boolean preferred;
  private long preferredNanos; // since when, or since the last attempt to change it

  LeaderMonitor(Replica<?, ?> replica, UUID self, RangeMeters meters) {
    this.range = replica.id();
    this.replica = replica;
    this.self = self;
    this.meters = meters;
  }

  /** @param copying whether a follower is fetching a copy of the rows, and so does not need its log */
  void look(boolean diskLow, boolean copying, long nowNanos) {
    var status = replica.status();
    if (status.role() != ReplicaRole.LEADER) {
      followers.clear();
      preferred = false;
      if (!diskLow) gaveUp = false;
      return;
    }
    if (!diskLow) gaveUp = false;
    else if (!gaveUp) {
      gaveUp = true;
      handOver(status, Optional.empty(), "this node's disk is nearly full");
    }
    followers.keySet().retainAll(status.peers().stream().map(peer -> peer.member().node()).toList());
    for (var peer : status.peers()) if (!peer.member().node().equals(self)) watch(status, peer, copying, nowNanos);
    level(status, nowNanos);
  }

  /**
   * Gives up that Ratis prefers this node as leader, which is how the leadership was handed to it. Whoever wants to be elected
   * waits for the preferred node's vote, twice for a whole election timeout when that has lost its power or its network; and it would
   * take the leadership back when it returns.
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
            replica.changePeers(status.configuration(), members(status, true), members(status, false), HAND_OVER_DEADLINE);
          } catch (StoreException e) {
            log.info("Range {}: this node stays preferred as leader for now: {}", range, e.getMessage());
          } finally {
            levelling.set(false);
          }
        });
  }

  private static List<Member> members(RangeStatus status, boolean voters) {
    return status.peers().stream().filter(peer -> peer.votes() == voters).map(RangeStatus.Peer::member).toList();
  }

  private void thread(String role, Runnable task) {
    Thread.ofPlatform().daemon().name("dunlin-" + self.toString().substring(0, 8) + "-" + range + "-" + role).start(task);
  }

  /**
   * A follower that answers and does not come along although there is something to get: Ratis 3.3.0 can tell one to
   * install a snapshot for ever (RATIS-2500). Another leader begins with it anew, which helps when its log begins elsewhere.
   */
  private void watch(RangeStatus status, RangeStatus.Peer peer, boolean copying, long nowNanos) {
    var node = peer.member().node();
    long matched = status.committed() - peer.lag();
    var before = followers.get(node);
    boolean reachable = peer.silence().filter(silence -> silence.compareTo(REACHABLE) < 0).isPresent();
    if (before == null || peer.lag() <= 0 || !reachable || copying || matched > before.matched) {
      followers.put(node, new Standing(matched, nowNanos, false));
      return;
    }
    if (before.told || nowNanos - before.sinceNanos < STUCK_NANOS) return;
    followers.put(node, new Standing(before.matched, before.sinceNanos, true));
    meters.followerStuck();
    log.warn("Range {}: node {} answers, but has stood at entry {} for {} s", range, node, matched, STUCK_NANOS / 1_000_000_000);
    handOver(status, Optional.of(node), "node " + node + " does not keep up");
  }

  /** Blocks, for a moment at most: the process is about to end. */
  void handOverBeforeStop() {
    var to = successor(replica.status(), Optional.empty());
    if (to.isEmpty()) return;
    try {
      replica.transferLeadership(to.get().member().node(), STOP_DEADLINE);
    } catch (StoreException e) {
      log.info("Range {}: ends without a successor: {}", range, e.getMessage());
    }
  }

  private Optional<RangeStatus.Peer> successor(RangeStatus status, Optional<UUID> butNot) {
    return status.peers().stream()
        .filter(RangeStatus.Peer::votes)
        .filter(peer -> !peer.member().node().equals(self) && !butNot.filter(peer.member().node()::equals).isPresent())
        .filter(peer -> peer.silence().filter(silence -> silence.compareTo(REACHABLE) < 0).isPresent())
        .filter(peer -> peer.lag() >= 0 && peer.lag() <= NEAR)
        .min(Comparator.comparingLong(RangeStatus.Peer::lag));
  }

  private void handOver(RangeStatus status, Optional<UUID> butNot, String why) {
    var to = successor(status, butNot);
    if (to.isEmpty()) {
      if (status.peers().size() > 1) log.warn("Range {}: {}, and no other node can lead it", range, why);
      return;
    }
    if (!handingOver.compareAndSet(false, true)) return;
    var node = to.get().member().node();
    log.warn("Range {}: {}; node {} shall lead it", range, why, node);
    thread(
        "hand-over",
        () -> {
          try {
            replica.transferLeadership(node, HAND_OVER_DEADLINE);
          } catch (StoreException e) {
            log.warn("Range {}: node {} has not taken it over: {}", range, node, e.getMessage());
          } finally {
            handingOver.set(false);
          }
        });
  }
}

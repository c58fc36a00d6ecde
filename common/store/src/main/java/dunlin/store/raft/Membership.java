package dunlin.store.raft;

import dunlin.store.Member;
import dunlin.store.OutdatedException;
import dunlin.store.RangeId;
import dunlin.store.RangeStatus;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import dunlin.store.disk.RatisPeers;
import dunlin.store.node.PendingTransfer;
import dunlin.store.node.RaftNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.ratis.proto.RaftProtos.RaftGroupIdProto;
import org.apache.ratis.proto.RaftProtos.RaftPeerRole;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.StartLeaderElectionRequestProto;
import org.apache.ratis.proto.RaftProtos.TermIndexProto;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.SetConfigurationRequest;
import org.apache.ratis.protocol.TransferLeadershipRequest;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The peers of one range, and how its leader changes them. */
final class Membership {
  /*
   * Owner: any thread that may block; the lock admits one change at a time.
   * Bounds: each step has what is left of the caller's deadline.
   * Failure: each change names the configuration that it is based on, so a late one changes nothing. A change without
   * an answer may still take effect; the caller checks the configuration and asks again.
   */
  private static final Logger log = LoggerFactory.getLogger(Membership.class);

  private static final int PREFERRED = 1;
  private static final long LOOK_AGAIN_NANOS = 20_000_000;
  private static final long LOOK_CLOSELY_NANOS = 500_000;

  /** Where entries come without a pause, there may be no such moment. */
  private static final long CATCH_UP_NANOS = 100_000_000;
  private static final Duration LEVEL_DEADLINE = Duration.ofSeconds(2);
  private static final long STUCK_NANOS = 2_000_000_000;
  private static final long NEVER = Long.MIN_VALUE;

  private final RangeId range;
  private final RaftGroupId group;
  private final Leadership leadership;
  private final ClientId clientId = ClientId.randomId();
  private final AtomicLong calls = new AtomicLong();
  private final ReentrantLock changing = new ReentrantLock();
  private long stuckSinceNanos = NEVER; // the maintenance thread's

  Membership(RangeId range, RaftGroupId group, Leadership leadership) {
    this.range = range;
    this.group = group;
    this.leadership = leadership;
  }

  private static List<RaftPeer> voters(RaftServer.Division division) {
    return List.copyOf(division.getRaftConf().getAllPeers());
  }

  void add(RaftServer server, Member member, Duration deadline) {
    String what = "add node " + member.node();
    change(server, what, deadline, (now, step) -> {
          if (contains(now, member.node())) throw refused(what, "it has a replica already");
          step.set(with(now, RatisPeers.voter(member, 0)));
        });
  }

  void changePeers(RaftServer server, long configuration, List<Member> members, Duration deadline) {
    String what = "change the peers";
    change(server, what, deadline, (now, step) -> {
          long present = settled(server.getDivision(group));
          if (present != configuration)
            throw new OutdatedException("range '" + range + "' is at configuration " + present + ", not " + configuration);
          var self = RatisPeers.node(server.getId());
          if (members.stream().noneMatch(member -> member.node().equals(self)))
            throw refused(what, "its leader would not be among them: transfer the leadership first");
          // This node leads, so it no longer needs a higher priority; a pending transfer to another node keeps its own. But
          // Ratis writes no entry for the same peers with the same priorities.
          int own = same(members, now) && priority(now, self) == 0 ? PREFERRED : 0;
          step.set(
              members.stream()
                  .map(member -> RatisPeers.voter(member, member.node().equals(self) ? own : priority(now, member.node())))
                  .toList());
        });
  }

  private static boolean same(List<Member> members, List<RaftPeer> now) {
    return members.size() == now.size() && members.stream().allMatch(member -> contains(now, member.node()));
  }

  private static int priority(List<RaftPeer> now, UUID node) {
    return now.stream().filter(peer -> is(peer, node)).mapToInt(RaftPeer::getPriority).findFirst().orElse(0);
  }

  void remove(RaftServer server, UUID node, Duration deadline) {
    String what = "remove node " + node;
    change(server, what, deadline, (now, step) -> {
          if (!contains(now, node)) throw refused(what, "it has no replica");
          // Ratis would stop this group after a pause that blocks everything else in it.
          if (node.equals(RatisPeers.node(server.getId()))) throw refused(what, "it leads the range: transfer the leadership first");
          step.set(without(now, node));
        });
  }

  void transfer(RaftServer server, UUID node, Duration deadline) {
    String what = "let node " + node + " lead";
    change(server, what, deadline, (now, step) -> {
          if (!contains(now, node)) throw refused(what, "it has no vote");
          if (node.equals(RatisPeers.node(server.getId()))) return;
          // The range is not served while it waits for a successor. A follower answers twice in an election timeout.
          var silence = silences(server.getDivision(group)).get(RatisPeers.id(node));
          if (silence == null || silence.toMillis() > RaftServerConfigKeys.Rpc.timeoutMin(server.getProperties()).toLong(TimeUnit.MILLISECONDS))
            throw refused(what, "it does not answer");
          // In Ratis only a peer with the highest priority can take over. It may do so as soon as the priorities are
          // set; the rest then fails, which is fine.
          var preferring = new ArrayList<RaftPeer>();
          for (var peer : now)
            preferring.add(RatisPeers.voter(RatisPeers.member(peer), is(peer, node) ? PREFERRED : 0));
          try {
            step.set(preferring);
            awaitCaughtUp(server.getDivision(group), node);
            var request =
                new TransferLeadershipRequest(
                    clientId, server.getId(), group, calls.incrementAndGet(), RatisPeers.id(node), step.left().toMillis());
            leadership.leave();
            try {
              RaftNode.await(server.transferLeadershipAsync(request), what, step.left());
            } finally {
              new PendingTransfer(server.getDivision(group)).forget();
              leadership.left();
            }
          } catch (StoreException e) {
            if (leads(node, step)) return;
            level(server, preferring);
            throw e;
          }
        });
  }

  /** Waits for a moment in which the successor has all entries, while the range is served still: from the hand-over on it is not, and the successor is elected only once it has them. */
  private static void awaitCaughtUp(RaftServer.Division division, UUID node) {
    long until = System.nanoTime() + CATCH_UP_NANOS;
    while (lags(division).getOrDefault(RatisPeers.id(node), 0L) > 0 && System.nanoTime() - until < 0) LockSupport.parkNanos(LOOK_CLOSELY_NANOS);
  }

  /** Takes the priority back from a node that has not taken the leadership over: Ratis would try to transfer it again and again. */
  private void level(RaftServer server, List<RaftPeer> from) {
    try {
      new Step(server, from, "prefer no node", LEVEL_DEADLINE).set(from.stream().map(peer -> RatisPeers.voter(RatisPeers.member(peer), 0)).toList());
    } catch (StoreException e) {
      log.info("Range {}: a node that has not taken the leadership over stays preferred for now: {}", range, e.getMessage());
    }
  }

  /**
   * Ends a transfer that Ratis has begun by itself and not ended; called about once a second. The leadership counts as lost and gained,
   * so the range gets a new server: commands of the present one were refused.
   */
  void endStuckTransfer(RaftServer.Division division, long nowNanos) {
    var transfer = leadership.leading() ? new PendingTransfer(division) : null;
    if (transfer == null || !transfer.exists()) {
      stuckSinceNanos = NEVER;
      return;
    }
    if (stuckSinceNanos == NEVER) stuckSinceNanos = nowNanos;
    if (nowNanos - stuckSinceNanos < STUCK_NANOS) return;
    stuckSinceNanos = NEVER;
    log.warn("Range {}: Ratis has not ended a transfer of the leadership, and has refused all commands; this node goes on as the leader", range);
    leadership.leave();
    transfer.forget();
    leadership.left();
  }

  void elect(RaftServer server) {
    try {
      var division = server.getDivision(group);
      var info = division.getInfo();
      if (info.getCurrentRole() != RaftPeerRole.FOLLOWER || info.getLeaderId() != null) return;
      var last = division.getRaftLog().getLastEntryTermIndex();
      var self = server.getId().toByteString();
      // The request of a leader that transfers its leadership. It names an entry that the successor must have: its own
      // last one. Ratis takes that entry's term for the leader's, and refuses when there has been a later term. So a
      // replica that has lost an election cannot be asked again; it becomes a candidate again by itself, and a replica
      // that is not in that term can be asked.
      var reply =
          server.startLeaderElection(
              StartLeaderElectionRequestProto.newBuilder()
                  .setServerRequest(
                      RaftRpcRequestProto.newBuilder()
                          .setRequestorId(self)
                          .setReplyId(self)
                          .setRaftGroupId(RaftGroupIdProto.newBuilder().setId(group.toByteString()))
                          .setCallId(calls.incrementAndGet()))
                  .setLeaderLastEntry(last == null ? TermIndexProto.getDefaultInstance() : last.toProto())
                  .build());
      if (!reply.getServerReply().getSuccess())
        throw refused("begin an election", "its log ends at " + last + ", in term " + info.getCurrentTerm());
    } catch (IOException e) {
      throw new StoreException("cannot begin an election in range '" + range + "': " + e.getMessage(), e);
    }
  }

  /** Whether the node leads. A replica that has just stopped leading waits until it knows the new leader. */
  private boolean leads(UUID node, Step step) {
    while (!leadership.leading()) {
      var leader = leadership.leader();
      if (leader.isPresent() || step.over()) return leader.filter(node::equals).isPresent();
      LockSupport.parkNanos(LOOK_AGAIN_NANOS);
    }
    return false;
  }

  RangeStatus status(RaftServer.Division division, long applied, long flushed, long logBytes, int queued) {
    var self = RatisPeers.node(division.getId());
    var info = division.getInfo();
    long configuration = settled(division);
    var peers = peers(division);
    if (settled(division) != configuration) configuration = -1; // the peers may be of another configuration
    var leader = leadership.known().orElse(null);
    return new RangeStatus(
        range, role(division, self), leader, info.getCurrentTerm(), division.getRaftLog().getLastCommittedIndex(), applied,
        behind(division, leader, applied), flushed, logBytes, queued, peers, configuration);
  }

  /** A follower's own log may end long before the leader's; each call of the leader says what it has committed. */
  private static long behind(RaftServer.Division division, @Nullable UUID leader, long applied) {
    if (leader == null) return -1;
    var id = RatisPeers.id(leader);
    return division.getCommitInfos().stream()
        .filter(info -> info.getServer().getId().equals(id.toByteString()))
        .mapToLong(info -> Math.max(0, info.getCommitIndex() - applied))
        .findFirst()
        .orElse(-1);
  }

  /** The index of the configuration in force, or -1 while it is being changed. */
  private static long settled(RaftServer.Division division) {
    var configuration = division.getRaftConf();
    boolean changing = !configuration.getPreviousPeers().isEmpty();
    long index = configuration.getLogEntryIndex();
    return changing || index > division.getRaftLog().getLastCommittedIndex() ? -1 : index;
  }

  private static ReplicaRole role(RaftServer.Division division, UUID self) {
    if (!contains(voters(division), self)) return ReplicaRole.OUTSIDE;
    return switch (division.getInfo().getCurrentRole()) {
      case LEADER -> ReplicaRole.LEADER;
      case CANDIDATE -> ReplicaRole.CANDIDATE;
      default -> ReplicaRole.FOLLOWER;
    };
  }

  /** All members of the configuration. */
  private static List<RangeStatus.Peer> peers(RaftServer.Division division) {
    var self = division.getRaftServer().getId();
    var behind = lags(division);
    var silent = silences(division);
    var peers = new ArrayList<RangeStatus.Peer>();
    for (var peer : voters(division)) peers.add(peer(peer, self, behind, silent));
    return peers;
  }

  private static RangeStatus.Peer peer(
      RaftPeer peer, RaftPeerId self, Map<RaftPeerId, Long> behind, Map<RaftPeerId, Duration> silent) {
    long lag = peer.getId().equals(self) && !silent.isEmpty() ? 0 : behind.getOrDefault(peer.getId(), -1L);
    return new RangeStatus.Peer(RatisPeers.member(peer), peer.getPriority(), lag, silent.get(peer.getId()));
  }

  /** Whether this node is the only one in the range. */
  static boolean alone(RaftServer.Division division) {
    var now = voters(division);
    return now.size() == 1 && now.getFirst().getId().equals(division.getId());
  }

  /** The lag of each follower of this leader; empty on other replicas. */
  private static Map<RaftPeerId, Long> lags(RaftServer.Division division) {
    var lags = new HashMap<RaftPeerId, Long>();
    long[] matched = division.getInfo().getFollowerMatchIndices();
    // Both lists have the leader's appenders in the same order; during a change their sizes may differ, and there is no
    // answer.
    var followers = division.getInfo().getRoleInfoProto().getLeaderInfo().getFollowerInfoList();
    if (matched == null || matched.length != followers.size()) return lags;
    long last = division.getRaftLog().getNextIndex() - 1;
    for (int i = 0; i < matched.length; i++)
      lags.put(RaftPeerId.valueOf(followers.get(i).getId().getId()), Math.max(0, last - matched[i]));
    return lags;
  }

  private static Map<RaftPeerId, Duration> silences(RaftServer.Division division) {
    var silences = new HashMap<RaftPeerId, Duration>();
    for (var follower : division.getInfo().getRoleInfoProto().getLeaderInfo().getFollowerInfoList())
      silences.put(
          RaftPeerId.valueOf(follower.getId().getId()), Duration.ofMillis(follower.getLastRpcElapsedTimeMs()));
    return silences;
  }

  private interface Change {
    void make(List<RaftPeer> now, Step step) throws IOException;
  }

  /** One change, based on the configuration when it began. */
  private final class Step {
    private final RaftServer server;
    private final List<RaftPeer> from;
    private final String what;
    private final long until;

    Step(RaftServer server, List<RaftPeer> from, String what, Duration deadline) {
      this.server = server;
      this.from = from;
      this.what = what;
      until = System.nanoTime() + deadline.toNanos();
    }

    Duration left() {
      return Duration.ofNanos(Math.max(1_000_000, until - System.nanoTime()));
    }

    boolean over() {
      return System.nanoTime() - until > 0 || Thread.currentThread().isInterrupted();
    }

    void set(List<RaftPeer> wanted) {
      var arguments =
          SetConfigurationRequest.Arguments.newBuilder()
              .setServersInNewConf(wanted)
              .setServersInCurrentConf(from)
              .setMode(SetConfigurationRequest.Mode.COMPARE_AND_SET)
              .build();
      var request = new SetConfigurationRequest(clientId, server.getId(), group, calls.incrementAndGet(), arguments);
      try {
        RaftNode.await(server.setConfigurationAsync(request), what + " in range '" + range + "'", left());
      } catch (IOException e) {
        throw new StoreException("cannot " + what + " in range '" + range + "': " + e.getMessage(), e);
      }
    }
  }

  private void change(RaftServer server, String what, Duration deadline, Change change) {
    long until = System.nanoTime() + deadline.toNanos();
    try {
      if (!changing.tryLock(deadline.toMillis(), TimeUnit.MILLISECONDS))
        throw refused(what, "another change is in progress");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted, cannot " + what, e);
    }
    try {
      if (!leadership.leading()) throw leadership.notLeader();
      var now = voters(server.getDivision(group));
      change.make(now, new Step(server, now, what, Duration.ofNanos(Math.max(0, until - System.nanoTime()))));
      log.info("Range {}: done: {}", range, what);
    } catch (IOException e) {
      throw new StoreException("cannot " + what + " in range '" + range + "': " + e.getMessage(), e);
    } finally {
      changing.unlock();
    }
  }

  private StoreException refused(String what, String why) {
    return new StoreException("cannot " + what + " in range '" + range + "': " + why);
  }

  private static boolean is(RaftPeer peer, UUID node) {
    return peer.getId().equals(RatisPeers.id(node));
  }

  private static boolean contains(List<RaftPeer> peers, UUID node) {
    return peers.stream().anyMatch(peer -> is(peer, node));
  }

  private static List<RaftPeer> with(List<RaftPeer> peers, RaftPeer more) {
    var all = new ArrayList<>(peers);
    all.add(more);
    return all;
  }

  private static List<RaftPeer> without(List<RaftPeer> peers, UUID node) {
    return peers.stream().filter(peer -> !is(peer, node)).toList();
  }
}

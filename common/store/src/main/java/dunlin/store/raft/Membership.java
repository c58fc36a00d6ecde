package dunlin.store.raft;

import dunlin.store.Member;
import dunlin.store.OutdatedException;
import dunlin.store.RangeId;
import dunlin.store.RangeStatus;
import dunlin.store.ReplicaRole;
import dunlin.store.StoreException;
import dunlin.store.disk.RatisPeers;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Who the peers of one range are, and how its leader changes that: one peer at a time. */
final class Membership {
  /*
   * Owner: any thread that may block; the lock lets one change after the other.
   * Bounds: each step has what is left of the caller's deadline.
   * Failure: each change names the configuration that it was made for, so one that comes late changes nothing. A change
   * whose answer does not come may still come about; the caller looks at the configuration and asks again.
   */
  private static final Logger log = LoggerFactory.getLogger(Membership.class);
  /** A listener that is no further behind than this gets its vote: a majority must not wait for it long. */
  private static final long CAUGHT_UP = 1000;

  private static final int PREFERRED = 1;
  private static final long LOOK_AGAIN_NANOS = 20_000_000;

  private final RangeId range;
  private final RaftGroupId group;
  private final Leadership leadership;
  private final ClientId clientId = ClientId.randomId();
  private final AtomicLong calls = new AtomicLong();
  private final ReentrantLock changing = new ReentrantLock();

  Membership(RangeId range, RaftGroupId group, Leadership leadership) {
    this.range = range;
    this.group = group;
    this.leadership = leadership;
  }

  /** The peers that vote and those that listen. */
  private record Peers(List<RaftPeer> voters, List<RaftPeer> listeners) {
    static Peers of(RaftServer.Division division) {
      var configuration = division.getRaftConf();
      return new Peers(
          List.copyOf(configuration.getAllPeers(RaftPeerRole.FOLLOWER)),
          List.copyOf(configuration.getAllPeers(RaftPeerRole.LISTENER)));
    }

    boolean has(UUID node) {
      return contains(voters, node) || contains(listeners, node);
    }
  }

  void addListener(RaftServer server, Member member, Duration deadline) {
    change(server, "add node " + member.node(), deadline, (now, step) -> {
          if (now.has(member.node())) throw refused("add node " + member.node(), "it has a replica already");
          step.set(now.voters, with(now.listeners, RatisPeers.listener(member)));
        });
  }

  void changePeers(
      RaftServer server, long configuration, List<Member> voters, List<Member> listeners, Duration deadline) {
    String what = "exchange the peers";
    change(server, what, deadline, (now, step) -> {
          long present = settled(server.getDivision(group));
          if (present != configuration)
            throw new OutdatedException("range '" + range + "' is at configuration " + present + ", not " + configuration);
          var self = RatisPeers.node(server.getId());
          if (voters.stream().noneMatch(voter -> voter.node().equals(self)))
            throw refused(what, "its leader would not be among them: transfer that first");
          // This node leads, so it needs no preference any more; one that another is waiting for stays.
          step.set(
              voters.stream()
                  .map(voter -> RatisPeers.voter(voter, voter.node().equals(self) ? 0 : priority(now, voter.node())))
                  .toList(),
              listeners.stream().map(RatisPeers::listener).toList());
        });
  }

  private static int priority(Peers now, UUID node) {
    return now.voters.stream().filter(peer -> is(peer, node)).mapToInt(RaftPeer::getPriority).findFirst().orElse(0);
  }

  void promote(RaftServer server, UUID node, Duration deadline) {
    String what = "promote node " + node;
    change(server, what, deadline, (now, step) -> {
          var listener = now.listeners.stream().filter(peer -> is(peer, node)).findFirst();
          if (listener.isEmpty()) throw refused(what, "it is no listener of the range");
          long behind = lagOf(server, node);
          if (behind < 0 || behind > CAUGHT_UP) throw refused(what, "it is " + behind + " entries behind");
          step.set(
              with(now.voters, RatisPeers.voter(RatisPeers.member(listener.get()), 0)), without(now.listeners, node));
        });
  }

  void remove(RaftServer server, UUID node, Duration deadline) {
    String what = "remove node " + node;
    change(server, what, deadline, (now, step) -> {
          if (!now.has(node)) throw refused(what, "it has no replica");
          // Ratis would stop this group after a pause that holds up everything else in it.
          if (node.equals(RatisPeers.node(server.getId()))) throw refused(what, "it leads the range: transfer that first");
          step.set(without(now.voters, node), without(now.listeners, node));
        });
  }

  void transfer(RaftServer server, UUID node, Duration deadline) {
    String what = "let node " + node + " lead";
    change(server, what, deadline, (now, step) -> {
          if (!contains(now.voters, node)) throw refused(what, "it has no vote");
          if (node.equals(RatisPeers.node(server.getId()))) return;
          // Ratis lets only a peer of the highest priority take over. It may take over as soon as the priorities are set,
          // which makes the rest fail and is no failure.
          var preferring = new ArrayList<RaftPeer>();
          for (var peer : now.voters)
            preferring.add(RatisPeers.voter(RatisPeers.member(peer), is(peer, node) ? PREFERRED : 0));
          try {
            step.set(preferring, now.listeners);
            var request =
                new TransferLeadershipRequest(
                    clientId, server.getId(), group, calls.incrementAndGet(), RatisPeers.id(node), step.left().toMillis());
            RaftNode.await(server.transferLeadershipAsync(request), what, step.left());
          } catch (StoreException e) {
            if (!leads(node, step)) throw e;
          }
        });
  }

  void elect(RaftServer server) {
    try {
      var division = server.getDivision(group);
      var info = division.getInfo();
      if (info.getCurrentRole() != RaftPeerRole.FOLLOWER || info.getLeaderId() != null) return;
      var last = division.getRaftLog().getLastEntryTermIndex();
      var self = server.getId().toByteString();
      // What a leader sends that hands over. It says how far the other must have come: no further than it has. Ratis takes the
      // term of that entry for the leader's, and refuses when there has been another term since: so a replica whose votes were
      // lost cannot be asked a second time. It asks again by itself, and another replica can be asked that is not in that term.
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

  /** Waits, once this replica does not lead any more, until it hears who does. */
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
    if (settled(division) != configuration) configuration = -1; // these may be the peers of another one
    return new RangeStatus(
        range, role(division, self), leadership.leading() ? self : leadership.leader().orElse(null), info.getCurrentTerm(),
        division.getRaftLog().getLastCommittedIndex(), applied, flushed, logBytes, queued, peers,
        configuration);
  }

  /** The index of the configuration in force, or -1 while it is being changed. */
  private static long settled(RaftServer.Division division) {
    var configuration = division.getRaftConf();
    boolean changing = !configuration.getPreviousPeers().isEmpty();
    long index = configuration.getLogEntryIndex();
    return changing || index > division.getRaftLog().getLastCommittedIndex() ? -1 : index;
  }

  private static ReplicaRole role(RaftServer.Division division, UUID self) {
    if (!Peers.of(division).has(self)) return ReplicaRole.OUTSIDE;
    return switch (division.getInfo().getCurrentRole()) {
      case LEADER -> ReplicaRole.LEADER;
      case CANDIDATE -> ReplicaRole.CANDIDATE;
      case LISTENER -> ReplicaRole.LISTENER;
      default -> ReplicaRole.FOLLOWER;
    };
  }

  /** Everyone in the configuration. */
  private static List<RangeStatus.Peer> peers(RaftServer.Division division) {
    var now = Peers.of(division);
    var self = division.getRaftServer().getId();
    var behind = lags(division);
    var silent = silences(division);
    var peers = new ArrayList<RangeStatus.Peer>();
    for (var peer : now.voters) peers.add(peer(peer, true, self, behind, silent));
    for (var peer : now.listeners) peers.add(peer(peer, false, self, behind, silent));
    return peers;
  }

  private static RangeStatus.Peer peer(
      RaftPeer peer, boolean votes, RaftPeerId self, Map<RaftPeerId, Long> behind, Map<RaftPeerId, Duration> silent) {
    long lag = peer.getId().equals(self) && !silent.isEmpty() ? 0 : behind.getOrDefault(peer.getId(), -1L);
    return new RangeStatus.Peer(RatisPeers.member(peer), votes, peer.getPriority(), lag, silent.get(peer.getId()));
  }

  /** Whether this node is the only one in the range. */
  static boolean alone(RaftServer.Division division) {
    var now = Peers.of(division);
    return now.listeners.isEmpty() && now.voters.size() == 1 && now.voters.getFirst().getId().equals(division.getId());
  }

  private long lagOf(RaftServer server, UUID node) throws IOException {
    return lags(server.getDivision(group)).getOrDefault(RatisPeers.id(node), -1L);
  }

  /** By how much each follower is behind this leader; nothing on who does not lead. */
  private static Map<RaftPeerId, Long> lags(RaftServer.Division division) {
    var lags = new HashMap<RaftPeerId, Long>();
    long[] matched = division.getInfo().getFollowerMatchIndices();
    // Both lists are of the leader's appenders, in their order; when one has just changed there is no answer.
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
    void make(Peers now, Step step) throws IOException;
  }

  /** One change of the configuration, made for the one that was there when it began. */
  private final class Step {
    private final RaftServer server;
    private final Peers from;
    private final String what;
    private final long until;

    Step(RaftServer server, Peers from, String what, Duration deadline) {
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

    void set(List<RaftPeer> voters, List<RaftPeer> listeners) {
      var arguments =
          SetConfigurationRequest.Arguments.newBuilder()
              .setServersInNewConf(voters)
              .setListenersInNewConf(listeners)
              .setServersInCurrentConf(from.voters)
              .setListenersInCurrentConf(from.listeners)
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
        throw refused(what, "another change is under way");
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new StoreException("interrupted while it should " + what, e);
    }
    try {
      if (!leadership.leading()) throw leadership.notLeader();
      var now = Peers.of(server.getDivision(group));
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

package dunlin.store.node;

import dunlin.store.disk.RatisPeers;
import java.io.Closeable;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.thirdparty.io.grpc.ConnectivityState;
import org.apache.ratis.thirdparty.io.grpc.ManagedChannel;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps Ratis' connections to its peers usable; called once a second.
 *
 * <p>gRPC's backoff would wait for up to two minutes before it connects to an unreachable peer again, and every call fails
 * at once until then. A node that is back would not hear of an election; if it is needed for the quorum, and only the node
 * that cannot call it can win, the range has no leader for that long.
 *
 * <p>A connection that was cut is not known to be broken: TCP sends again after ever longer pauses, so a network that was
 * away for half a minute is not used for half a minute more. Ratis has no keep-alive for these connections.
 */
final class PeerConnections {
  /*
   * A peer is silent when it has not answered a leader here for SILENT_NANOS, or when a group has had no leader for so
   * long: then all of its peers are, since it is unknown which of them are not reached. A new leader is given that time,
   * too: Ratis begins with a long silence of each follower. Connections to silent peers are replaced, and attempts of others that have failed are repeated.
   *
   * Owner: the maintenance thread.
   * Bounds: one attempt a second for each unreachable peer, one new connection in SILENT_NANOS for each silent one; peers that
   * answer are not affected. What was on its way on a replaced connection is lost, and Ratis sends it again.
   * Failure: with a Ratis that lacks what is used here, the store does not start. A group or a peer that is
   * removed in between ends one round; the next follows in a second.
   */
  private static final Logger log = LoggerFactory.getLogger(PeerConnections.class);
  private static final long SILENT_NANOS = TimeUnit.SECONDS.toNanos(3);
  private static final long TOLD_NANOS = TimeUnit.MINUTES.toNanos(1);

  private final RaftServer server;
  private final Method retry;
  private final Field channel;

  /** Since when a group has had no leader. */
  private final Map<RaftGroupId, Long> leaderless = new HashMap<>();

  /** When connections were replaced last, and when that was logged. */
  private final Map<RaftPeerId, Long> replaced = new HashMap<>();

  private final Map<RaftPeerId, Long> told = new HashMap<>();

  PeerConnections(RaftServer server) {
    this.server = server;
    try {
      // Ratis calls it for the leader's appends only, and neither is public.
      var client = Class.forName("org.apache.ratis.grpc.server.GrpcServerProtocolClient");
      retry = client.getDeclaredMethod("resetConnectBackoff");
      retry.setAccessible(true);
      channel = client.getDeclaredField("channel");
      channel.setAccessible(true);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this version of Ratis is not supported", e);
    }
  }

  void retry(long nowNanos) throws IOException {
    var proxies = CheckedGrpc.connections(server).getProxies();
    var peers = new HashSet<RaftPeerId>();
    var silent = new HashSet<RaftPeerId>();
    var groups = new HashSet<RaftGroupId>();
    for (var group : server.getGroupIds()) {
      groups.add(group);
      var division = server.getDivision(group);
      var members = division.getRaftConf().getAllPeers().stream().map(RaftPeer::getId).toList();
      peers.addAll(members);
      silent.addAll(silent(division, members, nowNanos));
    }
    leaderless.keySet().retainAll(groups);
    replaced.keySet().retainAll(peers);
    told.keySet().retainAll(peers);
    peers.remove(server.getId());
    for (var peer : peers) {
      var proxy = proxies.getProxy(peer);
      if (silent.contains(peer) && replaces(peer, channelOf(proxy), nowNanos)) proxies.resetProxy(peer);
      else retry(proxy);
    }
  }

  private Collection<RaftPeerId> silent(RaftServer.Division division, Collection<RaftPeerId> members, long nowNanos) {
    var info = division.getInfo();
    var group = division.getGroup().getGroupId();
    if (info.isLeader()) {
      leaderless.remove(group);
      if (TimeUnit.MILLISECONDS.toNanos(info.getRoleInfoProto().getRoleElapsedTimeMs()) < SILENT_NANOS) return List.of();
      return info.getRoleInfoProto().getLeaderInfo().getFollowerInfoList().stream()
          .filter(follower -> follower.getLastRpcElapsedTimeMs() >= TimeUnit.NANOSECONDS.toMillis(SILENT_NANOS))
          .map(follower -> RaftPeerId.valueOf(follower.getId().getId()))
          .toList();
    }
    if (info.getLeaderId() != null) {
      leaderless.remove(group);
      return List.of();
    }
    return nowNanos - leaderless.computeIfAbsent(group, _ -> nowNanos) >= SILENT_NANOS ? members : List.of();
  }

  /** Ends the connection to a silent peer if it seems to be up, or is being opened. It would else be closed with patience. */
  private boolean replaces(RaftPeerId peer, ManagedChannel connection, long nowNanos) {
    var state = connection.getState(false);
    if (state != ConnectivityState.READY && state != ConnectivityState.CONNECTING) return false;
    var before = replaced.get(peer);
    if (before != null && nowNanos - before < SILENT_NANOS) return false;
    replaced.put(peer, nowNanos);
    var last = told.get(peer);
    if (last == null || nowNanos - last >= TOLD_NANOS) {
      told.put(peer, nowNanos);
      log.info("Node {} does not answer over its Raft connection, which is replaced until it does", RatisPeers.node(peer));
    }
    connection.shutdownNow();
    return true;
  }

  private ManagedChannel channelOf(Closeable proxy) throws IOException {
    try {
      return (ManagedChannel) channel.get(proxy);
    } catch (IllegalAccessException e) {
      throw new IOException(e);
    }
  }

  private void retry(Closeable proxy) throws IOException {
    try {
      retry.invoke(proxy);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IOException(e);
    }
  }
}

package dunlin.store.node;

import java.io.Closeable;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashSet;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;

/**
 * Has Ratis connect to peers that it cannot reach as often as this is called, and not as seldom as gRPC would like to: after up to two
 * minutes, within which every call fails at once. A node that was away and is back would hear nothing of an election until then;
 * when it is needed for the majority, and only the one that does not call it can win, the range has no leader for that long.
 */
final class PeerConnections {
  /*
   * Owner: the upkeep thread.
   * Bounds: one attempt a second and peer that cannot be reached; to others nothing happens.
   * Failure: a Ratis without the method that this calls keeps the store from starting. A group or a peer that is removed in between ends
   * one round; the next one comes in a second.
   */
  private final RaftServer server;
  private final Method retry;

  PeerConnections(RaftServer server) {
    this.server = server;
    try {
      // Ratis calls it for the leader's appends only, and has no public way to it.
      retry = Class.forName("org.apache.ratis.grpc.server.GrpcServerProtocolClient").getDeclaredMethod("resetConnectBackoff");
      retry.setAccessible(true);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("not the Ratis that this was made for", e);
    }
  }

  void retry() throws IOException {
    var proxies = CheckedGrpc.connections(server).getProxies();
    var peers = new HashSet<RaftPeerId>();
    for (var group : server.getGroupIds())
      for (var peer : server.getDivision(group).getRaftConf().getAllPeers()) peers.add(peer.getId());
    peers.remove(server.getId());
    for (var peer : peers) retry(proxies.getProxy(peer));
  }

  private void retry(Closeable peer) throws IOException {
    try {
      retry.invoke(peer);
    } catch (IllegalAccessException | InvocationTargetException e) {
      throw new IOException(e);
    }
  }
}

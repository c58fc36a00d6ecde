package dunlin.store.node;

import java.io.Closeable;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashSet;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;

/**
 * Makes Ratis reconnect to unreachable peers at each call of this. gRPC's backoff would wait for up to two minutes,
 * during which every call fails at once. A node that is back would not hear of an election until then; if it is needed
 * for the quorum, and only the node that cannot call it can win, the range has no leader for that long.
 */
final class PeerConnections {
  /*
   * Owner: the maintenance thread.
   * Bounds: one attempt a second for each unreachable peer; connected peers are not affected.
   * Failure: with a Ratis that lacks the method called here, the store does not start. A group or a peer that is
   * removed in between ends one round; the next follows in a second.
   */
  private final RaftServer server;
  private final Method retry;

  PeerConnections(RaftServer server) {
    this.server = server;
    try {
      // Ratis calls it for the leader's appends only, and it is not public.
      retry = Class.forName("org.apache.ratis.grpc.server.GrpcServerProtocolClient").getDeclaredMethod("resetConnectBackoff");
      retry.setAccessible(true);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this version of Ratis is not supported", e);
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

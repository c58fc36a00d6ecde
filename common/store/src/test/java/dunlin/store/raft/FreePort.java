package dunlin.store.raft;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A loopback port for a node that is restarted. It is below the ephemeral ports: an outgoing connection could take one
 * of those while the node is down, and the node could not start then. A UDP socket with the same number keeps it from
 * other tests, also of other processes, until this process ends.
 */
public final class FreePort {
  private static final int LEAST = 10_000;
  private static final int MOST = 32_000;
  private static final Set<DatagramSocket> CLAIMS = ConcurrentHashMap.newKeySet();

  private FreePort() {}

  public static int find() {
    for (int tries = 0; tries < 1000; tries++) {
      int port = ThreadLocalRandom.current().nextInt(LEAST, MOST);
      if (claimed(port)) return port;
    }
    throw new AssertionError("no free port from " + LEAST + " to " + MOST);
  }

  private static boolean claimed(int port) {
    var loopback = InetAddress.getLoopbackAddress();
    try {
      var claim = new DatagramSocket(port, loopback);
      try (var _ = new ServerSocket(port, 1, loopback)) {
        return CLAIMS.add(claim);
      } catch (IOException _) {
        claim.close();
        return false;
      }
    } catch (IOException _) {
      return false;
    }
  }
}

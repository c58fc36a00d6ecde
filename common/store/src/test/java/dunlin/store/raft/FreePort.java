package dunlin.store.raft;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A loopback port for a node that is restarted. It is below the ephemeral ports: an outgoing connection could take one
 * of those while the node is down, and the node could not start then.
 */
public final class FreePort {
  private static final int LEAST = 10_000;
  private static final int MOST = 32_000;

  private FreePort() {}

  public static int find() {
    for (int tries = 0; tries < 1000; tries++) {
      int port = ThreadLocalRandom.current().nextInt(LEAST, MOST);
      try (var free = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return free.getLocalPort();
      } catch (IOException _) {
        // in use: try another one
      }
    }
    throw new AssertionError("no free port from " + LEAST + " to " + MOST);
  }
}

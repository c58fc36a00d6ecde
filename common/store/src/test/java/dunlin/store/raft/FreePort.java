package dunlin.store.raft;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A port of the loopback address for a node that comes and goes. It is below those that systems give to outgoing connections: one of them
 * would take it while the node is away, and then Ratis ends the process.
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
        // taken: another one
      }
    }
    throw new AssertionError("no free port from " + LEAST + " to " + MOST);
  }
}

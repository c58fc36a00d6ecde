package dunlin.harness;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Picks ports for nodes that are told their port. */
public final class FreePort {
  private FreePort() {}

  /** A port below the ephemeral ports: an outgoing connection could take one of those while the node is down. */
  public static int any() {
    for (int tries = 0; tries < 1_000; tries++) {
      try (var free = new ServerSocket(ThreadLocalRandom.current().nextInt(10_000, 32_000), 1, InetAddress.getLoopbackAddress())) {
        return free.getLocalPort();
      } catch (IOException _) {
        // In use: try another one.
      }
    }
    throw new AssertionError("no free port");
  }
}

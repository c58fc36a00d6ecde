package dunlin.harness;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** Picks ports for nodes that are told their port. */
public final class FreePort {
  private static final Set<DatagramSocket> CLAIMS = ConcurrentHashMap.newKeySet();

  private FreePort() {}

  /**
   * A port below the ephemeral ports: an outgoing connection could take one of those while the node is down. A UDP socket with the same number keeps it from other
   * tests, also of other processes, until this process ends.
   */
  public static int any() {
    for (int tries = 0; tries < 1_000; tries++) {
      int port = ThreadLocalRandom.current().nextInt(10_000, 32_000);
      if (claimed(port)) return port;
    }
    throw new AssertionError("no free port");
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

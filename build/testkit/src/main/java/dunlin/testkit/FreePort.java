package dunlin.testkit;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Picks ports that nodes and relays keep while they are stopped. */
final class FreePort {
  private static final int TRIES = 1_000;

  private FreePort() {}

  /** A port below those that the system gives to outgoing connections, one of which could take it while its owner is stopped. */
  static int any() {
    for (int i = 0; i < TRIES; i++) {
      try (var free = new ServerSocket(ThreadLocalRandom.current().nextInt(10_000, 32_000), 1, InetAddress.getLoopbackAddress())) {
        return free.getLocalPort();
      } catch (IOException _) {
        // In use: another one is tried.
      }
    }
    throw new IllegalStateException("no free port on this machine in " + TRIES + " tries");
  }
}

package dunlin.testkit;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** Picks ports that nodes and relays keep while they are stopped. A UDP socket with the same number keeps each from others that pick ports in this way, also in other processes. */
final class FreePorts implements AutoCloseable {
  /*
   * Owner: the thread that makes the network of a cluster, and the one that closes it.
   * Bounds: the sockets of one network.
   */
  private static final int TRIES = 1_000;

  private final List<DatagramSocket> claims = new ArrayList<>();

  /** A port below those that the system gives to outgoing connections, one of which could take it while its owner is stopped. */
  int any() {
    for (int i = 0; i < TRIES; i++) {
      int port = ThreadLocalRandom.current().nextInt(10_000, 32_000);
      try (var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        claims.add(new DatagramSocket(port, InetAddress.getLoopbackAddress()));
        return port;
      } catch (IOException _) {
        // In use: another one is tried.
      }
    }
    throw new IllegalStateException("no free port on this machine in " + TRIES + " tries");
  }

  @Override
  public void close() {
    claims.forEach(DatagramSocket::close);
  }
}

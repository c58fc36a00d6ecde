package dunlin.load.page;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Relays connections to a port of this machine, and can cut them. */
final class Relay implements AutoCloseable {
  private final int to;
  private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();
  private volatile boolean cut;

  Relay(int to) throws IOException {
    this.to = to;
    Thread.startVirtualThread(this::accept);
  }

  int port() {
    return server.getLocalPort();
  }

  /** Starts or stops closing all connections, including new ones. */
  void cut(boolean now) throws IOException {
    cut = now;
    if (now) for (Socket socket : sockets) socket.close();
  }

  private void accept() {
    while (true) {
      try {
        Socket from = server.accept();
        sockets.add(from);
        if (cut) {
          from.close();
          continue;
        }
        var target = new Socket(InetAddress.getLoopbackAddress(), to);
        sockets.add(target);
        Thread.startVirtualThread(() -> copy(from, target));
        Thread.startVirtualThread(() -> copy(target, from));
      } catch (IOException closed) {
        return;
      }
    }
  }

  private static void copy(Socket from, Socket target) {
    try (from; target) {
      from.getInputStream().transferTo(target.getOutputStream());
    } catch (IOException ended) {
      return; // the relay is cut
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
    cut(true);
  }
}

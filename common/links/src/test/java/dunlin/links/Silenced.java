package dunlin.links;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;

/** A way to a port on which nothing passes any more from some moment on, although its connections stay open. */
final class Silenced implements AutoCloseable {
  final AtomicBoolean silent = new AtomicBoolean();
  private final int target;
  private final ServerSocket listening = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();

  Silenced(int target) throws IOException {
    this.target = target;
    Thread.startVirtualThread(this::accept);
  }

  int port() {
    return listening.getLocalPort();
  }

  private void accept() {
    try {
      while (true) {
        var dialler = kept(listening.accept());
        var acceptor = kept(new Socket(InetAddress.getLoopbackAddress(), target));
        Thread.startVirtualThread(() -> pass(dialler, acceptor));
        Thread.startVirtualThread(() -> pass(acceptor, dialler));
      }
    } catch (IOException _) {
      // closed
    }
  }

  private Socket kept(Socket socket) {
    sockets.add(socket);
    return socket;
  }

  private void pass(Socket from, Socket to) {
    byte[] bytes = new byte[8_192];
    try {
      for (int length = from.getInputStream().read(bytes); length >= 0; length = from.getInputStream().read(bytes))
        if (!silent.get()) to.getOutputStream().write(bytes, 0, length);
    } catch (IOException _) {
      // One of both has gone.
    }
  }

  @Override
  public void close() throws IOException {
    listening.close();
    for (Socket each : sockets) each.close();
  }
}

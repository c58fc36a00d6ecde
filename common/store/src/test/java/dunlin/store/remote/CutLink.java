package dunlin.store.remote;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A proxy to a port of this machine that can be cut: bytes are then lost, and neither side notices. */
final class CutLink implements AutoCloseable {
  private final ServerSocket here = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final int to;
  private volatile boolean cut;

  CutLink(int to) throws IOException {
    this.to = to;
    Thread.startVirtualThread(this::accept);
  }

  int port() {
    return here.getLocalPort();
  }

  void cut() {
    cut = true;
  }

  private void accept() {
    try {
      while (true) {
        var from = here.accept();
        var onward = new Socket(InetAddress.getLoopbackAddress(), to);
        open.add(from);
        open.add(onward);
        Thread.startVirtualThread(() -> carry(from, onward));
        Thread.startVirtualThread(() -> carry(onward, from));
      }
    } catch (IOException _) {
      // closed
    }
  }

  private void carry(Socket from, Socket onward) {
    var bytes = new byte[8192];
    try {
      for (int read; (read = from.getInputStream().read(bytes)) >= 0; )
        if (!cut) onward.getOutputStream().write(bytes, 0, read);
      if (!cut) onward.shutdownOutput();
    } catch (IOException _) {
      // closed by one of them
    }
  }

  @Override
  public void close() throws IOException {
    here.close();
    for (var socket : open) socket.close();
  }
}

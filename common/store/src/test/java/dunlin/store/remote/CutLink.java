package dunlin.store.remote;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A proxy to a port of this machine that can be cut: bytes are then lost, and neither side notices. It can lose the answers alone. */
public final class CutLink implements AutoCloseable {
  private final ServerSocket here = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final int to;
  private final AtomicLong carried = new AtomicLong();
  private volatile boolean cut;
  private volatile boolean answersLost;

  public CutLink(int to) throws IOException {
    this.to = to;
    Thread.startVirtualThread(this::accept);
  }

  public int port() {
    return here.getLocalPort();
  }

  void cut() {
    cut = true;
  }

  /** Loses what comes back, until {@link #breakConnections}. */
  public void loseAnswers() {
    answersLost = true;
  }

  /** Bytes that have been carried to the port. */
  public long carried() {
    return carried.get();
  }

  /** Closes all connections; later ones lose nothing. */
  public void breakConnections() throws IOException {
    answersLost = false;
    for (var socket : open) socket.close();
    open.clear();
  }

  private void accept() {
    try {
      while (true) {
        carry(here.accept());
      }
    } catch (IOException _) {
      // closed
    }
  }

  private void carry(Socket from) throws IOException {
    Socket onward;
    try {
      onward = new Socket(InetAddress.getLoopbackAddress(), to);
    } catch (IOException _) { // nothing listens there now; it may later
      from.close();
      return;
    }
    open.add(from);
    open.add(onward);
    Thread.startVirtualThread(() -> carry(from, onward, true));
    Thread.startVirtualThread(() -> carry(onward, from, false));
  }

  private void carry(Socket from, Socket onward, boolean there) {
    var bytes = new byte[8192];
    try {
      for (int read; (read = from.getInputStream().read(bytes)) >= 0; ) {
        if (cut || (answersLost && !there)) continue;
        onward.getOutputStream().write(bytes, 0, read);
        if (there) carried.addAndGet(read);
      }
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

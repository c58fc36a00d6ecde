package dunlin.interop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.TimeoutException;

/** Passes one connection on to the broker, so that it can be cut: no client offers that by itself. */
final class Relay implements AutoCloseable {
  private final ServerSocket listener;
  private final Socket broker;
  private final Thread passing;

  Relay(String host, int port) throws IOException {
    listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    broker = new Socket(host, port);
    broker.setTcpNoDelay(true);
    passing = Thread.ofVirtual().start(this::accept);
  }

  int port() {
    return listener.getLocalPort();
  }

  private void accept() {
    try (Socket client = listener.accept()) {
      client.setTcpNoDelay(true);
      Thread back = Thread.ofVirtual().start(() -> copy(broker, client));
      copy(client, broker);
      back.join();
    } catch (IOException _) {
      close(); // no connection came, or it has ended
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** Until one side ends; then the other one is told, when it has got all. */
  private static void copy(Socket from, Socket to) {
    try {
      from.getInputStream().transferTo(to.getOutputStream());
      to.shutdownOutput();
    } catch (IOException _) {
      cut(from); // and with it the other direction
      cut(to);
    }
  }

  private static void cut(Socket socket) {
    try {
      socket.close();
    } catch (IOException _) {
      // it is gone either way
    }
  }

  /** Waits until both sides have ended, so that nothing is cut that was sent before. */
  void awaitEnd(Duration most) throws InterruptedException, TimeoutException {
    if (!passing.join(most)) throw new TimeoutException("the connection has not ended");
  }

  @Override
  public void close() {
    try {
      listener.close();
      broker.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}

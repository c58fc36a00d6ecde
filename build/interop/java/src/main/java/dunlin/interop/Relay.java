package dunlin.interop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** Passes one connection on to the broker, so that it can be cut: no client offers that by itself. */
final class Relay implements AutoCloseable {
  private final ServerSocket listener;
  private final Socket broker;

  Relay(String host, int port) throws IOException {
    listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    broker = new Socket(host, port);
    broker.setTcpNoDelay(true);
    Thread.ofVirtual().start(this::accept);
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
      close(); // nobody came, or whoever came has gone
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** Until one side ends; then the other one does, too. */
  private static void copy(Socket from, Socket to) {
    try (from;
        to) {
      from.getInputStream().transferTo(to.getOutputStream());
    } catch (IOException _) {
      // it was cut
    }
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

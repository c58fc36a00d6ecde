package dunlin.testkit;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A port of this machine whose connections are passed on to another port, and can be held up, delayed or reset. */
final class Relay implements AutoCloseable {
  /*
   * While it is cut, nothing is read or written, and connections stay as they are: what is sent waits in the buffers, as it would be sent again by a network
   * that has lost it. A new connection is accepted by the kernel and hears nothing.
   *
   * Owner: any thread, under the lock; a virtual thread that accepts, and four for each connection, a reader and a writer for each direction.
   * Bounds: connectionsMax connections, of which one more is reset; CHUNKS chunks of CHUNK_BYTES for each direction, beyond which it is not read from.
   * Failure: a connection of which one side fails, or whose target refuses, is reset on both sides.
   */
  private static final int CHUNK_BYTES = 16 * 1024;
  private static final int CHUNKS = 16;
  private static final Duration END_MAX = Duration.ofSeconds(5);

  private final int port;
  private final int target;
  private final int connectionsMax;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition healed = lock.newCondition();

  @GuardedBy("lock")
  private final Set<Connection> connections = new HashSet<>();

  @GuardedBy("lock")
  private @Nullable ServerSocket listening;

  @GuardedBy("lock")
  private @Nullable Thread accepting;

  @GuardedBy("lock")
  private boolean cut;

  private volatile long delayNanos;

  /**
   * A relay that is closed at first.
   *
   * @param port where it listens, on loopback
   * @param target where it connects to, on loopback
   */
  Relay(int port, int target, int connectionsMax) {
    this.port = port;
    this.target = target;
    this.connectionsMax = connectionsMax;
  }

  int port() {
    return port;
  }

  /** Listens, unless it does. */
  void open() {
    lock.lock();
    try {
      if (listening != null) return;
      var opened = new ServerSocket();
      opened.setReuseAddress(true);
      opened.bind(loopback(port));
      listening = opened;
      accepting = Thread.ofVirtual().name("dunlin-testkit-relay-" + port).start(() -> accept(opened));
    } catch (IOException e) {
      throw new UncheckedIOException("port " + port + " cannot be used", e);
    } finally {
      lock.unlock();
    }
  }

  /** Resets all connections, and refuses new ones. */
  @Override
  public void close() {
    Thread ending;
    lock.lock();
    try {
      if (listening == null) return;
      ending = accepting;
      listening.close();
      listening = null;
      for (Connection each : List.copyOf(connections)) each.reset();
      healed.signalAll();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      lock.unlock();
    }
    awaitEnd(ending);
  }

  /** The kernel accepts connections until the thread that accepts them has noticed that its socket is closed. */
  private static void awaitEnd(@Nullable Thread ending) {
    try {
      if (ending != null) ending.join(END_MAX);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Whether nothing passes. */
  void cut(boolean nothingPasses) {
    lock.lock();
    try {
      cut = nothingPasses;
      healed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** What arrives from now on passes so much later. */
  void delay(Duration later) {
    delayNanos = later.toNanos();
  }

  private void awaitHealed() throws InterruptedException {
    lock.lock();
    try {
      while (cut && listening != null) healed.await();
    } finally {
      lock.unlock();
    }
  }

  private void accept(ServerSocket from) {
    try {
      while (true) {
        awaitHealed();
        new Connection(from.accept()).open();
      }
    } catch (IOException | InterruptedException _) {
      // Closed.
    }
  }

  private static InetSocketAddress loopback(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  /** A connection and its continuation. */
  private final class Connection {
    private final Socket near;
    private final Socket far = new Socket();
    private final AtomicInteger directions = new AtomicInteger(2); // that have not ended

    Connection(Socket near) {
      this.near = near;
    }

    void open() {
      lock.lock();
      try {
        connections.add(this);
        if (listening == null || connections.size() > connectionsMax) reset();
        else Thread.ofVirtual().start(this::connect);
      } finally {
        lock.unlock();
      }
    }

    private void connect() {
      try {
        awaitHealed();
        near.setTcpNoDelay(true);
        far.setTcpNoDelay(true);
        far.connect(loopback(target));
      } catch (IOException | InterruptedException _) { // it refuses
        reset();
        return;
      }
      new Direction(this, near, far).start();
      new Direction(this, far, near).start();
    }

    void ended() {
      if (directions.decrementAndGet() == 0) end(false);
    }

    void reset() {
      end(true);
    }

    private void end(boolean abruptly) {
      lock.lock();
      try {
        connections.remove(this);
      } finally {
        lock.unlock();
      }
      for (Socket each : List.of(near, far)) {
        try {
          if (abruptly) each.setSoLinger(true, 0);
          each.close();
        } catch (IOException _) {
          // Closed already.
        }
      }
    }
  }

  /**
   * Bytes on their way.
   *
   * @param bytes none at the end of the stream
   * @param dueNanos when they may be written
   */
  private record Chunk(byte[] bytes, long dueNanos) {}

  /** One direction of a connection. */
  private final class Direction {
    private final Connection of;
    private final Socket from;
    private final Socket to;
    private final BlockingQueue<Chunk> chunks = new ArrayBlockingQueue<>(CHUNKS);

    Direction(Connection of, Socket from, Socket to) {
      this.of = of;
      this.from = from;
      this.to = to;
    }

    void start() {
      var reader = Thread.ofVirtual().unstarted(this::read);
      Thread.ofVirtual().start(() -> write(reader));
      reader.start();
    }

    private void read() {
      var buffer = new byte[CHUNK_BYTES];
      try {
        var in = from.getInputStream();
        int read;
        do {
          awaitHealed();
          read = in.read(buffer);
          chunks.put(new Chunk(Arrays.copyOf(buffer, Math.max(read, 0)), System.nanoTime() + delayNanos));
        } while (read >= 0);
      } catch (IOException | InterruptedException _) {
        of.reset();
      }
    }

    /** Ends the reader, which may wait for room, when this ends. */
    private void write(Thread reader) {
      try {
        var out = to.getOutputStream();
        for (Chunk chunk = next(); chunk.bytes().length > 0; chunk = next()) out.write(chunk.bytes());
        to.shutdownOutput();
        of.ended();
      } catch (IOException | InterruptedException _) {
        of.reset();
        reader.interrupt();
      }
    }

    private Chunk next() throws IOException, InterruptedException {
      Chunk chunk = null;
      while (chunk == null) {
        if (to.isClosed()) throw new IOException("it was reset");
        chunk = chunks.poll(1, TimeUnit.SECONDS);
      }
      TimeUnit.NANOSECONDS.sleep(chunk.dueNanos() - System.nanoTime());
      awaitHealed();
      return chunk;
    }
  }
}
